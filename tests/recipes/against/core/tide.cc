#include "tide.h"

extern "C" double tide_height(double hours) { return hours < 6.0 ? hours / 2.0 : 6.0 - hours / 2.0; }
