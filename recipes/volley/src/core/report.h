// The reports of the command line: what is installed, which devices there are, what the fallback chain says.
#pragma once
#include <string>

#include "backend.h"
#include "select.h"

namespace volley {

std::string info_report(bool json);
std::string devices_report(Accumulate accumulate, bool json);
std::string select_report(const std::string &capability, const std::string &driver, const std::string &available,
                          bool json);
std::string rtc_build(const Network &net, Accumulate accumulate, const std::string &arch, const std::string &directory);

}  // namespace volley
