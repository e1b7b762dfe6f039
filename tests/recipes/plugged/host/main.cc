#include "entry.h"

#include <cstdio>
#include <cstring>
#include <dlfcn.h>

// Opens a library of kernels and launches one: `plugged LIBRARY`.
int main(int count, char **words) {
    if (count == 2 && !std::strcmp(words[1], "--version")) return std::puts("plugged 0.3.0") < 0;
    if (count != 2) return std::fputs("usage: plugged LIBRARY\n", stderr), 2;
    void *library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) return std::fprintf(stderr, "%s\n", dlerror()), 1;
    auto entry = static_cast<const Entry *>(dlsym(library, "plugged_kernels"));
    if (!entry || std::strcmp(entry->kernel_abi, ABI)) return std::fputs("these kernels are of another core\n", stderr), 1;
    float values[4] = {1, 2, 3, 4};
    int error = entry->scale(values, 2, 4);
    std::printf("kernels of %s: scale %d %g %g\n", entry->kernel_abi, error, values[0], values[3]);
    return 0;
}
