"""Compares volley with the reference, line by line.

usage: python compare.py VOLLEY NET.toml [options of `volley run`]
"""
import os
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
volley, net, options = sys.argv[1], sys.argv[2], sys.argv[3:] or ["--backend", "cpu"]
with tempfile.TemporaryDirectory() as folder:
    ours, theirs = os.path.join(folder, "volley"), os.path.join(folder, "reference")
    subprocess.run([volley, "run", net, "--spikes", ours, *options], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([sys.executable, os.path.join(here, "reference.py"), net, theirs], check=True)
    a, b = open(ours).readlines(), open(theirs).readlines()
for number, (x, y) in enumerate(zip(a, b), 1):
    if x != y:
        sys.exit(f"{net}: spike {number} differs: volley {x.strip()!r}, reference {y.strip()!r}")
if len(a) != len(b):
    sys.exit(f"{net}: volley has {len(a)} spikes, the reference {len(b)}")
print(f"{net}: {len(a)} spikes equal")
