// Opens libvolley_rtc.so.1.0, which lies beside this library, and hands user models to it.
#pragma once
#include <string>

#include "backend.h"

namespace volley {

struct CompiledModel {
  std::string cubin;
  std::string source;   // the generated CUDA source
  std::string message;  // which NVRTC made it, for which arch
};

// Compiles the model of one population for `arch` ("sm_90"). Throws VOLLEY_NO_DEVICE without libvolley_rtc or
// NVRTC, VOLLEY_INVALID with the compiler's log for a mistake in the model.
CompiledModel compile_model(const Network &net, const Population &population, Accumulate accumulate,
                            const std::string &arch);

// One line for `volley info`: where libvolley_rtc and NVRTC are, or why not.
std::string describe_rtc();

}  // namespace volley
