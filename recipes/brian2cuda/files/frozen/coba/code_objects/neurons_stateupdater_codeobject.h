#ifndef _INCLUDED_neurons_stateupdater_codeobject
#define _INCLUDED_neurons_stateupdater_codeobject

void _run_neurons_stateupdater_codeobject();


#endif
