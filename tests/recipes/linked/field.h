#pragma once

// Writes a field of `count` numbers into an HDF5 file, reads it back, and answers its sum; negative where that failed.
double linked_round_trip(const char *path, int count);
