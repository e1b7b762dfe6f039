"""EasyBuild's own reader and checker of style over easyconfigs; prints what it read as JSON.

easybuild_text.py FILE.eb...

EasyBuild itself says what is wrong, and answers with an exception. Where it would put software, nothing is written.
"""

import json
import os
import sys

# What EasyBuild wants to know before it reads anything; see `eb` in generating_hpc.rs for the rest.
os.environ.setdefault("EASYBUILD_ALLOW_USE_AS_ROOT_AND_ACCEPT_CONSEQUENCES", "1")

from easybuild.tools.options import set_up_configuration

set_up_configuration(args=["--prefix=" + sys.argv[1]], silent=True)

from easybuild.framework.easyconfig.easyconfig import EasyConfig, get_easyblock_class
from easybuild.framework.easyconfig.style import check_easyconfigs_style

found = []
for path in sys.argv[2:]:
    easyconfig = EasyConfig(path)
    with easyconfig.allow_unresolved_templates():
        found.append({
            "file": os.path.basename(path),
            "name": easyconfig.name,
            "version": easyconfig.version,
            "full": easyconfig.full_mod_name,
            "easyblock": get_easyblock_class(easyconfig["easyblock"], name=easyconfig.name).__name__,
            "description": easyconfig["description"],
            "homepage": easyconfig["homepage"],
            "toolchain": dict(easyconfig["toolchain"]),
            "dependencies": [(one["name"], one["version"]) for one in easyconfig.dependencies()],
            "capabilities": easyconfig["cuda_compute_capabilities"],
            "sm": easyconfig.template_values.get("cuda_sm_space_sep"),
            "checksums": easyconfig["checksums"],
            "sources": easyconfig["sources"],
            "source_urls": easyconfig["source_urls"],
            "configopts": easyconfig["configopts"],
        })
assert check_easyconfigs_style(sys.argv[2:]) == 0
json.dump(found, sys.stdout)
