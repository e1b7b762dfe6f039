// Host code with exceptions: what of it works in a slice works in the fat library.
#include "whole.h"

#include <stdexcept>

int whole_answer(int value) {
    try {
        if (value < 0) throw std::runtime_error("negative");
        return value + 1;
    } catch (const std::exception &) {
        return 100;
    }
}
