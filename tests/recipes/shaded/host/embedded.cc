#include "network.h"

namespace {

struct Module {
    const char *path;
    const char *begin, *end;
};

} // namespace

// One after the other, written by embed.sh: the bytes of each, and `modules`, the list of all.
#include "embedded.inc"

std::vector<char> module_code(const std::string &path) {
    for (const Module &module : modules)
        if (path == module.path) return {module.begin, module.end};
    return {};
}
