// Synapses: carry the spikes of one step to the delay ring.
//
// One kernel name and one parameter list for all variants; what the rows of the matrix mean differs:
//   ACCUMULATE_FIXED, ACCUMULATE_FLOAT  row = source, peer = target; a block per spike, atomic sums
//   ACCUMULATE_GATHER                   row = target, peer = source; a warp per target, no atomics, looks
//                                       through the spike history and writes the input of the next step
#include "volley_device.cuh"

#ifdef ACCUMULATE_GATHER

extern "C" __global__ void volley_synapse_deliver(const vu64 *offsets, const vu32 *peer, const float *weight,
                                                  const vu32 *delay, const vu32 *history, const vu32 *spike_list,
                                                  const vu32 *spike_count, void *ring, vu32 rows, vu32 stride,
                                                  vu32 ring_slots, vu32 history_slots, vu32 step) {
  (void)spike_list;
  (void)spike_count;
  const vu32 lane = threadIdx.x & 31u;
  const vu32 warps = gridDim.x * (blockDim.x >> 5);
  const vu32 words = stride >> 5;
  const vu32 now = (step + 1) % history_slots;
  float *out = (float *)ring + (vu64)((step + 1) % ring_slots) * 2 * stride;
  for (vu32 row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5; row < rows; row += warps) {
    float exc = 0.0f, inh = 0.0f;
    const vu64 end = offsets[row + 1];
    for (vu64 k = offsets[row] + lane; k < end; k += 32) {
      const vu32 source = __ldg(peer + k), late = __ldg(delay + k);
      const vu32 slot = now >= late ? now - late : now + history_slots - late;
      if ((history[(vu64)slot * words + (source >> 5)] >> (source & 31u)) & 1u) {
        const float w = __ldg(weight + k);
        if (w >= 0.0f) {
          exc = exc + w;
        } else {
          inh = inh + w;
        }
      }
    }
    // A fixed tree: the CPU backend adds its 32 partial sums in this order too.
    for (vu32 reach = 16; reach > 0; reach >>= 1) {
      exc = exc + __shfl_down_sync(0xffffffffu, exc, reach);
      inh = inh + __shfl_down_sync(0xffffffffu, inh, reach);
    }
    if (lane == 0) {
      out[row] = exc;
      out[stride + row] = inh;
    }
  }
}

#else

#define VOLLEY_BLOCK 128  // threads per block that the host launches with

VOLLEY_FN void volley_add(void *ring, vu64 index, float w) {
#ifdef ACCUMULATE_FIXED
  // Two's complement addition is the same for signed and unsigned, and atomicAdd takes the unsigned one.
  atomicAdd((vu64 *)ring + index, (vu64)__float2ll_rn(w * VOLLEY_FIXED_ONE));
#else
  atomicAdd((float *)ring + index, w);
#endif
}

#ifndef NO_ASYNC_COPY
VOLLEY_FN void volley_copy4(void *shared, const void *global) {
  const vu32 to = (vu32)__cvta_generic_to_shared(shared);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\n" ::"r"(to), "l"(global) : "memory");
}
#endif

extern "C" __global__ void __launch_bounds__(VOLLEY_BLOCK)
    volley_synapse_deliver(const vu64 *offsets, const vu32 *peer, const float *weight, const vu32 *delay,
                           const vu32 *history, const vu32 *spike_list, const vu32 *spike_count, void *ring, vu32 rows,
                           vu32 stride, vu32 ring_slots, vu32 history_slots, vu32 step) {
  (void)history;
  (void)history_slots;
  (void)rows;
  const vu32 spikes = *spike_count;
  const vu32 now = step % ring_slots;
#ifndef NO_ASYNC_COPY
  // Each thread stages its own next synapse while its atomics of the present one are under way. Slots are
  // private to a thread, so waiting for its own copies is enough and no barrier is needed.
  __shared__ vu32 peer_stage[2][VOLLEY_BLOCK], delay_stage[2][VOLLEY_BLOCK];
  __shared__ float weight_stage[2][VOLLEY_BLOCK];
#endif
  for (vu32 s = blockIdx.x; s < spikes; s += gridDim.x) {
    const vu32 source = spike_list[s];
    const vu64 end = offsets[source + 1];
    vu64 k = offsets[source] + threadIdx.x;
#ifndef NO_ASYNC_COPY
    vu32 stage = 0;
    if (k < end) {
      volley_copy4(&peer_stage[0][threadIdx.x], peer + k);
      volley_copy4(&delay_stage[0][threadIdx.x], delay + k);
      volley_copy4(&weight_stage[0][threadIdx.x], weight + k);
    }
    asm volatile("cp.async.commit_group;\n" ::: "memory");
#endif
    for (; k < end; k += blockDim.x) {
#ifndef NO_ASYNC_COPY
      const vu64 next = k + blockDim.x;
      if (next < end) {
        volley_copy4(&peer_stage[stage ^ 1][threadIdx.x], peer + next);
        volley_copy4(&delay_stage[stage ^ 1][threadIdx.x], delay + next);
        volley_copy4(&weight_stage[stage ^ 1][threadIdx.x], weight + next);
      }
      asm volatile("cp.async.commit_group;\n" ::: "memory");
      asm volatile("cp.async.wait_group 1;\n" ::: "memory");  // all but the newest group have landed
      const vu32 target = peer_stage[stage][threadIdx.x];
      const vu32 late = delay_stage[stage][threadIdx.x];
      const float w = weight_stage[stage][threadIdx.x];
      stage ^= 1;
#else
      const vu32 target = __ldg(peer + k), late = __ldg(delay + k);
      const float w = __ldg(weight + k);
#endif
      vu32 slot = now + late;  // 1 <= late < ring_slots
      if (slot >= ring_slots) slot -= ring_slots;
      const vu32 receptor = w >= 0.0f ? 0u : 1u;
      volley_add(ring, ((vu64)slot * 2 + receptor) * stride + target, w);
    }
  }
}

#endif
