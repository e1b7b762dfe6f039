#include "field.h"

#include <hdf5.h>
#include <numeric>
#include <vector>

double linked_round_trip(const char *path, int count) {
    std::vector<double> field(count);
    std::iota(field.begin(), field.end(), 1.0);
    hsize_t extent = count;
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(1, &extent, nullptr);
    hid_t set = H5Dcreate2(file, "field", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, field.data()) < 0) {
        return -1;
    }
    std::vector<double> found(count);
    if (H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, found.data()) < 0) {
        return -1;
    }
    H5Dclose(set);
    H5Sclose(space);
    H5Fclose(file);
    return std::accumulate(found.begin(), found.end(), 0.0);
}
