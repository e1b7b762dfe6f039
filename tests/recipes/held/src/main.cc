// Uses what of the C++ library differs between releases. Says what is wrong, else that all is well.
#include "held.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <future>
#include <iostream>
#include <locale>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <new>
#include <random>
#include <regex>
#include <shared_mutex>
#include <sstream>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

static int wrong = 0;

#define CHECK(condition)                                                                                                       \
    do {                                                                                                                       \
        if (!(condition)) {                                                                                                    \
            std::cerr << "wrong: " #condition "\n";                                                                            \
            ++wrong;                                                                                                           \
        }                                                                                                                      \
    } while (0)

template <class Caught> static bool throws(const std::function<void()> &work, const std::function<bool(const Caught &)> &is_it) {
    try {
        work();
    } catch (const Caught &caught) {
        return is_it(caught);
    }
    return false;
}

static void exceptions() {
    for (void (*thrown)(Fault) : {held_throw, held_pass_on}) {
        CHECK(throws<Overflow>([&] { thrown(Fault::own); }, [](auto &e) { return std::string(e.what()) == "own"; }));
        CHECK(throws<std::exception>([&] { thrown(Fault::own); }, [](auto &e) { return dynamic_cast<const Overflow *>(&e); }));
        CHECK(throws<std::filesystem::filesystem_error>([&] { thrown(Fault::file); },
                                                        [](auto &e) { return e.code() == std::errc::io_error; }));
        CHECK(throws<std::out_of_range>([&] { thrown(Fault::range); }, [](auto &) { return true; }));
        CHECK(throws<std::system_error>([&] { thrown(Fault::system); },
                                        [](auto &e) { return &e.code().category() == &std::generic_category(); }));
        CHECK(throws<std::ios_base::failure>([&] { thrown(Fault::stream); },
                                             [](auto &e) { return e.code() == std::io_errc::stream; }));
    }
    CHECK(throws<std::length_error>([] { std::vector<int> huge(static_cast<std::size_t>(-1)); }, [](auto &) { return true; }));
    CHECK(throws<std::bad_array_new_length>([] { delete[] new int[std::atoi("-5")]; }, [](auto &) { return true; }));
    auto later = std::async(std::launch::async, [] { held_throw(Fault::own); });
    CHECK(throws<Overflow>([&] { later.get(); }, [](auto &) { return true; }));
    // Without a GPU CUDA's error comes out of the library that nvcc compiled.
    double twice = 0;
    const bool has_gpu = !throws<Overflow>([&] { twice = held_double(2.5); }, [](auto &) { return true; });
    CHECK(!has_gpu || twice == 5);
}

static void threads() {
    std::mutex mutex;
    std::condition_variable changed;
    bool ready = false;
    std::atomic<int> count{0};
    std::vector<std::thread> threads;
    for (int index = 0; index < 4; ++index) {
        threads.emplace_back([&] {
            for (int step = 0; step < 10000; ++step) ++count;
            std::lock_guard lock(mutex);
            ready = true;
            changed.notify_all();
        });
    }
    {
        std::unique_lock lock(mutex);
        CHECK(changed.wait_for(lock, 20s, [&] { return ready; }));
        changed.wait(lock, [&] { return ready; });
        CHECK(!changed.wait_for(lock, 1ms, [] { return false; }));
    }
    for (auto &thread : threads) thread.join();
    CHECK(count == 40000);
    std::timed_mutex timed;
    CHECK(timed.try_lock_for(1ms));
    timed.unlock();
    std::shared_timed_mutex shared;
    CHECK(shared.try_lock_for(1ms));
    shared.unlock();
}

static void library() {
    std::random_device seed;
    std::mt19937 generator(seed());
    CHECK((seed() | seed() | generator()) != 0);
    CHECK(held_text(0.1) == "0.1" && held_number("2.5") == 2.5);
    CHECK(held_place().filename() == "place" && std::filesystem::exists("/"));
    std::ostringstream text;
    text.imbue(std::locale::classic());
    text << std::fixed << 1.25 << ' ' << std::hex << 255;
    CHECK(text.str() == "1.250000 ff");
    std::wostringstream wide;
    wide << L"x" << 3;
    CHECK(wide.str() == L"x3");
    CHECK(std::regex_match("a123", std::regex("a[0-9]+")));
    char memory[100];
    std::pmr::monotonic_buffer_resource resource(memory, sizeof memory);
    const std::pmr::string long_text("longer than what fits into the object", &resource);
    CHECK(long_text.size() == 37);
    CHECK(std::strtol("12", nullptr, 10) == 12);
}

int main(int count, char **words) {
    if (count == 2 && std::string(words[1]) == "--version") {
        std::cout << "held 0.3.0\n";
        return 0;
    }
    exceptions();
    threads();
    library();
    std::cout << (wrong ? "something is wrong" : "all is well") << std::endl;
    return wrong ? 1 : 0;
}
