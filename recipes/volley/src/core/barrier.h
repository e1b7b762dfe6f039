// A barrier for a few threads that meet thousands of times a second: spins briefly, then yields.
#pragma once
#include <atomic>
#include <thread>

namespace volley {

class Barrier {
 public:
  explicit Barrier(unsigned threads) : threads_(threads) {}

  void wait() {
    if (threads_ == 1) return;
    const unsigned round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      return;
    }
    for (unsigned spins = 0; round_.load(std::memory_order_acquire) == round; ++spins)
      if (spins > 1000) std::this_thread::yield();
  }

 private:
  const unsigned threads_;
  std::atomic<unsigned> arrived_{0};
  std::atomic<unsigned> round_{0};
};

}  // namespace volley
