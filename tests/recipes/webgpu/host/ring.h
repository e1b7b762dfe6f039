#pragma once
#include <cstdint>

struct Cell {
    int32_t potential;
    int32_t arriving;
    uint32_t fired;
    uint32_t rest;
    uint32_t spikes;
};

struct Step {
    uint32_t count;
    int32_t drive;
    int32_t weight;
    uint32_t cycle;
};
