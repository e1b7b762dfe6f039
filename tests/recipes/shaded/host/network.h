#pragma once
#include "../shaders/cell.h"

#include <string>
#include <vector>

constexpr float LEAK = 0.92f, THRESHOLD = 1.0f;

struct Network {
    std::vector<Cell> cells;
    std::vector<Synapse> synapses; // sorted by `to`
    std::vector<uint> offsets;
};

/// Runs cycles on a Vulkan device by the shaders below `kernels` of a variant, so many cycles in each submission; for
/// exactly `target` (`vulkan1.2`), or the highest that the device takes and that is there. Answers which, or throws.
std::string run_on_vulkan(Network &network, unsigned cycles, unsigned at_once, const std::string &kernels,
                          const std::string &variant, const std::string &target);

/// The bytes of a module, `KERNELS/VARIANT/ENVIRONMENT/KERNEL.spv`; empty where there is none.
std::vector<char> module_code(const std::string &path);
