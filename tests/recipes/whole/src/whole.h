// What the library offers: one function of the host, and two that want a GPU.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

int whole_answer(int value);
int whole_scale(float *values, float factor, int count);
int whole_waves(double *values, int count);

#ifdef __cplusplus
}
#endif
