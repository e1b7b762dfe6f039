// The arithmetic that host and device must agree on, in one text.
//
// Plain C++ without includes, so the host compiler, nvcc and NVRTC all read this same file. All floating
// point is float32, evaluated as written: build with -ffp-contract=off (host) and --fmad=false (device),
// or the same network gives other spikes on the GPU.
#ifndef VOLLEY_SHARED_H
#define VOLLEY_SHARED_H

#ifdef __CUDACC__
#define VOLLEY_FN static __device__ __forceinline__
#else
#define VOLLEY_FN static inline
#endif

typedef unsigned int vu32;
typedef unsigned long long vu64;
typedef long long vi64;

// ---- random numbers: a hash of (seed, stream, index), so nothing depends on the order of drawing

#define VOLLEY_GOLDEN 0x9E3779B97F4A7C15ULL

// The finalizer of splitmix64.
VOLLEY_FN vu64 volley_mix(vu64 z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

// One stream's key. `kind` is a VOLLEY_STREAM_*, `ordinal` says which population or projection.
VOLLEY_FN vu64 volley_key(vu64 seed, vu32 kind, vu32 ordinal) {
  const vu64 stream = ((vu64)kind << 32) | ordinal;
  return volley_mix(seed + VOLLEY_GOLDEN * (stream + 1));
}

VOLLEY_FN vu64 volley_draw(vu64 key, vu64 index) { return volley_mix(key + VOLLEY_GOLDEN * (index + 1)); }

// Uniform in [0, 1) with 24 bits: exact in float32.
VOLLEY_FN float volley_unit(vu64 draw) { return (float)(vu32)(draw >> 40) * 0x1p-24f; }

#define VOLLEY_STREAM_INIT 1    // ordinal = population * 256 + state variable, index = neuron
#define VOLLEY_STREAM_DRIVE 2   // ordinal = population, index = step << 32 | neuron
#define VOLLEY_STREAM_SOURCE 3  // ordinal = projection, index = synapse
#define VOLLEY_STREAM_DELAY 4   // likewise
#define VOLLEY_STREAM_WEIGHT 5  // likewise

// ---- external drive: Poisson counts by inversion over integer thresholds

#define VOLLEY_DRIVE_LEVELS 16

struct VolleyDrive {
  float weight;                   // mV per event; its sign chooses the receptor
  vu32 levels;                    // thresholds in use, 0 = no drive
  vu32 cdf[VOLLEY_DRIVE_LEVELS];  // floor(P(count <= k) * 2^32)
};

VOLLEY_FN vu32 volley_drive_count(const VolleyDrive *d, vu64 key, vu32 step, vu32 neuron) {
  if (d->levels == 0) return 0;
  const vu32 u = (vu32)(volley_draw(key, ((vu64)step << 32) | neuron) >> 32);
  vu32 count = 0;
  while (count < d->levels && u >= d->cdf[count]) ++count;
  return count;
}

VOLLEY_FN void volley_drive_add(const VolleyDrive *d, vu32 count, float *in_exc, float *in_inh) {
  if (count == 0) return;
  const float sum = (float)count * d->weight;
  if (d->weight >= 0.0f) {
    *in_exc = *in_exc + sum;
  } else {
    *in_inh = *in_inh + sum;
  }
}

// ---- leaky integrate-and-fire with exponential synaptic currents

struct VolleyLif {
  float v_rest;       // mV, the constant current (in mV) already added
  float v_reset;      // mV
  float v_threshold;  // mV
  float decay_m;      // exp(-dt / tau_m), computed in double, rounded once
  float decay_exc;
  float decay_inh;
  vu32 refractory;  // whole steps
  VolleyDrive drive;
};

// One step of one neuron; true when it spikes. Inputs are what arrives in this step, in mV.
VOLLEY_FN bool volley_lif_step(const VolleyLif *p, float in_exc, float in_inh, float *v, float *g_exc, float *g_inh,
                               vu32 *hold) {
  *g_exc = *g_exc * p->decay_exc + in_exc;
  *g_inh = *g_inh * p->decay_inh + in_inh;
  if (*hold > 0) {  // refractory: v stays at v_reset, the synapses go on
    *hold = *hold - 1;
    return false;
  }
  const float target = (p->v_rest + *g_exc) + *g_inh;
  *v = target + (*v - target) * p->decay_m;
  if (!(*v >= p->v_threshold)) return false;
  *v = p->v_reset;
  *hold = p->refractory;
  return true;
}

// ---- fixed-point accumulation: int64 in units of 2^-32 mV, so that the sum has no order

#define VOLLEY_FIXED_ONE 4294967296.0f

VOLLEY_FN float volley_from_fixed(vi64 sum) { return (float)sum * (1.0f / VOLLEY_FIXED_ONE); }

#endif
