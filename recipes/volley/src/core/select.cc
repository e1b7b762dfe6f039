#include "select.h"

#include <algorithm>

namespace volley {

namespace {

// Where a candidate stands in the chain, or why it does not.
struct Rank {
  bool usable = false;
  int link = 0;  // 0 to 4, as in select.h
  std::string why;
};

Rank refuse(const std::string &why) { return {false, 0, why}; }

bool older(CudaVersion a, CudaVersion b) { return a.major != b.major ? a.major < b.major : a.minor < b.minor; }

// 0 if equal, negative if a is lower.
int compare(Capability a, Capability b) { return a.major != b.major ? a.major - b.major : a.minor - b.minor; }

// Why SASS or family PTX of `code` does not run on `device` by its capability alone; empty if it does.
std::string family_objection(Capability device, const DeviceCode &code) {
  if (code.capability.major != device.major) return "other major";
  if (code.capability.minor > device.minor) return "higher minor";
  if (is_tegra(code.capability) != is_tegra(device) && compare(code.capability, device) != 0)
    return is_tegra(device) ? "Tegra, and that code is for desktop GPUs" : "a desktop GPU, and that code is for Tegra";
  return "";
}

Rank rank_sass(Capability device, const DeviceCode &code) {
  const std::string gpu = "this GPU is " + device.text() + ": ";
  const std::string objection = family_objection(device, code);
  if (!objection.empty()) return refuse(gpu + objection);
  // Family code stands behind plain code everywhere, so that its place does not depend on the device.
  if (code.suffix == 'f') return {true, 3, "family code, runs on " + device.text()};
  if (code.compiled_here && compare(code.capability, device) == 0)
    return {true, 0, "compiled on this machine for exactly " + device.text()};
  if (compare(code.capability, device) == 0) return {true, 1, "exactly this GPU's capability, " + device.text()};
  if (code.suffix == 'a') return refuse(gpu + "`a` code runs on exactly " + code.capability.text());
  return {true, 2, "lower minor of the same major, runs on " + device.text()};
}

Rank rank_ptx(Capability device, CudaVersion driver, const DeviceCode &code) {
  const std::string gpu = "this GPU is " + device.text() + ": ";
  if (code.suffix == 'a' && compare(code.capability, device) != 0)
    return refuse(gpu + "`a` PTX compiles for exactly " + code.capability.text());
  if (code.suffix == 'f') {
    const std::string objection = family_objection(device, code);
    if (!objection.empty()) return refuse(gpu + objection);
  }
  if (compare(code.capability, device) > 0) return refuse(gpu + "PTX of a higher capability");
  if (code.ptx_version.major == 0) return refuse("its PTX states no version");
  CudaVersion needed;
  if (!cuda_of_ptx(code.ptx_version, &needed)) return refuse("PTX " + code.ptx_version.text() + " is not known here");
  if (older(driver, needed))
    return refuse("PTX " + code.ptx_version.text() + " needs a driver of CUDA " + needed.text() + ", this one is " +
                  driver.text());
  return {true, 4, "PTX " + code.ptx_version.text() + ", compiled by the driver for " + device.text()};
}

Rank rank(Capability device, CudaVersion driver, const DeviceCode &code) {
  if (!code.problem.empty()) return refuse(code.problem);
  if (code.cuda_major > driver.major)
    return refuse("CUDA " + std::to_string(code.cuda_major) + " code needs a driver of CUDA " +
                  std::to_string(code.cuda_major) + ".0, this one is " + driver.text());
  return code.ptx ? rank_ptx(device, driver, code) : rank_sass(device, code);
}

int suffix_order(char suffix, bool ptx) {
  if (suffix == 'a') return 0;
  if (suffix == 'f') return ptx ? 1 : 2;
  return ptx ? 2 : 1;
}

}  // namespace

std::string DeviceCode::target() const {
  std::string t = ptx ? "compute_" : "sm_";
  t += std::to_string(capability.major) + std::to_string(capability.minor);
  if (suffix) t += suffix;
  return t;
}

std::string DeviceCode::name() const { return "cuda" + std::to_string(cuda_major) + "/" + target(); }

bool parse_capability(const std::string &text, Capability *capability) {
  const size_t dot = text.find('.');
  if (dot == 0 || dot == std::string::npos || dot > 2 || text.size() != dot + 2) return false;
  for (size_t i = 0; i < text.size(); ++i)
    if (i != dot && !(text[i] >= '0' && text[i] <= '9')) return false;
  capability->major = std::stoi(text.substr(0, dot));
  capability->minor = text[dot + 1] - '0';
  return true;
}

bool parse_target(const std::string &text, DeviceCode *code) {
  size_t at = 0;
  if (text.compare(0, 3, "sm_") == 0) {
    at = 3;
    code->ptx = false;
  } else if (text.compare(0, 8, "compute_") == 0) {
    at = 8;
    code->ptx = true;
  } else {
    return false;
  }
  std::string digits = text.substr(at);
  code->suffix = '\0';
  if (!digits.empty() && (digits.back() == 'a' || digits.back() == 'f')) {
    code->suffix = digits.back();
    digits.pop_back();
  }
  if (digits.size() < 2 || digits.size() > 3) return false;
  return parse_capability(digits.substr(0, digits.size() - 1) + "." + digits.back(), &code->capability);
}

bool is_tegra(Capability c) {
  // CUDA C++ programming guide, compute capabilities of the Jetson and DRIVE modules.
  const int tegra[] = {53, 62, 72, 87, 88, 101, 110};
  return std::find(std::begin(tegra), std::end(tegra), c.major * 10 + c.minor) != std::end(tegra);
}

bool cuda_of_ptx(CudaVersion isa, CudaVersion *cuda) {
  // PTX ISA documentation, release history. 8.5 came with 12.5 and stayed for 12.6.
  if (isa.major == 7 && isa.minor <= 8) {
    *cuda = {11, isa.minor};
    return true;
  }
  if (isa.major == 8 && isa.minor <= 8) {
    *cuda = {12, isa.minor <= 5 ? isa.minor : isa.minor + 1};
    return true;
  }
  if (isa.major == 9 && isa.minor <= 5) {
    *cuda = {13, isa.minor};
    return true;
  }
  return false;
}

Selection select_code(Capability device, CudaVersion driver, const std::vector<DeviceCode> &available) {
  struct Ranked {
    const DeviceCode *code;
    Rank rank;
  };
  std::vector<Ranked> usable, refused;
  for (const DeviceCode &code : available) {
    const Rank r = rank(device, driver, code);
    (r.usable ? usable : refused).push_back({&code, r});
  }
  std::stable_sort(usable.begin(), usable.end(), [](const Ranked &a, const Ranked &b) {
    if (a.rank.link != b.rank.link) return a.rank.link < b.rank.link;
    const int by_capability = compare(a.code->capability, b.code->capability);
    if (by_capability != 0) return by_capability > 0;
    const int sa = suffix_order(a.code->suffix, a.code->ptx), sb = suffix_order(b.code->suffix, b.code->ptx);
    if (sa != sb) return sa < sb;
    return a.code->cuda_major > b.code->cuda_major;
  });
  Selection s;
  for (const Ranked &r : usable) {
    const bool first = &r == &usable.front();
    s.trace.push_back({r.code->name(), first ? Candidate::Verdict::Taken : Candidate::Verdict::Usable, r.rank.why});
  }
  for (const Ranked &r : refused) s.trace.push_back({r.code->name(), Candidate::Verdict::Refused, r.rank.why});
  if (!usable.empty()) {
    s.found = true;
    s.choice = *usable.front().code;
    s.summary = s.choice.target() + ": " + usable.front().rank.why;
  } else if (refused.empty()) {
    s.summary = "no device code is installed";
  } else {
    std::vector<std::string> reasons;  // one clause per reason, naming all that it holds for
    std::vector<std::string> targets;
    for (const Ranked &r : refused) {
      const size_t at = static_cast<size_t>(std::find(reasons.begin(), reasons.end(), r.rank.why) - reasons.begin());
      if (at == reasons.size()) {
        reasons.push_back(r.rank.why);
        targets.push_back(r.code->target());
      } else {
        targets[at] += ", " + r.code->target();
      }
    }
    for (size_t i = 0; i < reasons.size(); ++i)
      s.summary += (i ? "; " : "") + targets[i] + " present, but " + reasons[i];
  }
  return s;
}

}  // namespace volley
