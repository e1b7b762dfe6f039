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
extern thrust::host_vector<int32_t> _dynamic_array_input_spikes__timebins;
extern thrust::device_vector<int32_t> dev_dynamic_array_input_spikes__timebins;
extern thrust::host_vector<int32_t> _dynamic_array_input_spikes_neuron_index;
extern thrust::device_vector<int32_t> dev_dynamic_array_input_spikes_neuron_index;
extern thrust::host_vector<int32_t> _dynamic_array_input_spikes_spike_number;
extern thrust::device_vector<int32_t> dev_dynamic_array_input_spikes_spike_number;
extern thrust::host_vector<double> _dynamic_array_input_spikes_spike_time;
extern thrust::device_vector<double> dev_dynamic_array_input_spikes_spike_time;
extern thrust::host_vector<int32_t> _dynamic_array_plastic__synaptic_post;
extern thrust::device_vector<int32_t> dev_dynamic_array_plastic__synaptic_post;
extern thrust::host_vector<int32_t> _dynamic_array_plastic__synaptic_pre;
extern thrust::device_vector<int32_t> dev_dynamic_array_plastic__synaptic_pre;
extern thrust::host_vector<double> _dynamic_array_plastic_Apost;
extern thrust::device_vector<double> dev_dynamic_array_plastic_Apost;
extern thrust::host_vector<double> _dynamic_array_plastic_Apre;
extern thrust::device_vector<double> dev_dynamic_array_plastic_Apre;
extern thrust::host_vector<double> _dynamic_array_plastic_delay;
extern thrust::device_vector<double> dev_dynamic_array_plastic_delay;
extern thrust::host_vector<double> _dynamic_array_plastic_delay_1;
extern thrust::device_vector<double> dev_dynamic_array_plastic_delay_1;
extern thrust::host_vector<double> _dynamic_array_plastic_lastupdate;
extern thrust::device_vector<double> dev_dynamic_array_plastic_lastupdate;
extern thrust::host_vector<int32_t> _dynamic_array_plastic_N_incoming;
extern thrust::device_vector<int32_t> dev_dynamic_array_plastic_N_incoming;
extern thrust::host_vector<int32_t> _dynamic_array_plastic_N_outgoing;
extern thrust::device_vector<int32_t> dev_dynamic_array_plastic_N_outgoing;
extern thrust::host_vector<double> _dynamic_array_plastic_w;
extern thrust::device_vector<double> dev_dynamic_array_plastic_w;
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
extern int32_t * _array_input_spikes__lastindex;
extern int32_t * dev_array_input_spikes__lastindex;
extern __device__ int32_t *d_array_input_spikes__lastindex;
extern const int _num__array_input_spikes__lastindex;
extern int32_t * _array_input_spikes__period_bins;
extern int32_t * dev_array_input_spikes__period_bins;
extern __device__ int32_t *d_array_input_spikes__period_bins;
extern const int _num__array_input_spikes__period_bins;
extern int32_t * _array_input_spikes_i;
extern int32_t * dev_array_input_spikes_i;
extern __device__ int32_t *d_array_input_spikes_i;
extern const int _num__array_input_spikes_i;
extern double * _array_input_spikes_period;
extern double * dev_array_input_spikes_period;
extern __device__ double *d_array_input_spikes_period;
extern const int _num__array_input_spikes_period;
extern double * _array_neurons_ge;
extern double * dev_array_neurons_ge;
extern __device__ double *d_array_neurons_ge;
extern const int _num__array_neurons_ge;
extern int32_t * _array_neurons_i;
extern int32_t * dev_array_neurons_i;
extern __device__ int32_t *d_array_neurons_i;
extern const int _num__array_neurons_i;
extern double * _array_neurons_v;
extern double * dev_array_neurons_v;
extern __device__ double *d_array_neurons_v;
extern const int _num__array_neurons_v;
extern int32_t * _array_plastic_N;
extern int32_t * dev_array_plastic_N;
extern __device__ int32_t *d_array_plastic_N;
extern const int _num__array_plastic_N;
extern int32_t * _array_plastic_sources;
extern int32_t * dev_array_plastic_sources;
extern __device__ int32_t *d_array_plastic_sources;
extern const int _num__array_plastic_sources;
extern int32_t * _array_plastic_targets;
extern int32_t * dev_array_plastic_targets;
extern __device__ int32_t *d_array_plastic_targets;
extern const int _num__array_plastic_targets;
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
extern int32_t * _array_input_spikes__spikespace;
extern thrust::host_vector<int32_t*> dev_array_input_spikes__spikespace;
extern const int _num__array_input_spikes__spikespace;
extern int current_idx_array_input_spikes__spikespace;
extern int previous_idx_array_input_spikes__spikespace;
extern int32_t * _array_neurons__spikespace;
extern thrust::host_vector<int32_t*> dev_array_neurons__spikespace;
extern const int _num__array_neurons__spikespace;
extern int current_idx_array_neurons__spikespace;

//////////////// dynamic arrays 2d /////////

/////////////// static arrays /////////////
extern int32_t *_static_array__array_plastic_sources;
extern int32_t *dev_static_array__array_plastic_sources;
extern __device__ int32_t *d_static_array__array_plastic_sources;
extern const int _num__static_array__array_plastic_sources;
extern int32_t *_static_array__array_plastic_targets;
extern int32_t *dev_static_array__array_plastic_targets;
extern __device__ int32_t *d_static_array__array_plastic_targets;
extern const int _num__static_array__array_plastic_targets;
extern int32_t *_static_array__dynamic_array_input_spikes__timebins;
extern int32_t *dev_static_array__dynamic_array_input_spikes__timebins;
extern __device__ int32_t *d_static_array__dynamic_array_input_spikes__timebins;
extern const int _num__static_array__dynamic_array_input_spikes__timebins;
extern int32_t *_static_array__dynamic_array_input_spikes_neuron_index;
extern int32_t *dev_static_array__dynamic_array_input_spikes_neuron_index;
extern __device__ int32_t *d_static_array__dynamic_array_input_spikes_neuron_index;
extern const int _num__static_array__dynamic_array_input_spikes_neuron_index;
extern int64_t *_static_array__dynamic_array_input_spikes_spike_number;
extern int64_t *dev_static_array__dynamic_array_input_spikes_spike_number;
extern __device__ int64_t *d_static_array__dynamic_array_input_spikes_spike_number;
extern const int _num__static_array__dynamic_array_input_spikes_spike_number;
extern double *_static_array__dynamic_array_input_spikes_spike_time;
extern double *dev_static_array__dynamic_array_input_spikes_spike_time;
extern __device__ double *d_static_array__dynamic_array_input_spikes_spike_time;
extern const int _num__static_array__dynamic_array_input_spikes_spike_time;
extern double *_static_array__dynamic_array_plastic_delay;
extern double *dev_static_array__dynamic_array_plastic_delay;
extern __device__ double *d_static_array__dynamic_array_plastic_delay;
extern const int _num__static_array__dynamic_array_plastic_delay;
extern double *_static_array__dynamic_array_plastic_w;
extern double *dev_static_array__dynamic_array_plastic_w;
extern __device__ double *d_static_array__dynamic_array_plastic_w;
extern const int _num__static_array__dynamic_array_plastic_w;

//////////////// synapses /////////////////
// plastic
extern bool plastic_multiple_pre_post;
extern __device__ int* plastic_post_num_synapses_by_pre;
extern __device__ int* plastic_post_num_synapses_by_bundle;
extern __device__ int* plastic_post_unique_delays;
extern __device__ int* plastic_post_synapses_offset_by_bundle;
extern __device__ int* plastic_post_global_bundle_id_start_by_pre;
extern int plastic_post_bundle_size_max;
extern int plastic_post_bundle_size_min;
extern double plastic_post_bundle_size_mean;
extern double plastic_post_bundle_size_std;
extern int plastic_post_max_size;
extern __device__ int* plastic_post_num_unique_delays_by_pre;
extern int plastic_post_max_num_unique_delays;
extern __device__ int32_t** plastic_post_synapse_ids_by_pre;
extern __device__ int32_t* plastic_post_synapse_ids;
extern __device__ int* plastic_post_unique_delay_start_idcs;
extern __device__ int* plastic_post_unique_delays_offset_by_pre;
extern __device__ SynapticPathway plastic_post;
extern int plastic_post_eventspace_idx;
extern int plastic_post_delay;
extern bool plastic_post_scalar_delay;
extern __device__ int* plastic_pre_num_synapses_by_pre;
extern __device__ int* plastic_pre_num_synapses_by_bundle;
extern __device__ int* plastic_pre_unique_delays;
extern __device__ int* plastic_pre_synapses_offset_by_bundle;
extern __device__ int* plastic_pre_global_bundle_id_start_by_pre;
extern int plastic_pre_bundle_size_max;
extern int plastic_pre_bundle_size_min;
extern double plastic_pre_bundle_size_mean;
extern double plastic_pre_bundle_size_std;
extern int plastic_pre_max_size;
extern __device__ int* plastic_pre_num_unique_delays_by_pre;
extern int plastic_pre_max_num_unique_delays;
extern __device__ int32_t** plastic_pre_synapse_ids_by_pre;
extern __device__ int32_t* plastic_pre_synapse_ids;
extern __device__ int* plastic_pre_unique_delay_start_idcs;
extern __device__ int* plastic_pre_unique_delays_offset_by_pre;
extern __device__ SynapticPathway plastic_pre;
extern int plastic_pre_eventspace_idx;
extern int plastic_pre_delay;
extern bool plastic_pre_scalar_delay;

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


