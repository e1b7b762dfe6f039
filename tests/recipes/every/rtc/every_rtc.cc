extern "C" const char *every_mode() { return MODE; }
