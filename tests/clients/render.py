"""Renders a recipe with its own variants as rattler-build does, and prints every package that it would make.

render.py RECIPE.yaml [--variants FILE]... [--channel DIR]

Files of variants come after the variants.yaml beside the recipe and outweigh it. With --channel the packages are put into
the index of a channel, without archives: solvers ask for no more.
"""

import argparse
import json
import pathlib
import sys

import client
import rattler_build
from rattler_build.variant_config import VariantConfig


def texts(requirements, built):
    """Match specs; a pin of a package of the same recipe is that very build."""
    for one in requirements or []:
        if isinstance(one, str):
            yield one
            continue
        pin = one["pin_subpackage"]
        assert pin["exact"], one
        version, build = built[pin["name"]]
        yield f"{pin['name']} =={version} {build}"


def record(recipe, built):
    requirements = recipe["requirements"]
    return {
        "name": recipe["package"]["name"],
        "version": recipe["package"]["version"],
        "build": recipe["build"]["string"],
        "build_number": recipe["build"].get("number", 0),
        "noarch": recipe["build"].get("noarch"),
        "depends": list(texts(requirements.get("run"), built)),
        "constrains": list(texts(requirements.get("run_constraints"), built)),
        "from": [staging["name"] for staging in recipe.get("staging_caches", [])],
        "host": [staging.get("requirements", {}).get("host", []) for staging in recipe.get("staging_caches", [])],
    }


def index(packages, channel):
    for subdir, noarch in [("noarch", True), ("linux-64", False)]:
        found = {}
        for one in packages:
            if bool(one["noarch"]) == noarch:
                name = f"{one['name']}-{one['version']}-{one['build']}.conda"
                kept = {key: one[key] for key in ["name", "version", "build", "build_number", "depends", "constrains"]}
                found[name] = kept | {"subdir": subdir, "size": 1, "sha256": "0" * 64, "md5": "0" * 32}
        (channel / subdir).mkdir(parents=True, exist_ok=True)
        repodata = {"info": {"subdir": subdir}, "packages": {}, "packages.conda": found, "repodata_version": 1}
        (channel / subdir / "repodata.json").write_text(json.dumps(repodata))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe", type=pathlib.Path)
    parser.add_argument("--variants", action="append", default=[], type=pathlib.Path)
    parser.add_argument("--channel", type=pathlib.Path)
    given = parser.parse_args()
    own = given.recipe.parent / "variants.yaml"
    files = ([own] if own.exists() else []) + given.variants
    variants = VariantConfig.from_files(files) if len(files) > 1 else VariantConfig.from_file(files[0])
    rendered = list(rattler_build.Stage0Recipe.from_file(given.recipe).render(variants))
    packages = []
    for one in rendered:
        recipe = one.recipe.to_dict()
        # None where the package uses nothing of a release.
        packages.append((str(one.variant.get("cuda_compiler_version")), recipe))
    found = []
    for release, recipe in packages:
        of_release = [other for at, other in packages if "None" in (at, release) or at == release]
        built = {one["package"]["name"]: (one["package"]["version"], one["build"]["string"]) for one in of_release}
        found.append(record(recipe, built) | {"release": release})
    if given.channel:
        index(found, given.channel)
    # A package that uses no key of a variant may be rendered for each, always the same: it is built once.
    unique = {json.dumps({k: v for k, v in one.items() if k != "release"}, sort_keys=True): one for one in found}
    json.dump(sorted(unique.values(), key=lambda one: (one["name"], one["build"])), sys.stdout, indent=1)


main()
client.leave(0)
