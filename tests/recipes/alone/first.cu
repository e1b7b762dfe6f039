#include <cuda_profiler_api.h>
#include <curand.h>

#include <cstdio>

extern __device__ float factor;
__device__ float times(float value);

__global__ void scale(float *values) { values[threadIdx.x] = times(values[threadIdx.x]); }

int main() {
  int version = 0;
  curandGetVersion(&version);
  cudaProfilerStart();
  float *values = nullptr;
  float results[2] = {1, 2}, two = 2;
  cudaError_t error = cudaMemcpyToSymbol(factor, &two, sizeof two);
  if (!error) error = cudaMalloc(&values, sizeof results);
  if (!error) error = cudaMemcpy(values, results, sizeof results, cudaMemcpyHostToDevice);
  if (!error) scale<<<1, 2>>>(values), error = cudaGetLastError();
  if (!error) error = cudaMemcpy(results, values, sizeof results, cudaMemcpyDeviceToHost);
  std::printf("curand %d, error %d: %g %g\n", version / 1000, error, results[0], results[1]);
}
