// The device code installed beside the library: <libdir>/volley/kernels/<abi>/cuda<major>/<variant>/<target>/, and shaders in
// <libdir>/volley/kernels/<abi>/spirv/<variant>/<target>/; and what `simpack compile` made on this machine.
#pragma once
#include <string>
#include <vector>

#include "backend.h"
#include "select.h"

namespace volley {

std::string kernel_abi();
std::string library_directory();  // of the running libvolley.so.1, symbolic links kept
std::string kernel_root();        // .../kernels/<abi>
// The same below the user's directory of what `simpack compile` made for this release; empty without such a directory.
std::string compiled_root();
// A word on what was compiled here for another release or another kernel ABI, which is ignored; empty without any.
std::string stale_note();

// A word on code that is installed for cores with other kernel tables, where there is none for this one; empty without any.
std::string other_tags_note();

// Everything below the root for one variant: newest CUDA first, then SASS before PTX, ascending; incomplete entries carry a problem.
std::vector<DeviceCode> installed_code(const std::string &root, Accumulate accumulate);

// What was compiled on this machine, then what is installed.
std::vector<DeviceCode> available_code(Accumulate accumulate);

// The file of one translation unit ("neuron") in the directory of `code`.
std::string code_file(Accumulate accumulate, const DeviceCode &code, const std::string &unit);

// Shaders below the root for one variant, by the minor version of Vulkan 1 that they are for, ascending.
std::vector<int> installed_shaders(const std::string &root, Accumulate accumulate);
std::string shader_target(int minor);  // "vulkan1.1"

std::string read_file(const std::string &path);  // throws Error (VOLLEY_FAILED)

}  // namespace volley
