#include "entry.h"

extern "C" __global__ void scale(float *values, float factor, int count) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < count) values[index] *= factor;
}

static int launch_scale(float *values, float factor, int count) {
    float *there = nullptr;
    if (cudaError_t error = cudaMalloc(&there, count * sizeof(float))) return error;
    cudaMemcpy(there, values, count * sizeof(float), cudaMemcpyHostToDevice);
    scale<<<(count + 31) / 32, 32>>>(there, factor, count);
    cudaError_t error = cudaGetLastError();
    if (!error) error = cudaMemcpy(values, there, count * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(there);
    return error;
}

extern "C" __attribute__((visibility("default"))) const Entry plugged_kernels;
const Entry plugged_kernels = {ABI, launch_scale};
