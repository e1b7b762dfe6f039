// A libcuda.so.1 without a GPU, for tests of the CUDA backend on any machine: device memory is host memory, and
// volley's three kernels are carried out on the host from the very parameter arrays that the backend passes.
//
//   c++ -std=c++17 -O2 -ffp-contract=off -shared -fPIC -Wl,-soname,libcuda.so.1 -I recipes/volley/kernels
//       tests/volley/fake_cuda/fake_cuda.cc -o DIR/libcuda.so.1
//
// FAKE_CUDA_CAPABILITY (9.0) and FAKE_CUDA_DRIVER (13.0) say what it claims to be; FAKE_CUDA_DEVICES (1) how many;
// FAKE_CUDA_ACCUMULATE (fixed) which variant the loaded "kernels" are. Not a model of a GPU's speed or memory.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "volley_shared.h"

namespace {

enum Kernel { Init = 1, Update = 2, Deliver = 3 };

std::string setting(const char *name, const char *otherwise) {
  const char *value = std::getenv(name);
  return value ? value : otherwise;
}
void two(const std::string &text, int *a, int *b) { std::sscanf(text.c_str(), "%d.%d", a, b); }
std::string variant() { return setting("FAKE_CUDA_ACCUMULATE", "fixed"); }

template <class T>
T arg(void **parameters, int k) {
  T value;
  std::memcpy(&value, parameters[k], sizeof value);
  return value;
}
template <class T>
T *ptr(void **parameters, int k) {
  return reinterpret_cast<T *>(arg<vu64>(parameters, k));
}

void init(void **a) {
  float *state = ptr<float>(a, 0);
  const vu64 key = arg<vu64>(a, 1);
  const vu32 first = arg<vu32>(a, 2), count = arg<vu32>(a, 3);
  for (vu32 i = 0; i < count; ++i)
    state[first + i] = arg<float>(a, 4) + arg<float>(a, 5) * volley_unit(volley_draw(key, i));
}

void update(void **a) {
  const bool fixed = variant() == "fixed", gather = variant() == "none";
  const vu64 key = arg<vu64>(a, 8);
  const vu32 first = arg<vu32>(a, 9), count = arg<vu32>(a, 10), slot = arg<vu32>(a, 11), stride = arg<vu32>(a, 12);
  const vu32 step = arg<vu32>(a, 13);
  const VolleyLif p = arg<VolleyLif>(a, 14);
  vu32 *bits = ptr<vu32>(a, 5);
  for (vu32 i = 0; i < count; ++i) {
    const vu32 n = first + i;
    float in[2];
    for (vu32 receptor = 0; receptor < 2; ++receptor) {
      const vu64 cell = ((vu64)slot * 2 + receptor) * stride + n;
      if (fixed) {
        in[receptor] = volley_from_fixed(ptr<vi64>(a, 4)[cell]);
        ptr<vi64>(a, 4)[cell] = 0;
      } else {
        in[receptor] = ptr<float>(a, 4)[cell];
        if (!gather) ptr<float>(a, 4)[cell] = 0.0f;
      }
    }
    volley_drive_add(&p.drive, volley_drive_count(&p.drive, key, step, i), &in[0], &in[1]);
    const bool spiked = volley_lif_step(&p, in[0], in[1], ptr<float>(a, 0) + n, ptr<float>(a, 1) + n,
                                        ptr<float>(a, 2) + n, ptr<vu32>(a, 3) + n);
    if (n % 32 == 0) bits[n / 32] = 0;
    if (!spiked) continue;
    bits[n / 32] |= 1u << (n % 32);
    if (!gather) ptr<vu32>(a, 6)[(*ptr<vu32>(a, 7))++] = n;
  }
}

void deliver(void **a) {
  const vu64 *offsets = ptr<vu64>(a, 0);
  const vu32 *peer = ptr<vu32>(a, 1), *delay = ptr<vu32>(a, 3), *history = ptr<vu32>(a, 4);
  const float *weight = ptr<float>(a, 2);
  const vu32 rows = arg<vu32>(a, 8), stride = arg<vu32>(a, 9), ring_slots = arg<vu32>(a, 10);
  const vu32 history_slots = arg<vu32>(a, 11), step = arg<vu32>(a, 12);
  if (variant() != "none") {
    for (vu32 s = 0; s < *ptr<vu32>(a, 6); ++s) {
      const vu32 source = ptr<vu32>(a, 5)[s];
      for (vu64 k = offsets[source]; k < offsets[source + 1]; ++k) {
        const vu32 slot = (step % ring_slots + delay[k]) % ring_slots;
        const vu64 cell = ((vu64)slot * 2 + (weight[k] >= 0.0f ? 0 : 1)) * stride + peer[k];
        if (variant() == "fixed") {
          ptr<vi64>(a, 7)[cell] += std::llrint(weight[k] * VOLLEY_FIXED_ONE);
        } else {
          ptr<float>(a, 7)[cell] += weight[k];
        }
      }
    }
    return;
  }
  const vu32 now = (step + 1) % history_slots;
  for (vu32 row = 0; row < rows; ++row) {
    float sum[2][32] = {};
    for (vu64 k = offsets[row]; k < offsets[row + 1]; ++k) {
      const vu32 slot = now >= delay[k] ? now - delay[k] : now + history_slots - delay[k];
      if ((history[(vu64)slot * (stride / 32) + peer[k] / 32] >> (peer[k] % 32)) & 1u)
        sum[weight[k] >= 0.0f ? 0 : 1][(k - offsets[row]) % 32] += weight[k];
    }
    for (int receptor = 0; receptor < 2; ++receptor) {
      for (int reach = 16; reach > 0; reach /= 2)
        for (int lane = 0; lane < reach; ++lane) sum[receptor][lane] += sum[receptor][lane + reach];
      ptr<float>(a, 7)[((vu64)((step + 1) % ring_slots) * 2 + receptor) * stride + row] = sum[receptor][0];
    }
  }
}

}  // namespace

extern "C" {
int cuInit(unsigned) { return setting("FAKE_CUDA_DEVICES", "1") == "0" ? 100 : 0; }
int cuDriverGetVersion(int *version) {
  int major = 13, minor = 0;
  two(setting("FAKE_CUDA_DRIVER", "13.0"), &major, &minor);
  *version = major * 1000 + minor * 10;
  return 0;
}
int cuGetErrorName(int result, const char **text) {
  *text = result == 100 ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_FAKE";
  return 0;
}
int cuGetErrorString(int result, const char **text) {
  *text = result == 100 ? "no CUDA-capable device is detected" : "the fake driver refuses this";
  return 0;
}
int cuDeviceGetCount(int *count) { return *count = std::atoi(setting("FAKE_CUDA_DEVICES", "1").c_str()), 0; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, 0; }
int cuDeviceGetName(char *name, int size, int) { return std::snprintf(name, (size_t)size, "Fake GPU"), 0; }
int cuDeviceGetAttribute(int *value, int which, int) {
  int major = 9, minor = 0;
  two(setting("FAKE_CUDA_CAPABILITY", "9.0"), &major, &minor);
  *value = which == 75 ? major : which == 76 ? minor : 4;
  return 0;
}
int cuDeviceTotalMem_v2(size_t *bytes, int) { return *bytes = (size_t)1 << 30, 0; }
int cuDevicePrimaryCtxRetain(void **context, int) { return *context = std::malloc(1), 0; }
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
int cuCtxPushCurrent_v2(void *) { return 0; }
int cuCtxPopCurrent_v2(void **context) { return *context = nullptr, 0; }
int cuCtxSynchronize() { return 0; }
int cuModuleLoadDataEx(void **module, const void *, unsigned, int *, void **) { return *module = std::malloc(1), 0; }
int cuModuleUnload(void *module) { return std::free(module), 0; }
int cuModuleGetFunction(void **function, void *, const char *name) {
  const std::string n = name;
  const long kernel = n == "volley_neuron_init" ? Init : n == "volley_neuron_update" ? Update : n == "volley_synapse_deliver" ? Deliver : 0;
  *function = reinterpret_cast<void *>(kernel);
  return kernel ? 0 : 500;
}
int cuMemAlloc_v2(vu64 *at, size_t bytes) {
  *at = reinterpret_cast<vu64>(std::malloc(bytes));
  return *at ? 0 : 2;
}
int cuMemFree_v2(vu64 at) { return std::free(reinterpret_cast<void *>(at)), 0; }
int cuMemsetD8_v2(vu64 at, unsigned char value, size_t n) { return std::memset(reinterpret_cast<void *>(at), value, n), 0; }
int cuMemsetD8Async(vu64 at, unsigned char value, size_t n, void *) { return cuMemsetD8_v2(at, value, n); }
int cuMemcpyHtoD_v2(vu64 at, const void *from, size_t n) { return std::memcpy(reinterpret_cast<void *>(at), from, n), 0; }
int cuMemcpyDtoH_v2(void *to, vu64 at, size_t n) { return std::memcpy(to, reinterpret_cast<void *>(at), n), 0; }
int cuLaunchKernel(void *function, unsigned gx, unsigned, unsigned, unsigned bx, unsigned, unsigned, unsigned, void *,
                   void **parameters, void **) {
  const long kernel = reinterpret_cast<long>(function);
  const vu32 threads = gx * bx;
  if (kernel != Deliver && threads < arg<vu32>(parameters, kernel == Init ? 3 : 10)) return 1;  // too small a grid
  if (kernel == Init) init(parameters);
  if (kernel == Update) update(parameters);
  if (kernel == Deliver) deliver(parameters);
  return 0;
}
}
