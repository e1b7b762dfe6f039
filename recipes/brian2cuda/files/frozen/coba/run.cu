#include<stdlib.h>
#include "brianlib/cuda_utils.h"
#include "objects.h"
#include<ctime>

#include "code_objects/excitatory_pre_codeobject.h"
#include "code_objects/excitatory_pre_push_spikes.h"
#include "code_objects/excitatory_synapses_create_array_codeobject.h"
#include "code_objects/inhibitory_pre_codeobject.h"
#include "code_objects/inhibitory_pre_push_spikes.h"
#include "code_objects/inhibitory_synapses_create_array_codeobject.h"
#include "code_objects/neurons_spike_resetter_codeobject.h"
#include "code_objects/neurons_spike_thresholder_codeobject.h"
#include "code_objects/neurons_stateupdater_codeobject.h"
#include "code_objects/spikes_codeobject.h"


void brian_start()
{
    _init_arrays();
    _load_arrays();
    srand(time(NULL));

    // Initialize clocks (link timestep and dt to the respective arrays)
    brian::defaultclock.timestep = brian::_array_defaultclock_timestep;
    brian::defaultclock.t = brian::_array_defaultclock_t;
    brian::defaultclock.dt = brian::_array_defaultclock_dt;
}

void brian_end()
{
    _write_arrays();
    _dealloc_arrays();
}


