// Device code of a library that is built fat and sliced. With RDC, code of the other file calls `twist`.
#include <cuda_runtime.h>
#include <stdexcept>

#ifdef RDC
__device__ double twist(double v) { return sin(v) * exp(-v * v) + erf(v); }
#endif

__global__ void scale(float *x, float f, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] * f + 0.5f;
}

// What the compiler made this code for; machine code for `a` targets says so.
__global__ void which(int *x) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    *x = __CUDA_ARCH__ + 1;
#elif defined(__CUDA_ARCH__)
    *x = __CUDA_ARCH__;
#endif
}

extern "C" const char *error_text(int error) { return cudaGetErrorString((cudaError_t)error); }

extern "C" int host_answer(int x) {
    try {
        if (x < 0) throw std::runtime_error("negative");
        return x + 1;
    } catch (const std::exception &) {
        return 7;
    }
}

extern "C" int run_scale(float *host, int n) {
    float *device;
    cudaError_t error = cudaMalloc(&device, n * sizeof(float));
    if (error) return error;
    cudaMemcpy(device, host, n * sizeof(float), cudaMemcpyHostToDevice);
    scale<<<(n + 255) / 256, 256>>>(device, 1.25f, n);
    if ((error = cudaGetLastError()) || (error = cudaDeviceSynchronize())) return error;
    cudaMemcpy(host, device, n * sizeof(float), cudaMemcpyDeviceToHost);
    return cudaFree(device);
}

extern "C" int run_which(int *host) {
    int *device;
    cudaError_t error = cudaMalloc(&device, sizeof(int));
    if (error) return error;
    which<<<1, 1>>>(device);
    if ((error = cudaGetLastError()) || (error = cudaDeviceSynchronize())) return error;
    cudaMemcpy(host, device, sizeof(int), cudaMemcpyDeviceToHost);
    return cudaFree(device);
}
