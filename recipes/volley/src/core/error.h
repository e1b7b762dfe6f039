// What a failing function throws inside the library; api.cc turns it into a volley_status.
#pragma once
#include <stdexcept>
#include <string>

#include "volley/volley.h"

namespace volley {

struct Error : std::runtime_error {
  Error(volley_status code, const std::string &message) : std::runtime_error(message), status(code) {}
  volley_status status;
};

inline Error invalid(const std::string &message) { return Error(VOLLEY_INVALID, message); }
inline Error failed(const std::string &message) { return Error(VOLLEY_FAILED, message); }
inline Error no_device(const std::string &message) { return Error(VOLLEY_NO_DEVICE, message); }

}  // namespace volley
