#version 450
#extension GL_GOOGLE_include_directive : require
#include "cell.h"

layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint count; } push;
layout(std430, binding = 0) buffer Cells { Cell cells[]; };
layout(std430, binding = 1) readonly buffer Synapses { Synapse synapses[]; }; // sorted by `to`
layout(std430, binding = 2) readonly buffer Offsets { uint offsets[]; };      // of each cell's synapses, and the end

void main() {
    uint at = gl_GlobalInvocationID.x;
    if (at >= push.count) return;
#ifdef ACCUMULATE_FIXED
    // One invocation for each synapse; integers add up to the same in any order.
    if (at >= offsets[push.count]) return;
    for (uint index = at; index < offsets[push.count]; index += push.count) {
        Synapse one = synapses[index];
        if (cells[one.from].fired != 0) atomicAdd(cells[one.to].arriving, one.weight);
    }
#else
    // One invocation for each cell, which gathers: nothing is atomic.
    int sum = 0;
    for (uint index = offsets[at]; index < offsets[at + 1]; ++index) {
        if (cells[synapses[index].from].fired != 0) sum += synapses[index].weight;
    }
    cells[at].arriving += sum;
#endif
}
