extern "C" int every_level() { return LEVEL; }
