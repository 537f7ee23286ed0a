// Whether long work should go on, asked from inside its loops. Plain data: a hot unit knows nothing of threads or Python.
#pragma once
#include <stdint.h>

namespace steadyset {

// `ask` says whether to stop. It is cheap, but not free.
struct Poll {
  bool (*ask)(void* whom);
  void* whom;
};

namespace {

// Counts pieces of work of about a nanosecond each and asks every now and then. What was stopped stays stopped, and
// leaves half-done results: whoever called looks at `stopped` before it uses them.
struct Pace {
  Poll poll;
  int64_t left = kWork;
  bool stopped = false;

  static constexpr int64_t kWork = 1 << 16;

  bool stop(int64_t work) {
    left -= work;
    if (left > 0) return stopped;
    left = kWork;
    stopped = stopped || poll.ask(poll.whom);
    return stopped;
  }
};

}  // namespace
}  // namespace steadyset
