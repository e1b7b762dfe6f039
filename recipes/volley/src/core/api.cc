// The C interface: exceptions stop here.
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <new>

#include "backend.h"
#include "kernel_store.h"
#include "report.h"
#include "sha256.h"

using namespace volley;

struct volley_network {
  Network net;
};

struct volley_result {
  Outcome outcome;
  std::vector<std::string> names;
  std::vector<u64> counts;
  std::vector<double> rates;  // spikes/s
  std::string digest;
};

namespace {

thread_local std::string last_error;

template <class F>
volley_status guarded(F f) {
  try {
    last_error.clear();
    f();
    return VOLLEY_OK;
  } catch (const Error &e) {
    last_error = e.what();
    return e.status;
  } catch (const std::bad_alloc &) {
    last_error = "out of memory";
  } catch (const std::length_error &) {
    last_error = "out of memory";
  } catch (const std::exception &e) {
    last_error = e.what();
  }
  return VOLLEY_FAILED;
}

char *copy(const std::string &text) {
  char *out = static_cast<char *>(std::malloc(text.size() + 1));
  if (!out) throw std::bad_alloc();
  std::memcpy(out, text.c_str(), text.size() + 1);
  return out;
}

void require(bool given, const char *what) {
  if (!given) throw invalid(std::string(what) + " must not be NULL");
}

Accumulate accumulate_of(volley_accumulate a) {
  switch (a) {
    case VOLLEY_ACCUMULATE_FIXED: return Accumulate::Fixed;
    case VOLLEY_ACCUMULATE_FLOAT: return Accumulate::Float;
    case VOLLEY_ACCUMULATE_NONE: return Accumulate::None;
  }
  throw invalid("unknown accumulation variant " + std::to_string(static_cast<int>(a)));
}

// The spikes as text, in pieces of about 64 KiB: what is written and what is digested.
template <class Sink>
void spike_text(const volley_result &r, Sink sink) {
  std::string piece;
  for (const volley_spike &s : r.outcome.spikes) {
    piece += std::to_string(s.step);
    piece += ' ';
    piece += r.names[s.population];
    piece += ' ';
    piece += std::to_string(s.neuron);
    piece += '\n';
    if (piece.size() > 65536) {
      sink(piece);
      piece.clear();
    }
  }
  sink(piece);
}

Outcome run_best(const Network &net, const volley_run_options &o) {
  const u64 seed = o.has_seed ? o.seed : net.seed;
  const Accumulate accumulate = accumulate_of(o.accumulate);
  if (o.threads < 0) throw invalid("the number of threads must not be negative");
  const std::string only = o.device_code ? o.device_code : "";
  const bool is_shader = only.compare(0, 7, "vulkan1") == 0;
  DeviceCode asked;
  if (!only.empty() && !is_shader && !parse_target(only, &asked))
    throw invalid("`" + only + "` is not a device code such as sm_90, compute_75 or vulkan1.1");
  if (o.backend == VOLLEY_BACKEND_VULKAN) return run_vulkan(net, seed, accumulate, o.device, false, only);
  if (o.backend == VOLLEY_BACKEND_CUDA) return run_cuda(net, seed, accumulate, o.device, only);
  if (o.backend == VOLLEY_BACKEND_CPU) {
    Outcome out = run_cpu(net, seed, accumulate, o.threads);
    out.reason = "asked for";
    return out;
  }
  if (o.backend != VOLLEY_BACKEND_AUTO) throw invalid("unknown backend " + std::to_string(static_cast<int>(o.backend)));
  std::string why;
  try {
    return run_cuda(net, seed, accumulate, o.device, only);
  } catch (const Error &e) {
    if (e.status != VOLLEY_NO_DEVICE) throw;
    why = e.what();
  }
  // Where no shaders are installed nobody need hear of them.
  if (!net.has_user_models() && !installed_shaders(kernel_root(), accumulate).empty()) {
    try {
      Outcome out = run_vulkan(net, seed, accumulate, 0, true, only);
      out.reason += "; " + why;
      return out;
    } catch (const Error &e) {
      if (e.status != VOLLEY_NO_DEVICE) throw;
      why += std::string("; ") + e.what();
    }
  } else {
    why += other_tags_note();
  }
  if (net.has_user_models()) throw no_device("this network has user models, which need CUDA and NVRTC; " + why);
  Outcome out = run_cpu(net, seed, accumulate, o.threads);
  out.reason = why + "; running on the CPU";
  return out;
}

volley_run_options options_of(const volley_run_options *given) {
  volley_run_options o;
  std::memset(&o, 0, sizeof o);
  if (!given) return o;
  if (given->size < sizeof(size_t)) throw invalid("volley_run_options.size is not set");
  std::memcpy(&o, given, given->size < sizeof o ? given->size : sizeof o);
  return o;
}

}  // namespace

const char *volley_version(void) { return "1.0.0"; }
const char *volley_kernel_abi(void) {
  static const std::string tag = kernel_abi();
  return tag.c_str();
}
const char *volley_last_error(void) { return last_error.c_str(); }
void volley_string_free(char *text) { std::free(text); }

volley_status volley_network_parse(const char *text, const char *name, volley_network **network) {
  return guarded([&] {
    require(text && network, "text and network");
    std::unique_ptr<volley_network> n(new volley_network);
    n->net = read_network(text, name ? name : "network");
    *network = n.release();
  });
}

volley_status volley_network_load(const char *path, volley_network **network) {
  return guarded([&] {
    require(path && network, "path and network");
    std::string text;
    try {
      text = read_file(path);
    } catch (const Error &e) {
      throw invalid(e.what());
    }
    std::unique_ptr<volley_network> n(new volley_network);
    n->net = read_network(text, path);
    *network = n.release();
  });
}

void volley_network_free(volley_network *network) { delete network; }
size_t volley_network_populations(const volley_network *n) { return n->net.populations.size(); }
const char *volley_network_population_name(const volley_network *n, size_t p) {
  return p < n->net.populations.size() ? n->net.populations[p].name.c_str() : "";
}
uint32_t volley_network_population_size(const volley_network *n, size_t p) {
  return p < n->net.populations.size() ? n->net.populations[p].size : 0;
}
double volley_network_dt(const volley_network *n) { return n->net.dt; }
double volley_network_duration(const volley_network *n) { return n->net.dt * n->net.steps; }

volley_status volley_run(const volley_network *network, const volley_run_options *options, volley_result **result) {
  return guarded([&] {
    require(network && result, "network and result");
    std::unique_ptr<volley_result> r(new volley_result);
    r->outcome = run_best(network->net, options_of(options));
    r->counts.assign(network->net.populations.size(), 0);
    for (const volley_spike &s : r->outcome.spikes) ++r->counts[s.population];
    const double seconds = network->net.dt * network->net.steps / 1000.0;
    for (size_t p = 0; p < r->counts.size(); ++p) {
      const Population &pop = network->net.populations[p];
      r->names.push_back(pop.name);
      r->rates.push_back(static_cast<double>(r->counts[p]) / (pop.size * seconds));
    }
    Sha256 sum;
    spike_text(*r, [&](const std::string &piece) { sum.add(piece); });
    r->digest = sum.hex();
    *result = r.release();
  });
}

void volley_result_free(volley_result *result) { delete result; }
const char *volley_result_backend(const volley_result *r) { return r->outcome.backend.c_str(); }
const char *volley_result_device(const volley_result *r) { return r->outcome.device.c_str(); }
const char *volley_result_device_code(const volley_result *r) { return r->outcome.device_code.c_str(); }
const char *volley_result_reason(const volley_result *r) { return r->outcome.reason.c_str(); }
uint64_t volley_result_synapses(const volley_result *r) { return r->outcome.synapses; }
const volley_spike *volley_result_spikes(const volley_result *r, size_t *count) {
  if (count) *count = r->outcome.spikes.size();
  return r->outcome.spikes.data();
}
uint64_t volley_result_population_spikes(const volley_result *r, size_t p) { return p < r->counts.size() ? r->counts[p] : 0; }
double volley_result_population_rate(const volley_result *r, size_t p) { return p < r->rates.size() ? r->rates[p] : 0.0; }
const char *volley_result_digest(const volley_result *r) { return r->digest.c_str(); }
double volley_result_build_seconds(const volley_result *r) { return r->outcome.build_seconds; }
double volley_result_run_seconds(const volley_result *r) { return r->outcome.run_seconds; }

volley_status volley_result_write_spikes(const volley_result *result, const char *path) {
  return guarded([&] {
    require(result && path, "result and path");
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    spike_text(*result, [&](const std::string &piece) { out << piece; });
    if (!out.flush()) throw failed(std::string("cannot write ") + path);
  });
}

volley_status volley_info_report(int json, char **report) {
  return guarded([&] {
    require(report, "report");
    *report = copy(info_report(json != 0));
  });
}

volley_status volley_devices_report(volley_accumulate accumulate, int json, char **report) {
  return guarded([&] {
    require(report, "report");
    *report = copy(devices_report(accumulate_of(accumulate), json != 0));
  });
}

volley_status volley_select_report(const char *capability, const char *driver, const char *available, int json,
                                   char **report) {
  return guarded([&] {
    require(capability && driver && available && report, "capability, driver, available and report");
    *report = copy(select_report(capability, driver, available, json != 0));
  });
}

volley_status volley_rtc_build(const volley_network *network, volley_accumulate accumulate, const char *arch,
                               const char *directory, char **report) {
  return guarded([&] {
    require(network && arch && directory && report, "network, arch, directory and report");
    *report = copy(rtc_build(network->net, accumulate_of(accumulate), arch, directory));
  });
}
