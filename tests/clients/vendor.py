"""Makes a stand-in for a vendor's conda package that a test channel lacks, out of libraries at hand.

vendor.py CHANNEL cuda-nvrtc 13.0.88 nvidia/cu13/lib --files 'libnvrtc.so.13*' 'libnvrtc-builtins.so.*'

writes CHANNEL/linux-64/cuda-nvrtc-13.0.88-0.conda with these files in lib/, and indexes CHANNEL.
Prints the archive's path. Only Python's standard library writes archive and index: an independent
opinion on the formats.
"""

import argparse
import hashlib
import io
import json
import pathlib
import tarfile
import zipfile

PATTERNS = {
    "cuda-nvrtc": ["libnvrtc.so.*", "libnvrtc-builtins.so.*"],
    "cuda-cudart": ["libcudart.so.*"],
    "libcurand": ["libcurand.so.*"],
    "libstdcxx": ["libstdc++.so.6*"],
    "libgcc": ["libgcc_s.so.1"],
}


def stored(data):
    """A zstd frame that holds `data` in raw blocks (RFC 8878, 3.1.1): nothing to compress with."""
    # Frame header: magic number; descriptor (single segment, eight bytes of content size); that size.
    frame = bytearray(b"\x28\xb5\x2f\xfd\xe0" + len(data).to_bytes(8, "little"))
    blocks = [data[start : start + 0x1FFFF] for start in range(0, len(data), 0x1FFFF)] or [b""]
    for index, block in enumerate(blocks):
        last = index == len(blocks) - 1
        frame += (len(block) << 3 | last).to_bytes(3, "little") + block
    return bytes(frame)


def tar(members):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, content, link in sorted(members):
            info = tarfile.TarInfo(name)
            info.mode = 0o755 if name.startswith("bin/") else 0o644
            if link is not None:
                info.type, info.linkname = tarfile.SYMTYPE, link
                archive.addfile(info)
            else:
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def collect(directory, patterns):
    found = {}
    for pattern in patterns:
        for path in directory.glob(pattern):
            # A link to another file that is taken along stays a link; any other becomes the file.
            link = path.is_symlink() and "/" not in str(path.readlink())
            found[path.name] = ("lib/" + path.name, path.read_bytes(), str(path.readlink()) if link else None)
    for name, (path, content, link) in list(found.items()):
        if link is not None and link not in found:
            found[name] = (path, content, None)
    return list(found.values())


def entry(path, content, link):
    if link is not None:
        return {"_path": path, "path_type": "softlink"}
    digest = hashlib.sha256(content).hexdigest()
    return {"_path": path, "path_type": "hardlink", "sha256": digest, "size_in_bytes": len(content)}


def publish(package, index):
    """Adds the package to the index of its directory."""
    archive = package.read_bytes()
    digests = {"md5": hashlib.md5(archive).hexdigest(), "sha256": hashlib.sha256(archive).hexdigest()}
    path = package.parent / "repodata.json"
    data = json.loads(path.read_text()) if path.exists() else empty(package.parent.name)
    data["packages.conda"][package.name] = index | digests | {"size": len(archive)}
    path.write_text(json.dumps(data, indent=2))
    noarch = package.parent.parent / "noarch" / "repodata.json"
    noarch.parent.mkdir(exist_ok=True)
    if not noarch.exists():
        noarch.write_text(json.dumps(empty("noarch"), indent=2))


def empty(subdir):
    return {"info": {"subdir": subdir}, "packages": {}, "packages.conda": {}, "repodata_version": 1}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("channel", type=pathlib.Path)
    parser.add_argument("name")
    parser.add_argument("version")
    parser.add_argument("directory", type=pathlib.Path, help="where the libraries lie")
    parser.add_argument("--files", nargs="+", help="patterns; known for " + ", ".join(PATTERNS))
    parser.add_argument("--depends", nargs="*", default=[], help="match specs")
    arguments = parser.parse_args()
    patterns = arguments.files or PATTERNS.get(arguments.name)
    if not patterns:
        parser.error(f"no patterns are known for {arguments.name}: give --files")
    members = collect(arguments.directory, patterns)
    if not members:
        parser.error(f"{arguments.directory} holds no {' or '.join(patterns)}")
    print(write(arguments.channel, arguments.name, arguments.version, members, arguments.depends))


def write(channel, name, version, members, depends=(), run_exports=None):
    """Writes one package into a channel and its index; members are (path, bytes, link or None)."""
    index = {
        "arch": "x86_64",
        "build": "0",
        "build_number": 0,
        "depends": list(depends),
        "name": name,
        "platform": "linux",
        "subdir": "linux-64",
        "version": version,
    }
    paths = {"paths": [entry(*member) for member in sorted(members)], "paths_version": 1}
    info = [("info/index.json", json.dumps(index).encode(), None), ("info/paths.json", json.dumps(paths).encode(), None)]
    if run_exports:
        info.append(("info/run_exports.json", json.dumps(run_exports).encode(), None))
    stem = f"{name}-{version}-0"
    target = channel / "linux-64" / f"{stem}.conda"
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("metadata.json", json.dumps({"conda_pkg_format_version": 2}))
        archive.writestr(f"pkg-{stem}.tar.zst", stored(tar(members)))
        archive.writestr(f"info-{stem}.tar.zst", stored(tar(info)))
    publish(target, index)
    return target


if __name__ == "__main__":
    main()
