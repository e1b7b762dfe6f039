#ifndef _INCLUDED_plastic_pre_codeobject
#define _INCLUDED_plastic_pre_codeobject

void _run_plastic_pre_codeobject();

void _debugmsg_plastic_pre_codeobject();

#endif
