"""Executes a generated package of Spack against a stand-in of what it uses of Spack, and installs by what it says.

spack_text.py PACKAGE.py SOURCE PREFIX ARCH...

Spack is in no package index, so what follows stands for it: the directives record what they are given, as Spack's do, and
refuse what theirs take no such argument for; the phases run as Spack runs them, with real programs. ARCH are the values of
`cuda_arch`; without any it is `~cuda`. Prints what was recorded as JSON. It shows that the text is Python, that it calls
nothing but what is listed here, and that its phases build; not that Spack solves it.
"""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import types

recorded = {"version": {}, "depends_on": [], "variant": {}, "conflicts": [], "license": [], "maintainers": []}
after = []
conditions = []


def version(name, *, sha256=None, commit=None, submodules=False):
    recorded["version"][name] = {"sha256": sha256, "commit": commit, "submodules": submodules}


def depends_on(spec, *, type=("build", "link"), when=None):
    recorded["depends_on"].append([spec, type, when])


def variant(name, *, default, description, when=None):
    recorded["variant"][name] = {"default": default, "when": when, "description": description}


def conflicts(spec, *, when=None, msg=None):
    recorded["conflicts"].append([spec, when])


def license(expression):
    recorded["license"].append(expression)


def maintainers(*names):
    recorded["maintainers"].extend(names)


def run_after(phase, when=None):
    assert phase == "install", phase

    def decorate(function):
        after.append((function, when))
        return function

    return decorate


class Executable:
    def __init__(self, path):
        self.path, self.env = path, {}

    def add_default_env(self, name, value):
        assert isinstance(name, str) and isinstance(value, str), (name, value)
        self.env[name] = value

    def __call__(self, *arguments):
        subprocess.run([self.path, *arguments], env={**os.environ, **self.env}, check=True, stdout=sys.stderr)


def which(name, *, required):
    return Executable(shutil.which(name))


class Version(str):
    def up_to(self, count):
        return Version(".".join(self.split(".")[:count]))


class Prefix(str):
    def __getattr__(self, name):
        return Prefix(os.path.join(self, name))


class Spec:
    def __init__(self, archs, cuda):
        self.archs = archs
        self.variants = {"cuda_arch": types.SimpleNamespace(value=tuple(archs) or ("none",))}
        self.cuda = types.SimpleNamespace(version=Version("13.0.2"), prefix=Prefix(cuda))

    def __getitem__(self, name):
        assert name == "cuda" and self.archs, name
        return self.cuda

    def satisfies(self, text):
        return {"+cuda": bool(self.archs), "+ptx": bool(self.archs)}[text]


class Package:
    def __init__(self, directory, source, prefix, archs):
        self.package_dir = str(directory)
        self.stage = types.SimpleNamespace(source_path=str(source))
        self.prefix = Prefix(prefix)
        self.spec = Spec(archs, os.environ.get("CUDA_HOME", "/opt/cuda"))

    def run_phases(self):
        self.install(self.spec, self.prefix)


class CMakePackage(Package):
    root_cmakelists_dir = "."

    def define(self, name, value):
        return f"-D{name}:STRING={value}"

    def run_phases(self):
        build = pathlib.Path(self.stage.source_path).parent / "spack-build"
        root = os.path.join(self.stage.source_path, self.root_cmakelists_dir)
        arguments = [f"-DCMAKE_INSTALL_PREFIX={self.prefix}", "-DCMAKE_BUILD_TYPE=Release", *self.cmake_args()]
        for command in (["cmake", "-S", root, "-B", build, *arguments], ["cmake", "--build", build], ["cmake", "--install", build]):
            subprocess.run(command, check=True, stdout=sys.stderr)


class CudaPackage:
    pass


@contextlib.contextmanager
def working_dir(path):
    before = os.getcwd()
    os.chdir(path)
    yield
    os.chdir(before)


def module(name, **names):
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        sys.modules.setdefault(".".join(parts[:count]), types.ModuleType(".".join(parts[:count])))
    sys.modules[name].__dict__.update(names)


names = [version, depends_on, variant, conflicts, license, maintainers, run_after, which, working_dir]
module("spack.package", **{one.__name__: one for one in names}, make_jobs=2, join_path=os.path.join)
module("spack_repo.builtin.build_systems.cmake", CMakePackage=CMakePackage)
module("spack_repo.builtin.build_systems.generic", Package=Package)
module("spack_repo.builtin.build_systems.cuda", CudaPackage=CudaPackage)

path, source, prefix, *archs = sys.argv[1:]
path = pathlib.Path(path).resolve()
scope = {}
exec(compile(path.read_text(), str(path), "exec"), scope)
[made] = [one for one in scope.values() if isinstance(one, type) and CudaPackage in one.__mro__[1:]]
package = made(path.parent, source, prefix, archs)
if source:
    package.run_phases()
    for function, when in after:
        if when is None or package.spec.satisfies(when):
            function(package)
environment = []
if hasattr(package, "setup_run_environment"):
    package.setup_run_environment(types.SimpleNamespace(prepend_path=lambda *given: environment.append(given)))
json.dump(
    recorded
    | {
        "class": made.__name__,
        "bases": [base.__name__ for base in made.__bases__],
        "doc": made.__doc__,
        "homepage": getattr(made, "homepage", None),
        "environment": environment,
        "ptx": getattr(made, "ptx_targets", None),
    },
    sys.stdout,
)
