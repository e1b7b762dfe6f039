"""Runs a cell with a mechanism that was compiled here, in NEURON and in CoreNEURON; prints both voltages as JSON."""

import json

from neuron import coreneuron, h

h.load_file("stdrun.hoc")
soma = h.Section(name="soma")
soma.L = soma.diam = 20
for mechanism in ("hh", "gate"):
    soma.insert(mechanism)
stimulus = h.IClamp(soma(0.5))
stimulus.delay, stimulus.dur, stimulus.amp = 2, 10, 0.4
voltage = h.Vector().record(soma(0.5)._ref_v)
context = h.ParallelContext()
context.set_gid2node(0, context.id())
context.cell(0, h.NetCon(soma(0.5)._ref_v, None, sec=soma))
h.cvode.cache_efficient(1)


def run(on):
    coreneuron.enable = on
    context.set_maxstep(10)
    h.finitialize(-65)
    context.psolve(20)
    return list(voltage)


print(json.dumps({"version": h.nrnversion(0), "neuron": run(False), "coreneuron": run(True)}))
