// The other file of the library: a container of its own.
#include <cuda_runtime.h>

#ifdef RDC
extern __device__ double twist(double v);
#else
static __device__ double twist(double v) { return sin(v) * exp(-v * v) + erf(v); }
#endif

__global__ void waves(double *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double v = x[i];
        for (int k = 0; k < 20; k++) v = twist(v) + pow(fabs(v), 1.5) * 0.25;
        x[i] = v;
    }
}

extern "C" int run_waves(double *host, int n) {
    double *device;
    cudaError_t error = cudaMalloc(&device, n * sizeof(double));
    if (error) return error;
    cudaMemcpy(device, host, n * sizeof(double), cudaMemcpyHostToDevice);
    waves<<<(n + 255) / 256, 256>>>(device, n);
    if ((error = cudaGetLastError()) || (error = cudaDeviceSynchronize())) return error;
    cudaMemcpy(host, device, n * sizeof(double), cudaMemcpyDeviceToHost);
    return cudaFree(device);
}
