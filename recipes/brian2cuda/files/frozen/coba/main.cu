#include <stdlib.h>
#include "objects.h"
#include <csignal>
#include <ctime>
#include <time.h>
#include "run.h"
#include "brianlib/common_math.h"
#include "brianlib/cuda_utils.h"
#include "rand.h"

#include "code_objects/excitatory_synapses_create_array_codeobject.h"
#include "code_objects/inhibitory_synapses_create_array_codeobject.h"
#include "code_objects/neurons_stateupdater_codeobject.h"
#include "code_objects/neurons_spike_thresholder_codeobject.h"
#include "code_objects/after_run_neurons_spike_thresholder_codeobject.h"
#include "code_objects/spikes_codeobject.h"
#include "code_objects/excitatory_pre_push_spikes.h"
#include "code_objects/before_run_excitatory_pre_push_spikes.h"
#include "code_objects/excitatory_pre_codeobject.h"
#include "code_objects/inhibitory_pre_push_spikes.h"
#include "code_objects/before_run_inhibitory_pre_push_spikes.h"
#include "code_objects/inhibitory_pre_codeobject.h"
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
        _array_defaultclock_timestep[0] = 0;
        _array_defaultclock_dt[0] = 0.0001;
        _array_defaultclock_dt[0] = 0.0001;
        _array_defaultclock_dt[0] = 0.0001;
        _array_defaultclock_dt[0] = 0.0001;
        for(int i=0; i<_num__array_neurons_lastspike; i++)
        {
            _array_neurons_lastspike[i] = - 10000.0;
        }
        CUDA_SAFE_CALL(
            cudaMemcpy(
                dev_array_neurons_lastspike,
                &_array_neurons_lastspike[0],
                sizeof(_array_neurons_lastspike[0])*_num__array_neurons_lastspike,
                cudaMemcpyHostToDevice
            )
        );
        for(int i=0; i<_num__array_neurons_not_refractory; i++)
        {
            _array_neurons_not_refractory[i] = true;
        }
        CUDA_SAFE_CALL(
            cudaMemcpy(
                dev_array_neurons_not_refractory,
                &_array_neurons_not_refractory[0],
                sizeof(_array_neurons_not_refractory[0])*_num__array_neurons_not_refractory,
                cudaMemcpyHostToDevice
            )
        );
        for(int i=0; i<_num__static_array__array_neurons_v; i++)
        {
            _array_neurons_v[i] = _static_array__array_neurons_v[i];
        }
        CUDA_SAFE_CALL(
            cudaMemcpy(
                dev_array_neurons_v,
                &_array_neurons_v[0],
                sizeof(_array_neurons_v[0])*_num__array_neurons_v,
                cudaMemcpyHostToDevice
            )
        );
        for(int i=0; i<_num__static_array__array_neurons_ge; i++)
        {
            _array_neurons_ge[i] = _static_array__array_neurons_ge[i];
        }
        CUDA_SAFE_CALL(
            cudaMemcpy(
                dev_array_neurons_ge,
                &_array_neurons_ge[0],
                sizeof(_array_neurons_ge[0])*_num__array_neurons_ge,
                cudaMemcpyHostToDevice
            )
        );
        for(int i=0; i<_num__static_array__array_neurons_gi; i++)
        {
            _array_neurons_gi[i] = _static_array__array_neurons_gi[i];
        }
        CUDA_SAFE_CALL(
            cudaMemcpy(
                dev_array_neurons_gi,
                &_array_neurons_gi[0],
                sizeof(_array_neurons_gi[0])*_num__array_neurons_gi,
                cudaMemcpyHostToDevice
            )
        );
        for(int i=0; i<_num__static_array__array_excitatory_sources; i++)
        {
            _array_excitatory_sources[i] = _static_array__array_excitatory_sources[i];
        }
        CUDA_SAFE_CALL(
            cudaMemcpy(
                dev_array_excitatory_sources,
                &_array_excitatory_sources[0],
                sizeof(_array_excitatory_sources[0])*_num__array_excitatory_sources,
                cudaMemcpyHostToDevice
            )
        );
        for(int i=0; i<_num__static_array__array_excitatory_targets; i++)
        {
            _array_excitatory_targets[i] = _static_array__array_excitatory_targets[i];
        }
        CUDA_SAFE_CALL(
            cudaMemcpy(
                dev_array_excitatory_targets,
                &_array_excitatory_targets[0],
                sizeof(_array_excitatory_targets[0])*_num__array_excitatory_targets,
                cudaMemcpyHostToDevice
            )
        );
        _run_excitatory_synapses_create_array_codeobject();
        for(int i=0; i<_num__static_array__dynamic_array_excitatory_delay; i++)
        {
            _dynamic_array_excitatory_delay[i] = _static_array__dynamic_array_excitatory_delay[i];
        }
        for(int i=0; i<_num__static_array__array_inhibitory_sources; i++)
        {
            _array_inhibitory_sources[i] = _static_array__array_inhibitory_sources[i];
        }
        CUDA_SAFE_CALL(
            cudaMemcpy(
                dev_array_inhibitory_sources,
                &_array_inhibitory_sources[0],
                sizeof(_array_inhibitory_sources[0])*_num__array_inhibitory_sources,
                cudaMemcpyHostToDevice
            )
        );
        for(int i=0; i<_num__static_array__array_inhibitory_targets; i++)
        {
            _array_inhibitory_targets[i] = _static_array__array_inhibitory_targets[i];
        }
        CUDA_SAFE_CALL(
            cudaMemcpy(
                dev_array_inhibitory_targets,
                &_array_inhibitory_targets[0],
                sizeof(_array_inhibitory_targets[0])*_num__array_inhibitory_targets,
                cudaMemcpyHostToDevice
            )
        );
        _run_inhibitory_synapses_create_array_codeobject();
        for(int i=0; i<_num__static_array__dynamic_array_inhibitory_delay; i++)
        {
            _dynamic_array_inhibitory_delay[i] = _static_array__dynamic_array_inhibitory_delay[i];
        }
        _array_defaultclock_timestep[0] = 0;
        _array_defaultclock_t[0] = 0.0;
        _before_run_excitatory_pre_push_spikes();
        _before_run_inhibitory_pre_push_spikes();
        dev_dynamic_array_excitatory__synaptic_pre.clear();
        dev_dynamic_array_excitatory__synaptic_pre.shrink_to_fit();
        dev_dynamic_array_inhibitory__synaptic_pre.clear();
        dev_dynamic_array_inhibitory__synaptic_pre.shrink_to_fit();
        dev_dynamic_array_excitatory_delay.clear();
        dev_dynamic_array_excitatory_delay.shrink_to_fit();
        dev_dynamic_array_inhibitory_delay.clear();
        dev_dynamic_array_inhibitory_delay.shrink_to_fit();
        network.clear();
        network.add(&defaultclock, _run_random_number_buffer);
        network.add(&defaultclock, _run_neurons_stateupdater_codeobject);
        network.add(&defaultclock, _run_neurons_spike_thresholder_codeobject);
        network.add(&defaultclock, _run_spikes_codeobject);
        network.add(&defaultclock, _run_excitatory_pre_push_spikes);
        network.add(&defaultclock, _run_excitatory_pre_codeobject);
        network.add(&defaultclock, _run_inhibitory_pre_push_spikes);
        network.add(&defaultclock, _run_inhibitory_pre_codeobject);
        network.add(&defaultclock, _run_neurons_spike_resetter_codeobject);
        set_from_command_line(args);
        network.run(1.0, NULL, 10.0);
        random_number_buffer.run_finished();
        CUDA_SAFE_CALL(cudaDeviceSynchronize());
        CUDA_SAFE_CALL(cudaProfilerStop());
        _after_run_neurons_spike_thresholder_codeobject();
        _debugmsg_spikes_codeobject();
        
        _debugmsg_excitatory_pre_codeobject();
        
        _debugmsg_inhibitory_pre_codeobject();

    }


        

    brian_end();
        


    return 0;
}