// The `volley` program: arguments in, the C interface of libvolley, text out.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../core/json.h"
#include "arguments.h"
#include "help.h"
#include "volley/volley.h"

namespace {

using volley::json_quote;

struct Failure {  // thrown: a call of the library failed
  volley_status status;
};

void check(volley_status status) {
  if (status != VOLLEY_OK) throw Failure{status};
}

// Freed on every way out, a thrown Failure included.
struct Owned {
  volley_network *net = nullptr;
  volley_result *result = nullptr;
  ~Owned() {
    volley_result_free(result);
    volley_network_free(net);
  }
};

long long whole_number(const std::string &text, const char *option, long long low, long long high) {
  char *end = nullptr;
  errno = 0;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || errno == ERANGE || value < low || value > high)
    throw Usage{std::string("`") + option + "` must be a whole number of at least " + std::to_string(low)};
  return value;
}

volley_accumulate accumulate_of(const Arguments &args) {
  const std::string a = args.get("--accumulate", "fixed");
  if (a == "fixed") return VOLLEY_ACCUMULATE_FIXED;
  if (a == "float") return VOLLEY_ACCUMULATE_FLOAT;
  if (a == "none") return VOLLEY_ACCUMULATE_NONE;
  throw Usage{"`--accumulate` must be fixed, float or none, not `" + a + "`"};
}

volley_backend backend_of(const Arguments &args) {
  const std::string b = args.get("--backend", "auto");
  if (b == "auto") return VOLLEY_BACKEND_AUTO;
  if (b == "cpu") return VOLLEY_BACKEND_CPU;
  if (b == "cuda") return VOLLEY_BACKEND_CUDA;
  if (b == "vulkan") return VOLLEY_BACKEND_VULKAN;
  throw Usage{"`--backend` must be auto, cpu, cuda or vulkan, not `" + b + "`"};
}

void print_and_free(char *report) {
  std::fputs(report, stdout);
  volley_string_free(report);
}

void print_text(const volley_network *net, const volley_result *r, const std::string &file, const std::string &accumulate) {
  const std::string code = volley_result_device_code(r);
  std::printf("volley %s  %s  %g ms in steps of %g ms  %llu synapses\n", volley_version(), file.c_str(),
              volley_network_duration(net), volley_network_dt(net),
              static_cast<unsigned long long>(volley_result_synapses(r)));
  std::printf("backend     %s  %s  accumulate %s\n", volley_result_backend(r), volley_result_device(r), accumulate.c_str());
  if (!code.empty()) std::printf("code        %s\n", code.c_str());
  std::printf("because     %s\n\n", volley_result_reason(r));
  std::printf("%-20s %10s %12s %12s\n", "population", "neurons", "spikes", "rate (1/s)");
  for (size_t p = 0; p < volley_network_populations(net); ++p)
    std::printf("%-20s %10u %12llu %12.3f\n", volley_network_population_name(net, p),
                volley_network_population_size(net, p),
                static_cast<unsigned long long>(volley_result_population_spikes(r, p)),
                volley_result_population_rate(r, p));
  size_t count = 0;
  volley_result_spikes(r, &count);
  std::printf("\nspikes      %llu  sha256 %s\n", static_cast<unsigned long long>(count), volley_result_digest(r));
  std::printf("wall time   %.3f s connecting, %.3f s running\n", volley_result_build_seconds(r), volley_result_run_seconds(r));
}

void print_json(const volley_network *net, const volley_result *r, const std::string &file, const std::string &accumulate) {
  size_t count = 0;
  volley_result_spikes(r, &count);
  std::printf("{\n  \"schema\": 1,\n  \"version\": %s,\n  \"network\": %s,\n", json_quote(volley_version()).c_str(), json_quote(file).c_str());
  std::printf("  \"kernel_abi\": %s,\n", json_quote(volley_kernel_abi()).c_str());
  std::printf("  \"backend\": %s,\n  \"device\": %s,\n", json_quote(volley_result_backend(r)).c_str(), json_quote(volley_result_device(r)).c_str());
  std::printf("  \"device_code\": %s,\n", json_quote(volley_result_device_code(r)).c_str());
  std::printf("  \"reason\": %s,\n", json_quote(volley_result_reason(r)).c_str());
  std::printf("  \"accumulate\": %s,\n", json_quote(accumulate).c_str());
  std::printf("  \"synapses\": %llu,\n  \"populations\": [", static_cast<unsigned long long>(volley_result_synapses(r)));
  for (size_t p = 0; p < volley_network_populations(net); ++p)
    std::printf("%s\n    {\"name\": %s, \"neurons\": %u, \"spikes\": %llu, \"rate\": %.6f}", p ? "," : "",
                json_quote(volley_network_population_name(net, p)).c_str(), volley_network_population_size(net, p),
                static_cast<unsigned long long>(volley_result_population_spikes(r, p)),
                volley_result_population_rate(r, p));
  std::printf("\n  ],\n  \"spikes\": %llu,\n  \"digest\": \"%s\",\n", static_cast<unsigned long long>(count), volley_result_digest(r));
  std::printf("  \"build_seconds\": %.6f,\n  \"run_seconds\": %.6f\n}\n", volley_result_build_seconds(r), volley_result_run_seconds(r));
}

void run(const Arguments &args) {
  const std::string file = args.only("NET.toml");
  volley_run_options options;
  std::memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.backend = backend_of(args);
  options.accumulate = accumulate_of(args);
  options.threads = static_cast<int>(whole_number(args.get("--threads", "0"), "--threads", 0, 4096));
  options.device = static_cast<int>(whole_number(args.get("--device", "0"), "--device", 0, 4096));
  const std::string code = args.get("--code", "");  // lives until the run has ended
  if (args.has("--code")) options.device_code = code.c_str();
  options.has_seed = args.has("--seed");
  options.seed = static_cast<uint64_t>(whole_number(args.get("--seed", "0"), "--seed", 0, INT64_MAX));
  Owned own;
  check(volley_network_load(file.c_str(), &own.net));
  check(volley_run(own.net, &options, &own.result));
  if (args.has("--spikes")) check(volley_result_write_spikes(own.result, args.need("--spikes").c_str()));
  (args.has("--json") ? print_json : print_text)(own.net, own.result, file, args.get("--accumulate", "fixed"));
}

void devices(const Arguments &args) {
  args.none();
  char *report = nullptr;
  check(volley_devices_report(accumulate_of(args), args.has("--json"), &report));
  print_and_free(report);
}

void select(const Arguments &args) {
  args.none();
  char *report = nullptr;
  check(volley_select_report(args.need("--capability").c_str(), args.need("--driver").c_str(),
                             args.need("--available").c_str(), args.has("--json"), &report));
  print_and_free(report);
}

void rtc(const Arguments &args) {
  const std::string file = args.only("NET.toml");
  const std::string arch = args.need("--arch"), directory = args.need("--output");
  Owned own;
  char *report = nullptr;
  check(volley_network_load(file.c_str(), &own.net));
  check(volley_rtc_build(own.net, accumulate_of(args), arch.c_str(), directory.c_str(), &report));
  print_and_free(report);
}

void info(const Arguments &args) {
  args.none();
  char *report = nullptr;
  check(volley_info_report(args.has("--json"), &report));
  print_and_free(report);
}

struct Command {
  const char *name;
  const char *help;
  std::map<std::string, bool> options;
  void (*act)(const Arguments &);
};

int act(int argc, char **argv) {
  const Command commands[] = {
      {"run", help_run,
       {{"--backend", true}, {"--accumulate", true}, {"--threads", true}, {"--device", true}, {"--code", true},
        {"--seed", true}, {"--spikes", true}, {"--json", false}},
       run},
      {"devices", help_devices, {{"--accumulate", true}, {"--json", false}}, devices},
      {"select", help_select, {{"--capability", true}, {"--driver", true}, {"--available", true}, {"--json", false}}, select},
      {"rtc", help_rtc, {{"--arch", true}, {"--output", true}, {"--accumulate", true}}, rtc},
      {"info", help_info, {{"--json", false}}, info},
  };
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) throw Usage{"a command is missing"};
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    std::fputs(help_main, stdout);
    return 0;
  }
  if (words[0] == "--version") {
    std::printf("volley %s\n", volley_version());
    return 0;
  }
  for (const Command &c : commands) {
    if (words[0] != c.name) continue;
    const std::vector<std::string> rest(words.begin() + 1, words.end());
    for (const std::string &word : rest) {
      if (word == "--help" || word == "-h") {
        std::fputs(c.help, stdout);
        return 0;
      }
    }
    c.act(Arguments(rest, c.options));
    return 0;
  }
  throw Usage{"unknown command `" + words[0] + "`"};
}

}  // namespace

int main(int argc, char **argv) {
  int code = 0;
  try {
    code = act(argc, argv);
  } catch (const Usage &u) {
    std::fprintf(stderr, "error: %s\n  hint: volley --help\n", u.message.c_str());
    code = VOLLEY_INVALID;
  } catch (const Failure &f) {
    std::fprintf(stderr, "error: %s\n", volley_last_error());
    code = f.status;
  } catch (const std::exception &e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    code = VOLLEY_FAILED;
  }
  if (std::fflush(stdout) != 0 && code == 0) {
    std::fprintf(stderr, "error: cannot write the output\n");
    code = VOLLEY_FAILED;
  }
  return code;
}
