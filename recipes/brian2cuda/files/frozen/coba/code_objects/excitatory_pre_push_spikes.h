#ifndef _INCLUDED_excitatory_pre_push_spikes
#define _INCLUDED_excitatory_pre_push_spikes

void _run_excitatory_pre_push_spikes();


#endif
