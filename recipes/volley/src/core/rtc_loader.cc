#include "rtc_loader.h"

#include <dlfcn.h>

#include "kernel_store.h"
#include "volley/rtc.h"

namespace volley {

namespace {

struct Rtc {
  decltype(&volley_rtc_abi) abi = nullptr;
  decltype(&volley_rtc_compile) compile = nullptr;
  decltype(&volley_rtc_describe) describe = nullptr;
  decltype(&volley_rtc_free) release = nullptr;
  std::string path;

  static const Rtc &get() {
    static const Rtc rtc;
    return rtc;
  }
  std::string take(char *text) const {  // copies and frees
    const std::string copy = text ? text : "";
    release(text);
    return copy;
  }

 private:
  Rtc() {
    const std::string beside = library_directory() + "/" VOLLEY_RTC_SONAME;
    void *library = dlopen(beside.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) library = dlopen(VOLLEY_RTC_SONAME, RTLD_NOW | RTLD_LOCAL);
    if (!library)
      throw no_device(std::string("user models need the runtime compiler component (" VOLLEY_RTC_SONAME "): ") +
                      dlerror());
    load(library, "volley_rtc_abi", abi);
    load(library, "volley_rtc_compile", compile);
    load(library, "volley_rtc_describe", describe);
    load(library, "volley_rtc_free", release);
    Dl_info info;
    if (dladdr(reinterpret_cast<void *>(abi), &info) && info.dli_fname) path = info.dli_fname;
    if (std::string(abi()) != VOLLEY_RTC_ABI)
      throw no_device(path + " is for volley " + abi() + ", this is " VOLLEY_RTC_ABI);
  }
  template <class F>
  static void load(void *library, const char *symbol, F &f) {
    f = reinterpret_cast<F>(dlsym(library, symbol));
    if (!f) throw no_device(std::string(VOLLEY_RTC_SONAME " has no ") + symbol);
  }
};

}  // namespace

CompiledModel compile_model(const Network &net, const Population &population, Accumulate accumulate,
                            const std::string &arch) {
  const Rtc &rtc = Rtc::get();
  const Model &model = net.models[static_cast<size_t>(population.model)];
  std::vector<const char *> states, names;
  std::vector<float> values;
  for (const std::string &s : model.states) states.push_back(s.c_str());
  for (const auto &p : population.parameters) {
    names.push_back(p.first.c_str());
    values.push_back(p.second);
  }
  volley_rtc_model request{};
  request.name = model.name.c_str();
  request.dt = net.dt;
  request.accumulate = accumulate_name(accumulate);
  request.states = states.size();
  request.state_names = states.data();
  request.parameters = names.size();
  request.parameter_names = names.data();
  request.parameter_values = values.data();
  request.update = model.update.c_str();
  request.threshold = model.threshold.c_str();
  request.reset = model.reset.c_str();
  void *cubin = nullptr;
  size_t size = 0;
  char *source = nullptr, *message = nullptr;
  const int status = rtc.compile(&request, arch.c_str(), &cubin, &size, &source, &message);
  CompiledModel result;
  result.source = rtc.take(source);
  result.message = rtc.take(message);
  if (status == 0) result.cubin.assign(static_cast<const char *>(cubin), size);
  rtc.release(cubin);
  if (status == VOLLEY_RTC_MISTAKE) throw invalid(net.name + ": model `" + model.name + "`: " + result.message);
  if (status != 0) throw no_device("model `" + model.name + "`: " + result.message);
  return result;
}

std::string describe_rtc() {
  try {
    const Rtc &rtc = Rtc::get();
    char *message = nullptr;
    rtc.describe(&message);
    return rtc.path + ", " + rtc.take(message);
  } catch (const Error &e) {
    return e.what();
  }
}

}  // namespace volley
