"""Runs a package's own tests (info/tests/tests.yaml) as rattler-build does: installed into a fresh prefix.

check.py PACKAGE.conda --channel DIR [--channel DIR]

Prints what rattler-build read from the package as JSON. Exit codes: 0 all tests passed, 1 one failed.
"""

import argparse
import json
import pathlib
import sys

import rattler_build

import client


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", type=pathlib.Path)
    parser.add_argument("--channel", action="append", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    package = rattler_build.Package.from_file(arguments.package)
    results = package.run_tests(channel=[path.resolve().as_uri() for path in arguments.channel])
    answer = {
        "name": package.name,
        "version": package.version,
        "build": package.build_string,
        "depends": package.depends,
        "files": package.files,
        "tests": [result.success for result in results],
    }
    for result in results:
        if not result.success:
            print("\n".join(result.output), file=sys.stderr)
    print(json.dumps(answer, indent=2))
    return 0 if all(result.success for result in results) else 1


client.leave(main())
