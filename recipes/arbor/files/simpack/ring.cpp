// A ring of cable cells on the CPU, or on the GPU whose number is given; with a catalogue its mechanism takes the place of hh.
// Prints the number of spikes and the times of the first.
#include <any>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <arbor/arbexcept.hpp>
#include <arbor/cable_cell.hpp>
#include <arbor/context.hpp>
#include <arbor/load_balance.hpp>
#include <arbor/mechcat.hpp>
#include <arbor/recipe.hpp>
#include <arbor/simulation.hpp>
#include <arborenv/default_env.hpp>
#include <arborio/label_parse.hpp>

namespace U = arb::units;
using namespace arborio::literals;

struct ring: arb::recipe {
    ring(unsigned cells, const char* catalogue): cells(cells), mechanism(catalogue? "mine_hh": "hh") {
        properties.default_parameters = arb::neuron_parameter_defaults;
        if (catalogue) properties.catalogue.import(arb::load_catalogue(catalogue), "mine_");
    }
    arb::cell_size_type num_cells() const override { return cells; }
    arb::cell_kind get_cell_kind(arb::cell_gid_type) const override { return arb::cell_kind::cable; }
    std::any get_global_properties(arb::cell_kind) const override { return properties; }

    arb::util::unique_any get_cell_description(arb::cell_gid_type) const override {
        arb::segment_tree tree;
        auto soma = tree.append(arb::mnpos, {0, 0, -6, 6}, {0, 0, 6, 6}, 1);
        tree.append(soma, {0, 0, 60, 0.5}, 3);
        auto decor = arb::decor{}
            .paint("(tag 1)"_reg, arb::density(mechanism))
            .paint("(tag 3)"_reg, arb::density("pas"))
            .set_default(arb::axial_resistivity{100*U::Ohm*U::cm})
            .set_default(arb::cv_policy_fixed_per_branch(8))
            .place(arb::mlocation{0, 0}, arb::threshold_detector{-10*U::mV}, "detector")
            .place(arb::mlocation{0, 0.2}, arb::synapse("expsyn"), "synapse");
        return arb::cable_cell(arb::morphology(tree), decor);
    }
    std::vector<arb::cell_connection> connections_on(arb::cell_gid_type gid) const override {
        return {arb::cell_connection({(gid + cells - 1)%cells, "detector"}, {"synapse"}, 0.5, 5*U::ms)};
    }
    std::vector<arb::event_generator> event_generators(arb::cell_gid_type gid) const override {
        if (gid) return {};
        return {arb::explicit_generator_from_milliseconds({"synapse"}, 0.5, std::vector{1.0})};
    }

    unsigned cells;
    std::string mechanism;
    arb::cable_cell_global_properties properties;
};

int main(int argc, char** argv) {
    arb::proc_allocation resources;
    resources.gpu_id = argc>1? std::atoi(argv[1]): -1;
    auto context = arb::make_context(resources);
    ring recipe(8, argc>2? argv[2]: nullptr);
    arb::simulation simulation(recipe, context, arb::partition_load_balance(recipe, context));
    std::vector<double> times;
    simulation.set_global_spike_callback([&times](const std::vector<arb::spike>& spikes) {
        for (auto& spike: spikes) times.push_back(spike.time);
    });
    simulation.run(200*U::ms, 0.025*U::ms);
    std::printf("gpu %s\n%zu spikes\n", arb::has_gpu(context)? "yes": "no", times.size());
    for (double time: times) std::printf("%.6f\n", time);
    return 0;
}
