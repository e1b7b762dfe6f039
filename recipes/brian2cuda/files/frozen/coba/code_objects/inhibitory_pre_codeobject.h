#ifndef _INCLUDED_inhibitory_pre_codeobject
#define _INCLUDED_inhibitory_pre_codeobject

void _run_inhibitory_pre_codeobject();

void _debugmsg_inhibitory_pre_codeobject();

#endif
