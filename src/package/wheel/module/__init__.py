"""Where the simulator's files are, and what of them this machine lacks. Made by simpack."""

import json
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))

with open(os.path.join(_HERE, "_simpack.json"), encoding="utf-8") as _file:
    _DATA = json.load(_file)

__version__ = _DATA["version"]


def prefix():
    """The directory with `bin`, `lib`, `include` and `share`, as far as they are installed."""
    return _HERE


def program(name=None):
    """The path of a program of the simulator; of its first without a name."""
    return os.path.join(_HERE, "bin", name or _DATA["programs"][0])


def missing():
    """One sentence on the extra that this machine lacks; None where nothing is missing."""
    if all(_is_installed(row) for row in _DATA["kernels"]):
        return None
    driver, devices = _gpus()
    for index, device in enumerate(devices):
        fitting = [row for row in _DATA["kernels"] if "devices" in row and _runs(row, driver, device)]
        if fitting and not any(_is_installed(row) for row in fitting):
            what = "GPU %d (%d.%d) needs device code that is not installed" % (index, *device)
            return _sentence(what, fitting[0])
    if _DATA["needed"] and not any(_is_installed(row) for row in _DATA["kernels"]):
        rest = [row for row in _DATA["kernels"] if "devices" not in row]
        return _sentence("its libraries are not installed", rest[0]) if rest else None
    return None


def main():
    """Starts the program that was called, with its arguments, in the place of Python."""
    sentence = missing()
    if sentence:
        print(sentence, file=sys.stderr, flush=True)
    called = os.path.basename(sys.argv[0])
    path = program(called if called in _DATA["programs"] else None)
    if _DATA["needed"] and not os.path.isfile(path):
        sys.exit(1 if sentence else _sentence("it comes with the device code for a GPU", _DATA["kernels"][0]))
    os.execv(path, [path] + sys.argv[1:])


def _sentence(what, row):
    name = _DATA["name"]
    return "%s: %s: pip install '%s[%s]==%s'" % (name, what, name, row["extra"], __version__)


def _is_installed(row):
    return os.path.isfile(os.path.join(_HERE, "share", "simpack", row["package"], "simpack.json"))


def _runs(row, driver, device):
    return tuple(row["driver"]) <= driver and any(_holds(one, device) for one in row["devices"])


def _holds(devices, device):
    if "only" in devices:
        return list(device) in devices["only"]
    is_below = devices["below"] is None or device[0] < devices["below"]
    return devices["from"] <= list(device) and is_below and list(device) not in devices["except"]


def _gpus():
    """The driver's CUDA version and the capabilities of the GPUs that it shows, as pairs of numbers."""
    import ctypes

    cuda = _driver(ctypes)
    number = ctypes.c_int()
    at = ctypes.byref(number)
    if cuda is None or cuda.cuInit(0) or cuda.cuDriverGetVersion(at):
        return (0, 0), []
    version = (number.value // 1000, number.value % 1000 // 10)
    if cuda.cuDeviceGetCount(at):
        return version, []
    devices = []
    for ordinal in range(number.value):
        device = ctypes.c_int()
        capability = []
        if cuda.cuDeviceGet(ctypes.byref(device), ordinal):
            continue
        # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR.
        for attribute in (75, 76):
            if not cuda.cuDeviceGetAttribute(at, attribute, device):
                capability.append(number.value)
        if len(capability) == 2:
            devices.append(tuple(capability))
    return version, devices


def _driver(ctypes):
    """The driver's library: by the loader's rules, then from the directories that the simulator searches, too."""
    for directory in [""] + _DATA["driver"]:
        try:
            return ctypes.CDLL(os.path.join(directory, "libcuda.so.1"))
        except OSError:
            pass
    return None
