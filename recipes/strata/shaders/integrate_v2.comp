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
    if (at >= 384u) return;
    // v2: leak 0.875, threshold 1.0.
    Neuron neuron = neurons[896u + at];
    int arriving = neuron.arriving - pools[20u + at / 64u].inhibition;
    // `precise` keeps multiplication and addition apart, so that every device gives the bits of the host.
    precise float kept = neuron.potential * 0.875;
    precise float potential = kept + float(arriving) * (1.0 / 65536.0);
    bool fires = neuron.rest == 0 && potential >= 1.0;
    neuron.rest = fires ? 3 : max(neuron.rest, 1) - 1;
    neuron.fired = fires ? 1 : 0;
    neuron.spikes += neuron.fired;
    neuron.potential = fires ? 0.0 : potential;
    neuron.arriving = 0;
    neurons[896u + at] = neuron;
}
