"""Fills a channel with stand-ins for conda-forge's compilers and tools, each a door to what this machine has.

compilers.py CHANNEL --gxx /usr/bin/g++ --nvcc .../nvcc --nvrtc .../lib --cmake ... --ninja ... --patchelf ...

--split WHEELS gives CUDA's packages conda-forge's own cut, out of the vendor's wheels that were unpacked there (split.py).
--older VERSION NVCC GXX adds a release of nvcc with the g++ that it accepts, --plain NAME=VERSION a package that only has
to be there.

The names are conda-forge's, and so is what they export to packages that are built with them: gxx_linux-64,
sysroot_linux-64, cuda-nvcc_linux-64, cuda-version, cuda-cudart, cuda-nvrtc-dev, cuda-nvrtc, libstdcxx, libgcc, cmake, ninja, patch, patchelf, unzip.
Prints the version of g++ as JSON.
"""

import argparse
import json
import pathlib
import shutil
import subprocess

import split
import vendor


def door(program, *arguments):
    """A script that calls a program of the machine."""
    words = " ".join(f"'{word}'" for word in (str(program), *arguments))
    return f'#!/bin/sh\nexec {words} "$@"\n'.encode()


def activation(name, **variables):
    text = "".join(f"export {key}='{value}'\n" for key, value in variables.items())
    return (f"etc/conda/activate.d/{name}.sh", text.encode(), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("channel", type=pathlib.Path)
    for name in ["gxx", "nvcc", "nvrtc", "cmake", "ninja", "patchelf"]:
        parser.add_argument(f"--{name}", required=True, type=pathlib.Path)
    parser.add_argument("--glslc", type=pathlib.Path)
    parser.add_argument("--split", type=pathlib.Path, metavar="WHEELS")
    parser.add_argument("--older", nargs=3, metavar=("VERSION", "NVCC", "GXX"))
    parser.add_argument("--plain", action="append", default=[], metavar="NAME=VERSION")
    given = parser.parse_args()
    version = subprocess.run([given.gxx, "-dumpfullversion"], check=True, capture_output=True, text=True)
    version = version.stdout.strip()
    major = version.split(".")[0]

    def write(name, version, members, **more):
        vendor.write(given.channel, name, version, members, **more)

    libraries = subprocess.run(
        [given.gxx, "-print-file-name=libstdc++.so.6"], check=True, capture_output=True, text=True
    )
    directory = pathlib.Path(libraries.stdout.strip()).resolve().parent
    gcc = subprocess.run([given.gxx, "-print-file-name=libgcc_s.so.1"], check=True, capture_output=True, text=True)
    write("libstdcxx", version, vendor.collect(directory, vendor.PATTERNS["libstdcxx"]))
    write("libgcc", version, vendor.collect(pathlib.Path(gcc.stdout.strip()).parent, vendor.PATTERNS["libgcc"]))
    exports = {"strong": [f"libstdcxx >={major}", f"libgcc >={major}"]}
    write("gxx_linux-64", version, [activation("gxx", CXX=given.gxx)], run_exports=exports)
    write("sysroot_linux-64", "2.28", [activation("sysroot", SYSROOT="")], run_exports={"strong": ["__glibc >=2.28"]})

    if given.split:
        split.write(given.channel, given.split)
    else:
        whole(given, write)

    for name in ["cmake", "ninja", "patchelf"]:
        write(name, "99", [(f"bin/{name}", door(getattr(given, name)), None)])
    for name in ["patch", "unzip"]:
        if program := shutil.which(name):
            write(name, "99", [(f"bin/{name}", door(program), None)])
    write("make", "99", [("share/plain/make", b"", None)])
    if given.glslc:
        write("shaderc", "99", [("bin/glslc", door(given.glslc), None)])
    print(json.dumps({"gxx": version, "major": major}))


def whole(given, write):
    # Of what nvcc exports nothing must reach packages of device code: they link nothing.
    write("cuda-cudart", "13.0.96", vendor.collect(given.nvrtc, vendor.PATTERNS["cuda-cudart"]))
    nvcc = [("bin/nvcc", door(given.nvcc, "-ccbin", str(given.gxx)), None)]
    write("cuda-nvcc_linux-64", "13.0.88", nvcc, run_exports={"strong": ["cuda-cudart >=13.0.88"]})
    write("cuda-nvrtc", "13.0.88", vendor.collect(given.nvrtc, vendor.PATTERNS["cuda-nvrtc"]))
    header = ("include/nvrtc.h", (given.nvrtc.parent / "include/nvrtc.h").read_bytes(), None)
    # Narrower than what a recipe says that opens any 13.x.
    narrow = {"weak": ["cuda-nvrtc >=13.0.88,<14.0a0"]}
    write("cuda-nvrtc-dev", "13.0.88", [header], depends=["cuda-nvrtc ==13.0.88"], run_exports=narrow)

    write("cuda-version", "13.0", [("share/plain/cuda-version", b"", None)])
    if given.older:
        older, program, gxx = given.older
        release = ".".join(older.split(".")[:2])
        write("cuda-version", release, [("share/plain/cuda-version", b"", None)])
        members = [("bin/nvcc", door(pathlib.Path(program), "-ccbin", gxx), None)]
        exports = {"strong": [f"cuda-cudart >={older}"]}
        write("cuda-nvcc_linux-64", older, members, run_exports=exports)
    for text in given.plain:
        name, _, plain = text.partition("=")
        # What it exports is narrower than any recipe's range.
        exports = {"weak": [f"{name.removesuffix('-dev')} =={plain}"]} if name.endswith("-dev") else None
        write(name, plain, [(f"share/plain/{name}", b"", None)], run_exports=exports)


main()
