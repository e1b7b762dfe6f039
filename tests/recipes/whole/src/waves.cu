#include "whole.h"

#include <cuda_runtime.h>

// Enough code that dropping it leaves pages.
__global__ void waves(double *values, int count) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= count) return;
    double value = values[index];
    for (int step = 0; step < 10; step++) {
        value = sin(value) * exp(value) + pow(value, 1.5) + erf(value) + tgamma(value);
    }
    values[index] = value;
}

int whole_waves(double *values, int count) {
    waves<<<(count + 31) / 32, 32>>>(values, count);
    return cudaGetLastError();
}
