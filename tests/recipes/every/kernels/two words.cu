extern "C" __global__ void every_two_words(float *v) { v[0] = 1.f; }
