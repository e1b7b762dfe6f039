#include <cstdio>

#include "tide.h"

int main() {
    std::printf("{\"height\": %g}\n", tide_height(6.0));
    return 0;
}
