// The CUDA driver API as far as volley uses it: own prototypes, libcuda.so.1 opened at run time, so that the
// library is built without CUDA and runs without a GPU. Names and values as in cuda.h.
#pragma once
#include <cstddef>
#include <string>

#include "select.h"

namespace volley {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUstream = struct CUstream_st *;

enum : int {
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6
};

// (name in this struct, symbol of the library, parameters)
#define VOLLEY_CUDA_FUNCTIONS(F)                                                                              \
  F(cuInit, "cuInit", (unsigned))                                                                             \
  F(cuDriverGetVersion, "cuDriverGetVersion", (int *))                                                        \
  F(cuGetErrorName, "cuGetErrorName", (CUresult, const char **))                                              \
  F(cuGetErrorString, "cuGetErrorString", (CUresult, const char **))                                          \
  F(cuDeviceGetCount, "cuDeviceGetCount", (int *))                                                            \
  F(cuDeviceGet, "cuDeviceGet", (CUdevice *, int))                                                            \
  F(cuDeviceGetName, "cuDeviceGetName", (char *, int, CUdevice))                                              \
  F(cuDeviceGetAttribute, "cuDeviceGetAttribute", (int *, int, CUdevice))                                     \
  F(cuDeviceTotalMem, "cuDeviceTotalMem_v2", (size_t *, CUdevice))                                            \
  F(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (CUcontext *, CUdevice))                            \
  F(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (CUdevice))                                    \
  F(cuCtxPushCurrent, "cuCtxPushCurrent_v2", (CUcontext))                                                     \
  F(cuCtxPopCurrent, "cuCtxPopCurrent_v2", (CUcontext *))                                                     \
  F(cuCtxSynchronize, "cuCtxSynchronize", ())                                                                 \
  F(cuModuleLoadDataEx, "cuModuleLoadDataEx", (CUmodule *, const void *, unsigned, int *, void **))           \
  F(cuModuleUnload, "cuModuleUnload", (CUmodule))                                                             \
  F(cuModuleGetFunction, "cuModuleGetFunction", (CUfunction *, CUmodule, const char *))                       \
  F(cuMemAlloc, "cuMemAlloc_v2", (CUdeviceptr *, size_t))                                                     \
  F(cuMemFree, "cuMemFree_v2", (CUdeviceptr))                                                                 \
  F(cuMemsetD8, "cuMemsetD8_v2", (CUdeviceptr, unsigned char, size_t))                                        \
  F(cuMemsetD8Async, "cuMemsetD8Async", (CUdeviceptr, unsigned char, size_t, CUstream))                       \
  F(cuMemcpyHtoD, "cuMemcpyHtoD_v2", (CUdeviceptr, const void *, size_t))                                     \
  F(cuMemcpyDtoH, "cuMemcpyDtoH_v2", (void *, CUdeviceptr, size_t))                                           \
  F(cuLaunchKernel, "cuLaunchKernel",                                                                         \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **))

class CudaDriver {
 public:
#define VOLLEY_DECLARE(member, symbol, parameters) CUresult(*member) parameters = nullptr;
  VOLLEY_CUDA_FUNCTIONS(VOLLEY_DECLARE)
#undef VOLLEY_DECLARE

  // Opens and initialises the driver once per process. Throws Error (VOLLEY_NO_DEVICE) with the reason.
  static const CudaDriver &get();

  CudaVersion version;  // the CUDA release that the driver implements
  std::string path;     // of the libcuda.so.1 that the loader chose
  int devices = 0;

  std::string error(CUresult result) const;                    // "CUDA_ERROR_...: text"
  void check(CUresult result, const std::string &what) const;  // throws Error (VOLLEY_FAILED)

 private:
  CudaDriver();
};

struct CudaDevice {
  int ordinal = 0;
  CUdevice handle = 0;
  std::string name;
  Capability capability;
  int multiprocessors = 1;
  size_t memory = 0;  // bytes
};

CudaDevice cuda_device(const CudaDriver &cu, int ordinal);

}  // namespace volley
