"""What solve.py and install.py share: a conda client that sees local channels and nothing else."""

import os
import pathlib
import sys
import tempfile

import rattler


def add_arguments(parser):
    parser.add_argument("specs", nargs="+", help="match specs, such as 'volley' or 'volley-kernels 1.*'")
    parser.add_argument("--channel", action="append", required=True, type=pathlib.Path, help="directory; first wins")
    parser.add_argument(
        "--virtual",
        action="append",
        metavar="NAME=VERSION",
        help="the machine's virtual packages; without it they are detected, CONDA_OVERRIDE_* honoured",
    )


def virtual_packages(given):
    if given is None:
        # Without a cache directory the answer is that of this run, not of an earlier one.
        with tempfile.TemporaryDirectory() as cache:
            overrides = rattler.VirtualPackageOverrides.from_env()
            found = rattler.VirtualPackage.detect(overrides, cache_dir=cache)
        return [package.into_generic() for package in found]
    packages = []
    for text in given:
        name, _, version = text.partition("=")
        name, version = rattler.PackageName(name), rattler.Version(version or "0")
        packages.append(rattler.GenericVirtualPackage(name, version, rattler.BuildString("0")))
    return packages


def channels(paths):
    return [rattler.Channel(path.resolve().as_uri()) for path in paths]


async def solve(arguments, gateway):
    """The solver's answer, sorted by name."""
    records = await rattler.solve(
        sources=channels(arguments.channel),
        specs=arguments.specs,
        gateway=gateway,
        platforms=["linux-64", "noarch"],
        virtual_packages=virtual_packages(arguments.virtual),
    )
    return sorted(records, key=lambda record: record.name.normalized)


def describe(record):
    return {
        "name": record.name.normalized,
        "version": str(record.version),
        "build": str(record.build),
        "build_number": record.build_number,
        "subdir": record.subdir,
        "file_name": record.file_name,
        "url": record.url,
    }


def leave(code):
    """Ends the process at once: py-rattler 0.28 has threads that outlive the interpreter's shutdown,
    and now and then one of them crashes there (SIGSEGV after all work was done)."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
