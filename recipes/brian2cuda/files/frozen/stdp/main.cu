#include <stdlib.h>
#include "objects.h"
#include <csignal>
#include <ctime>
#include <time.h>
#include "run.h"
#include "brianlib/common_math.h"
#include "brianlib/cuda_utils.h"
#include "rand.h"

#include "code_objects/plastic_synapses_create_array_codeobject.h"
#include "code_objects/neurons_stateupdater_codeobject.h"
#include "code_objects/input_spikes_codeobject.h"
#include "code_objects/neurons_spike_thresholder_codeobject.h"
#include "code_objects/after_run_neurons_spike_thresholder_codeobject.h"
#include "code_objects/spikes_codeobject.h"
#include "code_objects/plastic_pre_push_spikes.h"
#include "code_objects/before_run_plastic_pre_push_spikes.h"
#include "code_objects/plastic_pre_codeobject.h"
#include "code_objects/plastic_post_push_spikes.h"
#include "code_objects/before_run_plastic_post_push_spikes.h"
#include "code_objects/plastic_post_codeobject.h"
#include "code_objects/neurons_spike_resetter_codeobject.h"


#include <iostream>
#include <fstream>
#include <string>
#include "cuda_profiler_api.h"




void set_from_command_line(const std::vector<std::string> args)
{
    for (const auto& arg : args) {
		// Split into two parts
		size_t equal_sign = arg.find("=");
		auto name = arg.substr(0, equal_sign);
		auto value = arg.substr(equal_sign + 1, arg.length());
		brian::set_variable_by_name(name, value);
	}
}

void _int_handler(int signal_num) {
	if (Network::_globally_running and !Network::_globally_stopped) {
		Network::_globally_stopped = true;
	} else {
		std::signal(signal_num, SIG_DFL);
		std::raise(signal_num);
	}
}

int main(int argc, char **argv)
{
    std::signal(SIGINT, _int_handler);
    std::vector<std::string> args(argv + 1, argv + argc);
    if (args.size() >=2 && args[0] == "--results_dir")
    {
        brian::results_dir = args[1];
        #ifdef DEBUG
        std::cout << "Setting results dir to '" << brian::results_dir << "'" << std::endl;
        #endif
        args.erase(args.begin(), args.begin()+2);
    }
        


    // seed variable set in Python through brian2.seed() calls can use this
    // variable (see device.py CUDAStandaloneDevice.generate_main_source())
    unsigned long long seed;

    //const const auto _start_time = std::chrono::high_resolution_clock::now();

    CUDA_SAFE_CALL(
            cudaSetDevice(0)
            );

    cudaDeviceProp props;
    CUDA_SAFE_CALL(
            cudaGetDeviceProperties(&props, 0)
            );
    size_t limit = 128 * 1024 * 1024;
    CUDA_SAFE_CALL(
            cudaDeviceSetLimit(cudaLimitMallocHeapSize, limit)
            );
    CUDA_SAFE_CALL(
            cudaDeviceSynchronize()
            );


    brian_start();

        


    {
        using namespace brian;

                
        for(int i=0; i<_num__array_neurons__spikespace; i++)
        {
            _array_neurons__spikespace[i] = - 1;
        }
        CUDA_SAFE_CALL(
            cudaMemcpy(
                dev_array_neurons__spikespace[current_idx_array_neurons__spikespace],
                &_array_neurons__spikespace[0],
                sizeof(_array_neurons__spikespace[0])*_num__array_neurons__spikespace,
                cudaMemcpyHostToDevice
            )
        );
        _array_neurons__spikespace[_num__array_neurons__spikespace - 1] = 0;
                            CUDA_SAFE_CALL(
                                cudaMemcpy(
                                    dev_array_neurons__spikespace[current_idx_array_neurons__spikespace] + _num__array_neurons__spikespace - 1,
                                    &_array_neurons__spikespace[_num__array_neurons__spikespace - 1],
                                    sizeof(_array_neurons__spikespace[_num__array_neurons__spikespace - 1]),
                                    cudaMemcpyHostToDevice
                                )
                            );
        for(int i=0; i<_num__array_input_spikes__spikespace; i++)
        {
            _array_input_spikes__spikespace[i] = - 1;
        }
        CUDA_SAFE_CALL(
            cudaMemcpy(
                dev_array_input_spikes__spikespace[current_idx_array_input_spikes__spikespace],
                &_array_input_spikes__spikespace[0],
                sizeof(_array_input_spikes__spikespace[0])*_num__array_input_spikes__spikespace,
                cudaMemcpyHostToDevice
            )
        );
        _array_input_spikes__spikespace[_num__array_input_spikes__spikespace - 1] = 0;
                            CUDA_SAFE_CALL(
                                cudaMemcpy(
                                    dev_array_input_spikes__spikespace[current_idx_array_input_spikes__spikespace] + _num__array_input_spikes__spikespace - 1,
                                    &_array_input_spikes__spikespace[_num__array_input_spikes__spikespace - 1],
                                    sizeof(_array_input_spikes__spikespace[_num__array_input_spikes__spikespace - 1]),
                                    cudaMemcpyHostToDevice
                                )
                            );
        _array_defaultclock_timestep[0] = 0;
        _array_defaultclock_dt[0] = 0.0001;
        _array_defaultclock_dt[0] = 0.0001;
        _array_defaultclock_dt[0] = 0.0001;
        _array_defaultclock_dt[0] = 0.0001;
        _dynamic_array_input_spikes_spike_number.resize(14971);
        THRUST_CHECK_ERROR(dev_dynamic_array_input_spikes_spike_number.resize(14971));
        for(int i=0; i<_num__static_array__dynamic_array_input_spikes_spike_number; i++)
        {
            _dynamic_array_input_spikes_spike_number[i] = _static_array__dynamic_array_input_spikes_spike_number[i];
        }
        CUDA_SAFE_CALL(
            cudaMemcpy(
                thrust::raw_pointer_cast(&dev_dynamic_array_input_spikes_spike_number[0]),
                &_dynamic_array_input_spikes_spike_number[0],
                sizeof(_dynamic_array_input_spikes_spike_number[0])*_dynamic_array_input_spikes_spike_number.size(),
                cudaMemcpyHostToDevice
            )
        );
        _dynamic_array_input_spikes_neuron_index.resize(14971);
        THRUST_CHECK_ERROR(dev_dynamic_array_input_spikes_neuron_index.resize(14971));
        for(int i=0; i<_num__static_array__dynamic_array_input_spikes_neuron_index; i++)
        {
            _dynamic_array_input_spikes_neuron_index[i] = _static_array__dynamic_array_input_spikes_neuron_index[i];
        }
        CUDA_SAFE_CALL(
            cudaMemcpy(
                thrust::raw_pointer_cast(&dev_dynamic_array_input_spikes_neuron_index[0]),
                &_dynamic_array_input_spikes_neuron_index[0],
                sizeof(_dynamic_array_input_spikes_neuron_index[0])*_dynamic_array_input_spikes_neuron_index.size(),
                cudaMemcpyHostToDevice
            )
        );
        _dynamic_array_input_spikes_spike_time.resize(14971);
        THRUST_CHECK_ERROR(dev_dynamic_array_input_spikes_spike_time.resize(14971));
        for(int i=0; i<_num__static_array__dynamic_array_input_spikes_spike_time; i++)
        {
            _dynamic_array_input_spikes_spike_time[i] = _static_array__dynamic_array_input_spikes_spike_time[i];
        }
        CUDA_SAFE_CALL(
            cudaMemcpy(
                thrust::raw_pointer_cast(&dev_dynamic_array_input_spikes_spike_time[0]),
                &_dynamic_array_input_spikes_spike_time[0],
                sizeof(_dynamic_array_input_spikes_spike_time[0])*_dynamic_array_input_spikes_spike_time.size(),
                cudaMemcpyHostToDevice
            )
        );
        _dynamic_array_input_spikes__timebins.resize(14971);
        THRUST_CHECK_ERROR(dev_dynamic_array_input_spikes__timebins.resize(14971));
        _array_input_spikes__lastindex[0] = 0;
                            CUDA_SAFE_CALL(
                                cudaMemcpy(
                                    dev_array_input_spikes__lastindex + 0,
                                    &_array_input_spikes__lastindex[0],
                                    sizeof(_array_input_spikes__lastindex[0]),
                                    cudaMemcpyHostToDevice
                                )
                            );
        _array_input_spikes_period[0] = 0.0;
                            CUDA_SAFE_CALL(
                                cudaMemcpy(
                                    dev_array_input_spikes_period + 0,
                                    &_array_input_spikes_period[0],
                                    sizeof(_array_input_spikes_period[0]),
                                    cudaMemcpyHostToDevice
                                )
                            );
        _array_neurons_v[0] = - 0.06;
                            CUDA_SAFE_CALL(
                                cudaMemcpy(
                                    dev_array_neurons_v + 0,
                                    &_array_neurons_v[0],
                                    sizeof(_array_neurons_v[0]),
                                    cudaMemcpyHostToDevice
                                )
                            );
        for(int i=0; i<_num__static_array__array_plastic_sources; i++)
        {
            _array_plastic_sources[i] = _static_array__array_plastic_sources[i];
        }
        CUDA_SAFE_CALL(
            cudaMemcpy(
                dev_array_plastic_sources,
                &_array_plastic_sources[0],
                sizeof(_array_plastic_sources[0])*_num__array_plastic_sources,
                cudaMemcpyHostToDevice
            )
        );
        for(int i=0; i<_num__static_array__array_plastic_targets; i++)
        {
            _array_plastic_targets[i] = _static_array__array_plastic_targets[i];
        }
        CUDA_SAFE_CALL(
            cudaMemcpy(
                dev_array_plastic_targets,
                &_array_plastic_targets[0],
                sizeof(_array_plastic_targets[0])*_num__array_plastic_targets,
                cudaMemcpyHostToDevice
            )
        );
        _run_plastic_synapses_create_array_codeobject();
        for(int i=0; i<_num__static_array__dynamic_array_plastic_w; i++)
        {
            _dynamic_array_plastic_w[i] = _static_array__dynamic_array_plastic_w[i];
        }
        CUDA_SAFE_CALL(
            cudaMemcpy(
                thrust::raw_pointer_cast(&dev_dynamic_array_plastic_w[0]),
                &_dynamic_array_plastic_w[0],
                sizeof(_dynamic_array_plastic_w[0])*_dynamic_array_plastic_w.size(),
                cudaMemcpyHostToDevice
            )
        );
        for(int i=0; i<_num__static_array__dynamic_array_plastic_delay; i++)
        {
            _dynamic_array_plastic_delay[i] = _static_array__dynamic_array_plastic_delay[i];
        }
        _array_defaultclock_timestep[0] = 0;
        _array_defaultclock_t[0] = 0.0;
        _array_input_spikes__lastindex[0] = 0;
                            CUDA_SAFE_CALL(
                                cudaMemcpy(
                                    dev_array_input_spikes__lastindex + 0,
                                    &_array_input_spikes__lastindex[0],
                                    sizeof(_array_input_spikes__lastindex[0]),
                                    cudaMemcpyHostToDevice
                                )
                            );
        for(int i=0; i<_num__static_array__dynamic_array_input_spikes__timebins; i++)
        {
            _dynamic_array_input_spikes__timebins[i] = _static_array__dynamic_array_input_spikes__timebins[i];
        }
        CUDA_SAFE_CALL(
            cudaMemcpy(
                thrust::raw_pointer_cast(&dev_dynamic_array_input_spikes__timebins[0]),
                &_dynamic_array_input_spikes__timebins[0],
                sizeof(_dynamic_array_input_spikes__timebins[0])*_dynamic_array_input_spikes__timebins.size(),
                cudaMemcpyHostToDevice
            )
        );
        _array_input_spikes__period_bins[0] = 0.0;
                            CUDA_SAFE_CALL(
                                cudaMemcpy(
                                    dev_array_input_spikes__period_bins + 0,
                                    &_array_input_spikes__period_bins[0],
                                    sizeof(_array_input_spikes__period_bins[0]),
                                    cudaMemcpyHostToDevice
                                )
                            );
        _before_run_plastic_pre_push_spikes();
        _before_run_plastic_post_push_spikes();
        dev_dynamic_array_plastic__synaptic_pre.clear();
        dev_dynamic_array_plastic__synaptic_pre.shrink_to_fit();
        dev_dynamic_array_plastic_delay.clear();
        dev_dynamic_array_plastic_delay.shrink_to_fit();
        dev_dynamic_array_plastic_delay_1.clear();
        dev_dynamic_array_plastic_delay_1.shrink_to_fit();
        network.clear();
        network.add(&defaultclock, _run_random_number_buffer);
        network.add(&defaultclock, _run_neurons_stateupdater_codeobject);
        network.add(&defaultclock, _run_input_spikes_codeobject);
        network.add(&defaultclock, _run_neurons_spike_thresholder_codeobject);
        network.add(&defaultclock, _run_spikes_codeobject);
        network.add(&defaultclock, _run_plastic_pre_push_spikes);
        network.add(&defaultclock, _run_plastic_pre_codeobject);
        network.add(&defaultclock, _run_plastic_post_push_spikes);
        network.add(&defaultclock, _run_plastic_post_codeobject);
        network.add(&defaultclock, _run_neurons_spike_resetter_codeobject);
        set_from_command_line(args);
        network.run(1.0, NULL, 10.0);
        random_number_buffer.run_finished();
        CUDA_SAFE_CALL(cudaDeviceSynchronize());
        CUDA_SAFE_CALL(cudaProfilerStop());
        _after_run_neurons_spike_thresholder_codeobject();
        _debugmsg_spikes_codeobject();
        
        _debugmsg_plastic_pre_codeobject();
        
        _debugmsg_plastic_post_codeobject();

    }


        

    brian_end();
        


    return 0;
}