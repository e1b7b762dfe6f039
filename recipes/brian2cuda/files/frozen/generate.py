#!/usr/bin/env python3
"""Writes the code of the frozen examples: what Brian2CUDA generates for two networks, with and without atomic operations.

    generate.py DIRECTORY          for CUDA: DIRECTORY/NAME, and what differs between the variants in DIRECTORY/NAME/VARIANT
    generate.py --cpp DIRECTORY    for comparison: Brian2's own C++ code of the same networks in DIRECTORY/NAME

It needs Python 3.12 or newer with brian2 2.10.1 and brian2cuda 1.0b1, and neither a GPU nor nvcc. The same text comes out every time: what
is random in the networks are arrays, which `arrays.cc` writes and the programs read.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

EXAMPLES = ["coba", "stdp"]
VARIANTS = {"atomics": True, "no_atomics": False}
CPP = "cpp"
DURATION = 1  # s
# What begins with these is numbers of 32 bits.
WHOLE_NUMBERS = ("sources", "targets", "neuron_index", "_timebins")
PREFIX = "_static_array_"


def arrays(example, directory):
    """The arrays that arrays.cc writes into `directory`, read back, by the names of what they fill."""
    with tempfile.TemporaryDirectory() as scratch:
        program = pathlib.Path(scratch) / "arrays"
        subprocess.check_call(["g++", "-O1", "-o", program, pathlib.Path(__file__).parent / "arrays.cc"])
        subprocess.check_call([program, example, directory])
    found = {}
    for file in pathlib.Path(directory).iterdir():
        kind = np.int32 if file.name.endswith(WHOLE_NUMBERS) else np.float64
        found[file.name.removeprefix(PREFIX)] = np.fromfile(file, dtype=kind)
    return found


def coba(b, array):
    """4,000 neurons with conductance-based synapses, of which each takes 80 with delays of its own (Brette et al. 2007)."""
    ms, mV = b.ms, b.mV
    P = b.NeuronGroup(
        4000,
        """dv/dt = (ge * (0 * mV - v) + gi * (-80 * mV - v) + (-60 * mV - v)) / (20 * ms) : volt (unless refractory)
           dge/dt = -ge / (5 * ms) : 1
           dgi/dt = -gi / (10 * ms) : 1""",
        threshold="v > -50 * mV", reset="v = -60 * mV", refractory=5 * ms, method="exponential_euler", name="neurons")
    P.v = array["_array_neurons_v"] * b.volt
    P.ge = array["_array_neurons_ge"]
    P.gi = array["_array_neurons_gi"]
    objects = [P]
    for name, group, effect in [("excitatory", P[:3200], "ge += 0.6"), ("inhibitory", P[3200:], "gi += 6.7")]:
        S = b.Synapses(group, P, on_pre=effect, name=name)
        S.connect(i=array[f"_array_{name}_sources"], j=array[f"_array_{name}_targets"])
        S.delay = array[f"_dynamic_array_{name}_delay"] * b.second
        objects.append(S)
    objects.append(b.SpikeMonitor(P, name="spikes"))
    return objects


def stdp(b, array):
    """One neuron with 1,000 plastic synapses, whose spikes are given (Song, Miller and Abbott 2000)."""
    ms, mV = b.ms, b.mV
    given = "_dynamic_array_input_spikes"
    G = b.SpikeGeneratorGroup(
        1000, array[f"{given}_neuron_index"], array[f"{given}_spike_time"] * b.second, name="input_spikes")
    N = b.NeuronGroup(
        1,
        """dv/dt = (ge * (0 * mV - v_rest) + (-74 * mV - v)) / (10 * ms) : volt
           v_rest = -60 * mV : volt (shared)
           dge/dt = -ge / (5 * ms) : 1""",
        threshold="v > -54 * mV", reset="v = -60 * mV", method="euler", name="neurons")
    N.v = -60 * mV
    S = b.Synapses(
        G, N,
        """w : 1
           dApre/dt = -Apre / (20 * ms) : 1 (event-driven)
           dApost/dt = -Apost / (20 * ms) : 1 (event-driven)""",
        on_pre="""ge += w
                  Apre += 0.0001
                  w = clip(w + Apost, 0, 0.01)""",
        on_post="""Apost -= 0.000105
                   w = clip(w + Apre, 0, 0.01)""",
        name="plastic")
    S.connect(i=array["_array_plastic_sources"], j=array["_array_plastic_targets"])
    S.w = array["_dynamic_array_plastic_w"]
    S.delay = array["_dynamic_array_plastic_delay"] * b.second
    return [G, N, S, b.SpikeMonitor(N, name="spikes")]


def generate(example, variant, directory):
    """One program's code. A process makes one: Brian2 counts names through the life of it."""
    import brian2 as b

    b.prefs.codegen.cpp.extra_compile_args_gcc = ["-w", "-O2", "-ffp-contract=off"]
    if variant == CPP:
        b.set_device("cpp_standalone", build_on_run=False)
    else:
        import brian2cuda  # noqa: F401

        b.set_device("cuda_standalone", build_on_run=False)
        prefs = b.prefs.devices.cuda_standalone
        prefs.use_atomics = VARIANTS[variant]
        backend = prefs.cuda_backend
        # Neither is looked for; what is said of them goes into the makefile alone, which is not kept.
        backend.detect_gpus = backend.detect_cuda = False
        backend.gpu_id, backend.compute_capability = 0, 7.5
        backend.cuda_path, backend.cuda_runtime_version = "/usr", 13.0
    b.defaultclock.dt = 0.1 * b.ms
    with tempfile.TemporaryDirectory() as scratch:
        found = arrays(example, scratch)
        network = b.Network({"coba": coba, "stdp": stdp}[example](b, found))
        network.run(DURATION * b.second)
        b.device.build(directory=str(directory), compile=False, run=False)
        # The program reads what arrays.cc writes, to the byte.
        for file in sorted((directory / "static_arrays").iterdir()):
            assert file.read_bytes() == (pathlib.Path(scratch) / file.name).read_bytes(), file.name


def code(directory):
    """The text of a program's own files, by path; what comes with Brian2CUDA itself, and the makefile, are left out."""
    files = [file for file in sorted(directory.rglob("*")) if file.suffix in {".cu", ".cpp", ".h"}]
    names = [file.relative_to(directory).as_posix() for file in files]
    return {name: text for name in names if not name.startswith("brianlib/") and (text := (directory / name).read_text())}


def write(directory, files):
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def in_own_process(example, variant, directory):
    # Brian2CUDA goes through sets of names, whose order follows from the seed of hashes.
    subprocess.check_call(
        [sys.executable, "-W", "ignore", __file__, directory, "--one", example, variant],
        env=os.environ | {"PYTHONHASHSEED": "0"})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--cpp", action="store_true")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        generate(*arguments.one, arguments.directory)
        return
    for example in EXAMPLES:
        if arguments.cpp:
            in_own_process(example, CPP, arguments.directory / example)
            continue
        with tempfile.TemporaryDirectory() as scratch:
            texts = {}
            for variant in VARIANTS:
                in_own_process(example, variant, pathlib.Path(scratch) / variant)
                texts[variant] = code(pathlib.Path(scratch) / variant)
        first, *others = texts.values()
        shared = {name: text for name, text in first.items() if all(other.get(name) == text for other in others)}
        write(arguments.directory / example, shared)
        for variant, text in texts.items():
            write(arguments.directory / example / variant, {name: text[name] for name in text if name not in shared})


main()
