// Which device code serves a GPU: the fallback chain, as a pure function that explains itself.
//
//   0. SASS that was compiled on this machine, for exactly this capability
//   1. SASS of exactly this capability (`a` before plain before `f`)
//   2. plain SASS of a lower minor of the same major, highest first; never between desktop and Tegra
//   3. SASS of the family (`f`) of a lower minor
//   4. PTX of an equal or lower capability, highest first, if the driver is as new as the PTX
//      (`a` PTX only exactly, `f` PTX in its family)
// Among equals the newest CUDA major wins. Code of CUDA N needs a driver of CUDA N or newer. After this: the CPU.
#pragma once
#include <string>
#include <vector>

namespace volley {

struct Capability {
  int major = 0, minor = 0;
  std::string text() const { return std::to_string(major) + "." + std::to_string(minor); }
};

struct CudaVersion {
  int major = 0, minor = 0;
  std::string text() const { return std::to_string(major) + "." + std::to_string(minor); }
};

struct DeviceCode {
  int cuda_major = 0;
  bool ptx = false;
  Capability capability;
  char suffix = '\0';       // 'a', 'f' or none
  CudaVersion ptx_version;  // of the PTX ISA; 0.0 when unknown
  std::string problem;      // not empty: it is there but cannot be used
  std::string root;         // directory that it was found in
  bool compiled_here = false;
  std::string target() const;  // "sm_90a", "compute_75"
  std::string name() const;    // "cuda13/sm_90a"
};

struct Candidate {
  enum class Verdict { Taken, Usable, Refused };
  std::string name;
  Verdict verdict = Verdict::Refused;
  std::string why;
};

struct Selection {
  bool found = false;
  DeviceCode choice;
  std::vector<Candidate> trace;  // the best first, then the refused
  std::string summary;           // one line: what was taken, or why nothing could be
};

bool parse_capability(const std::string &text, Capability *capability);
bool parse_target(const std::string &text, DeviceCode *code);  // "sm_90a"; sets ptx, capability, suffix
bool is_tegra(Capability capability);
// The CUDA release that brought a PTX ISA; false if it is not known.
bool cuda_of_ptx(CudaVersion isa, CudaVersion *cuda);

Selection select_code(Capability device, CudaVersion driver, const std::vector<DeviceCode> &available);

}  // namespace volley
