#include "kernel_store.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <tuple>

#ifndef VOLLEY_KERNEL_ABI
#define VOLLEY_KERNEL_ABI "unknown"
#endif

namespace volley {

namespace fs = std::filesystem;

namespace {

const char *const units[] = {"neuron", "synapse"};

std::string parent_of(const std::string &path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

std::string real_path(const std::string &path) {
  char *real = ::realpath(path.c_str(), nullptr);
  if (!real) return path;
  const std::string result = real;
  std::free(real);
  return result;
}

std::string library_file() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<const void *>(&volley_version), &info) || !info.dli_fname) return "./libvolley.so.1";
  return info.dli_fname;
}

// Names of the directories in a directory, sorted; none when it cannot be read.
std::vector<std::string> directories(const std::string &path) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->is_directory(ignored)) names.push_back(it->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The `.version` directive is the first one of every PTX file, after comments.
CudaVersion ptx_version(const std::string &path) {
  std::ifstream in(path);
  std::string line;
  for (int n = 0; n < 200 && std::getline(in, line); ++n) {
    CudaVersion v;
    if (std::sscanf(line.c_str(), " .version %d.%d", &v.major, &v.minor) == 2) return v;
  }
  return {};
}

// A volatile array stays in the file as text, where package tools look for it; a short literal alone
// would be taken apart into immediates of instructions.
const volatile char embedded_tag[] = VOLLEY_KERNEL_ABI;
}  // namespace

std::string kernel_abi() {
  std::string tag;
  for (const volatile char* letter = embedded_tag; *letter != '\0'; ++letter) tag.push_back(*letter);
  return tag;
}

// The directory is resolved, the file in it is not: in a tree of links the other packages' links lie beside it.
std::string library_directory() { return real_path(parent_of(library_file())); }

std::string kernel_root() {
  // In a tree of links (an environment) kernels lie beside the link; otherwise beside the file itself.
  const std::string below = "/volley/kernels/" + kernel_abi();
  const std::string beside_link = library_directory() + below;
  std::error_code ignored;
  if (fs::is_directory(beside_link, ignored)) return beside_link;
  const std::string beside_file = parent_of(real_path(library_file())) + below;
  return fs::is_directory(beside_file, ignored) ? beside_file : beside_link;
}

namespace {
// Empty where nothing is to be looked for. A program with more rights than its user takes no word of the environment.
std::string compiled_directory() {
  const auto set = [](const char *name) {
    const char *value = ::secure_getenv(name);
    return std::string(value && *value == '/' ? value : "");
  };
  if (::secure_getenv("SIMPACK_COMPILED_DIR")) return set("SIMPACK_COMPILED_DIR");
  if (const std::string data = set("XDG_DATA_HOME"); !data.empty()) return data + "/simpack/compiled";
  const std::string home = set("HOME");
  return home.empty() ? home : home + "/.local/share/simpack/compiled";
}
}  // namespace

std::string compiled_root() {
  const std::string directory = compiled_directory();
  return directory.empty() ? directory : directory + "/volley-" + volley_version() + "/kernels/" + kernel_abi();
}

std::string stale_note() {
  std::error_code ignored;
  const std::string directory = compiled_directory();
  if (directory.empty() || fs::is_directory(compiled_root(), ignored)) return "";
  for (const std::string &other : directories(directory))
    if (other.compare(0, 7, "volley-") == 0 && fs::is_directory(directory + "/" + other + "/kernels", ignored))
      return "; what was compiled on this machine is of another release, compile it again";
  return "";
}

std::string other_tags_note() {
  const std::string root = kernel_root();
  std::error_code ignored;
  if (fs::is_directory(root, ignored)) return "";
  std::string others;
  for (const std::string &tag : directories(parent_of(root))) others += (others.empty() ? "" : ", ") + tag;
  if (others.empty()) return "";
  return "; code of another kernel ABI tag is there (" + others + "), and this library wants " + kernel_abi() + ": rebuild it";
}

std::vector<DeviceCode> available_code(Accumulate accumulate) {
  std::vector<DeviceCode> found = installed_code(compiled_root(), accumulate);
  for (DeviceCode &code : found) code.compiled_here = true;
  for (const DeviceCode &code : installed_code(kernel_root(), accumulate)) found.push_back(code);
  return found;
}

std::string code_file(Accumulate accumulate, const DeviceCode &code, const std::string &unit) {
  return code.root + "/cuda" + std::to_string(code.cuda_major) + "/" + accumulate_name(accumulate) + "/" + code.target() +
         "/" + unit + (code.ptx ? ".ptx" : ".cubin");
}

std::vector<DeviceCode> installed_code(const std::string &root, Accumulate accumulate) {
  std::vector<DeviceCode> found;
  for (const std::string &cuda : directories(root)) {
    int major = 0;
    char rest = '\0';
    if (std::sscanf(cuda.c_str(), "cuda%d%c", &major, &rest) != 1) continue;
    for (const std::string &target : directories(root + "/" + cuda + "/" + accumulate_name(accumulate))) {
      DeviceCode code;
      if (!parse_target(target, &code)) continue;
      code.root = root;
      code.cuda_major = major;
      for (const char *unit : units) {
        const std::string file = code_file(accumulate, code, unit);
        std::error_code ignored;
        if (!fs::is_regular_file(file, ignored)) {
          code.problem = file.substr(file.rfind('/') + 1) + " is missing";
        } else if (code.ptx) {  // units are judged by the newest PTX among them
          const CudaVersion v = ptx_version(file);
          if (v.major > code.ptx_version.major ||
              (v.major == code.ptx_version.major && v.minor > code.ptx_version.minor))
            code.ptx_version = v;
        }
      }
      found.push_back(code);
    }
  }
  std::sort(found.begin(), found.end(), [](const DeviceCode &a, const DeviceCode &b) {
    return std::make_tuple(-a.cuda_major, a.ptx, a.capability.major, a.capability.minor, a.suffix) <
           std::make_tuple(-b.cuda_major, b.ptx, b.capability.major, b.capability.minor, b.suffix);
  });
  return found;
}

std::vector<int> installed_shaders(const std::string &root, Accumulate accumulate) {
  std::vector<int> found;
  const std::string directory = root + "/spirv/" + accumulate_name(accumulate);
  for (const std::string &target : directories(directory)) {
    int minor = 0;
    char rest = '\0';
    if (std::sscanf(target.c_str(), "vulkan1.%d%c", &minor, &rest) == 1) found.push_back(minor);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string shader_target(int minor) { return "vulkan1." + std::to_string(minor); }

std::string read_file(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  if (in) bytes << in.rdbuf();
  if (!in || !bytes) throw failed("cannot read " + path + ": " + std::strerror(errno));
  return bytes.str();
}

}  // namespace volley
