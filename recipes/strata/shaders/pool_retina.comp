// Written by generate.py out of network.json.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared.h"

layout(local_size_x = 32) in;
layout(push_constant) uniform Push { uint cycle; } push;
layout(std430, binding = 0) buffer Neurons { Neuron neurons[]; };
layout(std430, binding = 1) buffer Pools { Pool pools[]; };

void main() {
    uint at = gl_GlobalInvocationID.x;
    if (at >= 8u) return;
    // retina: pools of 32 neurons.
    uint firing = 0;
    for (uint i = 0; i < 32u; ++i) firing += neurons[0u + at * 32u + i].fired;
    pools[0u + at].firing = firing;
    pools[0u + at].inhibition = int(firing * 512u);
}
