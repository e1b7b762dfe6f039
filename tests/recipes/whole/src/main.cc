#include "whole.h"

#include <cstdio>
#include <cstring>

int main(int count, char **words) {
    if (count == 2 && !std::strcmp(words[1], "--version")) return std::puts("whole 1.2.0") < 0;
    float values[4] = {1, 2, 3, 4};
    int error = whole_scale(values, 2, 4);
    std::printf("answer %d\nscale %d %g %g %g %g\n", whole_answer(41), error, values[0], values[1], values[2], values[3]);
    return 0;
}
