// A libcuda.so.1 without a GPU for the sample of `simpack init`: memory is the host's, and its one kernel is carried out on
// the host, by the parameters that the sample passes. DRIVER (13000) and CAPABILITY (90) say what it claims to be. A module
// must be device code, and machine code must be for CUDA.
#include <cstdlib>
#include <cstring>

static int setting(const char *name, int otherwise) {
  const char *value = std::getenv(name);
  return value ? std::atoi(value) : otherwise;
}

extern "C" {
int cuInit(unsigned) { return 0; }
int cuDriverGetVersion(int *version) { return *version = setting("DRIVER", 13000), 0; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, ordinal == 0 ? 0 : 101; }
int cuDeviceGetAttribute(int *value, int which, int) {
  return *value = which == 75 ? setting("CAPABILITY", 90) / 10 : setting("CAPABILITY", 90) % 10, 0;
}
int cuDevicePrimaryCtxRetain(void **context, int) { return *context = const_cast<char *>("context"), 0; }
int cuCtxSetCurrent(void *context) { return context ? 0 : 201; }
int cuCtxSynchronize() { return 0; }
int cuGetErrorName(int, const char **name) { return *name = "CUDA_ERROR_OF_THE_TEST", 0; }
int cuModuleLoadData(void **module, const void *image) {
  const char *bytes = static_cast<const char *>(image);
  const bool cubin = std::memcmp(bytes, "\177ELF", 4) == 0 && (unsigned char)bytes[18] == 190;  // EM_CUDA
  if (!cubin && !std::strstr(bytes, ".entry")) return 200;
  return *module = const_cast<char *>("module"), 0;
}
int cuModuleGetFunction(void **function, void *, const char *name) {
  const size_t length = std::strlen(name);
  if (length < 5 || std::strcmp(name + length - 5, "_step") != 0) return 500;
  return *function = const_cast<char *>("step"), 0;
}
int cuMemAllocManaged(void **address, size_t bytes, unsigned flags) {
  return *address = flags == 1 ? std::malloc(bytes) : nullptr, *address ? 0 : 2;
}
int cuMemFree_v2(void *address) { return std::free(address), 0; }
int cuLaunchKernel(void *, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned, unsigned, unsigned, void *,
                   void **parameters, void **) {
  float *v = *static_cast<float **>(parameters[0]);
  const float *input = *static_cast<float **>(parameters[1]);
  const unsigned count = *static_cast<unsigned *>(parameters[2]);
  const float decay = *static_cast<float *>(parameters[3]);
  if (blocks * threads < count) return 1;
  for (unsigned i = 0; i < count; ++i) v[i] = v[i] * decay + input[i];
  return 0;
}
}
