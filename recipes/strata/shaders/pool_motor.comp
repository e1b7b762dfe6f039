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
    if (at >= 4u) return;
    // motor: pools of 16 neurons.
    uint firing = 0;
    for (uint i = 0; i < 16u; ++i) firing += neurons[2432u + at * 16u + i].fired;
    pools[72u + at].firing = firing;
    pools[72u + at].inhibition = int(firing * 1024u);
}
