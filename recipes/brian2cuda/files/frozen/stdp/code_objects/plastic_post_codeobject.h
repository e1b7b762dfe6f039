#ifndef _INCLUDED_plastic_post_codeobject
#define _INCLUDED_plastic_post_codeobject

void _run_plastic_post_codeobject();

void _debugmsg_plastic_post_codeobject();

#endif
