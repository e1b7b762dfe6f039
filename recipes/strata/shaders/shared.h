// Written by generate.py out of network.json: what host and shaders hold in common, in words of both.
#ifdef __cplusplus
#pragma once
#include <cstdint>
using uint = std::uint32_t;
#endif

struct Neuron {
    float potential;
    int arriving; // input of the next cycle, in units of 1/65536
    uint fired; // 1 where it fired in this cycle
    uint rest; // cycles until it may fire again
    uint spikes;
};

struct Pool {
    uint firing; // neurons that fired in the last cycle
    int inhibition; // what each neuron is inhibited by, in units of 1/65536
};

struct Synapse {
    uint sender;
    uint receiver;
    int weight; // in units of 1/65536
};

// Input of the first layer in a cycle, in units of 1/65536: the same numbers everywhere.
#ifdef __cplusplus
inline
#endif
int drive(uint cycle, uint at) {
    uint mixed = (cycle * 2654435761u) ^ (at * 2246822519u);
    mixed = (mixed ^ (mixed >> 15)) * 3266489917u;
    return int((mixed >> 16) & 32767u);
}

#ifdef __cplusplus
struct Layer {
    const char *name;
    uint first, neurons, first_pool, pools, pool, inhibition;
    float leak, threshold;
    bool input;
};
struct Path {
    uint from, to, synapses;
    int strength; // in units of 1/65536
};
constexpr Layer LAYERS[] = {
    {"retina", 0, 256, 0, 8, 32, 512, 0.5f, 0.75f, true},
    {"thalamus", 256, 128, 8, 4, 32, 512, 0.75f, 1.0f, false},
    {"v1", 384, 512, 12, 8, 64, 256, 0.875f, 1.0f, false},
    {"v2", 896, 384, 20, 6, 64, 256, 0.875f, 1.0f, false},
    {"v4", 1280, 256, 26, 8, 32, 512, 0.9f, 1.0f, false},
    {"it", 1536, 192, 34, 6, 32, 512, 0.92f, 1.0f, false},
    {"hippocampus", 1728, 320, 40, 20, 16, 1024, 0.95f, 1.25f, false},
    {"prefrontal", 2048, 256, 60, 4, 64, 256, 0.96f, 1.0f, false},
    {"striatum", 2304, 128, 64, 8, 16, 1024, 0.8f, 1.0f, false},
    {"motor", 2432, 64, 72, 4, 16, 1024, 0.85f, 1.0f, false},
};
constexpr Path PATHS[] = {
    {0, 1, 16, 16384},
    {1, 2, 12, 19661},
    {2, 1, 8, -6554},
    {2, 3, 16, 16384},
    {3, 2, 4, 6554},
    {3, 4, 16, 16384},
    {4, 5, 16, 19661},
    {5, 4, 4, 6554},
    {5, 6, 16, 22938},
    {6, 7, 12, 19661},
    {5, 7, 8, 16384},
    {7, 8, 16, 16384},
    {7, 5, 4, 9830},
    {8, 9, 16, 19661},
    {9, 8, 4, -13107},
};
constexpr uint WORKGROUP = 32;
#endif
