#include <pybind11/pybind11.h>

#include "ranks.h"

PYBIND11_MODULE(ranks, module) {
    module.def("sum", [](long own) {
        RanksResult result = ranks_sum(own);
        return pybind11::make_tuple(result.mpi, result.size, result.sum);
    });
}
