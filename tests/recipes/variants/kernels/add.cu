extern "C" __global__ void add(double *values, double own) { values[threadIdx.x] += own; }
