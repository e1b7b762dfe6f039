#ifndef _INCLUDED_plastic_pre_push_spikes
#define _INCLUDED_plastic_pre_push_spikes

void _run_plastic_pre_push_spikes();


#endif
