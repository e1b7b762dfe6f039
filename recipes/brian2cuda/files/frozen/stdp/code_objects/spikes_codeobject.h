#ifndef _INCLUDED_spikes_codeobject
#define _INCLUDED_spikes_codeobject

void _run_spikes_codeobject();

void _debugmsg_spikes_codeobject();

#endif
