/* volley: spiking networks on CPU and GPU. The C interface of libvolley.so.1.
 *
 * Every function that can fail returns a volley_status; volley_last_error() then says what and why, for the
 * calling thread. Objects are freed by the function named like their type; strings that a function hands out
 * through a `char **` are freed with volley_string_free. Units: ms, mV, spikes per second.
 */
#ifndef VOLLEY_VOLLEY_H
#define VOLLEY_VOLLEY_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define VOLLEY_API __attribute__((visibility("default")))
#else
#define VOLLEY_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define VOLLEY_VERSION_MAJOR 1
#define VOLLEY_VERSION_MINOR 0
#define VOLLEY_VERSION_PATCH 0

/* The values are also the exit codes of the `volley` program. */
typedef enum volley_status {
  VOLLEY_OK = 0,
  VOLLEY_FAILED = 1,    /* anything else: a file cannot be written, the driver reports an error, ... */
  VOLLEY_INVALID = 2,   /* a wrong argument or a mistake in a network file */
  VOLLEY_NO_DEVICE = 3  /* the backend that was asked for has no device or no device code here */
} volley_status;

typedef enum volley_backend {
  VOLLEY_BACKEND_AUTO = 0, /* CUDA where it works, else a GPU by Vulkan, else the CPU; volley_result_reason says why */
  VOLLEY_BACKEND_CPU = 1,
  VOLLEY_BACKEND_CUDA = 2,
  VOLLEY_BACKEND_VULKAN = 3 /* any device of Vulkan 1.1; has no user models, and no `float` */
} volley_backend;

/* How synaptic input is summed. */
typedef enum volley_accumulate {
  VOLLEY_ACCUMULATE_FIXED = 0, /* int64 in units of 2^-32 mV: the same spikes on every backend and thread count */
  VOLLEY_ACCUMULATE_FLOAT = 1, /* float32 atomics: the order of addition on a GPU is not defined */
  VOLLEY_ACCUMULATE_NONE = 2   /* no atomics: each neuron gathers over its incoming synapses in a fixed order */
} volley_accumulate;

typedef struct volley_network volley_network;
typedef struct volley_result volley_result;

/* Set size = sizeof(volley_run_options); fields after what the library knows are ignored, missing ones are 0. */
typedef struct volley_run_options {
  size_t size;
  volley_backend backend;
  volley_accumulate accumulate;
  int threads;   /* CPU backend; 0 = one per core */
  int device;    /* CUDA and Vulkan backend; ordinal of the device, as that driver counts */
  int has_seed;  /* nonzero: `seed` replaces the network's own */
  uint64_t seed;
  const char *device_code; /* NULL = the best there is, else exactly this one: "sm_90", "compute_75", "vulkan1.1" */
} volley_run_options;

/* One spike: it happened at time step * dt. `neuron` counts from 0 in its population. */
typedef struct volley_spike {
  uint32_t step;
  uint32_t population;
  uint32_t neuron;
} volley_spike;

VOLLEY_API const char *volley_version(void);
/* The tag of the kernel table that this library launches by; kernels are looked for under it. */
VOLLEY_API const char *volley_kernel_abi(void);
/* What went wrong in the calling thread's last failing call; valid until its next one. */
VOLLEY_API const char *volley_last_error(void);
VOLLEY_API void volley_string_free(char *text);

/* Reads a network from a file, or from text (`name` stands in messages). */
VOLLEY_API volley_status volley_network_load(const char *path, volley_network **network);
VOLLEY_API volley_status volley_network_parse(const char *text, const char *name, volley_network **network);
VOLLEY_API void volley_network_free(volley_network *network);
VOLLEY_API size_t volley_network_populations(const volley_network *network);
VOLLEY_API const char *volley_network_population_name(const volley_network *network, size_t population);
VOLLEY_API uint32_t volley_network_population_size(const volley_network *network, size_t population);
VOLLEY_API double volley_network_dt(const volley_network *network);       /* ms */
VOLLEY_API double volley_network_duration(const volley_network *network); /* ms, a whole number of steps */

/* Simulates. `options` may be NULL. The network is not changed and may be run again. */
VOLLEY_API volley_status volley_run(const volley_network *network, const volley_run_options *options,
                                    volley_result **result);
VOLLEY_API void volley_result_free(volley_result *result);
VOLLEY_API const char *volley_result_backend(const volley_result *result);     /* "cpu", "cuda" or "vulkan" */
VOLLEY_API const char *volley_result_device(const volley_result *result);      /* "NVIDIA H200 (9.0)", "2 threads" */
VOLLEY_API const char *volley_result_device_code(const volley_result *result); /* "cuda13/fixed/sm_90", "" on the CPU */
VOLLEY_API const char *volley_result_reason(const volley_result *result);      /* why this backend and code */
VOLLEY_API uint64_t volley_result_synapses(const volley_result *result);
/* All spikes, sorted by step, population, neuron; owned by the result. */
VOLLEY_API const volley_spike *volley_result_spikes(const volley_result *result, size_t *count);
VOLLEY_API uint64_t volley_result_population_spikes(const volley_result *result, size_t population);
VOLLEY_API double volley_result_population_rate(const volley_result *result, size_t population); /* spikes/s */
/* sha256 of what volley_result_write_spikes writes, in hexadecimal. */
VOLLEY_API const char *volley_result_digest(const volley_result *result);
VOLLEY_API double volley_result_build_seconds(const volley_result *result); /* wall time: connections */
VOLLEY_API double volley_result_run_seconds(const volley_result *result);   /* wall time: steps */
/* One line per spike: "<step> <population> <neuron>". */
VOLLEY_API volley_status volley_result_write_spikes(const volley_result *result, const char *path);

/* Reports, as text for people (json = 0) or as JSON. */
VOLLEY_API volley_status volley_info_report(int json, char **report);
VOLLEY_API volley_status volley_devices_report(volley_accumulate accumulate, int json, char **report);
/* Which of the `available` device codes ("sm_86,cuda12/sm_80,compute_75@9.0") serves a device of this capability
 * ("8.7") under a driver of this CUDA version ("13.0"): the rules that the loader uses, with each step. */
VOLLEY_API volley_status volley_select_report(const char *capability, const char *driver, const char *available,
                                              int json, char **report);
/* Compiles the network's user models for `arch` ("sm_90") into `directory`; needs NVRTC, but no GPU. */
VOLLEY_API volley_status volley_rtc_build(const volley_network *network, volley_accumulate accumulate,
                                          const char *arch, const char *directory, char **report);

#ifdef __cplusplus
}
#endif

#endif
