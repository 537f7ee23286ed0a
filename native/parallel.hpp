// One native call: rows split over threads that live for the call, so that nothing survives to be broken by fork, and
// answered signals: Ctrl-C stops all threads within a fraction of a second.
#pragma once
#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "poll.hpp"

namespace steadyset {

// Knows whether to go on. Only the calling thread can run Python's signal handlers; the others see what came of it.
class Signals {
 public:
  Poll of_caller() { return {[](void* self) { return static_cast<Signals*>(self)->look(); }, this}; }
  Poll of_helper() {
    return {[](void* self) { return static_cast<Signals*>(self)->stop_.load(std::memory_order_relaxed); }, this};
  }
  bool stopped() const { return stop_; }

  // Runs the handlers of signals that came, a few times a second; true where one of them raised an exception.
  bool look() {
    const auto now = std::chrono::steady_clock::now();
    if (!stop_ && now - last_ >= kEvery) {
      nanobind::gil_scoped_acquire held;
      if (PyErr_CheckSignals() != 0) stop_ = true;
      last_ = std::chrono::steady_clock::now();
    }
    return stop_;
  }

  static constexpr std::chrono::milliseconds kEvery{50};

 private:
  std::atomic<bool> stop_{false};
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// Threads that are joined whatever happens, and that report when they are done.
class Helpers {
 public:
  Helpers() = default;
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;
  ~Helpers() {
    for (std::thread& thread : threads_) thread.join();
  }

  // Starts a thread that calls work(), which must not throw; false when there can be no further one.
  template <class Work> bool start(Work work) {
    try {
      threads_.reserve(threads_.size() + 1);
      threads_.emplace_back([this, work] {
        work();
        std::lock_guard<std::mutex> lock(guard_);
        ++done_;
        finished_.notify_one();
      });
      return true;
    } catch (...) {
      return false;
    }
  }
  // Returns when all are done; answers signals meanwhile.
  void wait(Signals& signals) {
    for (std::unique_lock<std::mutex> lock(guard_); done_ < threads_.size();) {
      finished_.wait_for(lock, Signals::kEvery);
      lock.unlock();
      signals.look();
      lock.lock();
    }
  }

 private:
  std::mutex guard_;
  std::condition_variable finished_;
  size_t done_ = 0;
  std::vector<std::thread> threads_;
};

// Calls work(first, last, poll) on consecutive ranges that cover [0, n), without the GIL; the caller's thread takes the
// last one. Throws what work threw first or what a signal handler raised, after all threads are joined.
template <class Work>
void split(int64_t n, int threads, int64_t multiple, Work work) {
  Signals signals;
  std::exception_ptr thrown;
  {
    nanobind::gil_scoped_release released;
    std::mutex guard;
    const auto guarded = [&](int64_t first, int64_t last, Poll poll) noexcept {
      try {
        work(first, last, poll);
      } catch (...) {
        std::lock_guard<std::mutex> lock(guard);
        if (!thrown) thrown = std::current_exception();
      }
    };
    const int64_t parts = threads < 1 ? 1 : threads;
    int64_t share = (n + parts - 1) / parts, first = 0;
    share = (share + multiple - 1) / multiple * multiple;
    Helpers helpers;
    for (; n - first > share; first += share)  // where no further thread can be started, the caller does the rest
      if (!helpers.start([&, first] { guarded(first, first + share, signals.of_helper()); })) break;
    if (first < n) guarded(first, n, signals.of_caller());
    helpers.wait(signals);
  }
  if (signals.stopped()) throw nanobind::python_error();
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace steadyset
