// The C interface of libvolley_rtc: a model goes in, SASS for one architecture comes out.
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "../core/select.h"
#include "embedded.h"
#include "generate.h"
#include "nvrtc.h"
#include "volley/rtc.h"

namespace {

using namespace volley;

char *copy(const std::string &text) {
  char *out = static_cast<char *>(std::malloc(text.size() + 1));
  if (out) std::memcpy(out, text.c_str(), text.size() + 1);
  return out;
}

// A destroyed program on every way out.
struct Program {
  const Nvrtc &nvrtc;
  nvrtcProgram handle = nullptr;
  ~Program() {
    if (handle) nvrtc.nvrtcDestroyProgram(&handle);
  }
  std::string log() const {
    size_t size = 0;
    if (nvrtc.nvrtcGetProgramLogSize(handle, &size) != 0 || size < 2) return "";
    std::string text(size, '\0');
    nvrtc.nvrtcGetProgramLog(handle, &text[0]);
    text.resize(size - 1);
    return text;
  }
};

// The architecture itself or, where this NVRTC is older than the GPU, what the fallback chain allows of SASS.
bool choose_arch(const Nvrtc &nvrtc, const std::string &wanted, std::string *chosen, std::string *why_not) {
  DeviceCode target;
  if (!parse_target(wanted, &target) || target.ptx) {
    *why_not = "`" + wanted + "` is not an architecture such as sm_90";
    return false;
  }
  if (target.suffix || nvrtc.archs.empty()) {  // not in NVRTC's list: let it judge
    *chosen = wanted;
    return true;
  }
  std::vector<DeviceCode> known;
  std::string all;
  for (int arch : nvrtc.archs) {
    DeviceCode code;
    code.capability = {arch / 10, arch % 10};
    all += " sm_" + std::to_string(arch);
    known.push_back(code);
  }
  const Selection s = select_code(target.capability, {nvrtc.major, nvrtc.minor}, known);
  if (s.found) {
    *chosen = s.choice.target();
    return true;
  }
  *why_not = nvrtc.describe() + " compiles nothing for " + wanted + " (it knows" + all + ")";
  return false;
}

int compile(const volley_rtc_model &model, const std::string &arch, const std::string &source, std::string *cubin,
            std::string *message) {
  const Nvrtc &nvrtc = Nvrtc::get();
  std::string chosen;
  if (!choose_arch(nvrtc, arch, &chosen, message)) return VOLLEY_RTC_UNAVAILABLE;
  const std::string variant = model.accumulate;
  const std::string define = variant == "fixed" ? "-DACCUMULATE_FIXED" : variant == "float" ? "-DACCUMULATE_FLOAT" : "-DACCUMULATE_GATHER";
  // SASS, never PTX: a driver refuses PTX from an NVRTC newer than itself. --fmad=false: see volley_shared.h.
  const std::string architecture = "--gpu-architecture=" + chosen;
  const char *options[] = {architecture.c_str(), "--fmad=false", "--std=c++17", define.c_str()};
  const char *texts[] = {volley_shared_h, volley_device_cuh};
  const char *names[] = {"volley_shared.h", "volley_device.cuh"};
  Program program{nvrtc};
  nvrtcResult r = nvrtc.nvrtcCreateProgram(&program.handle, source.c_str(), "model.cu", 2, texts, names);
  if (r == 0) r = nvrtc.nvrtcCompileProgram(program.handle, 4, options);
  const std::string log = program.handle ? program.log() : "";
  if (r != 0) {
    const int compilation_error = 6, builtins_missing = 7;  // NVRTC_ERROR_COMPILATION, ..._BUILTIN_OPERATION_FAILURE
    if (r == compilation_error && log.find("nvrtc-builtins") == std::string::npos) {
      *message = "it does not compile\n" + log;
      return VOLLEY_RTC_MISTAKE;
    }
    *message = nvrtc.describe() + " fails: " + nvrtc.nvrtcGetErrorString(r) + (log.empty() ? "" : "\n" + log);
    if (!nvrtc.has_builtins && (r == builtins_missing || r == compilation_error))
      *message += "\nits builtins could not be opened: " + nvrtc.builtins;
    return VOLLEY_RTC_UNAVAILABLE;
  }
  size_t size = 0;
  r = nvrtc.nvrtcGetCUBINSize(program.handle, &size);
  if (r == 0 && size > 0) {
    cubin->resize(size);
    r = nvrtc.nvrtcGetCUBIN(program.handle, &(*cubin)[0]);
  }
  if (r != 0 || size == 0) {
    *message = nvrtc.describe() + " gives no SASS: " + nvrtc.nvrtcGetErrorString(r);
    return VOLLEY_RTC_UNAVAILABLE;
  }
  *message = nvrtc.describe() + " for " + chosen;
  return 0;
}

}  // namespace

const char *volley_rtc_abi(void) { return VOLLEY_RTC_ABI; }
void volley_rtc_free(void *memory) { std::free(memory); }

int volley_rtc_compile(const volley_rtc_model *model, const char *arch, void **cubin, size_t *cubin_size,
                       char **source, char **message) {
  *cubin = nullptr;
  *cubin_size = 0;
  *source = *message = nullptr;
  try {
    const std::string text = generate_source(*model);
    *source = copy(text);
    std::string bytes, said;
    const int status = compile(*model, arch, text, &bytes, &said);
    *message = copy(said);
    if (status != 0) return status;
    *cubin = std::malloc(bytes.size());
    if (!*cubin) return VOLLEY_RTC_UNAVAILABLE;
    std::memcpy(*cubin, bytes.data(), bytes.size());
    *cubin_size = bytes.size();
    return 0;
  } catch (const std::exception &e) {
    *message = copy(e.what());
    return VOLLEY_RTC_UNAVAILABLE;
  }
}

int volley_rtc_describe(char **message) {
  *message = nullptr;
  try {
    const volley::Nvrtc &nvrtc = volley::Nvrtc::get();
    *message = copy(nvrtc.describe() + (nvrtc.has_builtins ? ", builtins beside it" : ", builtins not beside it: " + nvrtc.builtins));
    return 0;
  } catch (const std::exception &e) {
    *message = copy(e.what());
    return VOLLEY_RTC_UNAVAILABLE;
  }
}
