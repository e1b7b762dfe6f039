// What every neuron kernel does around its equations: take the input of this step, publish the spikes.
// Built-in kernels include this file; libvolley_rtc holds a copy of it for user models.
#ifndef VOLLEY_DEVICE_CUH
#define VOLLEY_DEVICE_CUH

#include "volley_shared.h"

#if defined(ACCUMULATE_FIXED) + defined(ACCUMULATE_FLOAT) + defined(ACCUMULATE_GATHER) != 1
#error "define exactly one of ACCUMULATE_FIXED, ACCUMULATE_FLOAT, ACCUMULATE_GATHER"
#endif

// Asynchronous copies to shared memory exist from capability 8.0 on.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800 && !defined(NO_ASYNC_COPY)
#define NO_ASYNC_COPY
#endif

// One cell of the delay ring: ring[(slot * 2 + receptor) * stride + neuron], receptor 0 exc, 1 inh.
#ifdef ACCUMULATE_FIXED
typedef vi64 volley_cell;
#else
typedef float volley_cell;
#endif

// Reads a cell; a cell that is summed into by atomics is emptied for its next round.
VOLLEY_FN float volley_take(volley_cell *cell) {
#if defined(ACCUMULATE_FIXED)
  const vi64 sum = *cell;
  if (sum != 0) *cell = 0;
  return volley_from_fixed(sum);
#elif defined(ACCUMULATE_FLOAT)
  const float sum = *cell;
  if (sum != 0.0f) *cell = 0.0f;
  return sum;
#else
  return *cell;  // the gather kernel overwrites it each step
#endif
}

VOLLEY_FN void volley_input(void *ring, vu32 slot, vu32 stride, vu32 neuron, float *in_exc, float *in_inh) {
  volley_cell *cell = (volley_cell *)ring + (vu64)slot * 2 * stride + neuron;
  *in_exc = volley_take(cell);
  *in_inh = volley_take(cell + stride);
}

// Publishes one warp's spikes. Every lane of the warp must come here; `neuron` of lane 0 is a multiple
// of 32 because each population begins at one. `inside` is false for lanes past the population's end.
VOLLEY_FN void volley_publish(bool spiked, bool inside, vu32 neuron, vu32 *bits, vu32 *list, vu32 *count) {
  const vu32 mask = __ballot_sync(0xffffffffu, spiked);
  const vu32 lane = threadIdx.x & 31u;
  if (lane == 0 && inside) bits[neuron >> 5] = mask;
#ifndef ACCUMULATE_GATHER
  if (mask == 0) return;
  vu32 base = 0;
  if (lane == 0) base = atomicAdd(count, (vu32)__popc(mask));
  base = __shfl_sync(0xffffffffu, base, 0);
  if (spiked) list[base + (vu32)__popc(mask & ((1u << lane) - 1u))] = neuron;
#else
  (void)list;
  (void)count;
#endif
}

#endif
