#include <ctime>
// typedefs need to be outside the include guards to
// be visible to all files including objects.h
typedef double randomNumber_t;  // random number type

#ifndef _BRIAN_OBJECTS_H
#define _BRIAN_OBJECTS_H

#include<vector>
#include<stdint.h>
#include "synapses_classes.h"
#include "brianlib/clocks.h"
#include "network.h"
#include "rand.h"

#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <chrono>
#include <curand.h>
#include <curand_kernel.h>

namespace brian {

extern size_t used_device_memory;
extern std::string results_dir;

//////////////// clocks ///////////////////
extern Clock defaultclock;

//////////////// networks /////////////////
extern Network network;

extern void set_variable_by_name(std::string, std::string);

//////////////// dynamic arrays 1d ///////////
extern thrust::host_vector<int32_t> _dynamic_array_excitatory__synaptic_post;
extern thrust::device_vector<int32_t> dev_dynamic_array_excitatory__synaptic_post;
extern thrust::host_vector<int32_t> _dynamic_array_excitatory__synaptic_pre;
extern thrust::device_vector<int32_t> dev_dynamic_array_excitatory__synaptic_pre;
extern thrust::host_vector<double> _dynamic_array_excitatory_delay;
extern thrust::device_vector<double> dev_dynamic_array_excitatory_delay;
extern thrust::host_vector<int32_t> _dynamic_array_excitatory_N_incoming;
extern thrust::device_vector<int32_t> dev_dynamic_array_excitatory_N_incoming;
extern thrust::host_vector<int32_t> _dynamic_array_excitatory_N_outgoing;
extern thrust::device_vector<int32_t> dev_dynamic_array_excitatory_N_outgoing;
extern thrust::host_vector<int32_t> _dynamic_array_inhibitory__synaptic_post;
extern thrust::device_vector<int32_t> dev_dynamic_array_inhibitory__synaptic_post;
extern thrust::host_vector<int32_t> _dynamic_array_inhibitory__synaptic_pre;
extern thrust::device_vector<int32_t> dev_dynamic_array_inhibitory__synaptic_pre;
extern thrust::host_vector<double> _dynamic_array_inhibitory_delay;
extern thrust::device_vector<double> dev_dynamic_array_inhibitory_delay;
extern thrust::host_vector<int32_t> _dynamic_array_inhibitory_N_incoming;
extern thrust::device_vector<int32_t> dev_dynamic_array_inhibitory_N_incoming;
extern thrust::host_vector<int32_t> _dynamic_array_inhibitory_N_outgoing;
extern thrust::device_vector<int32_t> dev_dynamic_array_inhibitory_N_outgoing;
extern thrust::host_vector<int32_t> _dynamic_array_spikes_i;
extern thrust::device_vector<int32_t> dev_dynamic_array_spikes_i;
extern thrust::host_vector<double> _dynamic_array_spikes_t;
extern thrust::device_vector<double> dev_dynamic_array_spikes_t;

//////////////// arrays ///////////////////
extern double * _array_defaultclock_dt;
extern double * dev_array_defaultclock_dt;
extern __device__ double *d_array_defaultclock_dt;
extern const int _num__array_defaultclock_dt;
extern double * _array_defaultclock_t;
extern double * dev_array_defaultclock_t;
extern __device__ double *d_array_defaultclock_t;
extern const int _num__array_defaultclock_t;
extern int64_t * _array_defaultclock_timestep;
extern int64_t * dev_array_defaultclock_timestep;
extern __device__ int64_t *d_array_defaultclock_timestep;
extern const int _num__array_defaultclock_timestep;
extern int32_t * _array_excitatory_N;
extern int32_t * dev_array_excitatory_N;
extern __device__ int32_t *d_array_excitatory_N;
extern const int _num__array_excitatory_N;
extern int32_t * _array_excitatory_sources;
extern int32_t * dev_array_excitatory_sources;
extern __device__ int32_t *d_array_excitatory_sources;
extern const int _num__array_excitatory_sources;
extern int32_t * _array_excitatory_targets;
extern int32_t * dev_array_excitatory_targets;
extern __device__ int32_t *d_array_excitatory_targets;
extern const int _num__array_excitatory_targets;
extern int32_t * _array_inhibitory_N;
extern int32_t * dev_array_inhibitory_N;
extern __device__ int32_t *d_array_inhibitory_N;
extern const int _num__array_inhibitory_N;
extern int32_t * _array_inhibitory_sources;
extern int32_t * dev_array_inhibitory_sources;
extern __device__ int32_t *d_array_inhibitory_sources;
extern const int _num__array_inhibitory_sources;
extern int32_t * _array_inhibitory_targets;
extern int32_t * dev_array_inhibitory_targets;
extern __device__ int32_t *d_array_inhibitory_targets;
extern const int _num__array_inhibitory_targets;
extern double * _array_neurons_ge;
extern double * dev_array_neurons_ge;
extern __device__ double *d_array_neurons_ge;
extern const int _num__array_neurons_ge;
extern double * _array_neurons_gi;
extern double * dev_array_neurons_gi;
extern __device__ double *d_array_neurons_gi;
extern const int _num__array_neurons_gi;
extern int32_t * _array_neurons_i;
extern int32_t * dev_array_neurons_i;
extern __device__ int32_t *d_array_neurons_i;
extern const int _num__array_neurons_i;
extern double * _array_neurons_lastspike;
extern double * dev_array_neurons_lastspike;
extern __device__ double *d_array_neurons_lastspike;
extern const int _num__array_neurons_lastspike;
extern char * _array_neurons_not_refractory;
extern char * dev_array_neurons_not_refractory;
extern __device__ char *d_array_neurons_not_refractory;
extern const int _num__array_neurons_not_refractory;
extern int32_t * _array_neurons_subgroup_1__sub_idx;
extern int32_t * dev_array_neurons_subgroup_1__sub_idx;
extern __device__ int32_t *d_array_neurons_subgroup_1__sub_idx;
extern const int _num__array_neurons_subgroup_1__sub_idx;
extern int32_t * _array_neurons_subgroup__sub_idx;
extern int32_t * dev_array_neurons_subgroup__sub_idx;
extern __device__ int32_t *d_array_neurons_subgroup__sub_idx;
extern const int _num__array_neurons_subgroup__sub_idx;
extern double * _array_neurons_v;
extern double * dev_array_neurons_v;
extern __device__ double *d_array_neurons_v;
extern const int _num__array_neurons_v;
extern int32_t * _array_spikes__source_idx;
extern int32_t * dev_array_spikes__source_idx;
extern __device__ int32_t *d_array_spikes__source_idx;
extern const int _num__array_spikes__source_idx;
extern int32_t * _array_spikes_count;
extern int32_t * dev_array_spikes_count;
extern __device__ int32_t *d_array_spikes_count;
extern const int _num__array_spikes_count;
extern int32_t * _array_spikes_N;
extern int32_t * dev_array_spikes_N;
extern __device__ int32_t *d_array_spikes_N;
extern const int _num__array_spikes_N;

//////////////// eventspaces ///////////////
extern int32_t * _array_neurons__spikespace;
extern thrust::host_vector<int32_t*> dev_array_neurons__spikespace;
extern const int _num__array_neurons__spikespace;
extern int current_idx_array_neurons__spikespace;

//////////////// dynamic arrays 2d /////////

/////////////// static arrays /////////////
extern int32_t *_static_array__array_excitatory_sources;
extern int32_t *dev_static_array__array_excitatory_sources;
extern __device__ int32_t *d_static_array__array_excitatory_sources;
extern const int _num__static_array__array_excitatory_sources;
extern int32_t *_static_array__array_excitatory_targets;
extern int32_t *dev_static_array__array_excitatory_targets;
extern __device__ int32_t *d_static_array__array_excitatory_targets;
extern const int _num__static_array__array_excitatory_targets;
extern int32_t *_static_array__array_inhibitory_sources;
extern int32_t *dev_static_array__array_inhibitory_sources;
extern __device__ int32_t *d_static_array__array_inhibitory_sources;
extern const int _num__static_array__array_inhibitory_sources;
extern int32_t *_static_array__array_inhibitory_targets;
extern int32_t *dev_static_array__array_inhibitory_targets;
extern __device__ int32_t *d_static_array__array_inhibitory_targets;
extern const int _num__static_array__array_inhibitory_targets;
extern double *_static_array__array_neurons_ge;
extern double *dev_static_array__array_neurons_ge;
extern __device__ double *d_static_array__array_neurons_ge;
extern const int _num__static_array__array_neurons_ge;
extern double *_static_array__array_neurons_gi;
extern double *dev_static_array__array_neurons_gi;
extern __device__ double *d_static_array__array_neurons_gi;
extern const int _num__static_array__array_neurons_gi;
extern double *_static_array__array_neurons_v;
extern double *dev_static_array__array_neurons_v;
extern __device__ double *d_static_array__array_neurons_v;
extern const int _num__static_array__array_neurons_v;
extern double *_static_array__dynamic_array_excitatory_delay;
extern double *dev_static_array__dynamic_array_excitatory_delay;
extern __device__ double *d_static_array__dynamic_array_excitatory_delay;
extern const int _num__static_array__dynamic_array_excitatory_delay;
extern double *_static_array__dynamic_array_inhibitory_delay;
extern double *dev_static_array__dynamic_array_inhibitory_delay;
extern __device__ double *d_static_array__dynamic_array_inhibitory_delay;
extern const int _num__static_array__dynamic_array_inhibitory_delay;

//////////////// synapses /////////////////
// excitatory
extern bool excitatory_multiple_pre_post;
extern __device__ int* excitatory_pre_num_synapses_by_pre;
extern __device__ int* excitatory_pre_num_synapses_by_bundle;
extern __device__ int* excitatory_pre_unique_delays;
extern __device__ int* excitatory_pre_synapses_offset_by_bundle;
extern __device__ int* excitatory_pre_global_bundle_id_start_by_pre;
extern int excitatory_pre_bundle_size_max;
extern int excitatory_pre_bundle_size_min;
extern double excitatory_pre_bundle_size_mean;
extern double excitatory_pre_bundle_size_std;
extern int excitatory_pre_max_size;
extern __device__ int* excitatory_pre_num_unique_delays_by_pre;
extern int excitatory_pre_max_num_unique_delays;
extern __device__ int32_t** excitatory_pre_synapse_ids_by_pre;
extern __device__ int32_t* excitatory_pre_synapse_ids;
extern __device__ int* excitatory_pre_unique_delay_start_idcs;
extern __device__ int* excitatory_pre_unique_delays_offset_by_pre;
extern __device__ SynapticPathway excitatory_pre;
extern int excitatory_pre_eventspace_idx;
extern int excitatory_pre_delay;
extern bool excitatory_pre_scalar_delay;
// inhibitory
extern bool inhibitory_multiple_pre_post;
extern __device__ int* inhibitory_pre_num_synapses_by_pre;
extern __device__ int* inhibitory_pre_num_synapses_by_bundle;
extern __device__ int* inhibitory_pre_unique_delays;
extern __device__ int* inhibitory_pre_synapses_offset_by_bundle;
extern __device__ int* inhibitory_pre_global_bundle_id_start_by_pre;
extern int inhibitory_pre_bundle_size_max;
extern int inhibitory_pre_bundle_size_min;
extern double inhibitory_pre_bundle_size_mean;
extern double inhibitory_pre_bundle_size_std;
extern int inhibitory_pre_max_size;
extern __device__ int* inhibitory_pre_num_unique_delays_by_pre;
extern int inhibitory_pre_max_num_unique_delays;
extern __device__ int32_t** inhibitory_pre_synapse_ids_by_pre;
extern __device__ int32_t* inhibitory_pre_synapse_ids;
extern __device__ int* inhibitory_pre_unique_delay_start_idcs;
extern __device__ int* inhibitory_pre_unique_delays_offset_by_pre;
extern __device__ SynapticPathway inhibitory_pre;
extern int inhibitory_pre_eventspace_idx;
extern int inhibitory_pre_delay;
extern bool inhibitory_pre_scalar_delay;

// Profiling information for each code object

//////////////// random numbers /////////////////
extern curandGenerator_t curand_generator;
extern unsigned long long* dev_curand_seed;
extern __device__ unsigned long long* d_curand_seed;

extern curandState* dev_curand_states;
extern __device__ curandState* d_curand_states;
extern RandomNumberBuffer random_number_buffer;

//CUDA
extern int num_parallel_blocks;
extern int max_threads_per_block;
extern int max_threads_per_sm;
extern int max_shared_mem_size;
extern int num_threads_per_warp;

}

void _init_arrays();
void _load_arrays();
void _write_arrays();
void _dealloc_arrays();

#endif


