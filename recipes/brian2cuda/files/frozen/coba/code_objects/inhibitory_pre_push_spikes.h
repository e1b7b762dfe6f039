#ifndef _INCLUDED_inhibitory_pre_push_spikes
#define _INCLUDED_inhibitory_pre_push_spikes

void _run_inhibitory_pre_push_spikes();


#endif
