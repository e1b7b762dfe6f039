"""An independent reference for volley: the same network file, the same spikes, in plain NumPy.

usage: python reference.py NET.toml OUT      (Python 3.11+; leaky integrate-and-fire, `fixed` accumulation)
"""
import math
import sys
import tomllib

import numpy as np

F, U = np.float32, np.uint64
GOLDEN, ALL = 0x9E3779B97F4A7C15, 0xFFFFFFFFFFFFFFFF


def mix(z):  # splitmix64's finalizer on an array of uint64
    z = (z ^ (z >> U(30))) * U(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> U(27))) * U(0x94D049BB133111EB)
    return z ^ (z >> U(31))


def draw(seed, kind, ordinal, index):  # 64 random bits for each index of one stream
    stream = np.array([(seed + GOLDEN * ((kind << 32 | ordinal) + 1)) & ALL], U)
    return mix(mix(stream) + U(GOLDEN) * (np.asarray(index, U) + U(1)))


def unit(bits):  # [0, 1) in 24 bits
    return (bits >> U(40)).astype(F) * F(2.0**-24)


def both(value):
    return value if isinstance(value, list) else [value, value]


def uniform(value, bits):
    low, high = map(F, both(value))
    return low + (high - low) * unit(bits)


def poisson_thresholds(mean):
    table, term, total = [], math.exp(-mean), 0.0
    while mean > 0 and len(table) < 16:
        total += term
        if math.floor(total * 2**32) >= 2**32 - 1:
            break
        table.append(math.floor(total * 2**32))
        term = term * mean / len(table)
    return np.array(table, U)


def simulate(net):
    sim, pops = net["simulation"], net["population"]
    dt, seed = sim.get("dt", 0.1), sim.get("seed", 0)
    steps = lambda ms: math.floor(ms / dt + 0.5)
    number = {p["name"]: k for k, p in enumerate(pops)}
    decay = lambda tau: F(math.exp(-dt / tau))
    cells = []
    for k, p in enumerate(pops):
        n, reset = p["size"], F(p.get("v_reset", -65.0))
        v = uniform(p.get("v_init", float(reset)), draw(seed, 1, k * 256, np.arange(n)))
        drive = p.get("drive", {"rate": 0.0, "weight": 0.0})
        cells.append(dict(n=n, v=v, exc=np.zeros(n, F), inh=np.zeros(n, F), hold=np.zeros(n, int), reset=reset,
                          rest=F(p.get("v_rest", -65.0) + p.get("current", 0.0)), name=p["name"],
                          top=F(p.get("v_threshold", -50.0)), wait=steps(p.get("refractory", 2.0)),
                          dm=decay(p.get("tau_m", 20.0)), de=decay(p.get("tau_syn_exc", 5.0)),
                          di=decay(p.get("tau_syn_inh", 10.0)), w=F(drive["weight"]),
                          cdf=poisson_thresholds(drive["rate"] * dt / 1000.0)))
    synapses = []  # per projection: source, target, delay, weight in units of 2^-32 mV
    for j, q in enumerate(net.get("projection", [])):
        ns, nt = pops[number[q["from"]]]["size"], pops[number[q["to"]]]["size"]
        if "indegree" in q:
            index = np.arange(nt * q["indegree"], dtype=U)
            target, source = index // U(max(q["indegree"], 1)), (draw(seed, 3, j, index) >> U(32)) * U(ns) >> U(32)
        else:
            index = np.arange(nt * ns, dtype=U)
            index = index[(draw(seed, 3, j, index) >> U(32)) < U(math.floor(q["probability"] * 2**32))]
            target, source = index // U(ns), index % U(ns)
        low, high = map(steps, both(q.get("delay", dt)))
        delay = U(low) + ((draw(seed, 4, j, index) >> U(32)) * U(high - low + 1) >> U(32))
        weight = np.rint(uniform(q["weight"], draw(seed, 5, j, index)).astype(float) * 2**32).astype(np.int64)
        synapses.append((number[q["from"]], number[q["to"]], source, target.astype(int), delay.astype(int), weight))
    slots = 1 + max((int(s[4].max(initial=0)) for s in synapses), default=0)
    ring = [np.zeros((slots, 2, c["n"]), np.int64) for c in cells]
    for t in range(steps(sim["duration"])):
        fired = []
        for k, c in enumerate(cells):
            cell = ring[k][t % slots]
            arrived = cell.astype(F) * F(2.0**-32)
            cell[:] = 0
            if len(c["cdf"]):
                bits = draw(seed, 2, k, (U(t) << U(32)) | np.arange(c["n"], dtype=U)) >> U(32)
                events = (bits[:, None] >= c["cdf"]).sum(axis=1)
                arrived[0 if c["w"] >= 0 else 1] += events.astype(F) * c["w"]
            c["exc"] = c["exc"] * c["de"] + arrived[0]
            c["inh"] = c["inh"] * c["di"] + arrived[1]
            free = c["hold"] == 0
            c["hold"] -= ~free
            goal = (c["rest"] + c["exc"]) + c["inh"]
            c["v"] = np.where(free, goal + (c["v"] - goal) * c["dm"], c["v"])
            spike = free & (c["v"] >= c["top"])
            c["v"][spike], c["hold"][spike] = c["reset"], c["wait"]
            fired.append(spike)
            for i in np.flatnonzero(spike):
                yield f"{t} {c['name']} {i}\n"
        for a, b, source, target, delay, weight in synapses:
            on = np.flatnonzero(fired[a][source])
            np.add.at(ring[b], ((t + delay[on]) % slots, (weight[on] < 0).astype(int), target[on]), weight[on])


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as f:
        network = tomllib.load(f)
    with open(sys.argv[2], "w", newline="\n") as f:
        f.writelines(simulate(network))
