#include "nvrtc.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <algorithm>
#include <stdexcept>

namespace volley {

namespace {

std::string directory_of(const std::string &path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

}  // namespace

Nvrtc::Nvrtc() {
  // By name: the loader and this library's RUNPATH decide where from.
  void *library = nullptr;
  std::string objections;
  for (const char *name : {"libnvrtc.so.13", "libnvrtc.so.12"}) {
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library) break;
    const char *why = dlerror();
    objections += std::string(objections.empty() ? "" : "; ") + (why ? why : name);
  }
  if (!library) throw std::runtime_error("no NVRTC: " + objections);
#define VOLLEY_LOAD(name, type, parameters)                         \
  name = reinterpret_cast<decltype(name)>(dlsym(library, #name));   \
  if (!name) throw std::runtime_error("NVRTC has no " #name);
  VOLLEY_NVRTC_FUNCTIONS(VOLLEY_LOAD)
#undef VOLLEY_LOAD
  Dl_info info;
  if (dladdr(reinterpret_cast<void *>(nvrtcVersion), &info) && info.dli_fname) path = info.dli_fname;
  if (nvrtcVersion(&major, &minor) != 0) throw std::runtime_error("NVRTC at " + path + " states no version");
  open_builtins();
  int count = 0;
  if (nvrtcGetNumSupportedArchs(&count) == 0 && count > 0) {
    archs.resize(static_cast<size_t>(count));
    if (nvrtcGetSupportedArchs(archs.data()) != 0) archs.clear();
    std::sort(archs.begin(), archs.end());
  }
}

// NVRTC opens its builtins by bare name while it compiles, and the 13.0 release has no RUNPATH to find them by.
// Opened here first by full path, they are already in the process under that name.
void Nvrtc::open_builtins() {
  const std::string name = "libnvrtc-builtins.so." + std::to_string(major) + "." + std::to_string(minor);
  std::vector<std::string> candidates{directory_of(path) + "/" + name};
  if (char *real = ::realpath(path.c_str(), nullptr)) {  // the link may lie in another directory than the file
    candidates.push_back(directory_of(real) + "/" + name);
    std::free(real);
  }
  for (const std::string &candidate : candidates) {
    if (dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      builtins = candidate;
      has_builtins = true;
      return;
    }
    const char *why = dlerror();
    if (builtins.empty()) builtins = why ? why : candidate;
  }
}

const Nvrtc &Nvrtc::get() {
  static const Nvrtc nvrtc;
  return nvrtc;
}

}  // namespace volley
