#!/usr/bin/env python3
"""compare_packages.py OLD NEW: what differs between two dist/ directories whose simpack.json have another schema.

Packages are told apart by directory, name and target, and compared member by member. Only simpack.json, what is
digested of it, build strings, pins on them and the versions of the packages that tie others together may differ.
"""
import io, json, pathlib, re, subprocess, sys, tarfile, zipfile

HASH = re.compile(r"\bh[0-9a-f]{7}(_\d+)?\b|(?<=_)h[0-9a-f]{7}(_\d+)?\b")
TIE = re.compile(r"(-kernel-abi|-slice)([- ])\d+(?=[-.])(\.\*|\.0\.0)?")


def plain(text):
    """A file name or match spec without digest, and without the version of what ties packages together."""
    return TIE.sub(r"\1\2N", HASH.sub("H", text))


def tar(data):
    unpacked = subprocess.run(["zstd", "-dc"], input=data, stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(unpacked)) as archive:
        return {
            member.name: (member.mode, member.mtime, member.type, member.linkname,
                          archive.extractfile(member).read() if member.isfile() else b"")
            for member in archive
        }


def members(path):
    if path.suffix != ".conda":
        return tar(path.read_bytes())
    with zipfile.ZipFile(path) as package:
        parts = [name for name in package.namelist() if name.endswith(".tar.zst")]
        return {name: value for part in parts for name, value in tar(package.read(part)).items()}


def index(value):
    value = json.loads(value)
    value["build"], value["depends"] = plain(value["build"]), sorted(map(plain, value["depends"]))
    if re.search("-(kernel-abi|slice)$", value["name"]):
        value["version"] = "N"
    return value


def paths(value):
    value = json.loads(value)
    for entry in value["paths"]:
        if entry["_path"].endswith("/simpack.json"):
            entry["sha256"] = entry["size_in_bytes"] = None
    return value


def hash_input(value):
    value = json.loads(value)
    return {key: sorted(map(plain, value[key])) for key in ("depends", "constrains")}


def manifest(value):
    """What both schemas say in the same words."""
    value = json.loads(value)
    for new in ("dependencies", "conditions", "exports", "license", "licences", "schema", "uses"):
        value.pop(new, None)
    if re.search("-(kernel-abi|slice)$", value["package"]):
        value["version"] = "N"
    if not value["artifacts"]:
        # Schema 1 told packages without files apart by a digest over their dependencies.
        value["provenance"]["plan"] = None
    return value


READ = {"info/index.json": index, "info/paths.json": paths, "info/hash_input.json": hash_input}


def same(name, old, new):
    read = manifest if re.fullmatch("share/simpack/[^/]+/simpack.json", name) else READ.get(name)
    if read is None:
        return old == new
    return old[:4] == new[:4] and read(old[4]) == read(new[4])


def packages(root):
    root = pathlib.Path(root)
    files = [file for file in root.rglob("*") if file.name.endswith((".conda", ".tar.zst"))]
    return {plain(str(file.relative_to(root))): file for file in files}


def main():
    old, new = map(packages, sys.argv[1:3])
    wrong = [f"only in one: {name}" for name in sorted(old.keys() ^ new.keys())]
    changed = {}
    for name in sorted(old.keys() & new.keys()):
        before, after = members(old[name]), members(new[name])
        wrong += [f"{name}: only in one: {member}" for member in sorted(before.keys() ^ after.keys())]
        for member in sorted(before.keys() & after.keys()):
            if not same(member, before[member], after[member]):
                wrong.append(f"{name}: {member} differs")
            if before[member] != after[member]:
                kind = re.sub("share/simpack/[^/]+/", "", member)
                changed[kind] = changed.get(kind, 0) + 1
    print(f"{len(old.keys() & new.keys())} packages; members that differ as they may: {changed}")
    print("\n".join(wrong) or "nothing else differs")
    sys.exit(bool(wrong))


main()
