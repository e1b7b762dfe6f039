"""Reads a pixi.toml on standard input as pixi (0.71 or newer) documents it, solves it, and prints the packages as JSON.

pixi itself cannot be had from a package index. What is read here is what its schema names: a workspace of one platform, whose
virtual packages are what is assumed of the machine, channels in their order, and dependencies by version and build. A key
that is not among these is an error.
"""

import asyncio
import json
import pathlib
import sys
import tempfile
import tomllib
import types
import urllib.parse

import rattler

import client


def only(table, *known):
    assert set(table) <= set(known), f"unknown keys {set(table) - set(known)}"
    return table


def virtual(platform):
    # What pixi assumes where a platform does not say it.
    found = ["__unix=0", "__linux=4.18", "__glibc=2.28"]
    if isinstance(platform, str):
        assert platform == "linux-64"
        return found
    only(platform, "name", "platform", "cuda", "glibc", "linux")
    assert platform["platform"] == "linux-64" and platform["name"] not in ("linux-64", "")
    cuda = platform.get("cuda")
    if isinstance(cuda, str):
        return found + [f"__cuda={cuda}"]
    only(cuda, "driver", "arch")
    return found + [f"__cuda={cuda['driver']}", f"__cuda_arch={cuda['arch']}"]


def spec(name, wanted):
    if isinstance(wanted, str):
        return f"{name} {wanted}"
    only(wanted, "version", "build")
    return f"{name} {wanted['version']} {wanted['build']}"


async def main():
    manifest = only(tomllib.load(sys.stdin.buffer), "workspace", "dependencies")
    workspace = only(manifest["workspace"], "name", "channels", "platforms", "requires-pixi")
    [platform] = workspace["platforms"]
    places = [pathlib.Path(urllib.parse.unquote(urllib.parse.urlparse(url).path)) for url in workspace["channels"] if url.startswith("file:")]
    assert workspace["channels"] == [place.as_uri() for place in places] + ["conda-forge"]
    # What conda-forge would bring.
    places += [pathlib.Path(path) for path in sys.argv[1:]]
    given = types.SimpleNamespace(
        channel=places, virtual=virtual(platform), specs=[spec(*item) for item in manifest["dependencies"].items()]
    )
    with tempfile.TemporaryDirectory() as cache:
        records = await client.solve(given, rattler.Gateway(cache_dir=cache))
    json.dump([client.describe(record) for record in records], sys.stdout)
    return 0


client.leave(asyncio.run(main()))
