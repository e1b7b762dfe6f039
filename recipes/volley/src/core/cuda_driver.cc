#include "cuda_driver.h"

#include <dlfcn.h>

#include "error.h"

namespace volley {

CudaDriver::CudaDriver() {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) throw no_device(std::string("no CUDA driver: ") + dlerror());
  // The library stays open: unloading a driver that has started threads is not safe.
#define VOLLEY_LOAD(member, symbol, parameters)                             \
  member = reinterpret_cast<decltype(member)>(dlsym(library, symbol));      \
  if (!member) throw no_device("the CUDA driver has no " symbol ": it is too old");
  VOLLEY_CUDA_FUNCTIONS(VOLLEY_LOAD)
#undef VOLLEY_LOAD
  Dl_info info;
  if (dladdr(reinterpret_cast<void *>(cuInit), &info) && info.dli_fname) path = info.dli_fname;
  const CUresult started = cuInit(0);
  if (started != 0) throw no_device("the CUDA driver " + path + " does not start: " + error(started));
  int number = 0;
  check(cuDriverGetVersion(&number), "cuDriverGetVersion");
  version = {number / 1000, number % 1000 / 10};
  check(cuDeviceGetCount(&devices), "cuDeviceGetCount");
}

const CudaDriver &CudaDriver::get() {
  static const CudaDriver driver;  // a constructor that throws is tried again by the next call
  return driver;
}

std::string CudaDriver::error(CUresult result) const {
  const char *name = nullptr, *text = nullptr;
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &text);
  if (!name) return "CUDA error " + std::to_string(result);
  return std::string(name) + (text ? std::string(": ") + text : std::string());
}

void CudaDriver::check(CUresult result, const std::string &what) const {
  if (result != 0) throw failed(what + " failed: " + error(result));
}

CudaDevice cuda_device(const CudaDriver &cu, int ordinal) {
  if (cu.devices == 0) throw no_device("the CUDA driver " + cu.path + " sees no GPU");
  if (ordinal < 0 || ordinal >= cu.devices)
    throw no_device("there is no GPU " + std::to_string(ordinal) + ", the driver sees " + std::to_string(cu.devices));
  CudaDevice d;
  d.ordinal = ordinal;
  cu.check(cu.cuDeviceGet(&d.handle, ordinal), "cuDeviceGet");
  char name[256] = {};
  cu.check(cu.cuDeviceGetName(name, sizeof name - 1, d.handle), "cuDeviceGetName");
  d.name = name;
  const auto attribute = [&](int *value, int which) {
    cu.check(cu.cuDeviceGetAttribute(value, which, d.handle), "cuDeviceGetAttribute");
  };
  attribute(&d.capability.major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  attribute(&d.capability.minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  attribute(&d.multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  cu.check(cu.cuDeviceTotalMem(&d.memory, d.handle), "cuDeviceTotalMem");
  return d;
}

}  // namespace volley
