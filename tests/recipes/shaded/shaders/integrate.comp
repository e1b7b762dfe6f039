#version 450
#extension GL_GOOGLE_include_directive : require
#include "cell.h"

layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint count; float leak; float threshold; } push;
layout(std430, binding = 0) buffer Cells { Cell cells[]; };

void main() {
    uint at = gl_GlobalInvocationID.x;
    if (at >= push.count) return;
    Cell cell = cells[at];
    // `precise` keeps multiplication and addition apart, so that every device gives the bits of the host.
    precise float kept = cell.potential * push.leak;
    precise float potential = kept + float(cell.arriving) * (1.0 / 65536.0);
    bool fires = cell.rest == 0 && potential >= push.threshold;
    cell.rest = fires ? 3 : max(cell.rest, 1) - 1;
    cell.fired = fires ? 1 : 0;
    cell.spikes += cell.fired;
    cell.potential = fires ? 0.0 : potential;
    cell.arriving = 0;
    cells[at] = cell;
}
