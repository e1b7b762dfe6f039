"""Starts the simulator: `python -m` and its name."""

from . import main

main()
