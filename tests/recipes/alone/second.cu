__device__ float factor = 1;

__device__ float times(float value) { return factor * value; }
