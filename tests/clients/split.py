"""CUDA's compiler in packages that are cut as conda-forge's are, out of the vendor's wheels in one directory.

What lies in which package, where, and what it asks for and exports is that of conda-forge's feedstocks: cuda-nvcc-impl
(recipe/meta.yaml at 023294556e83, nvcc.profile.patch at 066fc112fb1a), cuda-nvcc (recipe/meta.yaml at 04b0e5ddd202,
activate.sh at 04d86e34e298) and cuda-nvrtc (recipe/build.sh at 2d1df009473e). Headers lie below targets/x86_64-linux, where
only the compiler of that package looks for them. Large programs and libraries are links to the wheels' own files.
"""

import vendor

TARGET = "targets/x86_64-linux"

# What conda-forge's activation does for nvcc on this platform when packages are built.
ACTIVATE = f"""
export CXXFLAGS="$CXXFLAGS -I$PREFIX/{TARGET}/include -I$BUILD_PREFIX/{TARGET}/include"
export NVCC_PREPEND_FLAGS="-ccbin=$CXX"
export NVCC_APPEND_FLAGS="-I$PREFIX/{TARGET}/include -L$PREFIX/{TARGET}/lib -L$PREFIX/{TARGET}/lib/stubs"
"""


def record(root, wheel):
    """Files of a wheel by its RECORD, and its version."""
    (directory,) = root.glob(f"{wheel}-*.dist-info")
    names = [line.split(",")[0] for line in (directory / "RECORD").read_text().splitlines()]
    names = [name.removeprefix("nvidia/cu13/") for name in names if name.startswith("nvidia/cu13/")]
    return [name for name in names if (root / name).is_file()], directory.name.removesuffix(".dist-info").split("-")[1]


def member(root, name, place):
    path = root / name
    if path.stat().st_size > 1 << 20 and path.name != "nvcc":
        return (place, b"", str(path.resolve()))
    return (place, path.read_bytes(), None)


def write(channel, root):
    root = root.resolve()
    names = ["cuda_nvcc", "nvvm", "cuda_crt", "cuda_runtime", "cuda_cccl", "cuda_nvrtc"]
    wheels = {name: record(root, f"nvidia_{name}") for name in names}

    def package(name, wheel, begins, below="", depends=(), more=(), **exports):
        names, version = wheels[wheel]
        taken = [one for one in names if one.startswith(begins)]
        assert taken or more, name
        members = [member(root, one, f"{below}{one}") for one in taken if one != "bin/nvcc.profile"]
        vendor.write(channel, name, version, members + list(more), depends, **exports)
        return f"{name} =={version}"

    text = (root / "bin/nvcc.profile").read_text()
    moved = text.replace("TOP              = $(_HERE_)/..", "TOP              = $(_HERE_)/../$(_TARGET_DIR_)")
    moved = moved.replace("$(TOP)/nvvm", "$(TOP)/../../nvvm").replace("$(TOP)/$(_TARGET_DIR_)/", "$(TOP)/")
    assert moved.count("../../nvvm") == 2
    strong = {"run_exports": {"strong": ["cuda-version >=13.0,<14"]}}

    crt = package("cuda-crt-tools", "cuda_nvcc", "bin/crt/")
    nvvm = package("cuda-nvvm-tools", "nvvm", ("nvvm/bin/", "nvvm/libdevice/"))
    # A program of the toolkit is in PATH as nvcc; the profile beside it says where the rest lies.
    profile = [("bin/nvcc.profile", moved.encode(), None)]
    tools = package("cuda-nvcc-tools", "cuda_nvcc", "bin/", depends=[crt, nvvm], more=profile)
    crt_dev = package("cuda-crt-dev_linux-64", "cuda_crt", "include/crt/", f"{TARGET}/", **strong)
    nvvm_link = [(f"{TARGET}/nvvm", b"", "../../nvvm")]
    nvvm_dev = package("cuda-nvvm-dev_linux-64", "nvvm", "none", more=nvvm_link)
    dev = package("cuda-nvcc-dev_linux-64", "cuda_nvcc", "include/", f"{TARGET}/", [crt_dev, nvvm_dev], **strong)
    cccl = package("cuda-cccl_linux-64", "cuda_cccl", "include/", f"{TARGET}/")
    cudart = package("cuda-cudart-dev_linux-64", "cuda_runtime", "include/", f"{TARGET}/", [cccl])
    activate = [("etc/conda/activate.d/~cuda-nvcc_activate.sh", ACTIVATE.encode(), None)]
    version = wheels["cuda_nvcc"][1]
    vendor.write(channel, "cuda-nvcc_linux-64", version, activate, [tools, dev, cudart], **strong)

    nvrtc = package("cuda-nvrtc", "cuda_nvrtc", "lib/libnvrtc")
    weak = {"run_exports": {"weak": ["cuda-nvrtc >=13.0.88,<14.0a0"]}}
    package("cuda-nvrtc-dev", "cuda_nvrtc", "include/", f"{TARGET}/", [nvrtc], **weak)
    vendor.write(channel, "cuda-version", "13.0", [("share/plain/cuda-version", b"", None)])
