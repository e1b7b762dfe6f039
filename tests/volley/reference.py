"""An independent reference for volley: the same network file, the same spikes, in plain NumPy.

usage: python reference.py NET.toml OUT      (Python 3.11+; leaky integrate-and-fire, `fixed` accumulation)
"""
import math
import sys
import tomllib

import numpy as np

F, U = np.float32, np.uint64
GOLDEN, ALL = 0x9E3779B97F4A7C15, 0xFFFFFFFFFFFFFFFF
LIF = dict(tau_m=20.0, tau_syn_exc=5.0, tau_syn_inh=10.0, v_rest=-65.0, v_reset=-65.0, v_threshold=-50.0,
           refractory=2.0, current=0.0, drive=dict(rate=0.0, weight=0.0))


def mix(z):  # splitmix64's finalizer on an array of uint64
    z = (z ^ (z >> U(30))) * U(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> U(27))) * U(0x94D049BB133111EB)
    return z ^ (z >> U(31))


def draw(seed, kind, ordinal, index):  # 64 random bits for each index of one stream
    key = mix(np.array([(seed + GOLDEN * ((kind << 32 | ordinal) + 1)) & ALL], U))
    return mix(key + U(GOLDEN) * (np.asarray(index, U) + U(1)))


def below(n, bits):  # uniform in 0 .. n - 1
    return ((bits >> U(32)) * U(n) >> U(32)).astype(int)


def both(value):
    return value if isinstance(value, list) else [value, value]


def uniform(value, bits):
    low, high = map(F, both(value))
    return low + (high - low) * ((bits >> U(40)).astype(F) * F(2.0**-24))


def poisson_thresholds(mean):  # floor(P(count <= k) * 2^32) for k = 0, 1, ...
    table, term, total = [], math.exp(-mean), 0.0
    while mean > 0 and len(table) < 16 and math.floor((total + term) * 2**32) < 2**32 - 1:
        total += term
        table.append(math.floor(total * 2**32))
        term = term * mean / len(table)
    return np.array(table, U)


def connect(j, q, pops, number, seed, dt, steps):
    """Synapses of one projection, sorted by source: where each source begins, target, delay, weight * 2^32."""
    a, b = number[q["from"]], number[q["to"]]
    ns, nt, index = pops[a]["size"], pops[b]["size"], None
    if "indegree" in q:
        index = np.arange(nt * q["indegree"])
        source, target = below(ns, draw(seed, 3, j, index)), index // max(q["indegree"], 1)
    else:
        index = np.flatnonzero((draw(seed, 3, j, np.arange(nt * ns)) >> U(32)) < U(math.floor(q["probability"] * 2**32)))
        source, target = index % ns, index // ns
    low, high = map(steps, both(q.get("delay", dt)))
    delay = low + below(high - low + 1, draw(seed, 4, j, index))
    weight = np.rint(uniform(q["weight"], draw(seed, 5, j, index)).astype(float) * 2**32).astype(np.int64)
    by = np.argsort(source, kind="stable")
    return a, b, np.searchsorted(source[by], np.arange(ns + 1)), target[by], delay[by], weight[by]


def simulate(net):
    sim, pops = net["simulation"], [LIF | p for p in net["population"]]
    dt, seed = sim.get("dt", 0.1), sim.get("seed", 0)
    steps = lambda ms: math.floor(ms / dt + 0.5)
    decay = lambda p, key: F(math.exp(-dt / p[key]))
    number = {p["name"]: k for k, p in enumerate(pops)}
    synapses = [connect(j, q, pops, number, seed, dt, steps) for j, q in enumerate(net.get("projection", []))]
    slots = 1 + max((int(s[4].max(initial=0)) for s in synapses), default=0)
    v = [uniform(p.get("v_init", p["v_reset"]), draw(seed, 1, k * 256, np.arange(p["size"]))) for k, p in enumerate(pops)]
    g = [np.zeros((2, p["size"]), F) for p in pops]
    hold = [np.zeros(p["size"], int) for p in pops]
    ring = [np.zeros((slots, 2, p["size"]), np.int64) for p in pops]
    fade = [np.array([[decay(p, "tau_syn_exc")], [decay(p, "tau_syn_inh")]], F) for p in pops]
    cdf = [poisson_thresholds(p["drive"]["rate"] * dt / 1000.0) for p in pops]
    for t in range(steps(sim["duration"])):
        fired = []
        for k, p in enumerate(pops):
            arrived = ring[k][t % slots].astype(F) * F(2.0**-32)
            ring[k][t % slots] = 0
            if len(cdf[k]):
                bits = draw(seed, 2, k, (t << 32) + np.arange(p["size"])) >> U(32)
                events, weight = (bits[:, None] >= cdf[k]).sum(axis=1), F(p["drive"]["weight"])
                arrived[0 if weight >= 0 else 1] += events.astype(F) * weight
            g[k] = g[k] * fade[k] + arrived
            free = hold[k] == 0
            hold[k] -= ~free
            goal = (F(p["v_rest"] + p["current"]) + g[k][0]) + g[k][1]
            v[k] = np.where(free, goal + (v[k] - goal) * decay(p, "tau_m"), v[k])
            spike = free & (v[k] >= F(p["v_threshold"]))
            v[k][spike], hold[k][spike] = F(p["v_reset"]), steps(p["refractory"])
            fired.append(np.flatnonzero(spike))
            yield from (f"{t} {p['name']} {i}\n" for i in fired[k])
        for a, b, begin, target, delay, weight in synapses:
            for s in fired[a]:
                on = slice(begin[s], begin[s + 1])
                where = ((t + delay[on]) % slots, (weight[on] < 0).astype(int), target[on])
                np.add.at(ring[b], where, weight[on])


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as f:
        network = tomllib.load(f)
    with open(sys.argv[2], "w", newline="\n") as f:
        f.writelines(simulate(network))
