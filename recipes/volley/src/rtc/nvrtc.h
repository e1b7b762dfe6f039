// NVRTC as far as volley uses it: own prototypes, the library opened at run time. Names as in nvrtc.h.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace volley {

using nvrtcResult = int;
using nvrtcProgram = struct _nvrtcProgram *;

#define VOLLEY_NVRTC_FUNCTIONS(F)                                                                       \
  F(nvrtcGetErrorString, const char *, (nvrtcResult))                                                   \
  F(nvrtcVersion, nvrtcResult, (int *, int *))                                                          \
  F(nvrtcGetNumSupportedArchs, nvrtcResult, (int *))                                                    \
  F(nvrtcGetSupportedArchs, nvrtcResult, (int *))                                                       \
  F(nvrtcCreateProgram, nvrtcResult,                                                                    \
    (nvrtcProgram *, const char *, const char *, int, const char *const *, const char *const *))        \
  F(nvrtcDestroyProgram, nvrtcResult, (nvrtcProgram *))                                                 \
  F(nvrtcCompileProgram, nvrtcResult, (nvrtcProgram, int, const char *const *))                         \
  F(nvrtcGetCUBINSize, nvrtcResult, (nvrtcProgram, size_t *))                                           \
  F(nvrtcGetCUBIN, nvrtcResult, (nvrtcProgram, char *))                                                 \
  F(nvrtcGetProgramLogSize, nvrtcResult, (nvrtcProgram, size_t *))                                      \
  F(nvrtcGetProgramLog, nvrtcResult, (nvrtcProgram, char *))

// The NVRTC of this machine. get() throws std::runtime_error when there is none.
class Nvrtc {
 public:
#define VOLLEY_DECLARE(name, type, parameters) type(*name) parameters = nullptr;
  VOLLEY_NVRTC_FUNCTIONS(VOLLEY_DECLARE)
#undef VOLLEY_DECLARE

  static const Nvrtc &get();

  int major = 0, minor = 0;
  std::string path;           // of the library that the loader chose
  std::string builtins;       // full path, or why they could not be opened beside it
  bool has_builtins = false;
  std::vector<int> archs;     // 90 for sm_90, ascending
  std::string describe() const { return "NVRTC " + std::to_string(major) + "." + std::to_string(minor) + " at " + path; }

 private:
  Nvrtc();
  void open_builtins();
};

}  // namespace volley
