#include "network.h"

#include <fstream>
#include <iterator>

std::vector<char> module_code(const std::string &path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}
