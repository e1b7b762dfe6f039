// The CUDA source of a user model: its statements inside the frame that every neuron kernel has.
#pragma once
#include <string>

#include "volley/rtc.h"

namespace volley {

std::string generate_source(const volley_rtc_model &model);

}  // namespace volley
