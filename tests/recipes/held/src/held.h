// What the libraries throw and take, across each other.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>

struct Overflow : std::runtime_error {
    using std::runtime_error::runtime_error;
};

enum class Fault { own, file, range, system, stream };

// heldio: throws what it is asked for.
[[noreturn]] void held_throw(Fault fault);
// heldio: a number as text, by what is newer in the C++ library than that of old systems.
std::string held_text(double value);
double held_number(const std::string &text);
std::filesystem::path held_place();

// held, compiled by g++: catches what heldio throws, and throws it again from a thread of its own.
void held_pass_on(Fault fault);
// held, compiled by nvcc: doubles on the GPU, or throws what CUDA says.
double held_double(double value);
