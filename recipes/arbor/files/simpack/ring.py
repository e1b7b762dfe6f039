"""The ring of ring.cpp on the CPU, or on the GPU whose number is given: prints the same in the same words."""

import sys

import arbor
from arbor import units as U


class Ring(arbor.recipe):
    def __init__(self, cells):
        super().__init__()
        self.cells = cells
        self.properties = arbor.neuron_cable_properties()

    def num_cells(self):
        return self.cells

    def cell_kind(self, gid):
        return arbor.cell_kind.cable

    def global_properties(self, kind):
        return self.properties

    def cell_description(self, gid):
        tree = arbor.segment_tree()
        soma = tree.append(arbor.mnpos, arbor.mpoint(0, 0, -6, 6), arbor.mpoint(0, 0, 6, 6), tag=1)
        tree.append(soma, arbor.mpoint(0, 0, 60, 0.5), tag=3)
        decor = (
            arbor.decor()
            .paint("(tag 1)", arbor.density("hh"))
            .paint("(tag 3)", arbor.density("pas"))
            .set_property(rL=100 * U.Ohm * U.cm)
            .discretization("(fixed-per-branch 8)")
            .place("(location 0 0)", arbor.threshold_detector(-10 * U.mV), "detector")
            .place("(location 0 0.2)", arbor.synapse("expsyn"), "synapse")
        )
        return arbor.cable_cell(tree, decor)

    def connections_on(self, gid):
        source = ((gid + self.cells - 1) % self.cells, "detector")
        return [arbor.connection(source, "synapse", 0.5, 5 * U.ms)]

    def event_generators(self, gid):
        if gid:
            return []
        return [arbor.event_generator("synapse", 0.5, arbor.explicit_schedule([1.0 * U.ms]))]


context = arbor.context(threads=1, gpu_id=int(sys.argv[1]) if len(sys.argv) > 1 else None)
recipe = Ring(8)
simulation = arbor.simulation(recipe, context, arbor.partition_load_balance(recipe, context))
simulation.record(arbor.spike_recording.all)
simulation.run(200 * U.ms, 0.025 * U.ms)
spikes = simulation.spikes()
print("gpu", "yes" if context.has_gpu else "no")
print(len(spikes), "spikes")
for _, time in spikes:
    print(f"{time:.6f}")
