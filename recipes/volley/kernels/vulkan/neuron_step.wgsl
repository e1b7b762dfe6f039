// One step of one population of built-in leaky integrate-and-fire neurons, one invocation per neuron: what
// volley_neuron_update of neuron.cu does, with the arithmetic of volley_shared.h.
//
// Integers of 64 bits are pairs of 32 bits, low word first, so that every device of Vulkan 1.1 runs this: no optional
// feature is asked for. Floats are evaluated as written (-ffp-contract=off in the recipe), in the order of volley_shared.h.

// 1: input is summed as integers in units of 2^-32 mV; 0: as float32, by the gathering synapse_deliver.wgsl.
override ACCUMULATE_FIXED: u32 = 1u;

struct Drive {
  weight: f32,
  levels: u32,
  cdf: array<u32, 16>,
}

struct Lif {
  v_rest: f32,
  v_reset: f32,
  v_threshold: f32,
  decay_m: f32,
  decay_exc: f32,
  decay_inh: f32,
  refractory: u32,
  drive: Drive,
}

struct Population {
  lif: Lif,
  key_low: u32,  // of the stream of its drive
  key_high: u32,
  first: u32,    // slot, a multiple of 32
  count: u32,
}

struct Neuron {
  v: f32,
  g_exc: f32,
  g_inh: f32,
  hold: u32,
}

struct Push {
  population: u32,
  step: u32,
  slot: u32,    // of the delay ring
  stride: u32,  // neurons with padding
  bits: u32,    // where in `spikes` the bits of this step begin; the host has emptied them
  counter: u32, // where the count of its spikes is
  list: u32,    // where the list of them begins
}

var<immediate> push: Push;
@group(0) @binding(0) var<storage, read> populations: array<Population>;
@group(0) @binding(1) var<storage, read_write> neurons: array<Neuron>;
@group(0) @binding(2) var<storage, read_write> ring: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read_write> spikes: array<atomic<u32>>;

// ---- 64 bits in two words

fn add64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let low = a.x + b.x;
  return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}

fn mul64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let a0 = a.x & 0xffffu;
  let a1 = a.x >> 16u;
  let b0 = b.x & 0xffffu;
  let b1 = b.x >> 16u;
  let mid = ((a0 * b0) >> 16u) + ((a0 * b1) & 0xffffu) + ((a1 * b0) & 0xffffu);
  let high = a1 * b1 + ((a0 * b1) >> 16u) + ((a1 * b0) >> 16u) + (mid >> 16u);
  return vec2<u32>(a.x * b.x, high + a.x * b.y + a.y * b.x);
}

// x ^ (x >> by), 0 < by < 32
fn fold64(x: vec2<u32>, by: u32) -> vec2<u32> {
  return vec2<u32>(x.x ^ ((x.x >> by) | (x.y << (32u - by))), x.y ^ (x.y >> by));
}

// volley_draw: the finalizer of splitmix64 over key + golden * (index + 1)
fn draw(key: vec2<u32>, index: vec2<u32>) -> vec2<u32> {
  let golden = vec2<u32>(0x7f4a7c15u, 0x9e3779b9u);
  var z = add64(key, mul64(golden, add64(index, vec2<u32>(1u, 0u))));
  z = mul64(fold64(z, 30u), vec2<u32>(0x1ce4e5b9u, 0xbf58476du));
  z = mul64(fold64(z, 27u), vec2<u32>(0x133111ebu, 0x94d049bbu));
  return fold64(z, 31u);
}

// volley_from_fixed: the float32 nearest to the sum, ties to even, as a conversion of int64 rounds; times 2^-32.
fn from_fixed(sum: vec2<u32>) -> f32 {
  if (sum.x == 0u && sum.y == 0u) {
    return 0.0;
  }
  let negative = (sum.y >> 31u) == 1u;
  var x = sum;
  if (negative) {
    x = add64(vec2<u32>(~sum.x, ~sum.y), vec2<u32>(1u, 0u));
  }
  var top = firstLeadingBit(x.x);
  if (x.y != 0u) {
    top = 32u + firstLeadingBit(x.y);
  }
  // The highest bit goes to bit 63: the upper 24 are the fraction, the other 40 decide how it is rounded.
  let shift = 63u - top;
  if (shift >= 32u) {
    x = vec2<u32>(0u, x.x << (shift - 32u));
  } else if (shift > 0u) {
    x = vec2<u32>(x.x << shift, (x.y << shift) | (x.x >> (32u - shift)));
  }
  var fraction = x.y >> 8u;
  let rest = x.y & 0xffu;
  if (rest > 0x80u || (rest == 0x80u && (x.x != 0u || (fraction & 1u) == 1u))) {
    fraction = fraction + 1u;
  }
  // fraction <= 2^24 and the power of two are floats, and so is their product.
  let value = f32(fraction) * bitcast<f32>((127u + top - 55u) << 23u);
  return select(value, -value, negative);
}

// ---- the step

// Reads a cell of the ring; one that is summed into is emptied for its next round.
fn take(cell: u32) -> f32 {
  if (ACCUMULATE_FIXED == 1u) {
    let sum = vec2<u32>(atomicLoad(&ring[2u * cell]), atomicLoad(&ring[2u * cell + 1u]));
    if (sum.x != 0u || sum.y != 0u) {
      atomicStore(&ring[2u * cell], 0u);
      atomicStore(&ring[2u * cell + 1u], 0u);
    }
    return from_fixed(sum);
  }
  return bitcast<f32>(atomicLoad(&ring[cell]));
}

// volley_drive_count
fn events(i: u32) -> u32 {
  let levels = populations[push.population].lif.drive.levels;
  if (levels == 0u) {
    return 0u;
  }
  let key = vec2<u32>(populations[push.population].key_low, populations[push.population].key_high);
  let u = draw(key, vec2<u32>(i, push.step)).y;
  var count = 0u;
  while (count < levels && u >= populations[push.population].lif.drive.cdf[count]) {
    count = count + 1u;
  }
  return count;
}

// volley_lif_step: true when it spikes
fn advance(n: u32, in_exc: f32, in_inh: f32) -> bool {
  var neuron = neurons[n];
  neuron.g_exc = neuron.g_exc * populations[push.population].lif.decay_exc + in_exc;
  neuron.g_inh = neuron.g_inh * populations[push.population].lif.decay_inh + in_inh;
  var spikes_now = false;
  if (neuron.hold > 0u) { // refractory: v stays at v_reset, the synapses go on
    neuron.hold = neuron.hold - 1u;
  } else {
    let goal = (populations[push.population].lif.v_rest + neuron.g_exc) + neuron.g_inh;
    neuron.v = goal + (neuron.v - goal) * populations[push.population].lif.decay_m;
    if (neuron.v >= populations[push.population].lif.v_threshold) {
      neuron.v = populations[push.population].lif.v_reset;
      neuron.hold = populations[push.population].lif.refractory;
      spikes_now = true;
    }
  }
  neurons[n] = neuron;
  return spikes_now;
}

@compute @workgroup_size(128)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let i = id.x;
  let n = populations[push.population].first + i;
  if (i < populations[push.population].count) {
    let cell = push.slot * 2u * push.stride + n;
    var in_exc = take(cell);
    var in_inh = take(cell + push.stride);
    let count = events(i);
    if (count != 0u) {
      let sum = f32(count) * populations[push.population].lif.drive.weight;
      if (populations[push.population].lif.drive.weight >= 0.0) {
        in_exc = in_exc + sum;
      } else {
        in_inh = in_inh + sum;
      }
    }
    if (advance(n, in_exc, in_inh)) {
      atomicOr(&spikes[push.bits + (n >> 5u)], 1u << (n & 31u));
      if (ACCUMULATE_FIXED == 1u) {
        // In any order: integers add up to the same.
        atomicStore(&spikes[push.list + atomicAdd(&spikes[push.counter], 1u)], n);
      }
    }
  }
}
