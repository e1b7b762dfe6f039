// Written by generate.py out of network.json.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared.h"

layout(local_size_x = 32) in;
layout(push_constant) uniform Push { uint cycle; } push;
layout(std430, binding = 0) buffer Neurons { Neuron neurons[]; };
layout(std430, binding = 2) readonly buffer Synapses { Synapse synapses[]; };
layout(std430, binding = 3) readonly buffer Offsets { uint offsets[]; };

void main() {
    uint at = gl_GlobalInvocationID.x;
    if (at >= 256u) return;
    // prefrontal: from hippocampus, it.
#ifdef ACCUMULATE_FIXED
    // One invocation for each synapse in turn; integers add up to the same in any order.
    for (uint i = offsets[2048u] + at; i < offsets[2048u + 256u]; i += 256u) {
        Synapse one = synapses[i];
        if (neurons[one.sender].fired != 0) atomicAdd(neurons[one.receiver].arriving, one.weight);
    }
#else
    // One invocation for each neuron, which gathers: nothing is atomic.
    int sum = 0;
    for (uint i = offsets[2048u + at]; i < offsets[2048u + at + 1]; ++i) {
        if (neurons[synapses[i].sender].fired != 0) sum += synapses[i].weight;
    }
    neurons[2048u + at].arriving += sum;
#endif
}
