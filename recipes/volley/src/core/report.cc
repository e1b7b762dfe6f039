#include "report.h"

#include <cstdio>
#include <fstream>

#include "cuda_driver.h"
#include "json.h"
#include "kernel_store.h"
#include "rtc_loader.h"

namespace volley {

namespace {

const char *verdict_name(Candidate::Verdict v) {
  switch (v) {
    case Candidate::Verdict::Taken: return "taken";
    case Candidate::Verdict::Usable: return "usable";
    case Candidate::Verdict::Refused: return "refused";
  }
  return "";
}

std::string trace_text(const Selection &s) {
  std::string out;
  for (const Candidate &c : s.trace) {
    char line[512];
    std::snprintf(line, sizeof line, "  %-8s %-22s %s\n", verdict_name(c.verdict), c.name.c_str(), c.why.c_str());
    out += line;
  }
  return out + "choice: " + (s.found ? s.choice.name() : "cpu (" + s.summary + ")") + "\n";
}

std::string trace_json(const Selection &s) {
  std::string out = "{\"choice\": " + json_quote(s.found ? s.choice.name() : "cpu") +
                    ", \"reason\": " + json_quote(s.summary) + ", \"trace\": [";
  for (size_t i = 0; i < s.trace.size(); ++i)
    out += std::string(i ? ", " : "") + "{\"candidate\": " + json_quote(s.trace[i].name) + ", \"verdict\": \"" +
           verdict_name(s.trace[i].verdict) + "\", \"why\": " + json_quote(s.trace[i].why) + "}";
  return out + "]}";
}

bool parse_cuda(const std::string &text, CudaVersion *v) {
  char rest;
  return std::sscanf(text.c_str(), "%d.%d%c", &v->major, &v->minor, &rest) == 2;
}

// "cuda12/sm_86", "sm_90a", "compute_75@9.0"; without a CUDA major it is the driver's.
DeviceCode parse_available(const std::string &word, CudaVersion driver) {
  DeviceCode code;
  code.cuda_major = driver.major;
  std::string rest = word;
  const size_t slash = rest.find('/');
  if (slash != std::string::npos) {
    char end;
    if (std::sscanf(rest.substr(0, slash).c_str(), "cuda%d%c", &code.cuda_major, &end) != 1)
      throw invalid("`" + word + "`: expected cuda<major>/ before the target");
    rest = rest.substr(slash + 1);
  }
  const size_t at = rest.find('@');
  if (at != std::string::npos && !parse_cuda(rest.substr(at + 1), &code.ptx_version))
    throw invalid("`" + word + "`: expected a PTX version such as @9.0");
  const std::string target = rest.substr(0, at);
  if (!parse_target(target, &code)) throw invalid("`" + word + "` is not a target such as sm_90 or compute_75@9.0");
  if (code.ptx != (at != std::string::npos))
    throw invalid(code.ptx ? "`" + word + "` needs its PTX version: " + word + "@9.0"
                           : "`" + word + "`: only PTX has a version");
  return code;
}

}  // namespace

std::string info_report(bool json) {
  const std::string rtc = describe_rtc();
  if (json)
    return "{\"version\": " + json_quote(volley_version()) + ", \"kernel_abi\": " + json_quote(kernel_abi()) +
           ", \"library\": " + json_quote(library_directory()) + ", \"kernels\": " + json_quote(kernel_root()) +
           ", \"rtc\": " + json_quote(rtc) + "}\n";
  return std::string("volley      ") + volley_version() + "\nkernel ABI  " + kernel_abi() + "\nlibrary     " +
         library_directory() + "\nkernels     " + kernel_root() + "\nrtc         " + rtc + "\n";
}

std::string devices_report(Accumulate accumulate, bool json) {
  std::string text, list, reason;
  try {
    const CudaDriver &cu = CudaDriver::get();
    text = "driver    CUDA " + cu.version.text() + "  " + cu.path + "\n";
    list = "\"driver\": {\"cuda\": " + json_quote(cu.version.text()) + ", \"path\": " + json_quote(cu.path) + "}, ";
    const std::vector<DeviceCode> code = available_code(accumulate);
    std::string devices;
    for (int i = 0; i < cu.devices; ++i) {
      const CudaDevice d = cuda_device(cu, i);
      const Selection s = select_code(d.capability, cu.version, code);
      const std::string size = std::to_string(d.memory >> 20);
      text += "GPU " + std::to_string(i) + "     " + d.name + "  " + d.capability.text() + "  " + size + " MiB\n" + trace_text(s);
      if (const std::string stale = stale_note(); !stale.empty()) text += "note      " + stale.substr(2) + "\n";
      devices += (i ? ", " : "") + std::string("{\"ordinal\": ") + std::to_string(i) + ", \"name\": " +
                 json_quote(d.name) + ", \"capability\": " + json_quote(d.capability.text()) + ", \"memory_mib\": " +
                 size + ", \"selection\": " + trace_json(s) + "}";
    }
    if (cu.devices == 0) reason = "the driver sees no GPU";
    list += "\"devices\": [" + devices + "]";
  } catch (const Error &e) {
    reason = e.what();
    list = "\"driver\": null, \"devices\": []";
  }
  if (!reason.empty()) text += "no CUDA device: " + reason + "\nchoice: cpu\n";
  if (json) return "{" + list + ", \"reason\": " + json_quote(reason) + "}\n";
  return text;
}

std::string select_report(const std::string &capability, const std::string &driver, const std::string &available,
                          bool json) {
  Capability device;
  CudaVersion cuda;
  if (!parse_capability(capability, &device)) throw invalid("`" + capability + "` is not a capability such as 8.7");
  if (!parse_cuda(driver, &cuda)) throw invalid("`" + driver + "` is not a CUDA version such as 13.0");
  std::vector<DeviceCode> code;
  std::string word;
  for (char c : available + ",") {
    if (c != ',' && c != ' ') {
      word += c;
    } else if (!word.empty()) {
      code.push_back(parse_available(word, cuda));
      word.clear();
    }
  }
  const Selection s = select_code(device, cuda, code);
  return json ? trace_json(s) + "\n" : trace_text(s);
}

std::string rtc_build(const Network &net, Accumulate accumulate, const std::string &arch, const std::string &directory) {
  DeviceCode target;
  if (!parse_target(arch, &target) || target.ptx) throw invalid("`" + arch + "` is not an architecture such as sm_90");
  if (!net.has_user_models()) throw invalid(net.name + ": no population has a user model");
  std::string report;
  const auto write = [](const std::string &path, const std::string &bytes) {
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out << bytes;
    if (!out.flush()) throw failed("cannot write " + path);
  };
  for (const Population &p : net.populations) {
    if (p.model < 0) continue;
    const CompiledModel compiled = compile_model(net, p, accumulate, arch);
    const std::string base = directory + "/" + p.name;
    write(base + ".cu", compiled.source);
    write(base + ".cubin", compiled.cubin);
    report += p.name + "  " + net.models[static_cast<size_t>(p.model)].name + "  " + base + ".cubin  " +
              std::to_string(compiled.cubin.size()) + " bytes  " + compiled.message + "\n";
  }
  return report;
}

}  // namespace volley
