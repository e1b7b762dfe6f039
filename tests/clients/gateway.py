"""Asks a channel over HTTP as a client does that knows shards, and prints the records of packages as JSON.

gateway.py CHANNEL NAME...

Prints the records and which files of the channel were asked for. The server is this process, on the loopback interface.
"""

import asyncio
import functools
import http.server
import json
import pathlib
import sys
import tempfile
import threading

import rattler

import client

asked = []


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_request(self, code="-", size="-"):
        asked.append(f"{self.command} {self.path} {int(code)}")


async def main():
    channel, names = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Handler, directory=str(channel))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/"
    with tempfile.TemporaryDirectory() as cache:
        gateway = rattler.Gateway(cache_dir=cache)
        found = await gateway.query(
            sources=[rattler.Channel(url)], platforms=["linux-64", "noarch"], specs=names, recursive=False
        )
    records = [json.loads(record.to_json()) if hasattr(record, "to_json") else client.describe(record) for part in found for record in part]
    json.dump({"records": records, "asked": asked}, sys.stdout)
    return 0


client.leave(asyncio.run(main()))
