// Neurons: initial state and the built-in leaky integrate-and-fire step, one thread per neuron.
#include "volley_device.cuh"

// state[first + i] = low + span * u, u uniform in [0, 1).
extern "C" __global__ void volley_neuron_init(float *state, vu64 key, vu32 first, vu32 count, float low, float span) {
  const vu32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  state[first + i] = low + span * volley_unit(volley_draw(key, i));
}

// One step of one population. `slot` is the ring slot of this step; `bits` and `spike_count` belong to this step.
extern "C" __global__ void volley_neuron_update(float *v, float *g_exc, float *g_inh, vu32 *hold, void *ring,
                                                vu32 *bits, vu32 *spike_list, vu32 *spike_count, vu64 drive_key,
                                                vu32 first, vu32 count, vu32 slot, vu32 stride, vu32 step,
                                                VolleyLif p) {
  const vu32 i = blockIdx.x * blockDim.x + threadIdx.x;
  const vu32 n = first + i;
  bool spiked = false;
  if (i < count) {  // no early return: publishing needs the whole warp
    float in_exc, in_inh;
    volley_input(ring, slot, stride, n, &in_exc, &in_inh);
    volley_drive_add(&p.drive, volley_drive_count(&p.drive, drive_key, step, i), &in_exc, &in_inh);
    float v_n = v[n], exc_n = g_exc[n], inh_n = g_inh[n];
    vu32 hold_n = hold[n];
    spiked = volley_lif_step(&p, in_exc, in_inh, &v_n, &exc_n, &inh_n, &hold_n);
    v[n] = v_n;
    g_exc[n] = exc_n;
    g_inh[n] = inh_n;
    hold[n] = hold_n;
  }
  volley_publish(spiked, i < count, n, bits, spike_list, spike_count);
}
