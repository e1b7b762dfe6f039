#pragma once
extern "C" const char *every_abi();
extern "C" const char *every_note();
