#include "every.h"

#include "note.h"

extern "C" const char *every_abi() { return EVERY_ABI; }
extern "C" const char *every_note() { return EVERY_NOTE; }
