"""The height of the water."""

from ._tide import height

__all__ = ["height"]
