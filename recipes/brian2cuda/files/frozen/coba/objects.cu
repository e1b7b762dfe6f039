

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
        var_size = 4000;
        data_size = 4000*sizeof(double);
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
    if (name == "neurons.gi") {
        var_size = 4000;
        data_size = 4000*sizeof(double);
        if (s_value[0] == '-' || (s_value[0] >= '0' && s_value[0] <= '9')) {
            // set from single value
            set_variable_from_value<double>(name, brian::_array_neurons_gi, var_size, (double)atof(s_value.c_str()));

        } else {
            // set from file
            set_variable_from_file(name, brian::_array_neurons_gi, data_size, s_value);
        }
        // copy to device
        CUDA_SAFE_CALL(
            cudaMemcpy(
                brian::dev_array_neurons_gi,
                &brian::_array_neurons_gi[0],
                sizeof(brian::_array_neurons_gi[0])*brian::_num__array_neurons_gi,
                cudaMemcpyHostToDevice
            )
        );
        return;
    }
    if (name == "neurons.lastspike") {
        var_size = 4000;
        data_size = 4000*sizeof(double);
        if (s_value[0] == '-' || (s_value[0] >= '0' && s_value[0] <= '9')) {
            // set from single value
            set_variable_from_value<double>(name, brian::_array_neurons_lastspike, var_size, (double)atof(s_value.c_str()));

        } else {
            // set from file
            set_variable_from_file(name, brian::_array_neurons_lastspike, data_size, s_value);
        }
        // copy to device
        CUDA_SAFE_CALL(
            cudaMemcpy(
                brian::dev_array_neurons_lastspike,
                &brian::_array_neurons_lastspike[0],
                sizeof(brian::_array_neurons_lastspike[0])*brian::_num__array_neurons_lastspike,
                cudaMemcpyHostToDevice
            )
        );
        return;
    }
    if (name == "neurons.not_refractory") {
        var_size = 4000;
        data_size = 4000*sizeof(char);
        if (s_value[0] == '-' || (s_value[0] >= '0' && s_value[0] <= '9')) {
            // set from single value
            set_variable_from_value(name, brian::_array_neurons_not_refractory, var_size, (char)atoi(s_value.c_str()));

        } else {
            // set from file
            set_variable_from_file(name, brian::_array_neurons_not_refractory, data_size, s_value);
        }
        // copy to device
        CUDA_SAFE_CALL(
            cudaMemcpy(
                brian::dev_array_neurons_not_refractory,
                &brian::_array_neurons_not_refractory[0],
                sizeof(brian::_array_neurons_not_refractory[0])*brian::_num__array_neurons_not_refractory,
                cudaMemcpyHostToDevice
            )
        );
        return;
    }
    if (name == "neurons.v") {
        var_size = 4000;
        data_size = 4000*sizeof(double);
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
    if (name == "excitatory.delay") {
        var_size = brian::_dynamic_array_excitatory_delay.size();
        data_size = var_size*sizeof(double);
        if (s_value[0] == '-' || (s_value[0] >= '0' && s_value[0] <= '9')) {
            // set from single value
            set_variable_from_value<double>(name, &brian::_dynamic_array_excitatory_delay[0], var_size, (double)atof(s_value.c_str()));

        } else {
            // set from file
            set_variable_from_file(name, &brian::_dynamic_array_excitatory_delay[0], data_size, s_value);
        }
        // copy to device
        CUDA_SAFE_CALL(
            cudaMemcpy(
                thrust::raw_pointer_cast(&brian::dev_dynamic_array_excitatory_delay[0]),
                &brian::_dynamic_array_excitatory_delay[0],
                sizeof(brian::_dynamic_array_excitatory_delay[0])*brian::_dynamic_array_excitatory_delay.size(),
                cudaMemcpyHostToDevice
            )
        );
        return;
    }
    if (name == "inhibitory.delay") {
        var_size = brian::_dynamic_array_inhibitory_delay.size();
        data_size = var_size*sizeof(double);
        if (s_value[0] == '-' || (s_value[0] >= '0' && s_value[0] <= '9')) {
            // set from single value
            set_variable_from_value<double>(name, &brian::_dynamic_array_inhibitory_delay[0], var_size, (double)atof(s_value.c_str()));

        } else {
            // set from file
            set_variable_from_file(name, &brian::_dynamic_array_inhibitory_delay[0], data_size, s_value);
        }
        // copy to device
        CUDA_SAFE_CALL(
            cudaMemcpy(
                thrust::raw_pointer_cast(&brian::dev_dynamic_array_inhibitory_delay[0]),
                &brian::_dynamic_array_inhibitory_delay[0],
                sizeof(brian::_dynamic_array_inhibitory_delay[0])*brian::_dynamic_array_inhibitory_delay.size(),
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

int32_t * brian::_array_excitatory_N;
int32_t * brian::dev_array_excitatory_N;
__device__ int32_t * brian::d_array_excitatory_N;
const int brian::_num__array_excitatory_N = 1;

int32_t * brian::_array_excitatory_sources;
int32_t * brian::dev_array_excitatory_sources;
__device__ int32_t * brian::d_array_excitatory_sources;
const int brian::_num__array_excitatory_sources = 256000;

int32_t * brian::_array_excitatory_targets;
int32_t * brian::dev_array_excitatory_targets;
__device__ int32_t * brian::d_array_excitatory_targets;
const int brian::_num__array_excitatory_targets = 256000;

int32_t * brian::_array_inhibitory_N;
int32_t * brian::dev_array_inhibitory_N;
__device__ int32_t * brian::d_array_inhibitory_N;
const int brian::_num__array_inhibitory_N = 1;

int32_t * brian::_array_inhibitory_sources;
int32_t * brian::dev_array_inhibitory_sources;
__device__ int32_t * brian::d_array_inhibitory_sources;
const int brian::_num__array_inhibitory_sources = 64000;

int32_t * brian::_array_inhibitory_targets;
int32_t * brian::dev_array_inhibitory_targets;
__device__ int32_t * brian::d_array_inhibitory_targets;
const int brian::_num__array_inhibitory_targets = 64000;

double * brian::_array_neurons_ge;
double * brian::dev_array_neurons_ge;
__device__ double * brian::d_array_neurons_ge;
const int brian::_num__array_neurons_ge = 4000;

double * brian::_array_neurons_gi;
double * brian::dev_array_neurons_gi;
__device__ double * brian::d_array_neurons_gi;
const int brian::_num__array_neurons_gi = 4000;

int32_t * brian::_array_neurons_i;
int32_t * brian::dev_array_neurons_i;
__device__ int32_t * brian::d_array_neurons_i;
const int brian::_num__array_neurons_i = 4000;

double * brian::_array_neurons_lastspike;
double * brian::dev_array_neurons_lastspike;
__device__ double * brian::d_array_neurons_lastspike;
const int brian::_num__array_neurons_lastspike = 4000;

char * brian::_array_neurons_not_refractory;
char * brian::dev_array_neurons_not_refractory;
__device__ char * brian::d_array_neurons_not_refractory;
const int brian::_num__array_neurons_not_refractory = 4000;

int32_t * brian::_array_neurons_subgroup_1__sub_idx;
int32_t * brian::dev_array_neurons_subgroup_1__sub_idx;
__device__ int32_t * brian::d_array_neurons_subgroup_1__sub_idx;
const int brian::_num__array_neurons_subgroup_1__sub_idx = 800;

int32_t * brian::_array_neurons_subgroup__sub_idx;
int32_t * brian::dev_array_neurons_subgroup__sub_idx;
__device__ int32_t * brian::d_array_neurons_subgroup__sub_idx;
const int brian::_num__array_neurons_subgroup__sub_idx = 3200;

double * brian::_array_neurons_v;
double * brian::dev_array_neurons_v;
__device__ double * brian::d_array_neurons_v;
const int brian::_num__array_neurons_v = 4000;

int32_t * brian::_array_spikes__source_idx;
int32_t * brian::dev_array_spikes__source_idx;
__device__ int32_t * brian::d_array_spikes__source_idx;
const int brian::_num__array_spikes__source_idx = 4000;

int32_t * brian::_array_spikes_count;
int32_t * brian::dev_array_spikes_count;
__device__ int32_t * brian::d_array_spikes_count;
const int brian::_num__array_spikes_count = 4000;

int32_t * brian::_array_spikes_N;
int32_t * brian::dev_array_spikes_N;
__device__ int32_t * brian::d_array_spikes_N;
const int brian::_num__array_spikes_N = 1;


//////////////// eventspaces ///////////////
// we dynamically create multiple eventspaces in no_or_const_delay_mode
// for initiating the first spikespace, we need a host pointer
// for choosing the right spikespace, we need a global index variable
int32_t * brian::_array_neurons__spikespace;
const int brian::_num__array_neurons__spikespace = 4001;
thrust::host_vector<int32_t*> brian::dev_array_neurons__spikespace(1);
int brian::current_idx_array_neurons__spikespace = 0;

//////////////// dynamic arrays 1d /////////
thrust::host_vector<int32_t> brian::_dynamic_array_excitatory__synaptic_post;
thrust::device_vector<int32_t> brian::dev_dynamic_array_excitatory__synaptic_post;
thrust::host_vector<int32_t> brian::_dynamic_array_excitatory__synaptic_pre;
thrust::device_vector<int32_t> brian::dev_dynamic_array_excitatory__synaptic_pre;
thrust::host_vector<double> brian::_dynamic_array_excitatory_delay;
thrust::device_vector<double> brian::dev_dynamic_array_excitatory_delay;
thrust::host_vector<int32_t> brian::_dynamic_array_excitatory_N_incoming;
thrust::device_vector<int32_t> brian::dev_dynamic_array_excitatory_N_incoming;
thrust::host_vector<int32_t> brian::_dynamic_array_excitatory_N_outgoing;
thrust::device_vector<int32_t> brian::dev_dynamic_array_excitatory_N_outgoing;
thrust::host_vector<int32_t> brian::_dynamic_array_inhibitory__synaptic_post;
thrust::device_vector<int32_t> brian::dev_dynamic_array_inhibitory__synaptic_post;
thrust::host_vector<int32_t> brian::_dynamic_array_inhibitory__synaptic_pre;
thrust::device_vector<int32_t> brian::dev_dynamic_array_inhibitory__synaptic_pre;
thrust::host_vector<double> brian::_dynamic_array_inhibitory_delay;
thrust::device_vector<double> brian::dev_dynamic_array_inhibitory_delay;
thrust::host_vector<int32_t> brian::_dynamic_array_inhibitory_N_incoming;
thrust::device_vector<int32_t> brian::dev_dynamic_array_inhibitory_N_incoming;
thrust::host_vector<int32_t> brian::_dynamic_array_inhibitory_N_outgoing;
thrust::device_vector<int32_t> brian::dev_dynamic_array_inhibitory_N_outgoing;
thrust::host_vector<int32_t> brian::_dynamic_array_spikes_i;
thrust::device_vector<int32_t> brian::dev_dynamic_array_spikes_i;
thrust::host_vector<double> brian::_dynamic_array_spikes_t;
thrust::device_vector<double> brian::dev_dynamic_array_spikes_t;

//////////////// dynamic arrays 2d /////////

/////////////// static arrays /////////////
int32_t * brian::_static_array__array_excitatory_sources;
int32_t * brian::dev_static_array__array_excitatory_sources;
__device__ int32_t * brian::d_static_array__array_excitatory_sources;
const int brian::_num__static_array__array_excitatory_sources = 256000;
int32_t * brian::_static_array__array_excitatory_targets;
int32_t * brian::dev_static_array__array_excitatory_targets;
__device__ int32_t * brian::d_static_array__array_excitatory_targets;
const int brian::_num__static_array__array_excitatory_targets = 256000;
int32_t * brian::_static_array__array_inhibitory_sources;
int32_t * brian::dev_static_array__array_inhibitory_sources;
__device__ int32_t * brian::d_static_array__array_inhibitory_sources;
const int brian::_num__static_array__array_inhibitory_sources = 64000;
int32_t * brian::_static_array__array_inhibitory_targets;
int32_t * brian::dev_static_array__array_inhibitory_targets;
__device__ int32_t * brian::d_static_array__array_inhibitory_targets;
const int brian::_num__static_array__array_inhibitory_targets = 64000;
double * brian::_static_array__array_neurons_ge;
double * brian::dev_static_array__array_neurons_ge;
__device__ double * brian::d_static_array__array_neurons_ge;
const int brian::_num__static_array__array_neurons_ge = 4000;
double * brian::_static_array__array_neurons_gi;
double * brian::dev_static_array__array_neurons_gi;
__device__ double * brian::d_static_array__array_neurons_gi;
const int brian::_num__static_array__array_neurons_gi = 4000;
double * brian::_static_array__array_neurons_v;
double * brian::dev_static_array__array_neurons_v;
__device__ double * brian::d_static_array__array_neurons_v;
const int brian::_num__static_array__array_neurons_v = 4000;
double * brian::_static_array__dynamic_array_excitatory_delay;
double * brian::dev_static_array__dynamic_array_excitatory_delay;
__device__ double * brian::d_static_array__dynamic_array_excitatory_delay;
const int brian::_num__static_array__dynamic_array_excitatory_delay = 256000;
double * brian::_static_array__dynamic_array_inhibitory_delay;
double * brian::dev_static_array__dynamic_array_inhibitory_delay;
__device__ double * brian::d_static_array__dynamic_array_inhibitory_delay;
const int brian::_num__static_array__dynamic_array_inhibitory_delay = 64000;

//////////////// synapses /////////////////
// excitatory
int32_t excitatory_source_start_index;
int32_t excitatory_source_stop_index;
bool brian::excitatory_multiple_pre_post = false;
// excitatory_pre
__device__ int* brian::excitatory_pre_num_synapses_by_pre;
__device__ int* brian::excitatory_pre_num_synapses_by_bundle;
__device__ int* brian::excitatory_pre_unique_delays;
__device__ int* brian::excitatory_pre_synapses_offset_by_bundle;
__device__ int* brian::excitatory_pre_global_bundle_id_start_by_pre;
int brian::excitatory_pre_bundle_size_max = 0;
int brian::excitatory_pre_bundle_size_min = 0;
double brian::excitatory_pre_bundle_size_mean = 0;
double brian::excitatory_pre_bundle_size_std = 0;
int brian::excitatory_pre_max_size = 0;
__device__ int* brian::excitatory_pre_num_unique_delays_by_pre;
int brian::excitatory_pre_max_num_unique_delays = 0;
__device__ int32_t** brian::excitatory_pre_synapse_ids_by_pre;
__device__ int32_t* brian::excitatory_pre_synapse_ids;
__device__ int* brian::excitatory_pre_unique_delay_start_idcs;
__device__ int* brian::excitatory_pre_unique_delays_offset_by_pre;
__device__ SynapticPathway brian::excitatory_pre;
int brian::excitatory_pre_eventspace_idx = 0;
int brian::excitatory_pre_delay;
bool brian::excitatory_pre_scalar_delay;
// inhibitory
int32_t inhibitory_source_start_index;
int32_t inhibitory_source_stop_index;
bool brian::inhibitory_multiple_pre_post = false;
// inhibitory_pre
__device__ int* brian::inhibitory_pre_num_synapses_by_pre;
__device__ int* brian::inhibitory_pre_num_synapses_by_bundle;
__device__ int* brian::inhibitory_pre_unique_delays;
__device__ int* brian::inhibitory_pre_synapses_offset_by_bundle;
__device__ int* brian::inhibitory_pre_global_bundle_id_start_by_pre;
int brian::inhibitory_pre_bundle_size_max = 0;
int brian::inhibitory_pre_bundle_size_min = 0;
double brian::inhibitory_pre_bundle_size_mean = 0;
double brian::inhibitory_pre_bundle_size_std = 0;
int brian::inhibitory_pre_max_size = 0;
__device__ int* brian::inhibitory_pre_num_unique_delays_by_pre;
int brian::inhibitory_pre_max_num_unique_delays = 0;
__device__ int32_t** brian::inhibitory_pre_synapse_ids_by_pre;
__device__ int32_t* brian::inhibitory_pre_synapse_ids;
__device__ int* brian::inhibitory_pre_unique_delay_start_idcs;
__device__ int* brian::inhibitory_pre_unique_delays_offset_by_pre;
__device__ SynapticPathway brian::inhibitory_pre;
int brian::inhibitory_pre_eventspace_idx = 0;
int brian::inhibitory_pre_delay;
bool brian::inhibitory_pre_scalar_delay;

int brian::num_parallel_blocks;
int brian::max_threads_per_block;
int brian::max_threads_per_sm;
int brian::max_shared_mem_size;
int brian::num_threads_per_warp;

__global__ void excitatory_pre_init(
                int32_t* sources,
                int32_t* targets,
                double dt,
                int32_t source_start,
                int32_t source_stop
        )
{
    using namespace brian;

    excitatory_pre.init(
            sources,
            targets,
            dt,
            // TODO: called source here, spikes in SynapticPathway (use same name)
            source_start,
            source_stop);
}
__global__ void inhibitory_pre_init(
                int32_t* sources,
                int32_t* targets,
                double dt,
                int32_t source_start,
                int32_t source_stop
        )
{
    using namespace brian;

    inhibitory_pre.init(
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

    excitatory_pre_init<<<1,1>>>(
            thrust::raw_pointer_cast(&dev_dynamic_array_excitatory__synaptic_pre[0]),
            thrust::raw_pointer_cast(&dev_dynamic_array_excitatory__synaptic_post[0]),
            0,  //was dt, maybe irrelevant?
            0,
            3200
            );
    CUDA_CHECK_ERROR("excitatory_pre_init");
    inhibitory_pre_init<<<1,1>>>(
            thrust::raw_pointer_cast(&dev_dynamic_array_inhibitory__synaptic_pre[0]),
            thrust::raw_pointer_cast(&dev_dynamic_array_inhibitory__synaptic_post[0]),
            0,  //was dt, maybe irrelevant?
            3200,
            4000
            );
    CUDA_CHECK_ERROR("inhibitory_pre_init");

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
            _array_excitatory_N = new int32_t[1];
            for(int i=0; i<1; i++) _array_excitatory_N[i] = 0;
            CUDA_SAFE_CALL(
                    cudaMalloc((void**)&dev_array_excitatory_N, sizeof(int32_t)*_num__array_excitatory_N)
                    );
            CUDA_SAFE_CALL(
                    cudaMemcpy(dev_array_excitatory_N, _array_excitatory_N, sizeof(int32_t)*_num__array_excitatory_N, cudaMemcpyHostToDevice)
                    );
            _array_excitatory_sources = new int32_t[256000];
            for(int i=0; i<256000; i++) _array_excitatory_sources[i] = 0;
            CUDA_SAFE_CALL(
                    cudaMalloc((void**)&dev_array_excitatory_sources, sizeof(int32_t)*_num__array_excitatory_sources)
                    );
            CUDA_SAFE_CALL(
                    cudaMemcpy(dev_array_excitatory_sources, _array_excitatory_sources, sizeof(int32_t)*_num__array_excitatory_sources, cudaMemcpyHostToDevice)
                    );
            _array_excitatory_targets = new int32_t[256000];
            for(int i=0; i<256000; i++) _array_excitatory_targets[i] = 0;
            CUDA_SAFE_CALL(
                    cudaMalloc((void**)&dev_array_excitatory_targets, sizeof(int32_t)*_num__array_excitatory_targets)
                    );
            CUDA_SAFE_CALL(
                    cudaMemcpy(dev_array_excitatory_targets, _array_excitatory_targets, sizeof(int32_t)*_num__array_excitatory_targets, cudaMemcpyHostToDevice)
                    );
            _array_inhibitory_N = new int32_t[1];
            for(int i=0; i<1; i++) _array_inhibitory_N[i] = 0;
            CUDA_SAFE_CALL(
                    cudaMalloc((void**)&dev_array_inhibitory_N, sizeof(int32_t)*_num__array_inhibitory_N)
                    );
            CUDA_SAFE_CALL(
                    cudaMemcpy(dev_array_inhibitory_N, _array_inhibitory_N, sizeof(int32_t)*_num__array_inhibitory_N, cudaMemcpyHostToDevice)
                    );
            _array_inhibitory_sources = new int32_t[64000];
            for(int i=0; i<64000; i++) _array_inhibitory_sources[i] = 0;
            CUDA_SAFE_CALL(
                    cudaMalloc((void**)&dev_array_inhibitory_sources, sizeof(int32_t)*_num__array_inhibitory_sources)
                    );
            CUDA_SAFE_CALL(
                    cudaMemcpy(dev_array_inhibitory_sources, _array_inhibitory_sources, sizeof(int32_t)*_num__array_inhibitory_sources, cudaMemcpyHostToDevice)
                    );
            _array_inhibitory_targets = new int32_t[64000];
            for(int i=0; i<64000; i++) _array_inhibitory_targets[i] = 0;
            CUDA_SAFE_CALL(
                    cudaMalloc((void**)&dev_array_inhibitory_targets, sizeof(int32_t)*_num__array_inhibitory_targets)
                    );
            CUDA_SAFE_CALL(
                    cudaMemcpy(dev_array_inhibitory_targets, _array_inhibitory_targets, sizeof(int32_t)*_num__array_inhibitory_targets, cudaMemcpyHostToDevice)
                    );
            _array_neurons_ge = new double[4000];
            for(int i=0; i<4000; i++) _array_neurons_ge[i] = 0;
            CUDA_SAFE_CALL(
                    cudaMalloc((void**)&dev_array_neurons_ge, sizeof(double)*_num__array_neurons_ge)
                    );
            CUDA_SAFE_CALL(
                    cudaMemcpy(dev_array_neurons_ge, _array_neurons_ge, sizeof(double)*_num__array_neurons_ge, cudaMemcpyHostToDevice)
                    );
            _array_neurons_gi = new double[4000];
            for(int i=0; i<4000; i++) _array_neurons_gi[i] = 0;
            CUDA_SAFE_CALL(
                    cudaMalloc((void**)&dev_array_neurons_gi, sizeof(double)*_num__array_neurons_gi)
                    );
            CUDA_SAFE_CALL(
                    cudaMemcpy(dev_array_neurons_gi, _array_neurons_gi, sizeof(double)*_num__array_neurons_gi, cudaMemcpyHostToDevice)
                    );
            _array_neurons_i = new int32_t[4000];
            for(int i=0; i<4000; i++) _array_neurons_i[i] = 0;
            CUDA_SAFE_CALL(
                    cudaMalloc((void**)&dev_array_neurons_i, sizeof(int32_t)*_num__array_neurons_i)
                    );
            CUDA_SAFE_CALL(
                    cudaMemcpy(dev_array_neurons_i, _array_neurons_i, sizeof(int32_t)*_num__array_neurons_i, cudaMemcpyHostToDevice)
                    );
            _array_neurons_lastspike = new double[4000];
            for(int i=0; i<4000; i++) _array_neurons_lastspike[i] = 0;
            CUDA_SAFE_CALL(
                    cudaMalloc((void**)&dev_array_neurons_lastspike, sizeof(double)*_num__array_neurons_lastspike)
                    );
            CUDA_SAFE_CALL(
                    cudaMemcpy(dev_array_neurons_lastspike, _array_neurons_lastspike, sizeof(double)*_num__array_neurons_lastspike, cudaMemcpyHostToDevice)
                    );
            _array_neurons_not_refractory = new char[4000];
            for(int i=0; i<4000; i++) _array_neurons_not_refractory[i] = 0;
            CUDA_SAFE_CALL(
                    cudaMalloc((void**)&dev_array_neurons_not_refractory, sizeof(char)*_num__array_neurons_not_refractory)
                    );
            CUDA_SAFE_CALL(
                    cudaMemcpy(dev_array_neurons_not_refractory, _array_neurons_not_refractory, sizeof(char)*_num__array_neurons_not_refractory, cudaMemcpyHostToDevice)
                    );
            _array_neurons_subgroup_1__sub_idx = new int32_t[800];
            for(int i=0; i<800; i++) _array_neurons_subgroup_1__sub_idx[i] = 0;
            CUDA_SAFE_CALL(
                    cudaMalloc((void**)&dev_array_neurons_subgroup_1__sub_idx, sizeof(int32_t)*_num__array_neurons_subgroup_1__sub_idx)
                    );
            CUDA_SAFE_CALL(
                    cudaMemcpy(dev_array_neurons_subgroup_1__sub_idx, _array_neurons_subgroup_1__sub_idx, sizeof(int32_t)*_num__array_neurons_subgroup_1__sub_idx, cudaMemcpyHostToDevice)
                    );
            _array_neurons_subgroup__sub_idx = new int32_t[3200];
            for(int i=0; i<3200; i++) _array_neurons_subgroup__sub_idx[i] = 0;
            CUDA_SAFE_CALL(
                    cudaMalloc((void**)&dev_array_neurons_subgroup__sub_idx, sizeof(int32_t)*_num__array_neurons_subgroup__sub_idx)
                    );
            CUDA_SAFE_CALL(
                    cudaMemcpy(dev_array_neurons_subgroup__sub_idx, _array_neurons_subgroup__sub_idx, sizeof(int32_t)*_num__array_neurons_subgroup__sub_idx, cudaMemcpyHostToDevice)
                    );
            _array_neurons_v = new double[4000];
            for(int i=0; i<4000; i++) _array_neurons_v[i] = 0;
            CUDA_SAFE_CALL(
                    cudaMalloc((void**)&dev_array_neurons_v, sizeof(double)*_num__array_neurons_v)
                    );
            CUDA_SAFE_CALL(
                    cudaMemcpy(dev_array_neurons_v, _array_neurons_v, sizeof(double)*_num__array_neurons_v, cudaMemcpyHostToDevice)
                    );
            _array_spikes__source_idx = new int32_t[4000];
            for(int i=0; i<4000; i++) _array_spikes__source_idx[i] = 0;
            CUDA_SAFE_CALL(
                    cudaMalloc((void**)&dev_array_spikes__source_idx, sizeof(int32_t)*_num__array_spikes__source_idx)
                    );
            CUDA_SAFE_CALL(
                    cudaMemcpy(dev_array_spikes__source_idx, _array_spikes__source_idx, sizeof(int32_t)*_num__array_spikes__source_idx, cudaMemcpyHostToDevice)
                    );
            _array_spikes_count = new int32_t[4000];
            for(int i=0; i<4000; i++) _array_spikes_count[i] = 0;
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

    // Arrays initialized to an "arange"
    _array_neurons_i = new int32_t[4000];
    for(int i=0; i<4000; i++) _array_neurons_i[i] = 0 + i;
    CUDA_SAFE_CALL(
            cudaMalloc((void**)&dev_array_neurons_i, sizeof(int32_t)*_num__array_neurons_i)
            );

    CUDA_SAFE_CALL(
            cudaMemcpy(dev_array_neurons_i, _array_neurons_i, sizeof(int32_t)*_num__array_neurons_i, cudaMemcpyHostToDevice)
            );
    _array_neurons_subgroup_1__sub_idx = new int32_t[800];
    for(int i=0; i<800; i++) _array_neurons_subgroup_1__sub_idx[i] = 3200 + i;
    CUDA_SAFE_CALL(
            cudaMalloc((void**)&dev_array_neurons_subgroup_1__sub_idx, sizeof(int32_t)*_num__array_neurons_subgroup_1__sub_idx)
            );

    CUDA_SAFE_CALL(
            cudaMemcpy(dev_array_neurons_subgroup_1__sub_idx, _array_neurons_subgroup_1__sub_idx, sizeof(int32_t)*_num__array_neurons_subgroup_1__sub_idx, cudaMemcpyHostToDevice)
            );
    _array_neurons_subgroup__sub_idx = new int32_t[3200];
    for(int i=0; i<3200; i++) _array_neurons_subgroup__sub_idx[i] = 0 + i;
    CUDA_SAFE_CALL(
            cudaMalloc((void**)&dev_array_neurons_subgroup__sub_idx, sizeof(int32_t)*_num__array_neurons_subgroup__sub_idx)
            );

    CUDA_SAFE_CALL(
            cudaMemcpy(dev_array_neurons_subgroup__sub_idx, _array_neurons_subgroup__sub_idx, sizeof(int32_t)*_num__array_neurons_subgroup__sub_idx, cudaMemcpyHostToDevice)
            );
    _array_spikes__source_idx = new int32_t[4000];
    for(int i=0; i<4000; i++) _array_spikes__source_idx[i] = 0 + i;
    CUDA_SAFE_CALL(
            cudaMalloc((void**)&dev_array_spikes__source_idx, sizeof(int32_t)*_num__array_spikes__source_idx)
            );

    CUDA_SAFE_CALL(
            cudaMemcpy(dev_array_spikes__source_idx, _array_spikes__source_idx, sizeof(int32_t)*_num__array_spikes__source_idx, cudaMemcpyHostToDevice)
            );

    // static arrays
    _static_array__array_excitatory_sources = new int32_t[256000];
    CUDA_SAFE_CALL(
            cudaMalloc((void**)&dev_static_array__array_excitatory_sources, sizeof(int32_t)*256000)
            );
    CUDA_SAFE_CALL(
            cudaMemcpyToSymbol(d_static_array__array_excitatory_sources, &dev_static_array__array_excitatory_sources, sizeof(int32_t*))
            );
    _static_array__array_excitatory_targets = new int32_t[256000];
    CUDA_SAFE_CALL(
            cudaMalloc((void**)&dev_static_array__array_excitatory_targets, sizeof(int32_t)*256000)
            );
    CUDA_SAFE_CALL(
            cudaMemcpyToSymbol(d_static_array__array_excitatory_targets, &dev_static_array__array_excitatory_targets, sizeof(int32_t*))
            );
    _static_array__array_inhibitory_sources = new int32_t[64000];
    CUDA_SAFE_CALL(
            cudaMalloc((void**)&dev_static_array__array_inhibitory_sources, sizeof(int32_t)*64000)
            );
    CUDA_SAFE_CALL(
            cudaMemcpyToSymbol(d_static_array__array_inhibitory_sources, &dev_static_array__array_inhibitory_sources, sizeof(int32_t*))
            );
    _static_array__array_inhibitory_targets = new int32_t[64000];
    CUDA_SAFE_CALL(
            cudaMalloc((void**)&dev_static_array__array_inhibitory_targets, sizeof(int32_t)*64000)
            );
    CUDA_SAFE_CALL(
            cudaMemcpyToSymbol(d_static_array__array_inhibitory_targets, &dev_static_array__array_inhibitory_targets, sizeof(int32_t*))
            );
    _static_array__array_neurons_ge = new double[4000];
    CUDA_SAFE_CALL(
            cudaMalloc((void**)&dev_static_array__array_neurons_ge, sizeof(double)*4000)
            );
    CUDA_SAFE_CALL(
            cudaMemcpyToSymbol(d_static_array__array_neurons_ge, &dev_static_array__array_neurons_ge, sizeof(double*))
            );
    _static_array__array_neurons_gi = new double[4000];
    CUDA_SAFE_CALL(
            cudaMalloc((void**)&dev_static_array__array_neurons_gi, sizeof(double)*4000)
            );
    CUDA_SAFE_CALL(
            cudaMemcpyToSymbol(d_static_array__array_neurons_gi, &dev_static_array__array_neurons_gi, sizeof(double*))
            );
    _static_array__array_neurons_v = new double[4000];
    CUDA_SAFE_CALL(
            cudaMalloc((void**)&dev_static_array__array_neurons_v, sizeof(double)*4000)
            );
    CUDA_SAFE_CALL(
            cudaMemcpyToSymbol(d_static_array__array_neurons_v, &dev_static_array__array_neurons_v, sizeof(double*))
            );
    _static_array__dynamic_array_excitatory_delay = new double[256000];
    CUDA_SAFE_CALL(
            cudaMalloc((void**)&dev_static_array__dynamic_array_excitatory_delay, sizeof(double)*256000)
            );
    CUDA_SAFE_CALL(
            cudaMemcpyToSymbol(d_static_array__dynamic_array_excitatory_delay, &dev_static_array__dynamic_array_excitatory_delay, sizeof(double*))
            );
    _static_array__dynamic_array_inhibitory_delay = new double[64000];
    CUDA_SAFE_CALL(
            cudaMalloc((void**)&dev_static_array__dynamic_array_inhibitory_delay, sizeof(double)*64000)
            );
    CUDA_SAFE_CALL(
            cudaMemcpyToSymbol(d_static_array__dynamic_array_inhibitory_delay, &dev_static_array__dynamic_array_inhibitory_delay, sizeof(double*))
            );


    // eventspace_arrays
    CUDA_SAFE_CALL(
            cudaMalloc((void**)&dev_array_neurons__spikespace[0], sizeof(int32_t)*_num__array_neurons__spikespace)
            );
    // initialize eventspace with -1
    _array_neurons__spikespace = new int32_t[4001];
    for (int i=0; i<4001-1; i++)
    {
        _array_neurons__spikespace[i] = -1;
    }
    // initialize eventspace counter with 0
    _array_neurons__spikespace[4001 - 1] = 0;
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

    ifstream f_static_array__array_excitatory_sources;
    f_static_array__array_excitatory_sources.open("static_arrays/_static_array__array_excitatory_sources", ios::in | ios::binary);
    if(f_static_array__array_excitatory_sources.is_open())
    {
        f_static_array__array_excitatory_sources.read(reinterpret_cast<char*>(_static_array__array_excitatory_sources), 256000*sizeof(int32_t));
    } else
    {
        std::cout << "Error opening static array _static_array__array_excitatory_sources." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(dev_static_array__array_excitatory_sources, _static_array__array_excitatory_sources, sizeof(int32_t)*256000, cudaMemcpyHostToDevice)
            );
    ifstream f_static_array__array_excitatory_targets;
    f_static_array__array_excitatory_targets.open("static_arrays/_static_array__array_excitatory_targets", ios::in | ios::binary);
    if(f_static_array__array_excitatory_targets.is_open())
    {
        f_static_array__array_excitatory_targets.read(reinterpret_cast<char*>(_static_array__array_excitatory_targets), 256000*sizeof(int32_t));
    } else
    {
        std::cout << "Error opening static array _static_array__array_excitatory_targets." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(dev_static_array__array_excitatory_targets, _static_array__array_excitatory_targets, sizeof(int32_t)*256000, cudaMemcpyHostToDevice)
            );
    ifstream f_static_array__array_inhibitory_sources;
    f_static_array__array_inhibitory_sources.open("static_arrays/_static_array__array_inhibitory_sources", ios::in | ios::binary);
    if(f_static_array__array_inhibitory_sources.is_open())
    {
        f_static_array__array_inhibitory_sources.read(reinterpret_cast<char*>(_static_array__array_inhibitory_sources), 64000*sizeof(int32_t));
    } else
    {
        std::cout << "Error opening static array _static_array__array_inhibitory_sources." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(dev_static_array__array_inhibitory_sources, _static_array__array_inhibitory_sources, sizeof(int32_t)*64000, cudaMemcpyHostToDevice)
            );
    ifstream f_static_array__array_inhibitory_targets;
    f_static_array__array_inhibitory_targets.open("static_arrays/_static_array__array_inhibitory_targets", ios::in | ios::binary);
    if(f_static_array__array_inhibitory_targets.is_open())
    {
        f_static_array__array_inhibitory_targets.read(reinterpret_cast<char*>(_static_array__array_inhibitory_targets), 64000*sizeof(int32_t));
    } else
    {
        std::cout << "Error opening static array _static_array__array_inhibitory_targets." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(dev_static_array__array_inhibitory_targets, _static_array__array_inhibitory_targets, sizeof(int32_t)*64000, cudaMemcpyHostToDevice)
            );
    ifstream f_static_array__array_neurons_ge;
    f_static_array__array_neurons_ge.open("static_arrays/_static_array__array_neurons_ge", ios::in | ios::binary);
    if(f_static_array__array_neurons_ge.is_open())
    {
        f_static_array__array_neurons_ge.read(reinterpret_cast<char*>(_static_array__array_neurons_ge), 4000*sizeof(double));
    } else
    {
        std::cout << "Error opening static array _static_array__array_neurons_ge." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(dev_static_array__array_neurons_ge, _static_array__array_neurons_ge, sizeof(double)*4000, cudaMemcpyHostToDevice)
            );
    ifstream f_static_array__array_neurons_gi;
    f_static_array__array_neurons_gi.open("static_arrays/_static_array__array_neurons_gi", ios::in | ios::binary);
    if(f_static_array__array_neurons_gi.is_open())
    {
        f_static_array__array_neurons_gi.read(reinterpret_cast<char*>(_static_array__array_neurons_gi), 4000*sizeof(double));
    } else
    {
        std::cout << "Error opening static array _static_array__array_neurons_gi." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(dev_static_array__array_neurons_gi, _static_array__array_neurons_gi, sizeof(double)*4000, cudaMemcpyHostToDevice)
            );
    ifstream f_static_array__array_neurons_v;
    f_static_array__array_neurons_v.open("static_arrays/_static_array__array_neurons_v", ios::in | ios::binary);
    if(f_static_array__array_neurons_v.is_open())
    {
        f_static_array__array_neurons_v.read(reinterpret_cast<char*>(_static_array__array_neurons_v), 4000*sizeof(double));
    } else
    {
        std::cout << "Error opening static array _static_array__array_neurons_v." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(dev_static_array__array_neurons_v, _static_array__array_neurons_v, sizeof(double)*4000, cudaMemcpyHostToDevice)
            );
    ifstream f_static_array__dynamic_array_excitatory_delay;
    f_static_array__dynamic_array_excitatory_delay.open("static_arrays/_static_array__dynamic_array_excitatory_delay", ios::in | ios::binary);
    if(f_static_array__dynamic_array_excitatory_delay.is_open())
    {
        f_static_array__dynamic_array_excitatory_delay.read(reinterpret_cast<char*>(_static_array__dynamic_array_excitatory_delay), 256000*sizeof(double));
    } else
    {
        std::cout << "Error opening static array _static_array__dynamic_array_excitatory_delay." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(dev_static_array__dynamic_array_excitatory_delay, _static_array__dynamic_array_excitatory_delay, sizeof(double)*256000, cudaMemcpyHostToDevice)
            );
    ifstream f_static_array__dynamic_array_inhibitory_delay;
    f_static_array__dynamic_array_inhibitory_delay.open("static_arrays/_static_array__dynamic_array_inhibitory_delay", ios::in | ios::binary);
    if(f_static_array__dynamic_array_inhibitory_delay.is_open())
    {
        f_static_array__dynamic_array_inhibitory_delay.read(reinterpret_cast<char*>(_static_array__dynamic_array_inhibitory_delay), 64000*sizeof(double));
    } else
    {
        std::cout << "Error opening static array _static_array__dynamic_array_inhibitory_delay." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(dev_static_array__dynamic_array_inhibitory_delay, _static_array__dynamic_array_inhibitory_delay, sizeof(double)*64000, cudaMemcpyHostToDevice)
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
            cudaMemcpy(_array_excitatory_N, dev_array_excitatory_N, sizeof(int32_t)*_num__array_excitatory_N, cudaMemcpyDeviceToHost)
            );
    ofstream outfile__array_excitatory_N;
    outfile__array_excitatory_N.open(results_dir + "_array_excitatory_N_811028256", ios::binary | ios::out);
    if(outfile__array_excitatory_N.is_open())
    {
        outfile__array_excitatory_N.write(reinterpret_cast<char*>(_array_excitatory_N), 1*sizeof(int32_t));
        outfile__array_excitatory_N.close();
    } else
    {
        std::cout << "Error writing output file for _array_excitatory_N." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(_array_excitatory_sources, dev_array_excitatory_sources, sizeof(int32_t)*_num__array_excitatory_sources, cudaMemcpyDeviceToHost)
            );
    ofstream outfile__array_excitatory_sources;
    outfile__array_excitatory_sources.open(results_dir + "_array_excitatory_sources_1165561134", ios::binary | ios::out);
    if(outfile__array_excitatory_sources.is_open())
    {
        outfile__array_excitatory_sources.write(reinterpret_cast<char*>(_array_excitatory_sources), 256000*sizeof(int32_t));
        outfile__array_excitatory_sources.close();
    } else
    {
        std::cout << "Error writing output file for _array_excitatory_sources." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(_array_excitatory_targets, dev_array_excitatory_targets, sizeof(int32_t)*_num__array_excitatory_targets, cudaMemcpyDeviceToHost)
            );
    ofstream outfile__array_excitatory_targets;
    outfile__array_excitatory_targets.open(results_dir + "_array_excitatory_targets_946304719", ios::binary | ios::out);
    if(outfile__array_excitatory_targets.is_open())
    {
        outfile__array_excitatory_targets.write(reinterpret_cast<char*>(_array_excitatory_targets), 256000*sizeof(int32_t));
        outfile__array_excitatory_targets.close();
    } else
    {
        std::cout << "Error writing output file for _array_excitatory_targets." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(_array_inhibitory_N, dev_array_inhibitory_N, sizeof(int32_t)*_num__array_inhibitory_N, cudaMemcpyDeviceToHost)
            );
    ofstream outfile__array_inhibitory_N;
    outfile__array_inhibitory_N.open(results_dir + "_array_inhibitory_N_46498069", ios::binary | ios::out);
    if(outfile__array_inhibitory_N.is_open())
    {
        outfile__array_inhibitory_N.write(reinterpret_cast<char*>(_array_inhibitory_N), 1*sizeof(int32_t));
        outfile__array_inhibitory_N.close();
    } else
    {
        std::cout << "Error writing output file for _array_inhibitory_N." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(_array_inhibitory_sources, dev_array_inhibitory_sources, sizeof(int32_t)*_num__array_inhibitory_sources, cudaMemcpyDeviceToHost)
            );
    ofstream outfile__array_inhibitory_sources;
    outfile__array_inhibitory_sources.open(results_dir + "_array_inhibitory_sources_2001589595", ios::binary | ios::out);
    if(outfile__array_inhibitory_sources.is_open())
    {
        outfile__array_inhibitory_sources.write(reinterpret_cast<char*>(_array_inhibitory_sources), 64000*sizeof(int32_t));
        outfile__array_inhibitory_sources.close();
    } else
    {
        std::cout << "Error writing output file for _array_inhibitory_sources." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(_array_inhibitory_targets, dev_array_inhibitory_targets, sizeof(int32_t)*_num__array_inhibitory_targets, cudaMemcpyDeviceToHost)
            );
    ofstream outfile__array_inhibitory_targets;
    outfile__array_inhibitory_targets.open(results_dir + "_array_inhibitory_targets_173256378", ios::binary | ios::out);
    if(outfile__array_inhibitory_targets.is_open())
    {
        outfile__array_inhibitory_targets.write(reinterpret_cast<char*>(_array_inhibitory_targets), 64000*sizeof(int32_t));
        outfile__array_inhibitory_targets.close();
    } else
    {
        std::cout << "Error writing output file for _array_inhibitory_targets." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(_array_neurons_ge, dev_array_neurons_ge, sizeof(double)*_num__array_neurons_ge, cudaMemcpyDeviceToHost)
            );
    ofstream outfile__array_neurons_ge;
    outfile__array_neurons_ge.open(results_dir + "_array_neurons_ge_1719368523", ios::binary | ios::out);
    if(outfile__array_neurons_ge.is_open())
    {
        outfile__array_neurons_ge.write(reinterpret_cast<char*>(_array_neurons_ge), 4000*sizeof(double));
        outfile__array_neurons_ge.close();
    } else
    {
        std::cout << "Error writing output file for _array_neurons_ge." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(_array_neurons_gi, dev_array_neurons_gi, sizeof(double)*_num__array_neurons_gi, cudaMemcpyDeviceToHost)
            );
    ofstream outfile__array_neurons_gi;
    outfile__array_neurons_gi.open(results_dir + "_array_neurons_gi_1875720032", ios::binary | ios::out);
    if(outfile__array_neurons_gi.is_open())
    {
        outfile__array_neurons_gi.write(reinterpret_cast<char*>(_array_neurons_gi), 4000*sizeof(double));
        outfile__array_neurons_gi.close();
    } else
    {
        std::cout << "Error writing output file for _array_neurons_gi." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(_array_neurons_i, dev_array_neurons_i, sizeof(int32_t)*_num__array_neurons_i, cudaMemcpyDeviceToHost)
            );
    ofstream outfile__array_neurons_i;
    outfile__array_neurons_i.open(results_dir + "_array_neurons_i_2509429918", ios::binary | ios::out);
    if(outfile__array_neurons_i.is_open())
    {
        outfile__array_neurons_i.write(reinterpret_cast<char*>(_array_neurons_i), 4000*sizeof(int32_t));
        outfile__array_neurons_i.close();
    } else
    {
        std::cout << "Error writing output file for _array_neurons_i." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(_array_neurons_lastspike, dev_array_neurons_lastspike, sizeof(double)*_num__array_neurons_lastspike, cudaMemcpyDeviceToHost)
            );
    ofstream outfile__array_neurons_lastspike;
    outfile__array_neurons_lastspike.open(results_dir + "_array_neurons_lastspike_1216119343", ios::binary | ios::out);
    if(outfile__array_neurons_lastspike.is_open())
    {
        outfile__array_neurons_lastspike.write(reinterpret_cast<char*>(_array_neurons_lastspike), 4000*sizeof(double));
        outfile__array_neurons_lastspike.close();
    } else
    {
        std::cout << "Error writing output file for _array_neurons_lastspike." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(_array_neurons_not_refractory, dev_array_neurons_not_refractory, sizeof(char)*_num__array_neurons_not_refractory, cudaMemcpyDeviceToHost)
            );
    ofstream outfile__array_neurons_not_refractory;
    outfile__array_neurons_not_refractory.open(results_dir + "_array_neurons_not_refractory_2582891840", ios::binary | ios::out);
    if(outfile__array_neurons_not_refractory.is_open())
    {
        outfile__array_neurons_not_refractory.write(reinterpret_cast<char*>(_array_neurons_not_refractory), 4000*sizeof(char));
        outfile__array_neurons_not_refractory.close();
    } else
    {
        std::cout << "Error writing output file for _array_neurons_not_refractory." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(_array_neurons_subgroup_1__sub_idx, dev_array_neurons_subgroup_1__sub_idx, sizeof(int32_t)*_num__array_neurons_subgroup_1__sub_idx, cudaMemcpyDeviceToHost)
            );
    ofstream outfile__array_neurons_subgroup_1__sub_idx;
    outfile__array_neurons_subgroup_1__sub_idx.open(results_dir + "_array_neurons_subgroup_1__sub_idx_3957523270", ios::binary | ios::out);
    if(outfile__array_neurons_subgroup_1__sub_idx.is_open())
    {
        outfile__array_neurons_subgroup_1__sub_idx.write(reinterpret_cast<char*>(_array_neurons_subgroup_1__sub_idx), 800*sizeof(int32_t));
        outfile__array_neurons_subgroup_1__sub_idx.close();
    } else
    {
        std::cout << "Error writing output file for _array_neurons_subgroup_1__sub_idx." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(_array_neurons_subgroup__sub_idx, dev_array_neurons_subgroup__sub_idx, sizeof(int32_t)*_num__array_neurons_subgroup__sub_idx, cudaMemcpyDeviceToHost)
            );
    ofstream outfile__array_neurons_subgroup__sub_idx;
    outfile__array_neurons_subgroup__sub_idx.open(results_dir + "_array_neurons_subgroup__sub_idx_1259006457", ios::binary | ios::out);
    if(outfile__array_neurons_subgroup__sub_idx.is_open())
    {
        outfile__array_neurons_subgroup__sub_idx.write(reinterpret_cast<char*>(_array_neurons_subgroup__sub_idx), 3200*sizeof(int32_t));
        outfile__array_neurons_subgroup__sub_idx.close();
    } else
    {
        std::cout << "Error writing output file for _array_neurons_subgroup__sub_idx." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(_array_neurons_v, dev_array_neurons_v, sizeof(double)*_num__array_neurons_v, cudaMemcpyDeviceToHost)
            );
    ofstream outfile__array_neurons_v;
    outfile__array_neurons_v.open(results_dir + "_array_neurons_v_412799339", ios::binary | ios::out);
    if(outfile__array_neurons_v.is_open())
    {
        outfile__array_neurons_v.write(reinterpret_cast<char*>(_array_neurons_v), 4000*sizeof(double));
        outfile__array_neurons_v.close();
    } else
    {
        std::cout << "Error writing output file for _array_neurons_v." << endl;
    }
    CUDA_SAFE_CALL(
            cudaMemcpy(_array_spikes__source_idx, dev_array_spikes__source_idx, sizeof(int32_t)*_num__array_spikes__source_idx, cudaMemcpyDeviceToHost)
            );
    ofstream outfile__array_spikes__source_idx;
    outfile__array_spikes__source_idx.open(results_dir + "_array_spikes__source_idx_2303802139", ios::binary | ios::out);
    if(outfile__array_spikes__source_idx.is_open())
    {
        outfile__array_spikes__source_idx.write(reinterpret_cast<char*>(_array_spikes__source_idx), 4000*sizeof(int32_t));
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
        outfile__array_spikes_count.write(reinterpret_cast<char*>(_array_spikes_count), 4000*sizeof(int32_t));
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

    ofstream outfile__dynamic_array_excitatory__synaptic_post;
    outfile__dynamic_array_excitatory__synaptic_post.open(results_dir + "_dynamic_array_excitatory__synaptic_post_1215088002", ios::binary | ios::out);
    if(outfile__dynamic_array_excitatory__synaptic_post.is_open())
    {
        outfile__dynamic_array_excitatory__synaptic_post.write(reinterpret_cast<char*>(thrust::raw_pointer_cast(&_dynamic_array_excitatory__synaptic_post[0])), _dynamic_array_excitatory__synaptic_post.size()*sizeof(int32_t));
        outfile__dynamic_array_excitatory__synaptic_post.close();
    } else
    {
        std::cout << "Error writing output file for _dynamic_array_excitatory__synaptic_post." << endl;
    }
    ofstream outfile__dynamic_array_excitatory__synaptic_pre;
    outfile__dynamic_array_excitatory__synaptic_pre.open(results_dir + "_dynamic_array_excitatory__synaptic_pre_3659620536", ios::binary | ios::out);
    if(outfile__dynamic_array_excitatory__synaptic_pre.is_open())
    {
        outfile__dynamic_array_excitatory__synaptic_pre.write(reinterpret_cast<char*>(thrust::raw_pointer_cast(&_dynamic_array_excitatory__synaptic_pre[0])), _dynamic_array_excitatory__synaptic_pre.size()*sizeof(int32_t));
        outfile__dynamic_array_excitatory__synaptic_pre.close();
    } else
    {
        std::cout << "Error writing output file for _dynamic_array_excitatory__synaptic_pre." << endl;
    }
    ofstream outfile__dynamic_array_excitatory_delay;
    outfile__dynamic_array_excitatory_delay.open(results_dir + "_dynamic_array_excitatory_delay_240833793", ios::binary | ios::out);
    if(outfile__dynamic_array_excitatory_delay.is_open())
    {
        outfile__dynamic_array_excitatory_delay.write(reinterpret_cast<char*>(thrust::raw_pointer_cast(&_dynamic_array_excitatory_delay[0])), _dynamic_array_excitatory_delay.size()*sizeof(double));
        outfile__dynamic_array_excitatory_delay.close();
    } else
    {
        std::cout << "Error writing output file for _dynamic_array_excitatory_delay." << endl;
    }
    _dynamic_array_excitatory_N_incoming = dev_dynamic_array_excitatory_N_incoming;
    ofstream outfile__dynamic_array_excitatory_N_incoming;
    outfile__dynamic_array_excitatory_N_incoming.open(results_dir + "_dynamic_array_excitatory_N_incoming_1466243828", ios::binary | ios::out);
    if(outfile__dynamic_array_excitatory_N_incoming.is_open())
    {
        outfile__dynamic_array_excitatory_N_incoming.write(reinterpret_cast<char*>(thrust::raw_pointer_cast(&_dynamic_array_excitatory_N_incoming[0])), _dynamic_array_excitatory_N_incoming.size()*sizeof(int32_t));
        outfile__dynamic_array_excitatory_N_incoming.close();
    } else
    {
        std::cout << "Error writing output file for _dynamic_array_excitatory_N_incoming." << endl;
    }
    _dynamic_array_excitatory_N_outgoing = dev_dynamic_array_excitatory_N_outgoing;
    ofstream outfile__dynamic_array_excitatory_N_outgoing;
    outfile__dynamic_array_excitatory_N_outgoing.open(results_dir + "_dynamic_array_excitatory_N_outgoing_1887005230", ios::binary | ios::out);
    if(outfile__dynamic_array_excitatory_N_outgoing.is_open())
    {
        outfile__dynamic_array_excitatory_N_outgoing.write(reinterpret_cast<char*>(thrust::raw_pointer_cast(&_dynamic_array_excitatory_N_outgoing[0])), _dynamic_array_excitatory_N_outgoing.size()*sizeof(int32_t));
        outfile__dynamic_array_excitatory_N_outgoing.close();
    } else
    {
        std::cout << "Error writing output file for _dynamic_array_excitatory_N_outgoing." << endl;
    }
    ofstream outfile__dynamic_array_inhibitory__synaptic_post;
    outfile__dynamic_array_inhibitory__synaptic_post.open(results_dir + "_dynamic_array_inhibitory__synaptic_post_114461216", ios::binary | ios::out);
    if(outfile__dynamic_array_inhibitory__synaptic_post.is_open())
    {
        outfile__dynamic_array_inhibitory__synaptic_post.write(reinterpret_cast<char*>(thrust::raw_pointer_cast(&_dynamic_array_inhibitory__synaptic_post[0])), _dynamic_array_inhibitory__synaptic_post.size()*sizeof(int32_t));
        outfile__dynamic_array_inhibitory__synaptic_post.close();
    } else
    {
        std::cout << "Error writing output file for _dynamic_array_inhibitory__synaptic_post." << endl;
    }
    ofstream outfile__dynamic_array_inhibitory__synaptic_pre;
    outfile__dynamic_array_inhibitory__synaptic_pre.open(results_dir + "_dynamic_array_inhibitory__synaptic_pre_1626183258", ios::binary | ios::out);
    if(outfile__dynamic_array_inhibitory__synaptic_pre.is_open())
    {
        outfile__dynamic_array_inhibitory__synaptic_pre.write(reinterpret_cast<char*>(thrust::raw_pointer_cast(&_dynamic_array_inhibitory__synaptic_pre[0])), _dynamic_array_inhibitory__synaptic_pre.size()*sizeof(int32_t));
        outfile__dynamic_array_inhibitory__synaptic_pre.close();
    } else
    {
        std::cout << "Error writing output file for _dynamic_array_inhibitory__synaptic_pre." << endl;
    }
    ofstream outfile__dynamic_array_inhibitory_delay;
    outfile__dynamic_array_inhibitory_delay.open(results_dir + "_dynamic_array_inhibitory_delay_3644776384", ios::binary | ios::out);
    if(outfile__dynamic_array_inhibitory_delay.is_open())
    {
        outfile__dynamic_array_inhibitory_delay.write(reinterpret_cast<char*>(thrust::raw_pointer_cast(&_dynamic_array_inhibitory_delay[0])), _dynamic_array_inhibitory_delay.size()*sizeof(double));
        outfile__dynamic_array_inhibitory_delay.close();
    } else
    {
        std::cout << "Error writing output file for _dynamic_array_inhibitory_delay." << endl;
    }
    _dynamic_array_inhibitory_N_incoming = dev_dynamic_array_inhibitory_N_incoming;
    ofstream outfile__dynamic_array_inhibitory_N_incoming;
    outfile__dynamic_array_inhibitory_N_incoming.open(results_dir + "_dynamic_array_inhibitory_N_incoming_1829374943", ios::binary | ios::out);
    if(outfile__dynamic_array_inhibitory_N_incoming.is_open())
    {
        outfile__dynamic_array_inhibitory_N_incoming.write(reinterpret_cast<char*>(thrust::raw_pointer_cast(&_dynamic_array_inhibitory_N_incoming[0])), _dynamic_array_inhibitory_N_incoming.size()*sizeof(int32_t));
        outfile__dynamic_array_inhibitory_N_incoming.close();
    } else
    {
        std::cout << "Error writing output file for _dynamic_array_inhibitory_N_incoming." << endl;
    }
    _dynamic_array_inhibitory_N_outgoing = dev_dynamic_array_inhibitory_N_outgoing;
    ofstream outfile__dynamic_array_inhibitory_N_outgoing;
    outfile__dynamic_array_inhibitory_N_outgoing.open(results_dir + "_dynamic_array_inhibitory_N_outgoing_1242987269", ios::binary | ios::out);
    if(outfile__dynamic_array_inhibitory_N_outgoing.is_open())
    {
        outfile__dynamic_array_inhibitory_N_outgoing.write(reinterpret_cast<char*>(thrust::raw_pointer_cast(&_dynamic_array_inhibitory_N_outgoing[0])), _dynamic_array_inhibitory_N_outgoing.size()*sizeof(int32_t));
        outfile__dynamic_array_inhibitory_N_outgoing.close();
    } else
    {
        std::cout << "Error writing output file for _dynamic_array_inhibitory_N_outgoing." << endl;
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

__global__ void excitatory_pre_destroy()
{
    using namespace brian;

    excitatory_pre.destroy();
}
__global__ void inhibitory_pre_destroy()
{
    using namespace brian;

    inhibitory_pre.destroy();
}

void _dealloc_arrays()
{
    using namespace brian;


    CUDA_SAFE_CALL(
            curandDestroyGenerator(curand_generator)
            );

    excitatory_pre_destroy<<<1,1>>>();
    CUDA_CHECK_ERROR("excitatory_pre_destroy");
    inhibitory_pre_destroy<<<1,1>>>();
    CUDA_CHECK_ERROR("inhibitory_pre_destroy");

    dev_dynamic_array_excitatory__synaptic_post.clear();
    thrust::device_vector<int32_t>().swap(dev_dynamic_array_excitatory__synaptic_post);
    _dynamic_array_excitatory__synaptic_post.clear();
    thrust::host_vector<int32_t>().swap(_dynamic_array_excitatory__synaptic_post);
    dev_dynamic_array_excitatory__synaptic_pre.clear();
    thrust::device_vector<int32_t>().swap(dev_dynamic_array_excitatory__synaptic_pre);
    _dynamic_array_excitatory__synaptic_pre.clear();
    thrust::host_vector<int32_t>().swap(_dynamic_array_excitatory__synaptic_pre);
    dev_dynamic_array_excitatory_delay.clear();
    thrust::device_vector<double>().swap(dev_dynamic_array_excitatory_delay);
    _dynamic_array_excitatory_delay.clear();
    thrust::host_vector<double>().swap(_dynamic_array_excitatory_delay);
    dev_dynamic_array_excitatory_N_incoming.clear();
    thrust::device_vector<int32_t>().swap(dev_dynamic_array_excitatory_N_incoming);
    _dynamic_array_excitatory_N_incoming.clear();
    thrust::host_vector<int32_t>().swap(_dynamic_array_excitatory_N_incoming);
    dev_dynamic_array_excitatory_N_outgoing.clear();
    thrust::device_vector<int32_t>().swap(dev_dynamic_array_excitatory_N_outgoing);
    _dynamic_array_excitatory_N_outgoing.clear();
    thrust::host_vector<int32_t>().swap(_dynamic_array_excitatory_N_outgoing);
    dev_dynamic_array_inhibitory__synaptic_post.clear();
    thrust::device_vector<int32_t>().swap(dev_dynamic_array_inhibitory__synaptic_post);
    _dynamic_array_inhibitory__synaptic_post.clear();
    thrust::host_vector<int32_t>().swap(_dynamic_array_inhibitory__synaptic_post);
    dev_dynamic_array_inhibitory__synaptic_pre.clear();
    thrust::device_vector<int32_t>().swap(dev_dynamic_array_inhibitory__synaptic_pre);
    _dynamic_array_inhibitory__synaptic_pre.clear();
    thrust::host_vector<int32_t>().swap(_dynamic_array_inhibitory__synaptic_pre);
    dev_dynamic_array_inhibitory_delay.clear();
    thrust::device_vector<double>().swap(dev_dynamic_array_inhibitory_delay);
    _dynamic_array_inhibitory_delay.clear();
    thrust::host_vector<double>().swap(_dynamic_array_inhibitory_delay);
    dev_dynamic_array_inhibitory_N_incoming.clear();
    thrust::device_vector<int32_t>().swap(dev_dynamic_array_inhibitory_N_incoming);
    _dynamic_array_inhibitory_N_incoming.clear();
    thrust::host_vector<int32_t>().swap(_dynamic_array_inhibitory_N_incoming);
    dev_dynamic_array_inhibitory_N_outgoing.clear();
    thrust::device_vector<int32_t>().swap(dev_dynamic_array_inhibitory_N_outgoing);
    _dynamic_array_inhibitory_N_outgoing.clear();
    thrust::host_vector<int32_t>().swap(_dynamic_array_inhibitory_N_outgoing);
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
    if(_array_excitatory_N!=0)
    {
        delete [] _array_excitatory_N;
        _array_excitatory_N = 0;
    }
    if(dev_array_excitatory_N!=0)
    {
        CUDA_SAFE_CALL(
                cudaFree(dev_array_excitatory_N)
                );
        dev_array_excitatory_N = 0;
    }
    if(_array_excitatory_sources!=0)
    {
        delete [] _array_excitatory_sources;
        _array_excitatory_sources = 0;
    }
    if(dev_array_excitatory_sources!=0)
    {
        CUDA_SAFE_CALL(
                cudaFree(dev_array_excitatory_sources)
                );
        dev_array_excitatory_sources = 0;
    }
    if(_array_excitatory_targets!=0)
    {
        delete [] _array_excitatory_targets;
        _array_excitatory_targets = 0;
    }
    if(dev_array_excitatory_targets!=0)
    {
        CUDA_SAFE_CALL(
                cudaFree(dev_array_excitatory_targets)
                );
        dev_array_excitatory_targets = 0;
    }
    if(_array_inhibitory_N!=0)
    {
        delete [] _array_inhibitory_N;
        _array_inhibitory_N = 0;
    }
    if(dev_array_inhibitory_N!=0)
    {
        CUDA_SAFE_CALL(
                cudaFree(dev_array_inhibitory_N)
                );
        dev_array_inhibitory_N = 0;
    }
    if(_array_inhibitory_sources!=0)
    {
        delete [] _array_inhibitory_sources;
        _array_inhibitory_sources = 0;
    }
    if(dev_array_inhibitory_sources!=0)
    {
        CUDA_SAFE_CALL(
                cudaFree(dev_array_inhibitory_sources)
                );
        dev_array_inhibitory_sources = 0;
    }
    if(_array_inhibitory_targets!=0)
    {
        delete [] _array_inhibitory_targets;
        _array_inhibitory_targets = 0;
    }
    if(dev_array_inhibitory_targets!=0)
    {
        CUDA_SAFE_CALL(
                cudaFree(dev_array_inhibitory_targets)
                );
        dev_array_inhibitory_targets = 0;
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
    if(_array_neurons_gi!=0)
    {
        delete [] _array_neurons_gi;
        _array_neurons_gi = 0;
    }
    if(dev_array_neurons_gi!=0)
    {
        CUDA_SAFE_CALL(
                cudaFree(dev_array_neurons_gi)
                );
        dev_array_neurons_gi = 0;
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
    if(_array_neurons_lastspike!=0)
    {
        delete [] _array_neurons_lastspike;
        _array_neurons_lastspike = 0;
    }
    if(dev_array_neurons_lastspike!=0)
    {
        CUDA_SAFE_CALL(
                cudaFree(dev_array_neurons_lastspike)
                );
        dev_array_neurons_lastspike = 0;
    }
    if(_array_neurons_not_refractory!=0)
    {
        delete [] _array_neurons_not_refractory;
        _array_neurons_not_refractory = 0;
    }
    if(dev_array_neurons_not_refractory!=0)
    {
        CUDA_SAFE_CALL(
                cudaFree(dev_array_neurons_not_refractory)
                );
        dev_array_neurons_not_refractory = 0;
    }
    if(_array_neurons_subgroup_1__sub_idx!=0)
    {
        delete [] _array_neurons_subgroup_1__sub_idx;
        _array_neurons_subgroup_1__sub_idx = 0;
    }
    if(dev_array_neurons_subgroup_1__sub_idx!=0)
    {
        CUDA_SAFE_CALL(
                cudaFree(dev_array_neurons_subgroup_1__sub_idx)
                );
        dev_array_neurons_subgroup_1__sub_idx = 0;
    }
    if(_array_neurons_subgroup__sub_idx!=0)
    {
        delete [] _array_neurons_subgroup__sub_idx;
        _array_neurons_subgroup__sub_idx = 0;
    }
    if(dev_array_neurons_subgroup__sub_idx!=0)
    {
        CUDA_SAFE_CALL(
                cudaFree(dev_array_neurons_subgroup__sub_idx)
                );
        dev_array_neurons_subgroup__sub_idx = 0;
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
    if(_static_array__array_excitatory_sources!=0)
    {
        delete [] _static_array__array_excitatory_sources;
        _static_array__array_excitatory_sources = 0;
    }
    if(_static_array__array_excitatory_targets!=0)
    {
        delete [] _static_array__array_excitatory_targets;
        _static_array__array_excitatory_targets = 0;
    }
    if(_static_array__array_inhibitory_sources!=0)
    {
        delete [] _static_array__array_inhibitory_sources;
        _static_array__array_inhibitory_sources = 0;
    }
    if(_static_array__array_inhibitory_targets!=0)
    {
        delete [] _static_array__array_inhibitory_targets;
        _static_array__array_inhibitory_targets = 0;
    }
    if(_static_array__array_neurons_ge!=0)
    {
        delete [] _static_array__array_neurons_ge;
        _static_array__array_neurons_ge = 0;
    }
    if(_static_array__array_neurons_gi!=0)
    {
        delete [] _static_array__array_neurons_gi;
        _static_array__array_neurons_gi = 0;
    }
    if(_static_array__array_neurons_v!=0)
    {
        delete [] _static_array__array_neurons_v;
        _static_array__array_neurons_v = 0;
    }
    if(_static_array__dynamic_array_excitatory_delay!=0)
    {
        delete [] _static_array__dynamic_array_excitatory_delay;
        _static_array__dynamic_array_excitatory_delay = 0;
    }
    if(_static_array__dynamic_array_inhibitory_delay!=0)
    {
        delete [] _static_array__dynamic_array_inhibitory_delay;
        _static_array__dynamic_array_inhibitory_delay = 0;
    }


}

