#include "network.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <unistd.h>

namespace {

// The same numbers everywhere: a linear congruential generator.
struct Random {
    std::uint64_t state = 42;
    uint below(uint limit) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return static_cast<uint>((state >> 33) % limit);
    }
};

Network build(uint count, uint fan_in) {
    Random random;
    Network network;
    network.cells.resize(count);
    for (Cell &cell : network.cells) {
        cell = {};
        cell.arriving = static_cast<int>(random.below(131072));
    }
    for (uint to = 0; to < count; ++to) {
        network.offsets.push_back(static_cast<uint>(network.synapses.size()));
        for (uint i = 0; i < fan_in; ++i) {
            int weight = static_cast<int>(random.below(80000)) - 31000;
            network.synapses.push_back({random.below(count), to, weight});
        }
    }
    network.offsets.push_back(static_cast<uint>(network.synapses.size()));
    return network;
}

void run_on_cpu(Network &network, unsigned cycles) {
    for (unsigned cycle = 0; cycle < cycles; ++cycle) {
        for (Cell &cell : network.cells) {
            float kept = cell.potential * LEAK;
            float potential = kept + static_cast<float>(cell.arriving) * (1.0f / 65536.0f);
            bool fires = cell.rest == 0 && potential >= THRESHOLD;
            cell.rest = fires ? 3 : std::max(cell.rest, 1u) - 1;
            cell.fired = fires;
            cell.spikes += cell.fired;
            cell.potential = fires ? 0.0f : potential;
            cell.arriving = 0;
        }
        for (const Synapse &one : network.synapses)
            if (network.cells[one.from].fired) network.cells[one.to].arriving += one.weight;
    }
}

// FNV-1a over all that the cells hold.
std::uint64_t digest(const Network &network) {
    std::uint64_t hash = 14695981039346656037u;
    auto bytes = reinterpret_cast<const unsigned char *>(network.cells.data());
    for (std::size_t i = 0; i < network.cells.size() * sizeof(Cell); ++i) hash = (hash ^ bytes[i]) * 1099511628211u;
    return hash;
}

// Directory of the device code of this core: `../lib/shaded/kernels/TAG/spirv` beside the program. What is embedded has
// names without.
std::string kernels() {
    if (!*ABI) return "";
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0) throw std::runtime_error("/proc/self/exe cannot be read");
    std::string program(path, static_cast<std::size_t>(length));
    return program.substr(0, program.rfind("/bin/")) + "/lib/shaded/kernels/" ABI "/spirv";
}

} // namespace

// Simulates on the CPU or by Vulkan, and prints what came out as JSON.
int main(int count, char **words) {
    std::string backend = "vulkan", variant = "fixed", target;
    unsigned cells = 1000, cycles = 100, at_once = 10;
    for (int i = 1; i < count; ++i) {
        auto is = [&](const char *name) { return !std::strcmp(words[i], name) && i + 1 < count; };
        if (!std::strcmp(words[i], "--version")) return std::puts("shaded 0.2.0") < 0;
        else if (is("--backend")) backend = words[++i];
        else if (is("--variant")) variant = words[++i];
        else if (is("--code")) target = words[++i];
        else if (is("--cells")) cells = static_cast<unsigned>(std::atoi(words[++i]));
        else if (is("--cycles")) cycles = static_cast<unsigned>(std::atoi(words[++i]));
        else if (is("--at-once")) at_once = static_cast<unsigned>(std::atoi(words[++i]));
        else return std::fprintf(stderr, "unknown option %s\n", words[i]), 2;
    }
    Network network = build(cells, 20);
    std::string code = "cpu";
    try {
        if (backend == "cpu") run_on_cpu(network, cycles);
        else code = run_on_vulkan(network, cycles, at_once, kernels(), variant, target);
    } catch (const std::exception &error) {
        return std::fprintf(stderr, "shaded: %s\n", error.what()), 1;
    }
    unsigned long long spikes = 0;
    for (const Cell &cell : network.cells) spikes += cell.spikes;
    std::printf("{\"digest\": \"%016llx\", \"spikes\": %llu, \"device_code\": \"%s\"}\n",
                static_cast<unsigned long long>(digest(network)), spikes, code.c_str());
    return 0;
}
