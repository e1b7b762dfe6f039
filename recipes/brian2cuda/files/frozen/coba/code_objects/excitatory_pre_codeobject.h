#ifndef _INCLUDED_excitatory_pre_codeobject
#define _INCLUDED_excitatory_pre_codeobject

void _run_excitatory_pre_codeobject();

void _debugmsg_excitatory_pre_codeobject();

#endif
