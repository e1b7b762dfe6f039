#include "held.h"

#include <cmath>
#include <cuda_runtime.h>
#include <memory>
#include <mutex>

__global__ void twice(double *value) { *value = 2 * sqrt(*value) * rsqrt(*value) * *value; }

static void check(cudaError_t error) {
    if (error) throw Overflow(cudaGetErrorString(error));
}

double held_double(double value) {
    static std::once_flag once;
    std::call_once(once, [] { check(cudaFree(nullptr)); });
    double *there = nullptr;
    check(cudaMalloc(&there, sizeof value));
    const std::shared_ptr<double> owner(there, [](double *memory) { cudaFree(memory); });
    check(cudaMemcpy(there, &value, sizeof value, cudaMemcpyHostToDevice));
    twice<<<1, 1>>>(there);
    check(cudaMemcpy(&value, there, sizeof value, cudaMemcpyDeviceToHost));
    return value;
}
