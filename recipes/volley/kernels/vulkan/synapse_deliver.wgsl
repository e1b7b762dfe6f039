// Carries the spikes of one step to the delay ring, as synapse.cu does.
//
// What the rows of the matrix mean differs:
//   ACCUMULATE_FIXED = 1   row = source, peer = target; a work group per spike, sums by atomic additions of integers
//   ACCUMULATE_FIXED = 0   row = target, peer = source; an invocation per target, no sums by atomics: looks through the
//                          spike history and writes the input of the next step
override ACCUMULATE_FIXED: u32 = 1u;

struct Synapse {
  peer: u32,
  delay: u32,  // steps
  low: u32,    // the weight in units of 2^-32 mV, in two words; or the bits of the float, and 0
  high: u32,
}

struct Push {
  rows: u32,
  stride: u32,
  ring_slots: u32,
  history_slots: u32,
  step: u32,
  counter: u32, // where in `spikes` the count of this step's spikes is
  list: u32,    // where the list of them begins
}

var<immediate> push: Push;
@group(0) @binding(2) var<storage, read_write> ring: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read_write> spikes: array<atomic<u32>>;
@group(0) @binding(4) var<storage, read> offsets: array<u32>;
@group(0) @binding(5) var<storage, read> synapses: array<Synapse>;

// Adds 64 bits by two additions of 32: the carry is that of this very addition, whoever else adds in between.
fn add(cell: u32, low: u32, high: u32) {
  let before = atomicAdd(&ring[2u * cell], low);
  let more = high + select(0u, 1u, before + low < before);
  if (more != 0u) {
    atomicAdd(&ring[2u * cell + 1u], more);
  }
}

fn scatter(group: u32, groups: u32, lane: u32) {
  let count = atomicLoad(&spikes[push.counter]);
  let now = push.step % push.ring_slots;
  for (var s = group; s < count; s = s + groups) {
    let source = atomicLoad(&spikes[push.list + s]);
    let end = offsets[source + 1u];
    for (var k = offsets[source] + lane; k < end; k = k + 128u) {
      let synapse = synapses[k];
      var slot = now + synapse.delay; // 1 <= delay < ring_slots
      if (slot >= push.ring_slots) {
        slot = slot - push.ring_slots;
      }
      let receptor = synapse.high >> 31u; // 1 for what inhibits
      add((slot * 2u + receptor) * push.stride + synapse.peer, synapse.low, synapse.high);
    }
  }
}

fn gather(row: u32) {
  let words = push.stride >> 5u;
  let now = (push.step + 1u) % push.history_slots;
  let begin = offsets[row];
  let end = offsets[row + 1u];
  // As a warp of the CUDA backend does with 32 threads: partial sums over every 32nd synapse, added in a tree, so that
  // float32 rounds alike.
  var exc: array<f32, 32>;
  var inh: array<f32, 32>;
  for (var part = 0u; part < 32u; part = part + 1u) {
    var sum_exc = 0.0;
    var sum_inh = 0.0;
    for (var k = begin + part; k < end; k = k + 32u) {
      let synapse = synapses[k];
      var slot = now + push.history_slots - synapse.delay;
      if (slot >= push.history_slots) {
        slot = slot - push.history_slots;
      }
      let word = atomicLoad(&spikes[slot * words + (synapse.peer >> 5u)]);
      if (((word >> (synapse.peer & 31u)) & 1u) == 1u) {
        let weight = bitcast<f32>(synapse.low);
        if (weight >= 0.0) {
          sum_exc = sum_exc + weight;
        } else {
          sum_inh = sum_inh + weight;
        }
      }
    }
    exc[part] = sum_exc;
    inh[part] = sum_inh;
  }
  for (var reach = 16u; reach > 0u; reach = reach >> 1u) {
    for (var part = 0u; part < reach; part = part + 1u) {
      exc[part] = exc[part] + exc[part + reach];
      inh[part] = inh[part] + inh[part + reach];
    }
  }
  atomicStore(&ring[row], bitcast<u32>(exc[0]));
  atomicStore(&ring[push.stride + row], bitcast<u32>(inh[0]));
}

@compute @workgroup_size(128)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  if (ACCUMULATE_FIXED == 1u) {
    scatter(group.x, groups.x, lane);
  } else {
    for (var row = group.x * 128u + lane; row < push.rows; row = row + groups.x * 128u) {
      gather(row);
    }
  }
}
