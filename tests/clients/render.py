"""Renders a recipe with its own variants as rattler-build does, and prints name and build string of every package.

render.py RECIPE.yaml
"""

import json
import pathlib
import re
import sys

import client
import rattler_build
from rattler_build.variant_config import VariantConfig

path = pathlib.Path(sys.argv[1])
variants = VariantConfig.from_file(path.parent / "variants.yaml")
found = set()
for one in rattler_build.Stage0Recipe.from_file(path).render(variants):
    # A rendered variant shows its name and build string as text only.
    name, build = re.match(r"RenderedVariant\(package='(.*?)', .*build_string='(.*?)'\)", repr(one)).groups()
    found.add((name, build))
# A package that uses no key of a variant is rendered for each, always the same: it is built once.
json.dump([{"name": name, "build": build} for name, build in sorted(found)], sys.stdout)
client.leave(0)
