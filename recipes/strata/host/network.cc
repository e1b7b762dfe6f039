#include "strata.h"

#include <algorithm>
#include <iterator>

namespace {

// The same numbers everywhere: a linear congruential generator.
struct Random {
    std::uint64_t state = 42;
    uint below(uint limit) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return static_cast<uint>((state >> 33) % limit);
    }
};

void pool(Network &network, const Layer &layer) {
    for (uint at = 0; at < layer.pools; ++at) {
        uint firing = 0;
        for (uint i = 0; i < layer.pool; ++i) firing += network.neurons[layer.first + at * layer.pool + i].fired;
        network.pools[layer.first_pool + at] = {firing, static_cast<int>(firing * layer.inhibition)};
    }
}

void integrate(Network &network, const Layer &layer, uint cycle) {
    for (uint at = 0; at < layer.neurons; ++at) {
        Neuron &neuron = network.neurons[layer.first + at];
        int arriving = neuron.arriving - network.pools[layer.first_pool + at / layer.pool].inhibition;
        if (layer.input) arriving += drive(cycle, at);
        float kept = neuron.potential * layer.leak;
        float potential = kept + static_cast<float>(arriving) * (1.0f / 65536.0f);
        bool fires = neuron.rest == 0 && potential >= layer.threshold;
        neuron.rest = fires ? 3 : std::max(neuron.rest, 1u) - 1;
        neuron.fired = fires;
        neuron.spikes += neuron.fired;
        neuron.potential = fires ? 0.0f : potential;
        neuron.arriving = 0;
    }
}

} // namespace

Network build() {
    Random random;
    Network network;
    const Layer &last = *std::prev(std::end(LAYERS));
    network.neurons.resize(last.first + last.neurons);
    network.pools.resize(last.first_pool + last.pools);
    for (uint to = 0; to < std::size(LAYERS); ++to) {
        for (uint at = 0; at < LAYERS[to].neurons; ++at) {
            uint receiver = LAYERS[to].first + at;
            network.offsets.push_back(static_cast<uint>(network.synapses.size()));
            for (const Path &path : PATHS) {
                if (path.to != to) continue;
                const Layer &from = LAYERS[path.from];
                for (uint i = 0; i < path.synapses; ++i) {
                    // Between half and one and a half of the path's strength.
                    int weight = path.strength / 2 + static_cast<int>(random.below(65536)) * (path.strength / 256) / 256;
                    network.synapses.push_back({from.first + random.below(from.neurons), receiver, weight});
                }
            }
        }
    }
    network.offsets.push_back(static_cast<uint>(network.synapses.size()));
    return network;
}

void run_on_cpu(Network &network, unsigned cycles) {
    for (uint cycle = 0; cycle < cycles; ++cycle) {
        for (const Layer &layer : LAYERS) pool(network, layer);
        for (const Layer &layer : LAYERS) integrate(network, layer, cycle);
        for (const Synapse &one : network.synapses)
            if (network.neurons[one.sender].fired) network.neurons[one.receiver].arriving += one.weight;
    }
}
