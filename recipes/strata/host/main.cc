#include "strata.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <unistd.h>

namespace {

// FNV-1a over all that the neurons hold.
std::uint64_t digest(const Network &network) {
    std::uint64_t hash = 14695981039346656037u;
    auto bytes = reinterpret_cast<const unsigned char *>(network.neurons.data());
    for (std::size_t i = 0; i < network.neurons.size() * sizeof(Neuron); ++i) hash = (hash ^ bytes[i]) * 1099511628211u;
    return hash;
}

// Directory of the device code of this core: `../lib/strata/kernels/TAG/spirv` beside the program.
std::string kernels() {
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0) throw std::runtime_error("/proc/self/exe cannot be read");
    std::string program(path, static_cast<std::size_t>(length));
    return program.substr(0, program.rfind("/bin/")) + "/lib/strata/kernels/" ABI "/spirv";
}

} // namespace

// Simulates by Vulkan or on the CPU, without `--backend` there where Vulkan cannot, and prints what came out as JSON.
int main(int count, char **words) {
    std::string backend, variant = "fixed", target;
    unsigned cycles = 100, at_once = 10, device = 0;
    for (int i = 1; i < count; ++i) {
        auto is = [&](const char *name) { return !std::strcmp(words[i], name) && i + 1 < count; };
        if (!std::strcmp(words[i], "--version")) return std::puts("strata 0.1.0") < 0;
        else if (is("--backend")) backend = words[++i];
        else if (is("--variant")) variant = words[++i];
        else if (is("--code")) target = words[++i];
        else if (is("--cycles")) cycles = static_cast<unsigned>(std::atoi(words[++i]));
        else if (is("--device")) device = static_cast<unsigned>(std::atoi(words[++i]));
        else if (is("--at-once")) at_once = static_cast<unsigned>(std::atoi(words[++i]));
        else return std::fprintf(stderr, "unknown option %s\n", words[i]), 2;
    }
    Network network = build();
    std::string code = "cpu";
    try {
        if (backend != "cpu") code = run_on_vulkan(network, cycles, at_once, device, kernels(), variant, target);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "strata: %s\n", error.what());
        // Who asks for a device or for its code gets that or nothing.
        if (!backend.empty() || !target.empty()) return 1;
        std::fputs("strata: the processor computes instead\n", stderr);
    }
    if (code == "cpu") run_on_cpu(network, cycles);
    std::printf("{\"digest\": \"%016llx\", \"device_code\": \"%s\", \"spikes\": {",
                static_cast<unsigned long long>(digest(network)), code.c_str());
    const char *between = "";
    for (const Layer &layer : LAYERS) {
        unsigned long long spikes = 0;
        for (uint at = 0; at < layer.neurons; ++at) spikes += network.neurons[layer.first + at].spikes;
        std::printf("%s\"%s\": %llu", between, layer.name, spikes);
        between = ", ";
    }
    std::puts("}}");
    return 0;
}
