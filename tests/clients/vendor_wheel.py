"""Makes a stand-in for a vendor's wheel out of libraries at hand, with Python's standard library only.

vendor_wheel.py DIRECTORY nvidia-cuda-nvrtc 13.0.88 nvidia/cu13/lib LIBRARIES

writes DIRECTORY/nvidia_cuda_nvrtc-13.0.88-py3-none-any.whl with the NVRTC libraries of LIBRARIES.
"""

import base64
import hashlib
import pathlib
import sys
import zipfile

directory, name, version, below, libraries = sys.argv[1:]
stem = f"{name.replace('-', '_')}-{version}"
members = {
    f"{stem}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
    f"{stem}.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
}
for pattern in ("libnvrtc.so.*", "libnvrtc-builtins.so.*"):
    for path in pathlib.Path(libraries).glob(pattern):
        members[f"{below}/{path.name}"] = path.read_bytes()
record = ""
for path, content in members.items():
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    record += f"{path},sha256={digest},{len(content)}\n"
members[f"{stem}.dist-info/RECORD"] = f"{record}{stem}.dist-info/RECORD,,\n".encode()
pathlib.Path(directory).mkdir(parents=True, exist_ok=True)
with zipfile.ZipFile(pathlib.Path(directory) / f"{stem}-py3-none-any.whl", "w", zipfile.ZIP_STORED) as archive:
    for path, content in members.items():
        archive.writestr(path, content)
