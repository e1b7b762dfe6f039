"""Opens packages as conda does: by conda-package-streaming, each member of both parts.

stream.py PACKAGE.conda...

Prints, for each package, what its index says and how many members it has.
"""

import json
import sys

from conda_package_streaming.package_streaming import CondaComponent, stream_conda_component

for path in sys.argv[1:]:
    members, index = [], None
    for component in (CondaComponent.info, CondaComponent.pkg):
        for archive, member in stream_conda_component(path, component=component):
            members.append(member.name)
            if member.name == "info/index.json":
                index = json.load(archive.extractfile(member))
            elif member.isfile():
                archive.extractfile(member).read()
    print(json.dumps({"name": index["name"], "build": index["build"], "members": len(members)}))
