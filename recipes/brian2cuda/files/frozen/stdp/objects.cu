

#include "objects.h"
#include "synapses_classes.h"
#include "brianlib/clocks.h"
#include "brianlib/cuda_utils.h"
#include "network.h"
#include "rand.h"
#include <stdint.h>
#include <iostream>
#include <fstream>
#include <chrono>
#include <ctime>
#include <utility>

#include <thrust/host_vector.h>
#include <thrust/device_vector.h>
#include <curand.h>
#include <curand_kernel.h>

size_t brian::used_device_memory = 0;
std::string brian::results_dir = "results/";  // can be overwritten by --results_dir command line arg

//////////////// clocks ///////////////////
// attributes will be set in run.cu
Clock brian::defaultclock;

//////////////// networks /////////////////
Network brian::network;

void set_variable_from_value(std::string varname, char* var_pointer, size_t size, char value) {
    #ifdef DEBUG
    std::cout << "Setting '" << varname << "' to " << (value == 1 ? "True" : "False") << std::endl;
    #endif
    std::fill(var_pointer, var_pointer+size, value);
}

template<class T> void set_variable_from_value(std::string varname, T* var_pointer, size_t size, T value) {
    #ifdef DEBUG
    std::cout << "Setting '" << varname << "' to " << value << std::endl;
    #endif
    std::fill(var_pointer, var_pointer+size, value);
}

template<class T> void set_variable_from_file(std::string varname, T* var_pointer, size_t data_size, std::string filename) {
    ifstream f;
    streampos size;
    #ifdef DEBUG
    std::cout << "Setting '" << varname << "' from file '" << filename << "'" << std::endl;
    #endif
    f.open(filename, ios::in | ios::binary | ios::ate);
    size = f.tellg();
    if (size != data_size) {
        std::cerr << "Error reading '" << filename << "': file size " << size << " does not match expected size " << data_size << std::endl;
        return;
    }
    f.seekg(0, ios::beg);
    if (f.is_open())
        f.read(reinterpret_cast<char *>(var_pointer), data_size);
    else
        std::cerr << "Could not read '" << filename << "'" << std::endl;
    if (f.fail())
        std::cerr << "Error reading '" << filename << "'" << std::endl;
}

//////////////// set arrays by name ///////
void brian::set_variable_by_name(std::string name, std::string s_value) {
	size_t var_size;
	size_t data_size;
	std::for_each(s_value.begin(), s_value.end(), [](char& c) // modify in-place
    {
        c = std::tolower(static_cast<unsigned char>(c));
    });
    if (s_value == "true")
        s_value = "1";
    else if (s_value == "false")
        s_value = "0";
	// non-dynamic arrays
    if (name == "neurons.ge") {
        var_size = 1;
        data_size = 1*sizeof(double);
        if (s_value[0] == '-' || (s_value[0] >= '0' && s_value[0] <= '9')) {
            // set from single value
            set_variable_from_value<double>(name, brian::_array_neurons_ge, var_size, (double)atof(s_value.c_str()));

        } else {
            // set from file
            set_variable_from_file(name, brian::_array_neurons_ge, data_size, s_value);
        }
        // copy to device
        CUDA_SAFE_CALL(
            cudaMemcpy(
                brian::dev_array_neurons_ge,
                &brian::_array_neurons_ge[0],
                sizeof(brian::_array_neurons_ge[0])*brian::_num__array_neurons_ge,
                cudaMemcpyHostToDevice
            )
        );
        return;
    }
    if (name == "neurons.v") {
        var_size = 1;
        data_size = 1*sizeof(double);
        if (s_value[0] == '-' || (s_value[0] >= '0' && s_value[0] <= '9')) {
            // set from single value
            set_variable_from_value<double>(name, brian::_array_neurons_v, var_size, (double)atof(s_value.c_str()));

        } else {
            // set from file
            set_variable_from_file(name, brian::_array_neurons_v, data_size, s_value);
        }
        // copy to device
        CUDA_SAFE_CALL(
            cudaMemcpy(
                brian::dev_array_neurons_v,
                &brian::_array_neurons_v[0],
                sizeof(brian::_array_neurons_v[0])*brian::_num__array_neurons_v,
                cudaMemcpyHostToDevice
            )
        );
        return;
    }
    // dynamic arrays (1d)
    if (name == "plastic.Apost") {
        var_size = brian::_dynamic_array_plastic_Apost.size();
        data_size = var_size*sizeof(double);
        if (s_value[0] == '-' || (s_value[0] >= '0' && s_value[0] <= '9')) {
            // set from single value
            set_variable_from_value<double>(name, &brian::_dynamic_array_plastic_Apost[0], var_size, (double)atof(s_value.c_str()));

        } else {
            // set from file
            set_variable_from_file(name, &brian::_dynamic_array_plastic_Apost[0], data_size, s_value);
        }
        // copy to device
        CUDA_SAFE_CALL(
            cudaMemcpy(
                thrust::raw_pointer_cast(&brian::dev_dynamic_array_plastic_Apost[0]),
                &brian::_dynamic_array_plastic_Apost[0],
                sizeof(brian::_dynamic_array_plastic_Apost[0])*brian::_dynamic_array_plastic_Apost.size(),
                cudaMemcpyHostToDevice
            )
        );
        return;
    }
    if (name == "plastic.Apre") {
        var_size = brian::_dynamic_array_plastic_Apre.size();
        data_size = var_size*sizeof(double);
        if (s_value[0] == '-' || (s_value[0] >= '0' && s_value[0] <= '9')) {
            // set from single value
            set_variable_from_value<double>(name, &brian::_dynamic_array_plastic_Apre[0], var_size, (double)atof(s_value.c_str()));

        } else {
            // set from file
            set_variable_from_file(name, &brian::_dynamic_array_plastic_Apre[0], data_size, s_value);
        }
        // copy to device
        CUDA_SAFE_CALL(
            cudaMemcpy(
                thrust::raw_pointer_cast(&brian::dev_dynamic_array_plastic_Apre[0]),
                &brian::_dynamic_array_plastic_Apre[0],
                sizeof(brian::_dynamic_array_plastic_Apre[0])*brian::_dynamic_array_plastic_Apre.size(),
                cudaMemcpyHostToDevice
            )
        );
        return;
    }
    if (name == "plastic.delay") {
        var_size = brian::_dynamic_array_plastic_delay.size();
        data_size = var_size*sizeof(double);
        if (s_value[0] == '-' || (s_value[0] >= '0' && s_value[0] <= '9')) {
            // set from single value
            set_variable_from_value<double>(name, &brian::_dynamic_array_plastic_delay[0], var_size, (double)atof(s_value.c_str()));

        } else {
            // set from file
            set_variable_from_file(name, &brian::_dynamic_array_plastic_delay[0], data_size, s_value);
        }
        // copy to device
        CUDA_SAFE_CALL(
            cudaMemcpy(
                thrust::raw_pointer_cast(&brian::dev_dynamic_array_plastic_delay[0]),
                &brian::_dynamic_array_plastic_delay[0],
                sizeof(brian::_dynamic_array_plastic_delay[0])*brian::_dynamic_array_plastic_delay.size(),
                cudaMemcpyHostToDevice
            )
        );
        return;
    }
    if (name == "plastic.delay") {
        var_size = brian::_dynamic_array_plastic_delay_1.size();
        data_size = var_size*sizeof(double);
        if (s_value[0] == '-' || (s_value[0] >= '0' && s_value[0] <= '9')) {
            // set from single value
            set_variable_from_value<double>(name, &brian::_dynamic_array_plastic_delay_1[0], var_size, (double)atof(s_value.c_str()));

        } else {
            // set from file
            set_variable_from_file(name, &brian::_dynamic_array_plastic_delay_1[0], data_size, s_value);
        }
        // copy to device
        CUDA_SAFE_CALL(
            cudaMemcpy(
                thrust::raw_pointer_cast(&brian::dev_dynamic_array_plastic_delay_1[0]),
                &brian::_dynamic_array_plastic_delay_1[0],
                sizeof(brian::_dynamic_array_plastic_delay_1[0])*brian::_dynamic_array_plastic_delay_1.size(),
                cudaMemcpyHostToDevice
            )
        );
        return;
    }
    if (name == "plastic.lastupdate") {
        var_size = brian::_dynamic_array_plastic_lastupdate.size();
        data_size = var_size*sizeof(double);
        if (s_value[0] == '-' || (s_value[0] >= '0' && s_value[0] <= '9')) {
            // set from single value
            set_variable_from_value<double>(name, &brian::_dynamic_array_plastic_lastupdate[0], var_size, (double)atof(s_value.c_str()));

        } else {
            // set from file
            set_variable_from_file(name, &brian::_dynamic_array_plastic_lastupdate[0], data_size, s_value);
        }
        // copy to device
        CUDA_SAFE_CALL(
            cudaMemcpy(
                thrust::raw_pointer_cast(&brian::dev_dynamic_array_plastic_lastupdate[0]),
                &brian::_dynamic_array_plastic_lastupdate[0],
                sizeof(brian::_dynamic_array_plastic_lastupdate[0])*brian::_dynamic_array_plastic_lastupdate.size(),
                cudaMemcpyHostToDevice
            )
        );
        return;
    }
    if (name == "plastic.w") {
        var_size = brian::_dynamic_array_plastic_w.size();
        data_size = var_size*sizeof(double);
        if (s_value[0] == '-' || (s_value[0] >= '0' && s_value[0] <= '9')) {
            // set from single value
            set_variable_from_value<double>(name, &brian::_dynamic_array_plastic_w[0], var_size, (double)atof(s_value.c_str()));

        } else {
            // set from file
            set_variable_from_file(name, &brian::_dynamic_array_plastic_w[0], data_size, s_value);
        }
        // copy to device
        CUDA_SAFE_CALL(
            cudaMemcpy(
                thrust::raw_pointer_cast(&brian::dev_dynamic_array_plastic_w[0]),
                &brian::_dynamic_array_plastic_w[0],
                sizeof(brian::_dynamic_array_plastic_w[0])*brian::_dynamic_array_plastic_w.size(),
                cudaMemcpyHostToDevice
            )
        );
        return;
    }
    std::cerr << "Cannot set unknown variable '" << name << "'." << std::endl;
    exit(1);
}
//////////////// arrays ///////////////////
double * brian::_array_defaultclock_dt;
double * brian::dev_array_defaultclock_dt;
__device__ double * brian::d_array_defaultclock_dt;
const int brian::_num__array_defaultclock_dt = 1;

double * brian::_array_defaultclock_t;
double * brian::dev_array_defaultclock_t;
__device__ double * brian::d_array_defaultclock_t;
const int brian::_num__array_defaultclock_t = 1;

int64_t * brian::_array_defaultclock_timestep;
int64_t * brian::dev_array_defaultclock_timestep;
__device__ int64_t * brian::d_array_defaultclock_timestep;
const int brian::_num__array_defaultclock_timestep = 1;

int32_t * brian::_array_input_spikes__lastindex;
int32_t * brian::dev_array_input_spikes__lastindex;
__device__ int32_t * brian::d_array_input_spikes__lastindex;
const int brian::_num__array_input_spikes__lastindex = 1;

int32_t * brian::_array_input_spikes__period_bins;
int32_t * brian::dev_array_input_spikes__period_bins;
__device__ int32_t * brian::d_array_input_spikes__period_bins;
const int brian::_num__array_input_spikes__period_bins = 1;

int32_t * brian::_array_input_spikes_i;
int32_t * brian::dev_array_input_spikes_i;
__device__ int32_t * brian::d_array_input_spikes_i;
const int brian::_num__array_input_spikes_i = 1000;

double * brian::_array_input_spikes_period;
double * brian::dev_array_input_spikes_period;
__device__ double * brian::d_array_input_spikes_period;
const int brian::_num__array_input_spikes_period = 1;

double * brian::_array_neurons_ge;
double * brian::dev_array_neurons_ge;
__device__ double * brian::d_array_neurons_ge;
const int brian::_num__array_neurons_ge = 1;

int32_t * brian::_array_neurons_i;
int32_t * brian::dev_array_neurons_i;
__device__ int32_t * brian::d_array_neurons_i;
const int brian::_num__array_neurons_i = 1;

double * brian::_array_neurons_v;
double * brian::dev_array_neurons_v;
__device__ double * brian::d_array_neurons_v;
const int brian::_num__array_neurons_v = 1;

int32_t * brian::_array_plastic_N;
int32_t * brian::dev_array_plastic_N;
__device__ int32_t * brian::d_array_plastic_N;
const int brian::_num__array_plastic_N = 1;

int32_t * brian::_array_plastic_sources;
int32_t * brian::dev_array_plastic_sources;
__device__ int32_t * brian::d_array_plastic_sources;
const int brian::_num__array_plastic_sources = 1000;

int32_t * brian::_array_plastic_targets;
int32_t * brian::dev_array_plastic_targets;
__device__ int32_t * brian::d_array_plastic_targets;
const int brian::_num__array_plastic_targets = 1000;

int32_t * brian::_array_spikes__source_idx;
int32_t * brian::dev_array_spikes__source_idx;
__device__ int32_t * brian::d_array_spikes__source_idx;
const int brian::_num__array_spikes__source_idx = 1;

int32_t * brian::_array_spikes_count;
int32_t * brian::dev_array_spikes_count;
__device__ int32_t * brian::d_array_spikes_count;
const int brian::_num__array_spikes_count = 1;

int32_t * brian::_array_spikes_N;
int32_t * brian::dev_array_spikes_N;
__device__ int32_t * brian::d_array_spikes_N;
const int brian::_num__array_spikes_N = 1;


//////////////// eventspaces ///////////////
// we dynamically create multiple eventspaces in no_or_const_delay_mode
// for initiating the first spikespace, we need a host pointer
// for choosing the right spikespace, we need a global index variable
int32_t * brian::_array_input_spikes__spikespace;
const int brian::_num__array_input_spikes__spikespace = 1001;
thrust::host_vector<int32_t*> brian::dev_array_input_spikes__spikespace(1);
int brian::current_idx_array_input_spikes__spikespace = 0;
int brian::previous_idx_array_input_spikes__spikespace;
int32_t * brian::_array_neurons__spikespace;
const int brian::_num__array_neurons__spikespace = 2;
thrust::host_vector<int32_t*> brian::dev_array_neurons__spikespace(1);
int brian::current_idx_array_neurons__spikespace = 0;

//////////////// dynamic arrays 1d /////////
thrust::host_vector<int32_t> brian::_dynamic_array_input_spikes__timebins;
thrust::device_vector<int32_t> brian::dev_dynamic_array_input_spikes__timebins;
thrust::host_vector<int32_t> brian::_dynamic_array_input_spikes_neuron_index;
thrust::device_vector<int32_t> brian::dev_dynamic_array_input_spikes_neuron_index;
thrust::host_vector<int32_t> brian::_dynamic_array_input_spikes_spike_number;
thrust::device_vector<int32_t> brian::dev_dynamic_array_input_spikes_spike_number;
thrust::host_vector<double> brian::_dynamic_array_input_spikes_spike_time;
thrust::device_vector<double> brian::dev_dynamic_array_input_spikes_spike_time;
thrust::host_vector<int32_t> brian::_dynamic_array_plastic__synaptic_post;
thrust::device_vector<int32_t> brian::dev_dynamic_array_plastic__synaptic_post;
thrust::host_vector<int32_t> brian::_dynamic_array_plastic__synaptic_pre;
thrust::device_vector<int32_t> brian::dev_dynamic_array_plastic__synaptic_pre;
thrust::host_vector<double> brian::_dynamic_array_plastic_Apost;
thrust::device_vector<double> brian::dev_dynamic_array_plastic_Apost;
thrust::host_vector<double> brian::_dynamic_array_plastic_Apre;
thrust::device_vector<double> brian::dev_dynamic_array_plastic_Apre;
thrust::host_vector<double> brian::_dynamic_array_plastic_delay;
thrust::device_vector<double> brian::dev_dynamic_array_plastic_delay;
thrust::host_vector<double> brian::_dynamic_array_plastic_delay_1;
thrust::device_vector<double> brian::dev_dynamic_array_plastic_delay_1;
thrust::host_vector<double> brian::_dynamic_array_plastic_lastupdate;
thrust::device_vector<double> brian::dev_dynamic_array_plastic_lastupdate;
thrust::host_vector<int32_t> brian::_dynamic_array_plastic_N_incoming;
thrust::device_vector<int32_t> brian::dev_dynamic_array_plastic_N_incoming;
thrust::host_vector<int32_t> brian::_dynamic_array_plastic_N_outgoing;
thrust::device_vector<int32_t> brian::dev_dynamic_array_plastic_N_outgoing;
thrust::host_vector<double> brian::_dynamic_array_plastic_w;
thrust::device_vector<double> brian::dev_dynamic_array_plastic_w;
thrust::host_vector<int32_t> brian::_dynamic_array_spikes_i;
thrust::device_vector<int32_t> brian::dev_dynamic_array_spikes_i;
thrust::host_vector<double> brian::_dynamic_array_spikes_t;
thrust::device_vector<double> brian::dev_dynamic_array_spikes_t;

//////////////// dynamic arrays 2d /////////

/////////////// static arrays /////////////
int32_t * brian::_static_array__array_plastic_sources;
int32_t * brian::dev_static_array__array_plastic_sources;
__device__ int32_t * brian::d_static_array__array_plastic_sources;
const int brian::_num__static_array__array_plastic_sources = 1000;
int32_t * brian::_static_array__array_plastic_targets;
int32_t * brian::dev_static_array__array_plastic_targets;
__device__ int32_t * brian::d_static_array__array_plastic_targets;
const int brian::_num__static_array__array_plastic_targets = 1000;
int32_t * brian::_static_array__dynamic_array_input_spikes__timebins;
int32_t * brian::dev_static_array__dynamic_array_input_spikes__timebins;
__device__ int32_t * brian::d_static_array__dynamic_array_input_spikes__timebins;
const int brian::_num__static_array__dynamic_array_input_spikes__timebins = 14971;
int32_t * brian::_static_array__dynamic_array_input_spikes_neuron_index;
int32_t * brian::dev_static_array__dynamic_array_input_spikes_neuron_index;
__device__ int32_t * brian::d_static_array__dynamic_array_input_spikes_neuron_index;
const int brian::_num__static_array__dynamic_array_input_spikes_neuron_index = 14971;
int64_t * brian::_static_array__dynamic_array_input_spikes_spike_number;
int64_t * brian::dev_static_array__dynamic_array_input_spikes_spike_number;
__device__ int64_t * brian::d_static_array__dynamic_array_input_spikes_spike_number;
const int brian::_num__static_array__dynamic_array_input_spikes_spike_number = 14971;
double * brian::_static_array__dynamic_array_input_spikes_spike_time;
double * brian::dev_static_array__dynamic_array_input_spikes_spike_time;
__device__ double * brian::d_static_array__dynamic_array_input_spikes_spike_time;
const int brian::_num__static_array__dynamic_array_input_spikes_spike_time = 14971;
double * brian::_static_array__dynamic_array_plastic_delay;
double * brian::dev_static_array__dynamic_array_plastic_delay;
__device__ double * brian::d_static_array__dynamic_array_plastic_delay;
const int brian::_num__static_array__dynamic_array_plastic_delay = 1000;
double * brian::_static_array__dynamic_array_plastic_w;
double * brian::dev_static_array__dynamic_array_plastic_w;
__device__ double * brian::d_static_array__dynamic_array_plastic_w;
const int brian::_num__static_array__dynamic_array_plastic_w = 1000;

//////////////// synapses /////////////////
// plastic
int32_t plastic_source_start_index;
int32_t plastic_source_stop_index;
bool brian::plastic_multiple_pre_post = false;
// plastic_post
__device__ int* brian::plastic_post_num_synapses_by_pre;
__device__ int* brian::plastic_post_num_synapses_by_bundle;
__device__ int* brian::plastic_post_unique_delays;
__device__ int* brian::plastic_post_synapses_offset_by_bundle;
__device__ int* brian::plastic_post_global_bundle_id_start_by_pre;
int brian::plastic_post_bundle_size_max = 0;
int brian::plastic_post_bundle_size_min = 0;
double brian::plastic_post_bundle_size_mean = 0;
double brian::plastic_post_bundle_size_std = 0;
int brian::plastic_post_max_size = 0;
__device__ int* brian::plastic_post_num_unique_delays_by_pre;
int brian::plastic_post_max_num_unique_delays = 0;
__device__ int32_t** brian::plastic_post_synapse_ids_by_pre;
__device__ int32_t* brian::plastic_post_synapse_ids;
__device__ int* brian::plastic_post_unique_delay_start_idcs;
__device__ int* brian::plastic_post_unique_delays_offset_by_pre;
__device__ SynapticPathway brian::plastic_post;
int brian::plastic_post_eventspace_idx = 0;
int brian::plastic_post_delay;
bool brian::plastic_post_scalar_delay;
// plastic_pre
__device__ int* brian::plastic_pre_num_synapses_by_pre;
__device__ int* brian::plastic_pre_num_synapses_by_bundle;
__device__ int* brian::plastic_pre_unique_delays;
__device__ int* brian::plastic_pre_synapses_offset_by_bundle;
__device__ int* brian::plastic_pre_global_bundle_id_start_by_pre;
int brian::plastic_pre_bundle_size_max = 0;
int brian::plastic_pre_bundle_size_min = 0;
double brian::plastic_pre_bundle_size_mean = 0;
double brian::plastic_pre_bundle_size_std = 0;
int brian::plastic_pre_max_size = 0;
__device__ int* brian::plastic_pre_num_unique_delays_by_pre;
int brian::plastic_pre_max_num_unique_delays = 0;
__device__ int32_t** brian::plastic_pre_synapse_ids_by_pre;
__device__ int32_t* brian::plastic_pre_synapse_ids;
__device__ int* brian::plastic_pre_unique_delay_start_idcs;
__device__ int* brian::plastic_pre_unique_delays_offset_by_pre;
__device__ SynapticPathway brian::plastic_pre;
int brian::plastic_pre_eventspace_idx = 0;
int brian::plastic_pre_delay;
bool brian::plastic_pre_scalar_delay;

int brian::num_parallel_blocks;
int brian::max_threads_per_block;
int brian::max_threads_per_sm;
int brian::max_shared_mem_size;
int brian::num_threads_per_warp;

__global__ void plastic_post_init(
                int32_t* sources,
                int32_t* targets,
                double dt,
                int32_t source_start,
                int32_t source_stop
        )
{
    using namespace brian;

    plastic_post.init(
            sources,
            targets,
            dt,
            // TODO: called source here, spikes in SynapticPathway (use same name)
            source_start,
            source_stop);
}
__global__ void plastic_pre_init(
                int32_t* sources,
                int32_t* targets,
                double dt,
                int32_t source_start,
                int32_t source_stop
        )
{
    using namespace brian;

    plastic_pre.init(
            sources,
            targets,
            dt,
            // TODO: called source here, spikes in SynapticPathway (use same name)
            source_start,
            source_stop);
}

// Profiling information for each code object

//////////////random numbers//////////////////
curandGenerator_t brian::curand_generator;
__device__ unsigned long long* brian::d_curand_seed;
unsigned long long* brian::dev_curand_seed;
// dev_{co.name}_{rng_type}_allocator
//      pointer to start of generated random numbers array
//      at each generation cycle this array is refilled
// dev_{co.name}_{rng_type}
//      pointer moving through generated random number array
//      until it is regenerated at the next generation cycle
curandState* brian::dev_curand_states;
__device__ curandState* brian::d_curand_states;
RandomNumberBuffer brian::random_number_buffer;

void _init_arrays()
{
    using namespace brian;

    const auto start_timer = std::chrono::high_resolution_clock::now();

    CUDA_CHECK_MEMORY();
    size_t used_device_memory_start = used_device_memory;

    cudaDeviceProp props;
    CUDA_SAFE_CALL(
            cudaGetDeviceProperties(&props, 0)
            );

    num_parallel_blocks = 1;
    max_threads_per_block = props.maxThreadsPerBlock;
    max_threads_per_sm = props.maxThreadsPerMultiProcessor;
    max_shared_mem_size = props.sharedMemPerBlock;
    num_threads_per_warp = props.warpSize;

    // Random seeds might be overwritten in main.cu
    unsigned long long seed = time(0);

    CUDA_SAFE_CALL(
            cudaMalloc((void**)&dev_curand_seed,
                sizeof(unsigned long long))
            );

    CUDA_SAFE_CALL(
            cudaMemcpyToSymbol(d_curand_seed, &dev_curand_seed,
                sizeof(unsigned long long*))
            );

    CUDA_SAFE_CALL(
            curandCreateGenerator(&curand_generator, CURAND_RNG_PSEUDO_DEFAULT)
            );


    // this sets seed for host and device api RNG
    random_number_buffer.set_seed(seed);

    plastic_post_init<<<1,1>>>(
            thrust::raw_pointer_cast(&dev_dynamic_array_plastic__synaptic_post[0]),
            thrust::raw_pointer_cast(&dev_dynamic_array_plastic__synaptic_pre[0]),
            0,  //was dt, maybe irrelevant?
            0,
            1
            );
    CUDA_CHECK_ERROR("plastic_post_init");
    plastic_pre_init<<<1,1>>>(
            thrust::raw_pointer_cast(&dev_dynamic_array_plastic__synaptic_pre[0]),
            thrust::raw_pointer_cast(&dev_dynamic_array_plastic__synaptic_post[0]),
            0,  //was dt, maybe irrelevant?
            0,
            1000
            );
    CUDA_CHECK_ERROR("plastic_pre_init");

    // Arrays initialized to 0
            _array_defaultclock_dt = new double[1];
            for(int i=0; i<1; i++) _array_defaultclock_dt[i] = 0;
            CUDA_SAFE_CALL(
                    cudaMalloc((void**)&dev_array_defaultclock_dt, sizeof(double)*_num__array_defaultclock_dt)
                    );
            CUDA_SAFE_CALL(
                    cudaMemcpy(dev_array_defaultclock_dt, _array_defaultclock_dt, sizeof(double)*_num__array_defaultclock_dt, cudaMemcpyHostToDevice)
                    );
            _array_defaultclock_t = new double[1];
            for(int i=0; i<1; i++) _array_defaultclock_t[i] = 0;
            CUDA_SAFE_CALL(
                    cudaMalloc((void**)&dev_array_defaultclock_t, sizeof(double)*_num__array_defaultclock_t)
                    );
            CUDA_SAFE_CALL(
                    cudaMemcpy(dev_array_defaultclock_t, _array_defaultclock_t, sizeof(double)*_num__array_defaultclock_t, cudaMemcpyHostToDevice)
                    );
            _array_defaultclock_timestep = new int64_t[1];
            for(int i=0; i<1; i++) _array_defaultclock_timestep[i] = 0;
            CUDA_SAFE_CALL(
                    cudaMalloc((void**)&dev_array_defaultclock_timestep, sizeof(int64_t)*_num__array_defaultclock_timestep)
                    );
            CUDA_SAFE_CALL(
                    cudaMemcpy(dev_array_defaultclock_timestep, _array_defaultclock_timestep, sizeof(int64_t)*_num__array_defaultclock_timestep, cudaMemcpyHostToDevice)
                    );
            _array_input_spikes__lastindex = new int32_t[1];
            for(int i=0; i<1; i++) _array_input_spikes__lastindex[i] = 0;
            CUDA_SAFE_CALL(
                    cudaMalloc((void**)&dev_array_input_spikes__lastindex, sizeof(int32_t)*_num__array_input_spikes__lastindex)
                    );
            CUDA_SAFE_CALL(
                    cudaMemcpy(dev_array_input_spikes__lastindex, _array_input_spikes__lastindex, sizeof(int32_t)*_num__array_input_spikes__lastindex, cudaMemcpyHostToDevice)
                    );
            _array_input_spikes__period_bins = new int32_t[1];
            for(int i=0; i<1; i++) _array_input_spikes__period_bins[i] = 0;
            CUDA_SAFE_CALL(
                    cudaMalloc((void**)&dev_array_input_spikes__period_bins, sizeof(int32_t)*_num__array_input_spikes__period_bins)
                    );
            CUDA_SAFE_CALL(
                    cudaMemcpy(dev_array_input_spikes__period_bins, _array_input_spikes__period_bins, sizeof(int32_t)*_num__array_input_spikes__period_bins, cudaMemcpyHostToDevice)
                    );
            _array_input_spikes_i = new int32_t[1000];
            for(int i=0; i<1000; i++) _array_input_spikes_i[i] = 0;
            CUDA_SAFE_CALL(
                    cudaMalloc((void**)&dev_array_input_spikes_i, sizeof(int32_t)*_num__array_input_spikes_i)
                    );
            CUDA_SAFE_CALL(
                    cudaMemcpy(dev_array_input_spikes_i, _array_input_spikes_i, sizeof(int32_t)*_num__array_input_spikes_i, cudaMemcpyHostToDevice)
                    );
            _array_input_spikes_period = new double[1];
            for(int i=0; i<1; i++) _array_input_spikes_period[i] = 0;
            CUDA_SAFE_CALL(
                    cudaMalloc((void**)&dev_array_input_spikes_period, sizeof(double)*_num__array_input_spikes_period)
                    );
            CUDA_SAFE_CALL(
                    cudaMemcpy(dev_array_input_spikes_period, _array_input_spikes_period, sizeof(double)*_num__array_input_spikes_period, cudaMemcpyHostToDevice)
                    );
            _array_neurons_ge = new double[1];
            for(int i=0; i<1; i++) _array_neurons_ge[i] = 0;
            CUDA_SAFE_CALL(
                    cudaMalloc((void**)&dev_array_neurons_ge, sizeof(double)*_num__array_neurons_ge)
                    );
            CUDA_SAFE_CALL(
                    cudaMemcpy(dev_array_neurons_ge, _array_neurons_ge, sizeof(double)*_num__array_neurons_ge, cudaMemcpyHostToDevice)
                    );
            _array_neurons_i = new int32_t[1];
            for(int i=0; i<1; i++) _array_neurons_i[i] = 0;
            CUDA_SAFE_CALL(
                    cudaMalloc((void**)&dev_array_neurons_i, sizeof(int32_t)*_num__array_neurons_i)
                    );
            CUDA_SAFE_CALL(
                    cudaMemcpy(dev_array_neurons_i, _array_neurons_i, sizeof(int32_t)*_num__array_neurons_i, cudaMemcpyHostToDevice)
                    );
            _array_neurons_v = new double[1];
            for(int i=0; i<1; i++) _array_neurons_v[i] = 0;
            CUDA_SAFE_CALL(
                    cudaMalloc((void**)&dev_array_neurons_v, sizeof(double)*_num__array_neurons_v)
                    );
            CUDA_SAFE_CALL(
                    cudaMemcpy(dev_array_neurons_v, _array_neurons_v, sizeof(double)*_num__array_neurons_v, cudaMemcpyHostToDevice)
                    );
            _array_plastic_N = new int32_t[1];
            for(int i=0; i<1; i++) _array_plastic_N[i] = 0;
            CUDA_SAFE_CALL(
                    cudaMalloc((void**)&dev_array_plastic_N, sizeof(int32_t)*_num__array_plastic_N)
                    );
            CUDA_SAFE_CALL(
                    cudaMemcpy(dev_array_plastic_N, _array_plastic_N, sizeof(int32_t)*_num__array_plastic_N, cudaMemcpyHostToDevice)
                    );
            _array_plastic_sources = new int32_t[1000];
            for(int i=0; i<1000; i++) _array_plastic_sources[i] = 0;
            CUDA_SAFE_CALL(
                    cudaMalloc((void**)&dev_array_plastic_sources, sizeof(int32_t)*_num__array_plastic_sources)
                    );
            CUDA_SAFE_CALL(
                    cudaMemcpy(dev_array_plastic_sources, _array_plastic_sources, sizeof(int32_t)*_num__array_plastic_sources, cudaMemcpyHostToDevice)
                    );
            _array_plastic_targets = new int32_t[1000];
            for(int i=0; i<1000; i++) _array_plastic_targets[i] = 0;
            CUDA_SAFE_CALL(
                    cudaMalloc((void**)&dev_array_plastic_targets, sizeof(int32_t)*_num__array_plastic_targets)
                    );
            CUDA_SAFE_CALL(
                    cudaMemcpy(dev_array_plastic_targets, _array_plastic_targets, sizeof(int32_t)*_num__array_plastic_targets, cudaMemcpyHostToDevice)
                    );
            _array_spikes__source_idx = new int32_t[1];
            for(int i=0; i<1; i++) _array_spikes__source_idx[i] = 0;
            CUDA_SAFE_CALL(
                    cudaMalloc((void**)&dev_array_spikes__source_idx, sizeof(int32_t)*_num__array_spikes__source_idx)
                    );
            CUDA_SAFE_CALL(
                    cudaMemcpy(dev_array_spikes__source_idx, _array_spikes__source_idx, sizeof(int32_t)*_num__array_spikes__source_idx, cudaMemcpyHostToDevice)
                    );
            _array_spikes_count = new int32_t[1];
            for(int i=0; i<1; i++) _array_spikes_count[i] = 0;
            CUDA_SAFE_CALL(
                    cudaMalloc((void**)&dev_array_spikes_count, sizeof(int32_t)*_num__array_spikes_count)
                    );
            CUDA_SAFE_CALL(
                    cudaMemcpy(dev_array_spikes_count, _array_spikes_count, sizeof(int32_t)*_num__array_spikes_count, cudaMemcpyHostToDevice)
                    );
            _array_spikes_N = new int32_t[1];
            for(int i=0; i<1; i++) _array_spikes_N[i] = 0;
            CUDA_SAFE_CALL(
                    cudaMalloc((void**)&dev_array_spikes_N, sizeof(int32_t)*_num__array_spikes_N)
                    );
            CUDA_SAFE_CALL(
                    cudaMemcpy(dev_array_spikes_N, _array_spikes_N, sizeof(int32_t)*_num__array_spikes_N, cudaMemcpyHostToDevice)
                    );
            _dynamic_array_input_spikes__timebins.resize(14971);
            THRUST_CHECK_ERROR(dev_dynamic_array_input_spikes__timebins.resize(14971));
            for(int i=0; i<14971; i++)
            {
                _dynamic_array_input_spikes__timebins[i] = 0;
                dev_dynamic_array_input_spikes__timebins[i] = 0;
            }

    // Arrays initialized to an "arange"
    _array_input_spikes_i = new int32_t[1000];
    for(int i=0; i<1000; i++) _array_input_spikes_i[i] = 0 + i;
    CUDA_SAFE_CALL(
            cudaMalloc((void**)&dev_array_input_spikes_i, sizeof(int32_t)*_num__array_input_spikes_i)
            );

    CUDA_SAFE_CALL(
            cudaMemcpy(dev_array_input_spikes_i, _array_input_spikes_i, sizeof(int32_t)*_num__array_input_spikes_i, cudaMemcpyHostToDevice)
            );
    _array_neurons_i = new int32_t[1];
    for(int i=0; i<1; i++) _array_neurons_i[i] = 0 + i;
    CUDA_SAFE_CALL(
            cudaMalloc((void**)&dev_array_neurons_i, sizeof(int32_t)*_num__array_neurons_i)
            );

    CUDA_SAFE_CALL(
            cudaMemcpy(dev_array_neurons_i, _array_neurons_i, sizeof(int32_t)*_num__array_neurons_i, cudaMemcpyHostToDevice)
            );
    _array_spikes__source_idx = new int32_t[1];
    for(int i=0; i<1; i++) _array_spikes__source_idx[i] = 0 + i;
    CUDA_SAFE_CALL(
            cudaMalloc((void**)&dev_array_spikes__source_idx, sizeof(int32_t)*_num__array_spikes__source_idx)
            );

    CUDA_SAFE_CALL(
            cudaMemcpy(dev_array_spikes__source_idx, _array_spikes__source_idx, sizeof(int32_t)*_num__array_spikes__source_idx, cudaMemcpyHostToDevice)
            );

    // static arrays
    _static_array__array_plastic_sources = new int32_t[1000];
    CUDA_SAFE_CALL(
            cudaMalloc((void**)&dev_static_array__array_plastic_sources, sizeof(int32_t)*1000)
            );
    CUDA_SAFE_CALL(
            cudaMemcpyToSymbol(d_static_array__array_plastic_sources, &dev_static_array__array_plastic_sources, sizeof(int32_t*))
            );
    _static_array__array_plastic_targets = new int32_t[1000];
    CUDA_SAFE_CALL(
            cudaMalloc((void**)&dev_static_array__array_plastic_targets, sizeof(int32_t)*1000)
            );
    CUDA_SAFE_CALL(
            cudaMemcpyToSymbol(d_static_array__array_plastic_targets, &dev_static_array__array_plastic_targets, sizeof(int32_t*))
            );
    _static_array__dynamic_array_input_spikes__timebins = new int32_t[14971];
    CUDA_SAFE_CALL(
            cudaMalloc((void**)&dev_static_array__dynamic_array_input_spikes__timebins, sizeof(int32_t)*14971)
            );
    CUDA_SAFE_CALL(
            cudaMemcpyToSymbol(d_static_array__dynamic_array_input_spikes__timebins, &dev_static_array__dynamic_array_input_spikes__timebins, sizeof(int32_t*))
            );
    _static_array__dynamic_array_input_spikes_neuron_index = new int32_t[14971];
    CUDA_SAFE_CALL(
            cudaMalloc((void**)&dev_static_array__dynamic_array_input_spikes_neuron_index, sizeof(int32_t)*14971)
            );
    CUDA_SAFE_CALL(
            cudaMemcpyToSymbol(d_static_array__dynamic_array_input_spikes_neuron_index, &dev_static_array__dynamic_array_input_spikes_neuron_index, sizeof(int32_t*))
            );
    _static_array__dynamic_array_input_spikes_spike_number = new int64_t[14971];
    CUDA_SAFE_CALL(
            cudaMalloc((void**)&dev_static_array__dynamic_array_input_spikes_spike_number, sizeof(int64_t)*14971)
            );
    CUDA_SAFE_CALL(
            cudaMemcpyToSymbol(d_static_array__dynamic_array_input_spikes_spike_number, &dev_static_array__dynamic_array_input_spikes_spike_number, sizeof(int64_t*))
            );
    _static_array__dynamic_array_input_spikes_spike_time = new double[14971];
    CUDA_SAFE_CALL(
            cudaMalloc((void**)&dev_static_array__dynamic_array_input_spikes_spike_time, sizeof(double)*14971)
            );
    CUDA_SAFE_CALL(
            cudaMemcpyToSymbol(d_static_array__dynamic_array_input_spikes_spike_time, &dev_static_array__dynamic_array_input_spikes_spike_time, sizeof(double*))
            );
    _static_array__dynamic_array_plastic_delay = new double[1000];
    CUDA_SAFE_CALL(
            cudaMalloc((void**)&dev_static_array__dynamic_array_plastic_delay, sizeof(double)*1000)
            );
    CUDA_SAFE_CALL(
            cudaMemcpyToSymbol(d_static_array__dynamic_array_plastic_delay, &dev_static_array__dynamic_array_plastic_delay, sizeof(double*))
            );
    _static_array__dynamic_array_plastic_w = new double[1000];
    CUDA_SAFE_CALL(
            cudaMalloc((void**)&dev_static_array__dynamic_array_plastic_w, sizeof(double)*1000)
            );
    CUDA_SAFE_CALL(
            cudaMemcpyToSymbol(d_static_array__dynamic_array_plastic_w, &dev_static_array__dynamic_array_plastic_w, sizeof(double*))
            );


    // eventspace_arrays
    CUDA_SAFE_CALL(
            cudaMalloc((void**)&dev_array_input_spikes__spikespace[0], sizeof(int32_t)*_num__array_input_spikes__spikespace)
            );
    // initialize eventspace with -1
    _array_input_spikes__spikespace = new int32_t[1001];
    for (int i=0; i<1001-1; i++)
    {
        _array_input_spikes__spikespace[i] = -1;
    }
    // initialize eventspace counter with 0
    _array_input_spikes__spikespace[1001 - 1] = 0;
    CUDA_SAFE_CALL(
        cudaMemcpy(
            dev_array_input_spikes__spikespace[0],
            _array_input_spikes__spikespace,
            sizeof(int32_t) * _num__array_input_spikes__spikespace,
            cudaMemcpyHostToDevice
        )
    );
    CUDA_SAFE_CALL(
            cudaMalloc((void**)&dev_array_neurons__spikespace[0], sizeof(int32_t)*_num__array_neurons__spikespace)
            );
    // initialize eventspace with -1
    _array_neurons__spikespace = new int32_t[2];
    for (int i=0; i<2-1; i++)
    {
        _array_neurons__spikespace[i] = -1;
    }
    // initialize eventspace counter with 0
    _array_neurons__spikespace[2 - 1] = 0;
    CUDA_SAFE_CALL(
        cudaMemcpy(
            dev_array_neurons__spikespace[0],
            _array_neurons__spikespace,
            sizeof(int32_t) * _num__array_neurons__spikespace,
            cudaMemcpyHostToDevice
        )
    );

    CUDA_CHECK_MEMORY();
    const double to_MB = 1.0 / (1024.0 * 1024.0);
    double tot_memory_MB = (used_device_memory - used_device_memory_start) * to_MB;
    double time_passed = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::high_resolution_clock::now() - start_timer).count();
    std::cout << "INFO: _init_arrays() took " <<  time_passed << "s";
    if (tot_memory_MB > 0)
        std::cout << " and used " << tot_memory_MB << "MB of device memory.";
    std::cout << std::endl;
}

void _load_arrays()
{
    using namespace brian;

    ifstream f_static_array__array_plastic_sources;
    f_static_array__array_plastic_sources.open("static_arrays/_static_array__array_plastic_sources", ios::in | ios::binary);
    if(f_static_array__array_plastic_sources.is_open())
    {
        f_static_array__array_plastic_sources.read(reinterpret_cast<char*>(_static_array__array_plastic_sources), 1000*sizeof(int32_t));
    } else
    {
        std::cout << "Error opening static array _static_array__array_plastic_sources." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(dev_static_array__array_plastic_sources, _static_array__array_plastic_sources, sizeof(int32_t)*1000, cudaMemcpyHostToDevice)
            );
    ifstream f_static_array__array_plastic_targets;
    f_static_array__array_plastic_targets.open("static_arrays/_static_array__array_plastic_targets", ios::in | ios::binary);
    if(f_static_array__array_plastic_targets.is_open())
    {
        f_static_array__array_plastic_targets.read(reinterpret_cast<char*>(_static_array__array_plastic_targets), 1000*sizeof(int32_t));
    } else
    {
        std::cout << "Error opening static array _static_array__array_plastic_targets." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(dev_static_array__array_plastic_targets, _static_array__array_plastic_targets, sizeof(int32_t)*1000, cudaMemcpyHostToDevice)
            );
    ifstream f_static_array__dynamic_array_input_spikes__timebins;
    f_static_array__dynamic_array_input_spikes__timebins.open("static_arrays/_static_array__dynamic_array_input_spikes__timebins", ios::in | ios::binary);
    if(f_static_array__dynamic_array_input_spikes__timebins.is_open())
    {
        f_static_array__dynamic_array_input_spikes__timebins.read(reinterpret_cast<char*>(_static_array__dynamic_array_input_spikes__timebins), 14971*sizeof(int32_t));
    } else
    {
        std::cout << "Error opening static array _static_array__dynamic_array_input_spikes__timebins." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(dev_static_array__dynamic_array_input_spikes__timebins, _static_array__dynamic_array_input_spikes__timebins, sizeof(int32_t)*14971, cudaMemcpyHostToDevice)
            );
    ifstream f_static_array__dynamic_array_input_spikes_neuron_index;
    f_static_array__dynamic_array_input_spikes_neuron_index.open("static_arrays/_static_array__dynamic_array_input_spikes_neuron_index", ios::in | ios::binary);
    if(f_static_array__dynamic_array_input_spikes_neuron_index.is_open())
    {
        f_static_array__dynamic_array_input_spikes_neuron_index.read(reinterpret_cast<char*>(_static_array__dynamic_array_input_spikes_neuron_index), 14971*sizeof(int32_t));
    } else
    {
        std::cout << "Error opening static array _static_array__dynamic_array_input_spikes_neuron_index." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(dev_static_array__dynamic_array_input_spikes_neuron_index, _static_array__dynamic_array_input_spikes_neuron_index, sizeof(int32_t)*14971, cudaMemcpyHostToDevice)
            );
    ifstream f_static_array__dynamic_array_input_spikes_spike_number;
    f_static_array__dynamic_array_input_spikes_spike_number.open("static_arrays/_static_array__dynamic_array_input_spikes_spike_number", ios::in | ios::binary);
    if(f_static_array__dynamic_array_input_spikes_spike_number.is_open())
    {
        f_static_array__dynamic_array_input_spikes_spike_number.read(reinterpret_cast<char*>(_static_array__dynamic_array_input_spikes_spike_number), 14971*sizeof(int64_t));
    } else
    {
        std::cout << "Error opening static array _static_array__dynamic_array_input_spikes_spike_number." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(dev_static_array__dynamic_array_input_spikes_spike_number, _static_array__dynamic_array_input_spikes_spike_number, sizeof(int64_t)*14971, cudaMemcpyHostToDevice)
            );
    ifstream f_static_array__dynamic_array_input_spikes_spike_time;
    f_static_array__dynamic_array_input_spikes_spike_time.open("static_arrays/_static_array__dynamic_array_input_spikes_spike_time", ios::in | ios::binary);
    if(f_static_array__dynamic_array_input_spikes_spike_time.is_open())
    {
        f_static_array__dynamic_array_input_spikes_spike_time.read(reinterpret_cast<char*>(_static_array__dynamic_array_input_spikes_spike_time), 14971*sizeof(double));
    } else
    {
        std::cout << "Error opening static array _static_array__dynamic_array_input_spikes_spike_time." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(dev_static_array__dynamic_array_input_spikes_spike_time, _static_array__dynamic_array_input_spikes_spike_time, sizeof(double)*14971, cudaMemcpyHostToDevice)
            );
    ifstream f_static_array__dynamic_array_plastic_delay;
    f_static_array__dynamic_array_plastic_delay.open("static_arrays/_static_array__dynamic_array_plastic_delay", ios::in | ios::binary);
    if(f_static_array__dynamic_array_plastic_delay.is_open())
    {
        f_static_array__dynamic_array_plastic_delay.read(reinterpret_cast<char*>(_static_array__dynamic_array_plastic_delay), 1000*sizeof(double));
    } else
    {
        std::cout << "Error opening static array _static_array__dynamic_array_plastic_delay." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(dev_static_array__dynamic_array_plastic_delay, _static_array__dynamic_array_plastic_delay, sizeof(double)*1000, cudaMemcpyHostToDevice)
            );
    ifstream f_static_array__dynamic_array_plastic_w;
    f_static_array__dynamic_array_plastic_w.open("static_arrays/_static_array__dynamic_array_plastic_w", ios::in | ios::binary);
    if(f_static_array__dynamic_array_plastic_w.is_open())
    {
        f_static_array__dynamic_array_plastic_w.read(reinterpret_cast<char*>(_static_array__dynamic_array_plastic_w), 1000*sizeof(double));
    } else
    {
        std::cout << "Error opening static array _static_array__dynamic_array_plastic_w." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(dev_static_array__dynamic_array_plastic_w, _static_array__dynamic_array_plastic_w, sizeof(double)*1000, cudaMemcpyHostToDevice)
            );
}

void _write_arrays()
{
    using namespace brian;

    ofstream outfile__array_defaultclock_dt;
    outfile__array_defaultclock_dt.open(results_dir + "_array_defaultclock_dt_1978099143", ios::binary | ios::out);
    if(outfile__array_defaultclock_dt.is_open())
    {
        outfile__array_defaultclock_dt.write(reinterpret_cast<char*>(_array_defaultclock_dt), 1*sizeof(double));
        outfile__array_defaultclock_dt.close();
    } else
    {
        std::cout << "Error writing output file for _array_defaultclock_dt." << endl;
    }
    ofstream outfile__array_defaultclock_t;
    outfile__array_defaultclock_t.open(results_dir + "_array_defaultclock_t_2669362164", ios::binary | ios::out);
    if(outfile__array_defaultclock_t.is_open())
    {
        outfile__array_defaultclock_t.write(reinterpret_cast<char*>(_array_defaultclock_t), 1*sizeof(double));
        outfile__array_defaultclock_t.close();
    } else
    {
        std::cout << "Error writing output file for _array_defaultclock_t." << endl;
    }
    ofstream outfile__array_defaultclock_timestep;
    outfile__array_defaultclock_timestep.open(results_dir + "_array_defaultclock_timestep_144223508", ios::binary | ios::out);
    if(outfile__array_defaultclock_timestep.is_open())
    {
        outfile__array_defaultclock_timestep.write(reinterpret_cast<char*>(_array_defaultclock_timestep), 1*sizeof(int64_t));
        outfile__array_defaultclock_timestep.close();
    } else
    {
        std::cout << "Error writing output file for _array_defaultclock_timestep." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(_array_input_spikes__lastindex, dev_array_input_spikes__lastindex, sizeof(int32_t)*_num__array_input_spikes__lastindex, cudaMemcpyDeviceToHost)
            );
    ofstream outfile__array_input_spikes__lastindex;
    outfile__array_input_spikes__lastindex.open(results_dir + "_array_input_spikes__lastindex_1340961907", ios::binary | ios::out);
    if(outfile__array_input_spikes__lastindex.is_open())
    {
        outfile__array_input_spikes__lastindex.write(reinterpret_cast<char*>(_array_input_spikes__lastindex), 1*sizeof(int32_t));
        outfile__array_input_spikes__lastindex.close();
    } else
    {
        std::cout << "Error writing output file for _array_input_spikes__lastindex." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(_array_input_spikes__period_bins, dev_array_input_spikes__period_bins, sizeof(int32_t)*_num__array_input_spikes__period_bins, cudaMemcpyDeviceToHost)
            );
    ofstream outfile__array_input_spikes__period_bins;
    outfile__array_input_spikes__period_bins.open(results_dir + "_array_input_spikes__period_bins_3919187031", ios::binary | ios::out);
    if(outfile__array_input_spikes__period_bins.is_open())
    {
        outfile__array_input_spikes__period_bins.write(reinterpret_cast<char*>(_array_input_spikes__period_bins), 1*sizeof(int32_t));
        outfile__array_input_spikes__period_bins.close();
    } else
    {
        std::cout << "Error writing output file for _array_input_spikes__period_bins." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(_array_input_spikes_i, dev_array_input_spikes_i, sizeof(int32_t)*_num__array_input_spikes_i, cudaMemcpyDeviceToHost)
            );
    ofstream outfile__array_input_spikes_i;
    outfile__array_input_spikes_i.open(results_dir + "_array_input_spikes_i_1740301700", ios::binary | ios::out);
    if(outfile__array_input_spikes_i.is_open())
    {
        outfile__array_input_spikes_i.write(reinterpret_cast<char*>(_array_input_spikes_i), 1000*sizeof(int32_t));
        outfile__array_input_spikes_i.close();
    } else
    {
        std::cout << "Error writing output file for _array_input_spikes_i." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(_array_input_spikes_period, dev_array_input_spikes_period, sizeof(double)*_num__array_input_spikes_period, cudaMemcpyDeviceToHost)
            );
    ofstream outfile__array_input_spikes_period;
    outfile__array_input_spikes_period.open(results_dir + "_array_input_spikes_period_3658561308", ios::binary | ios::out);
    if(outfile__array_input_spikes_period.is_open())
    {
        outfile__array_input_spikes_period.write(reinterpret_cast<char*>(_array_input_spikes_period), 1*sizeof(double));
        outfile__array_input_spikes_period.close();
    } else
    {
        std::cout << "Error writing output file for _array_input_spikes_period." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(_array_neurons_ge, dev_array_neurons_ge, sizeof(double)*_num__array_neurons_ge, cudaMemcpyDeviceToHost)
            );
    ofstream outfile__array_neurons_ge;
    outfile__array_neurons_ge.open(results_dir + "_array_neurons_ge_1719368523", ios::binary | ios::out);
    if(outfile__array_neurons_ge.is_open())
    {
        outfile__array_neurons_ge.write(reinterpret_cast<char*>(_array_neurons_ge), 1*sizeof(double));
        outfile__array_neurons_ge.close();
    } else
    {
        std::cout << "Error writing output file for _array_neurons_ge." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(_array_neurons_i, dev_array_neurons_i, sizeof(int32_t)*_num__array_neurons_i, cudaMemcpyDeviceToHost)
            );
    ofstream outfile__array_neurons_i;
    outfile__array_neurons_i.open(results_dir + "_array_neurons_i_2509429918", ios::binary | ios::out);
    if(outfile__array_neurons_i.is_open())
    {
        outfile__array_neurons_i.write(reinterpret_cast<char*>(_array_neurons_i), 1*sizeof(int32_t));
        outfile__array_neurons_i.close();
    } else
    {
        std::cout << "Error writing output file for _array_neurons_i." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(_array_neurons_v, dev_array_neurons_v, sizeof(double)*_num__array_neurons_v, cudaMemcpyDeviceToHost)
            );
    ofstream outfile__array_neurons_v;
    outfile__array_neurons_v.open(results_dir + "_array_neurons_v_412799339", ios::binary | ios::out);
    if(outfile__array_neurons_v.is_open())
    {
        outfile__array_neurons_v.write(reinterpret_cast<char*>(_array_neurons_v), 1*sizeof(double));
        outfile__array_neurons_v.close();
    } else
    {
        std::cout << "Error writing output file for _array_neurons_v." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(_array_plastic_N, dev_array_plastic_N, sizeof(int32_t)*_num__array_plastic_N, cudaMemcpyDeviceToHost)
            );
    ofstream outfile__array_plastic_N;
    outfile__array_plastic_N.open(results_dir + "_array_plastic_N_2245639455", ios::binary | ios::out);
    if(outfile__array_plastic_N.is_open())
    {
        outfile__array_plastic_N.write(reinterpret_cast<char*>(_array_plastic_N), 1*sizeof(int32_t));
        outfile__array_plastic_N.close();
    } else
    {
        std::cout << "Error writing output file for _array_plastic_N." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(_array_plastic_sources, dev_array_plastic_sources, sizeof(int32_t)*_num__array_plastic_sources, cudaMemcpyDeviceToHost)
            );
    ofstream outfile__array_plastic_sources;
    outfile__array_plastic_sources.open(results_dir + "_array_plastic_sources_1286751896", ios::binary | ios::out);
    if(outfile__array_plastic_sources.is_open())
    {
        outfile__array_plastic_sources.write(reinterpret_cast<char*>(_array_plastic_sources), 1000*sizeof(int32_t));
        outfile__array_plastic_sources.close();
    } else
    {
        std::cout << "Error writing output file for _array_plastic_sources." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(_array_plastic_targets, dev_array_plastic_targets, sizeof(int32_t)*_num__array_plastic_targets, cudaMemcpyDeviceToHost)
            );
    ofstream outfile__array_plastic_targets;
    outfile__array_plastic_targets.open(results_dir + "_array_plastic_targets_833371513", ios::binary | ios::out);
    if(outfile__array_plastic_targets.is_open())
    {
        outfile__array_plastic_targets.write(reinterpret_cast<char*>(_array_plastic_targets), 1000*sizeof(int32_t));
        outfile__array_plastic_targets.close();
    } else
    {
        std::cout << "Error writing output file for _array_plastic_targets." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(_array_spikes__source_idx, dev_array_spikes__source_idx, sizeof(int32_t)*_num__array_spikes__source_idx, cudaMemcpyDeviceToHost)
            );
    ofstream outfile__array_spikes__source_idx;
    outfile__array_spikes__source_idx.open(results_dir + "_array_spikes__source_idx_2303802139", ios::binary | ios::out);
    if(outfile__array_spikes__source_idx.is_open())
    {
        outfile__array_spikes__source_idx.write(reinterpret_cast<char*>(_array_spikes__source_idx), 1*sizeof(int32_t));
        outfile__array_spikes__source_idx.close();
    } else
    {
        std::cout << "Error writing output file for _array_spikes__source_idx." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(_array_spikes_count, dev_array_spikes_count, sizeof(int32_t)*_num__array_spikes_count, cudaMemcpyDeviceToHost)
            );
    ofstream outfile__array_spikes_count;
    outfile__array_spikes_count.open(results_dir + "_array_spikes_count_328618678", ios::binary | ios::out);
    if(outfile__array_spikes_count.is_open())
    {
        outfile__array_spikes_count.write(reinterpret_cast<char*>(_array_spikes_count), 1*sizeof(int32_t));
        outfile__array_spikes_count.close();
    } else
    {
        std::cout << "Error writing output file for _array_spikes_count." << endl;
    }
    ofstream outfile__array_spikes_N;
    outfile__array_spikes_N.open(results_dir + "_array_spikes_N_3246544668", ios::binary | ios::out);
    if(outfile__array_spikes_N.is_open())
    {
        outfile__array_spikes_N.write(reinterpret_cast<char*>(_array_spikes_N), 1*sizeof(int32_t));
        outfile__array_spikes_N.close();
    } else
    {
        std::cout << "Error writing output file for _array_spikes_N." << endl;
    }

    _dynamic_array_input_spikes__timebins = dev_dynamic_array_input_spikes__timebins;
    ofstream outfile__dynamic_array_input_spikes__timebins;
    outfile__dynamic_array_input_spikes__timebins.open(results_dir + "_dynamic_array_input_spikes__timebins_1521927062", ios::binary | ios::out);
    if(outfile__dynamic_array_input_spikes__timebins.is_open())
    {
        outfile__dynamic_array_input_spikes__timebins.write(reinterpret_cast<char*>(thrust::raw_pointer_cast(&_dynamic_array_input_spikes__timebins[0])), _dynamic_array_input_spikes__timebins.size()*sizeof(int32_t));
        outfile__dynamic_array_input_spikes__timebins.close();
    } else
    {
        std::cout << "Error writing output file for _dynamic_array_input_spikes__timebins." << endl;
    }
    _dynamic_array_input_spikes_neuron_index = dev_dynamic_array_input_spikes_neuron_index;
    ofstream outfile__dynamic_array_input_spikes_neuron_index;
    outfile__dynamic_array_input_spikes_neuron_index.open(results_dir + "_dynamic_array_input_spikes_neuron_index_4153394902", ios::binary | ios::out);
    if(outfile__dynamic_array_input_spikes_neuron_index.is_open())
    {
        outfile__dynamic_array_input_spikes_neuron_index.write(reinterpret_cast<char*>(thrust::raw_pointer_cast(&_dynamic_array_input_spikes_neuron_index[0])), _dynamic_array_input_spikes_neuron_index.size()*sizeof(int32_t));
        outfile__dynamic_array_input_spikes_neuron_index.close();
    } else
    {
        std::cout << "Error writing output file for _dynamic_array_input_spikes_neuron_index." << endl;
    }
    _dynamic_array_input_spikes_spike_number = dev_dynamic_array_input_spikes_spike_number;
    ofstream outfile__dynamic_array_input_spikes_spike_number;
    outfile__dynamic_array_input_spikes_spike_number.open(results_dir + "_dynamic_array_input_spikes_spike_number_2221404646", ios::binary | ios::out);
    if(outfile__dynamic_array_input_spikes_spike_number.is_open())
    {
        outfile__dynamic_array_input_spikes_spike_number.write(reinterpret_cast<char*>(thrust::raw_pointer_cast(&_dynamic_array_input_spikes_spike_number[0])), _dynamic_array_input_spikes_spike_number.size()*sizeof(int32_t));
        outfile__dynamic_array_input_spikes_spike_number.close();
    } else
    {
        std::cout << "Error writing output file for _dynamic_array_input_spikes_spike_number." << endl;
    }
    _dynamic_array_input_spikes_spike_time = dev_dynamic_array_input_spikes_spike_time;
    ofstream outfile__dynamic_array_input_spikes_spike_time;
    outfile__dynamic_array_input_spikes_spike_time.open(results_dir + "_dynamic_array_input_spikes_spike_time_3078465455", ios::binary | ios::out);
    if(outfile__dynamic_array_input_spikes_spike_time.is_open())
    {
        outfile__dynamic_array_input_spikes_spike_time.write(reinterpret_cast<char*>(thrust::raw_pointer_cast(&_dynamic_array_input_spikes_spike_time[0])), _dynamic_array_input_spikes_spike_time.size()*sizeof(double));
        outfile__dynamic_array_input_spikes_spike_time.close();
    } else
    {
        std::cout << "Error writing output file for _dynamic_array_input_spikes_spike_time." << endl;
    }
    ofstream outfile__dynamic_array_plastic__synaptic_post;
    outfile__dynamic_array_plastic__synaptic_post.open(results_dir + "_dynamic_array_plastic__synaptic_post_2971924923", ios::binary | ios::out);
    if(outfile__dynamic_array_plastic__synaptic_post.is_open())
    {
        outfile__dynamic_array_plastic__synaptic_post.write(reinterpret_cast<char*>(thrust::raw_pointer_cast(&_dynamic_array_plastic__synaptic_post[0])), _dynamic_array_plastic__synaptic_post.size()*sizeof(int32_t));
        outfile__dynamic_array_plastic__synaptic_post.close();
    } else
    {
        std::cout << "Error writing output file for _dynamic_array_plastic__synaptic_post." << endl;
    }
    ofstream outfile__dynamic_array_plastic__synaptic_pre;
    outfile__dynamic_array_plastic__synaptic_pre.open(results_dir + "_dynamic_array_plastic__synaptic_pre_750925348", ios::binary | ios::out);
    if(outfile__dynamic_array_plastic__synaptic_pre.is_open())
    {
        outfile__dynamic_array_plastic__synaptic_pre.write(reinterpret_cast<char*>(thrust::raw_pointer_cast(&_dynamic_array_plastic__synaptic_pre[0])), _dynamic_array_plastic__synaptic_pre.size()*sizeof(int32_t));
        outfile__dynamic_array_plastic__synaptic_pre.close();
    } else
    {
        std::cout << "Error writing output file for _dynamic_array_plastic__synaptic_pre." << endl;
    }
    _dynamic_array_plastic_Apost = dev_dynamic_array_plastic_Apost;
    ofstream outfile__dynamic_array_plastic_Apost;
    outfile__dynamic_array_plastic_Apost.open(results_dir + "_dynamic_array_plastic_Apost_1904699200", ios::binary | ios::out);
    if(outfile__dynamic_array_plastic_Apost.is_open())
    {
        outfile__dynamic_array_plastic_Apost.write(reinterpret_cast<char*>(thrust::raw_pointer_cast(&_dynamic_array_plastic_Apost[0])), _dynamic_array_plastic_Apost.size()*sizeof(double));
        outfile__dynamic_array_plastic_Apost.close();
    } else
    {
        std::cout << "Error writing output file for _dynamic_array_plastic_Apost." << endl;
    }
    _dynamic_array_plastic_Apre = dev_dynamic_array_plastic_Apre;
    ofstream outfile__dynamic_array_plastic_Apre;
    outfile__dynamic_array_plastic_Apre.open(results_dir + "_dynamic_array_plastic_Apre_842031195", ios::binary | ios::out);
    if(outfile__dynamic_array_plastic_Apre.is_open())
    {
        outfile__dynamic_array_plastic_Apre.write(reinterpret_cast<char*>(thrust::raw_pointer_cast(&_dynamic_array_plastic_Apre[0])), _dynamic_array_plastic_Apre.size()*sizeof(double));
        outfile__dynamic_array_plastic_Apre.close();
    } else
    {
        std::cout << "Error writing output file for _dynamic_array_plastic_Apre." << endl;
    }
    ofstream outfile__dynamic_array_plastic_delay;
    outfile__dynamic_array_plastic_delay.open(results_dir + "_dynamic_array_plastic_delay_459461294", ios::binary | ios::out);
    if(outfile__dynamic_array_plastic_delay.is_open())
    {
        outfile__dynamic_array_plastic_delay.write(reinterpret_cast<char*>(thrust::raw_pointer_cast(&_dynamic_array_plastic_delay[0])), _dynamic_array_plastic_delay.size()*sizeof(double));
        outfile__dynamic_array_plastic_delay.close();
    } else
    {
        std::cout << "Error writing output file for _dynamic_array_plastic_delay." << endl;
    }
    ofstream outfile__dynamic_array_plastic_delay_1;
    outfile__dynamic_array_plastic_delay_1.open(results_dir + "_dynamic_array_plastic_delay_1_1971153571", ios::binary | ios::out);
    if(outfile__dynamic_array_plastic_delay_1.is_open())
    {
        outfile__dynamic_array_plastic_delay_1.write(reinterpret_cast<char*>(thrust::raw_pointer_cast(&_dynamic_array_plastic_delay_1[0])), _dynamic_array_plastic_delay_1.size()*sizeof(double));
        outfile__dynamic_array_plastic_delay_1.close();
    } else
    {
        std::cout << "Error writing output file for _dynamic_array_plastic_delay_1." << endl;
    }
    _dynamic_array_plastic_lastupdate = dev_dynamic_array_plastic_lastupdate;
    ofstream outfile__dynamic_array_plastic_lastupdate;
    outfile__dynamic_array_plastic_lastupdate.open(results_dir + "_dynamic_array_plastic_lastupdate_3162585832", ios::binary | ios::out);
    if(outfile__dynamic_array_plastic_lastupdate.is_open())
    {
        outfile__dynamic_array_plastic_lastupdate.write(reinterpret_cast<char*>(thrust::raw_pointer_cast(&_dynamic_array_plastic_lastupdate[0])), _dynamic_array_plastic_lastupdate.size()*sizeof(double));
        outfile__dynamic_array_plastic_lastupdate.close();
    } else
    {
        std::cout << "Error writing output file for _dynamic_array_plastic_lastupdate." << endl;
    }
    _dynamic_array_plastic_N_incoming = dev_dynamic_array_plastic_N_incoming;
    ofstream outfile__dynamic_array_plastic_N_incoming;
    outfile__dynamic_array_plastic_N_incoming.open(results_dir + "_dynamic_array_plastic_N_incoming_621312054", ios::binary | ios::out);
    if(outfile__dynamic_array_plastic_N_incoming.is_open())
    {
        outfile__dynamic_array_plastic_N_incoming.write(reinterpret_cast<char*>(thrust::raw_pointer_cast(&_dynamic_array_plastic_N_incoming[0])), _dynamic_array_plastic_N_incoming.size()*sizeof(int32_t));
        outfile__dynamic_array_plastic_N_incoming.close();
    } else
    {
        std::cout << "Error writing output file for _dynamic_array_plastic_N_incoming." << endl;
    }
    _dynamic_array_plastic_N_outgoing = dev_dynamic_array_plastic_N_outgoing;
    ofstream outfile__dynamic_array_plastic_N_outgoing;
    outfile__dynamic_array_plastic_N_outgoing.open(results_dir + "_dynamic_array_plastic_N_outgoing_34867436", ios::binary | ios::out);
    if(outfile__dynamic_array_plastic_N_outgoing.is_open())
    {
        outfile__dynamic_array_plastic_N_outgoing.write(reinterpret_cast<char*>(thrust::raw_pointer_cast(&_dynamic_array_plastic_N_outgoing[0])), _dynamic_array_plastic_N_outgoing.size()*sizeof(int32_t));
        outfile__dynamic_array_plastic_N_outgoing.close();
    } else
    {
        std::cout << "Error writing output file for _dynamic_array_plastic_N_outgoing." << endl;
    }
    _dynamic_array_plastic_w = dev_dynamic_array_plastic_w;
    ofstream outfile__dynamic_array_plastic_w;
    outfile__dynamic_array_plastic_w.open(results_dir + "_dynamic_array_plastic_w_4105129579", ios::binary | ios::out);
    if(outfile__dynamic_array_plastic_w.is_open())
    {
        outfile__dynamic_array_plastic_w.write(reinterpret_cast<char*>(thrust::raw_pointer_cast(&_dynamic_array_plastic_w[0])), _dynamic_array_plastic_w.size()*sizeof(double));
        outfile__dynamic_array_plastic_w.close();
    } else
    {
        std::cout << "Error writing output file for _dynamic_array_plastic_w." << endl;
    }
    _dynamic_array_spikes_i = dev_dynamic_array_spikes_i;
    ofstream outfile__dynamic_array_spikes_i;
    outfile__dynamic_array_spikes_i.open(results_dir + "_dynamic_array_spikes_i_2751340298", ios::binary | ios::out);
    if(outfile__dynamic_array_spikes_i.is_open())
    {
        outfile__dynamic_array_spikes_i.write(reinterpret_cast<char*>(thrust::raw_pointer_cast(&_dynamic_array_spikes_i[0])), _dynamic_array_spikes_i.size()*sizeof(int32_t));
        outfile__dynamic_array_spikes_i.close();
    } else
    {
        std::cout << "Error writing output file for _dynamic_array_spikes_i." << endl;
    }
    _dynamic_array_spikes_t = dev_dynamic_array_spikes_t;
    ofstream outfile__dynamic_array_spikes_t;
    outfile__dynamic_array_spikes_t.open(results_dir + "_dynamic_array_spikes_t_3237508051", ios::binary | ios::out);
    if(outfile__dynamic_array_spikes_t.is_open())
    {
        outfile__dynamic_array_spikes_t.write(reinterpret_cast<char*>(thrust::raw_pointer_cast(&_dynamic_array_spikes_t[0])), _dynamic_array_spikes_t.size()*sizeof(double));
        outfile__dynamic_array_spikes_t.close();
    } else
    {
        std::cout << "Error writing output file for _dynamic_array_spikes_t." << endl;
    }


    // Write last run info to disk
    ofstream outfile_last_run_info;
    outfile_last_run_info.open(results_dir + "last_run_info.txt", ios::out);
    if(outfile_last_run_info.is_open())
    {
        outfile_last_run_info << (Network::_last_run_time) << " " << (Network::_last_run_completed_fraction) << std::endl;
        outfile_last_run_info.close();
    } else
    {
        std::cout << "Error writing last run info to file." << std::endl;
    }
}

__global__ void plastic_post_destroy()
{
    using namespace brian;

    plastic_post.destroy();
}
__global__ void plastic_pre_destroy()
{
    using namespace brian;

    plastic_pre.destroy();
}

void _dealloc_arrays()
{
    using namespace brian;


    CUDA_SAFE_CALL(
            curandDestroyGenerator(curand_generator)
            );

    plastic_post_destroy<<<1,1>>>();
    CUDA_CHECK_ERROR("plastic_post_destroy");
    plastic_pre_destroy<<<1,1>>>();
    CUDA_CHECK_ERROR("plastic_pre_destroy");

    dev_dynamic_array_input_spikes__timebins.clear();
    thrust::device_vector<int32_t>().swap(dev_dynamic_array_input_spikes__timebins);
    _dynamic_array_input_spikes__timebins.clear();
    thrust::host_vector<int32_t>().swap(_dynamic_array_input_spikes__timebins);
    dev_dynamic_array_input_spikes_neuron_index.clear();
    thrust::device_vector<int32_t>().swap(dev_dynamic_array_input_spikes_neuron_index);
    _dynamic_array_input_spikes_neuron_index.clear();
    thrust::host_vector<int32_t>().swap(_dynamic_array_input_spikes_neuron_index);
    dev_dynamic_array_input_spikes_spike_number.clear();
    thrust::device_vector<int32_t>().swap(dev_dynamic_array_input_spikes_spike_number);
    _dynamic_array_input_spikes_spike_number.clear();
    thrust::host_vector<int32_t>().swap(_dynamic_array_input_spikes_spike_number);
    dev_dynamic_array_input_spikes_spike_time.clear();
    thrust::device_vector<double>().swap(dev_dynamic_array_input_spikes_spike_time);
    _dynamic_array_input_spikes_spike_time.clear();
    thrust::host_vector<double>().swap(_dynamic_array_input_spikes_spike_time);
    dev_dynamic_array_plastic__synaptic_post.clear();
    thrust::device_vector<int32_t>().swap(dev_dynamic_array_plastic__synaptic_post);
    _dynamic_array_plastic__synaptic_post.clear();
    thrust::host_vector<int32_t>().swap(_dynamic_array_plastic__synaptic_post);
    dev_dynamic_array_plastic__synaptic_pre.clear();
    thrust::device_vector<int32_t>().swap(dev_dynamic_array_plastic__synaptic_pre);
    _dynamic_array_plastic__synaptic_pre.clear();
    thrust::host_vector<int32_t>().swap(_dynamic_array_plastic__synaptic_pre);
    dev_dynamic_array_plastic_Apost.clear();
    thrust::device_vector<double>().swap(dev_dynamic_array_plastic_Apost);
    _dynamic_array_plastic_Apost.clear();
    thrust::host_vector<double>().swap(_dynamic_array_plastic_Apost);
    dev_dynamic_array_plastic_Apre.clear();
    thrust::device_vector<double>().swap(dev_dynamic_array_plastic_Apre);
    _dynamic_array_plastic_Apre.clear();
    thrust::host_vector<double>().swap(_dynamic_array_plastic_Apre);
    dev_dynamic_array_plastic_delay.clear();
    thrust::device_vector<double>().swap(dev_dynamic_array_plastic_delay);
    _dynamic_array_plastic_delay.clear();
    thrust::host_vector<double>().swap(_dynamic_array_plastic_delay);
    dev_dynamic_array_plastic_delay_1.clear();
    thrust::device_vector<double>().swap(dev_dynamic_array_plastic_delay_1);
    _dynamic_array_plastic_delay_1.clear();
    thrust::host_vector<double>().swap(_dynamic_array_plastic_delay_1);
    dev_dynamic_array_plastic_lastupdate.clear();
    thrust::device_vector<double>().swap(dev_dynamic_array_plastic_lastupdate);
    _dynamic_array_plastic_lastupdate.clear();
    thrust::host_vector<double>().swap(_dynamic_array_plastic_lastupdate);
    dev_dynamic_array_plastic_N_incoming.clear();
    thrust::device_vector<int32_t>().swap(dev_dynamic_array_plastic_N_incoming);
    _dynamic_array_plastic_N_incoming.clear();
    thrust::host_vector<int32_t>().swap(_dynamic_array_plastic_N_incoming);
    dev_dynamic_array_plastic_N_outgoing.clear();
    thrust::device_vector<int32_t>().swap(dev_dynamic_array_plastic_N_outgoing);
    _dynamic_array_plastic_N_outgoing.clear();
    thrust::host_vector<int32_t>().swap(_dynamic_array_plastic_N_outgoing);
    dev_dynamic_array_plastic_w.clear();
    thrust::device_vector<double>().swap(dev_dynamic_array_plastic_w);
    _dynamic_array_plastic_w.clear();
    thrust::host_vector<double>().swap(_dynamic_array_plastic_w);
    dev_dynamic_array_spikes_i.clear();
    thrust::device_vector<int32_t>().swap(dev_dynamic_array_spikes_i);
    _dynamic_array_spikes_i.clear();
    thrust::host_vector<int32_t>().swap(_dynamic_array_spikes_i);
    dev_dynamic_array_spikes_t.clear();
    thrust::device_vector<double>().swap(dev_dynamic_array_spikes_t);
    _dynamic_array_spikes_t.clear();
    thrust::host_vector<double>().swap(_dynamic_array_spikes_t);

    if(_array_defaultclock_dt!=0)
    {
        delete [] _array_defaultclock_dt;
        _array_defaultclock_dt = 0;
    }
    if(dev_array_defaultclock_dt!=0)
    {
        CUDA_SAFE_CALL(
                cudaFree(dev_array_defaultclock_dt)
                );
        dev_array_defaultclock_dt = 0;
    }
    if(_array_defaultclock_t!=0)
    {
        delete [] _array_defaultclock_t;
        _array_defaultclock_t = 0;
    }
    if(dev_array_defaultclock_t!=0)
    {
        CUDA_SAFE_CALL(
                cudaFree(dev_array_defaultclock_t)
                );
        dev_array_defaultclock_t = 0;
    }
    if(_array_defaultclock_timestep!=0)
    {
        delete [] _array_defaultclock_timestep;
        _array_defaultclock_timestep = 0;
    }
    if(dev_array_defaultclock_timestep!=0)
    {
        CUDA_SAFE_CALL(
                cudaFree(dev_array_defaultclock_timestep)
                );
        dev_array_defaultclock_timestep = 0;
    }
    if(_array_input_spikes__lastindex!=0)
    {
        delete [] _array_input_spikes__lastindex;
        _array_input_spikes__lastindex = 0;
    }
    if(dev_array_input_spikes__lastindex!=0)
    {
        CUDA_SAFE_CALL(
                cudaFree(dev_array_input_spikes__lastindex)
                );
        dev_array_input_spikes__lastindex = 0;
    }
    if(_array_input_spikes__period_bins!=0)
    {
        delete [] _array_input_spikes__period_bins;
        _array_input_spikes__period_bins = 0;
    }
    if(dev_array_input_spikes__period_bins!=0)
    {
        CUDA_SAFE_CALL(
                cudaFree(dev_array_input_spikes__period_bins)
                );
        dev_array_input_spikes__period_bins = 0;
    }
    if(_array_input_spikes_i!=0)
    {
        delete [] _array_input_spikes_i;
        _array_input_spikes_i = 0;
    }
    if(dev_array_input_spikes_i!=0)
    {
        CUDA_SAFE_CALL(
                cudaFree(dev_array_input_spikes_i)
                );
        dev_array_input_spikes_i = 0;
    }
    if(_array_input_spikes_period!=0)
    {
        delete [] _array_input_spikes_period;
        _array_input_spikes_period = 0;
    }
    if(dev_array_input_spikes_period!=0)
    {
        CUDA_SAFE_CALL(
                cudaFree(dev_array_input_spikes_period)
                );
        dev_array_input_spikes_period = 0;
    }
    if(_array_neurons_ge!=0)
    {
        delete [] _array_neurons_ge;
        _array_neurons_ge = 0;
    }
    if(dev_array_neurons_ge!=0)
    {
        CUDA_SAFE_CALL(
                cudaFree(dev_array_neurons_ge)
                );
        dev_array_neurons_ge = 0;
    }
    if(_array_neurons_i!=0)
    {
        delete [] _array_neurons_i;
        _array_neurons_i = 0;
    }
    if(dev_array_neurons_i!=0)
    {
        CUDA_SAFE_CALL(
                cudaFree(dev_array_neurons_i)
                );
        dev_array_neurons_i = 0;
    }
    if(_array_neurons_v!=0)
    {
        delete [] _array_neurons_v;
        _array_neurons_v = 0;
    }
    if(dev_array_neurons_v!=0)
    {
        CUDA_SAFE_CALL(
                cudaFree(dev_array_neurons_v)
                );
        dev_array_neurons_v = 0;
    }
    if(_array_plastic_N!=0)
    {
        delete [] _array_plastic_N;
        _array_plastic_N = 0;
    }
    if(dev_array_plastic_N!=0)
    {
        CUDA_SAFE_CALL(
                cudaFree(dev_array_plastic_N)
                );
        dev_array_plastic_N = 0;
    }
    if(_array_plastic_sources!=0)
    {
        delete [] _array_plastic_sources;
        _array_plastic_sources = 0;
    }
    if(dev_array_plastic_sources!=0)
    {
        CUDA_SAFE_CALL(
                cudaFree(dev_array_plastic_sources)
                );
        dev_array_plastic_sources = 0;
    }
    if(_array_plastic_targets!=0)
    {
        delete [] _array_plastic_targets;
        _array_plastic_targets = 0;
    }
    if(dev_array_plastic_targets!=0)
    {
        CUDA_SAFE_CALL(
                cudaFree(dev_array_plastic_targets)
                );
        dev_array_plastic_targets = 0;
    }
    if(_array_spikes__source_idx!=0)
    {
        delete [] _array_spikes__source_idx;
        _array_spikes__source_idx = 0;
    }
    if(dev_array_spikes__source_idx!=0)
    {
        CUDA_SAFE_CALL(
                cudaFree(dev_array_spikes__source_idx)
                );
        dev_array_spikes__source_idx = 0;
    }
    if(_array_spikes_count!=0)
    {
        delete [] _array_spikes_count;
        _array_spikes_count = 0;
    }
    if(dev_array_spikes_count!=0)
    {
        CUDA_SAFE_CALL(
                cudaFree(dev_array_spikes_count)
                );
        dev_array_spikes_count = 0;
    }
    if(_array_spikes_N!=0)
    {
        delete [] _array_spikes_N;
        _array_spikes_N = 0;
    }
    if(dev_array_spikes_N!=0)
    {
        CUDA_SAFE_CALL(
                cudaFree(dev_array_spikes_N)
                );
        dev_array_spikes_N = 0;
    }


    // static arrays
    if(_static_array__array_plastic_sources!=0)
    {
        delete [] _static_array__array_plastic_sources;
        _static_array__array_plastic_sources = 0;
    }
    if(_static_array__array_plastic_targets!=0)
    {
        delete [] _static_array__array_plastic_targets;
        _static_array__array_plastic_targets = 0;
    }
    if(_static_array__dynamic_array_input_spikes__timebins!=0)
    {
        delete [] _static_array__dynamic_array_input_spikes__timebins;
        _static_array__dynamic_array_input_spikes__timebins = 0;
    }
    if(_static_array__dynamic_array_input_spikes_neuron_index!=0)
    {
        delete [] _static_array__dynamic_array_input_spikes_neuron_index;
        _static_array__dynamic_array_input_spikes_neuron_index = 0;
    }
    if(_static_array__dynamic_array_input_spikes_spike_number!=0)
    {
        delete [] _static_array__dynamic_array_input_spikes_spike_number;
        _static_array__dynamic_array_input_spikes_spike_number = 0;
    }
    if(_static_array__dynamic_array_input_spikes_spike_time!=0)
    {
        delete [] _static_array__dynamic_array_input_spikes_spike_time;
        _static_array__dynamic_array_input_spikes_spike_time = 0;
    }
    if(_static_array__dynamic_array_plastic_delay!=0)
    {
        delete [] _static_array__dynamic_array_plastic_delay;
        _static_array__dynamic_array_plastic_delay = 0;
    }
    if(_static_array__dynamic_array_plastic_w!=0)
    {
        delete [] _static_array__dynamic_array_plastic_w;
        _static_array__dynamic_array_plastic_w = 0;
    }


}

