#!/usr/bin/env python3
"""Writes what follows from network.json: a shader for each layer and phase of a cycle, the kernel table that ties them to
the host, and the header that host and shaders share. Called in the directory of the recipe."""

import json
import pathlib

UNIT = 65536  # of fixed point
WORKGROUP = 32

# Structures that host and shaders share: name, comment, fields with their types and what they mean.
STRUCTS = {
    "Neuron": [
        ("potential", "f32", ""),
        ("arriving", "i32", "input of the next cycle, in units of 1/65536"),
        ("fired", "u32", "1 where it fired in this cycle"),
        ("rest", "u32", "cycles until it may fire again"),
        ("spikes", "u32", ""),
    ],
    "Pool": [
        ("firing", "u32", "neurons that fired in the last cycle"),
        ("inhibition", "i32", "what each neuron is inhibited by, in units of 1/65536"),
    ],
    "Synapse": [
        ("sender", "u32", ""),
        ("receiver", "u32", ""),
        ("weight", "i32", "in units of 1/65536"),
    ],
}
WORDS = {"f32": "float", "i32": "int", "u32": "uint"}
BINDINGS = ["Neuron", "Pool", "Synapse", None]  # the last holds offsets
BUFFERS = [
    "buffer Neurons { Neuron neurons[]; }",
    "buffer Pools { Pool pools[]; }",
    "readonly buffer Synapses { Synapse synapses[]; }",
    "readonly buffer Offsets { uint offsets[]; }",
]

HEAD = """// Written by generate.py out of network.json.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared.h"

layout(local_size_x = {workgroup}) in;
layout(push_constant) uniform Push {{ uint cycle; }} push;
{buffers}

void main() {{
    uint at = gl_GlobalInvocationID.x;
    if (at >= {count}u) return;
"""

# How strongly pools inhibit: each neuron that fired adds so much.
POOL = """    // {layer}: pools of {pool} neurons.
    uint firing = 0;
    for (uint i = 0; i < {pool}u; ++i) firing += neurons[{first}u + at * {pool}u + i].fired;
    pools[{first_pool}u + at].firing = firing;
    pools[{first_pool}u + at].inhibition = int(firing * {inhibition}u);
}}
"""

INTEGRATE = """    // {layer}: leak {leak}, threshold {threshold}.
    Neuron neuron = neurons[{first}u + at];
    int arriving = neuron.arriving - pools[{first_pool}u + at / {pool}u].inhibition{drive};
    // `precise` keeps multiplication and addition apart, so that every device gives the bits of the host.
    precise float kept = neuron.potential * {leak};
    precise float potential = kept + float(arriving) * (1.0 / {unit}.0);
    bool fires = neuron.rest == 0 && potential >= {threshold};
    neuron.rest = fires ? 3 : max(neuron.rest, 1) - 1;
    neuron.fired = fires ? 1 : 0;
    neuron.spikes += neuron.fired;
    neuron.potential = fires ? 0.0 : potential;
    neuron.arriving = 0;
    neurons[{first}u + at] = neuron;
}}
"""

DELIVER = """    // {layer}: {senders}.
#ifdef ACCUMULATE_FIXED
    // One invocation for each synapse in turn; integers add up to the same in any order.
    for (uint i = offsets[{first}u] + at; i < offsets[{first}u + {neurons}u]; i += {neurons}u) {{
        Synapse one = synapses[i];
        if (neurons[one.sender].fired != 0) atomicAdd(neurons[one.receiver].arriving, one.weight);
    }}
#else
    // One invocation for each neuron, which gathers: nothing is atomic.
    int sum = 0;
    for (uint i = offsets[{first}u + at]; i < offsets[{first}u + at + 1]; ++i) {{
        if (neurons[synapses[i].sender].fired != 0) sum += synapses[i].weight;
    }}
    neurons[{first}u + at].arriving += sum;
#endif
}}
"""


def layers(network):
    first = first_pool = 0
    for layer in network["layers"]:
        assert layer["neurons"] % layer["pool"] == 0, layer["name"]
        senders = [path["from"] for path in network["paths"] if path["to"] == layer["name"]]
        yield {
            "layer": layer["name"],
            "first": first,
            "neurons": layer["neurons"],
            "first_pool": first_pool,
            "pools": layer["neurons"] // layer["pool"],
            "pool": layer["pool"],
            "leak": repr(float(layer["leak"])),
            "threshold": repr(float(layer["threshold"])),
            "inhibition": UNIT // 4 // layer["pool"],
            "drive": " + drive(push.cycle, at)" if layer.get("input") else "",
            "senders": "from " + ", ".join(senders) if senders else "nothing sends to it",
            "unit": UNIT,
        }
        first += layer["neurons"]
        first_pool += layer["neurons"] // layer["pool"]


# What each phase binds, over what it runs, and its text.
PHASES = {
    "pool": ([0, 1], "pools", POOL),
    "integrate": ([0, 1], "neurons", INTEGRATE),
    "deliver": ([0, 2, 3], "neurons", DELIVER),
}


def shader(layer, phase):
    bound, over, text = PHASES[phase]
    buffers = "\n".join(f"layout(std430, binding = {at}) {BUFFERS[at]};" for at in bound)
    return (HEAD + text).format(workgroup=WORKGROUP, buffers=buffers, count=layer[over], **layer)


def header(network):
    lines = ["// Written by generate.py out of network.json: what host and shaders hold in common, in words of both."]
    lines += ["#ifdef __cplusplus", "#pragma once", "#include <cstdint>", "using uint = std::uint32_t;", "#endif", ""]
    for name, fields in STRUCTS.items():
        lines.append(f"struct {name} {{")
        for field, kind, meaning in fields:
            lines.append(f"    {WORDS[kind]} {field};" + (f" // {meaning}" if meaning else ""))
        lines += ["};", ""]
    lines += [
        "// Input of the first layer in a cycle, in units of 1/65536: the same numbers everywhere.",
        "#ifdef __cplusplus",
        "inline",
        "#endif",
        "int drive(uint cycle, uint at) {",
        "    uint mixed = (cycle * 2654435761u) ^ (at * 2246822519u);",
        "    mixed = (mixed ^ (mixed >> 15)) * 3266489917u;",
        "    return int((mixed >> 16) & 32767u);",
        "}",
        "",
        "#ifdef __cplusplus",
        "struct Layer {",
        "    const char *name;",
        "    uint first, neurons, first_pool, pools, pool, inhibition;",
        "    float leak, threshold;",
        "    bool input;",
        "};",
        "struct Path {",
        "    uint from, to, synapses;",
        "    int strength; // in units of 1/65536",
        "};",
        "constexpr Layer LAYERS[] = {",
    ]
    for layer in layers(network):
        numbers = [layer[key] for key in ["first", "neurons", "first_pool", "pools", "pool", "inhibition"]]
        text = ", ".join(str(number) for number in numbers)
        is_input = "true" if layer["drive"] else "false"
        lines.append(f'    {{"{layer["layer"]}", {text}, {layer["leak"]}f, {layer["threshold"]}f, {is_input}}},')
    names = [layer["name"] for layer in network["layers"]]
    lines += ["};", "constexpr Path PATHS[] = {"]
    for path in network["paths"]:
        strength = round(path["strength"] * UNIT)
        lines.append(f'    {{{names.index(path["from"])}, {names.index(path["to"])}, {path["synapses"]}, {strength}}},')
    lines += ["};", f"constexpr uint WORKGROUP = {WORKGROUP};", "#endif", ""]
    return "\n".join(lines)


def table(network):
    lines = ["# Written by generate.py out of network.json: what the host fills, and how it launches.", "edition = 1", ""]
    for name, fields in STRUCTS.items():
        lines += ["[[struct]]", f'name = "{name}"', "fields = ["]
        lines += [f'  {{ name = "{field}", type = "{kind}" }},' for field, kind, _ in fields]
        lines += ["]", ""]
    for layer in layers(network):
        for phase, (bound, _, _) in PHASES.items():
            lines += ["[[kernel]]", f'name = "{phase}_{layer["layer"]}"', 'params = [{ name = "cycle", type = "u32" }]']
            lines += [f"workgroup = [{WORKGROUP}]", "bindings = ["]
            for at in bound:
                what = f'of = "{BINDINGS[at]}"' if BINDINGS[at] else "size = 0, stride = 4"
                lines.append(f'  {{ binding = {at}, type = "storage-buffer", {what} }},')
            lines += ["]", ""]
    return "\n".join(lines)


def main():
    network = json.loads(pathlib.Path("network.json").read_text())
    shaders = pathlib.Path("shaders")
    shaders.mkdir(exist_ok=True)
    (shaders / "shared.h").write_text(header(network))
    (shaders / "table.toml").write_text(table(network))
    for layer in layers(network):
        for phase in PHASES:
            (shaders / f"{phase}_{layer['layer']}.comp").write_text(shader(layer, phase))


main()
