#ifndef _INCLUDED_input_spikes_codeobject
#define _INCLUDED_input_spikes_codeobject

void _run_input_spikes_codeobject();


#endif
