#include <boost/program_options.hpp>
#include <cstdio>

#include "ranks.h"

namespace options = boost::program_options;

int main(int count, char **words) {
    options::options_description known("ranks");
    known.add_options()("version", "print the version")("own", options::value<long>()->default_value(7), "a number");
    options::variables_map given;
    options::store(options::parse_command_line(count, words, known), given);
    if (given.count("version")) {
        std::puts("ranks 1.2.0");
        return 0;
    }
    RanksResult result = ranks_sum(given["own"].as<long>());
    std::printf("{\"mpi\": \"%s\", \"size\": %d, \"sum\": %ld}\n", result.mpi, result.size, result.sum);
    return 0;
}
