"""Builds a recipe with rattler-build against local channels, and runs the packages' tests.

build.py RECIPE.yaml --channel DIR --output DIR [--variants FILE]... [--fast]

Files of variants come after the variants.yaml beside the recipe and outweigh it.
"""

import argparse
import pathlib
import warnings

import client
import rattler_build


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe", type=pathlib.Path)
    parser.add_argument("--channel", action="append", required=True, type=pathlib.Path)
    parser.add_argument("--output", required=True, type=pathlib.Path)
    parser.add_argument("--variants", action="append", default=[], type=pathlib.Path)
    parser.add_argument("--fast", action="store_true", help="compress little")
    given = parser.parse_args()
    # The newer interface builds package by package, and each time every staging output again.
    warnings.simplefilter("ignore", DeprecationWarning)
    rattler_build.build_recipes(
        [given.recipe.resolve()],
        channel=[path.resolve().as_uri() for path in given.channel],
        output_dir=given.output.resolve(),
        variant_config=[str(path.resolve()) for path in given.variants] or None,
        test="native",
        package_format="conda:1" if given.fast else None,
    )
    return 0


client.leave(main())
