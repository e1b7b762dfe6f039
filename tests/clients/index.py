"""Writes the index of a channel anew, from the packages that lie in it.

index.py CHANNEL
"""

import asyncio
import pathlib
import sys

import rattler.index

import client


def main():
    channel = pathlib.Path(sys.argv[1])
    # Clients ask for both.
    (channel / "noarch").mkdir(exist_ok=True)
    asyncio.run(rattler.index.index_fs(channel))
    return 0


client.leave(main())
