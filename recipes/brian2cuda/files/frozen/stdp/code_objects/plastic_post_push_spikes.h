#ifndef _INCLUDED_plastic_post_push_spikes
#define _INCLUDED_plastic_post_push_spikes

void _run_plastic_post_push_spikes();


#endif
