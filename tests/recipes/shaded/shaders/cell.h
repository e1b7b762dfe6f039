// What host and shaders hold in common, in words of both languages.
#ifdef __cplusplus
#include <cstdint>
using uint = std::uint32_t;
#endif

struct Cell {
    float potential;
    int arriving; // input of the next cycle, in units of 1/65536
    uint fired;   // 1 where it fired in this cycle
    uint rest;    // cycles until it may fire again
    uint spikes;
};

struct Synapse {
    uint from;
    uint to;
    int weight; // in units of 1/65536
};
