/* The contract between libvolley.so.1 and libvolley_rtc.so.1.0: user models become SASS.
 *
 * Generated code sees the core's data layout (the delay ring, the spike list), so this interface follows the
 * simulator's major.minor version and libvolley opens exactly libvolley_rtc.so.1.0.
 */
#ifndef VOLLEY_RTC_H
#define VOLLEY_RTC_H

#include <stddef.h>

#if defined(__GNUC__)
#define VOLLEY_RTC_API __attribute__((visibility("default")))
#else
#define VOLLEY_RTC_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define VOLLEY_RTC_ABI "1.0"
#define VOLLEY_RTC_SONAME "libvolley_rtc.so.1.0"
/* The one kernel in each compiled model. Its parameters:
 * (float *state, void *ring, u32 *bits, u32 *spike_list, u32 *spike_count, u64 drive_key,
 *  u32 first, u32 count, u32 slot, u32 stride, u32 step, VolleyDrive drive)
 * where state variable k of neuron n lies at state[k * stride + n]. */
#define VOLLEY_RTC_KERNEL "volley_model_update"

typedef struct volley_rtc_model {
  const char *name;               /* for messages */
  double dt;                      /* ms, seen by the model as `dt` (float) */
  const char *accumulate;         /* "fixed", "float" or "none" */
  size_t states;
  const char *const *state_names;
  size_t parameters;
  const char *const *parameter_names;
  const float *parameter_values;
  const char *update;             /* C++ statements */
  const char *threshold;          /* C++ expression */
  const char *reset;              /* C++ statements */
} volley_rtc_model;

VOLLEY_RTC_API const char *volley_rtc_abi(void);

#define VOLLEY_RTC_UNAVAILABLE 1 /* no NVRTC here, or none that knows this arch */
#define VOLLEY_RTC_MISTAKE 2     /* the model does not compile; *message holds the compiler's log */

/* Compiles a model to a cubin for `arch` ("sm_90"), or for the nearest lower minor of the same major capability
 * that this NVRTC knows. Returns 0 or one of the above with the reason in *message. On success *message says
 * which NVRTC and which arch. *source is the generated CUDA source either way (may be NULL when there is none).
 * All three are freed with volley_rtc_free. */
VOLLEY_RTC_API int volley_rtc_compile(const volley_rtc_model *model, const char *arch, void **cubin,
                                      size_t *cubin_size, char **source, char **message);

/* "NVRTC 13.0 at <path>", or the reason why there is none; returns 0 if there is one. */
VOLLEY_RTC_API int volley_rtc_describe(char **message);

VOLLEY_RTC_API void volley_rtc_free(void *memory);

#ifdef __cplusplus
}
#endif

#endif
