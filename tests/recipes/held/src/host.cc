#include "held.h"

#include <exception>
#include <thread>

void held_pass_on(Fault fault) {
    std::exception_ptr caught;
    std::thread thread([&] {
        try {
            held_throw(fault);
        } catch (...) {
            caught = std::current_exception();
        }
    });
    thread.join();
    std::rethrow_exception(caught);
}
