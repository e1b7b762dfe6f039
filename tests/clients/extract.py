"""Unpacks a conda package into a directory.

extract.py PACKAGE DIRECTORY
"""

import sys

from rattler.package_streaming import extract

import client

extract(sys.argv[1], sys.argv[2])
client.leave(0)
