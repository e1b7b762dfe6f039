"""Solves match specs against local channels, installs them into a prefix, prints the packages as JSON.

install.py --channel dist/conda --prefix /tmp/prefix volley

Every installed file is then compared with the digest and size in its package's paths.json.
Exit codes: 0 installed, 1 no solution, 2 an installed file differs.
"""

import argparse
import asyncio
import hashlib
import json
import pathlib
import sys
import tempfile

import rattler
from rattler.exceptions import SolverError

import client


def differences(prefix):
    for path in sorted((prefix / "conda-meta").glob("*.json")):
        for entry in json.loads(path.read_text())["paths_data"]["paths"]:
            installed = prefix / entry["_path"]
            if entry["path_type"] == "softlink":
                if not installed.is_symlink():
                    yield f"{installed}: is no link"
                elif not installed.exists():
                    yield f"{installed}: points nowhere"
            elif not installed.is_file():
                yield f"{installed}: is missing"
            elif hashlib.sha256(installed.read_bytes()).hexdigest() != (entry.get("sha256_in_prefix") or entry["sha256"]):
                yield f"{installed}: has another digest"
            # Where the prefix was written into a file, its digest there is all that is known.
            elif not entry.get("sha256_in_prefix") and installed.stat().st_size != entry["size_in_bytes"]:
                yield f"{installed}: has another size"


async def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    client.add_arguments(parser)
    parser.add_argument("--prefix", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.prefix.mkdir(parents=True, exist_ok=True)
    # The package cache lies beside the prefix so that files are hard-linked, as at home.
    with tempfile.TemporaryDirectory(dir=arguments.prefix.resolve().parent) as cache:
        cache = pathlib.Path(cache)
        try:
            records = await client.solve(arguments, rattler.Gateway(cache_dir=cache / "repodata"))
        except SolverError as error:
            print(error, file=sys.stderr)
            return 1
        await rattler.install(
            records, target_prefix=arguments.prefix, cache_dir=cache / "pkgs", platform=rattler.Subdir("linux-64"), show_progress=False
        )
    wrong = list(differences(arguments.prefix))
    print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
    json.dump([client.describe(record) for record in records], sys.stdout, indent=2)
    print()
    return 2 if wrong else 0


client.leave(asyncio.run(main()))
