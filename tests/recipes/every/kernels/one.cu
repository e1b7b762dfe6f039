extern "C" __global__ void every_one(float *v) { v[0] = 1.f; }
