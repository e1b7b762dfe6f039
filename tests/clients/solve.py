"""Solves match specs against local channels and prints the packages as JSON.

solve.py --channel dist/conda --virtual __cuda=13.0 --virtual __cuda_arch=8.9 --virtual __glibc=2.36 volley
CONDA_OVERRIDE_CUDA=13.0 CONDA_OVERRIDE_CUDA_ARCH=8.9 solve.py --channel dist/conda volley

Exit codes: 0 solved, 1 no solution (the solver's words on standard error).
With --batch, standard input holds one JSON list of virtual packages (NAME=VERSION) a line; each
answer is one line: the list of packages, or {"error": "..."}.
"""

import argparse
import asyncio
import json
import sys
import tempfile

import rattler
from rattler.exceptions import SolverError

import client


async def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    client.add_arguments(parser)
    parser.add_argument("--batch", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        # The gateway's cache lives no longer than the run.
        gateway = rattler.Gateway(cache_dir=cache)
        if arguments.batch:
            for line in sys.stdin:
                arguments.virtual = json.loads(line)
                try:
                    answer = [client.describe(record) for record in await client.solve(arguments, gateway)]
                except SolverError as error:
                    answer = {"error": str(error)}
                print(json.dumps(answer))
            return 0
        try:
            records = await client.solve(arguments, gateway)
        except SolverError as error:
            print(error, file=sys.stderr)
            return 1
    json.dump([client.describe(record) for record in records], sys.stdout, indent=2)
    print()
    return 0


client.leave(asyncio.run(main()))
