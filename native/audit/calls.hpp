// What the audit's calls from Python share: views of arrays, points over threads.
#pragma once
#include <nanobind/nanobind.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <stdexcept>

#include "audit/api.hpp"
#include "parallel.hpp"
#include "require.hpp"
#include "selection/api.hpp"
#include "view.hpp"

namespace steadyset {

inline BagValues values_of(const View& in) {
  require(in->ndim == 3 && (in->itemsize == 4 || in->itemsize == 8), "values must be (bags, points, classes) floats");
  return {in->buf, in->itemsize == 8, in->shape[0], in->shape[1] * in->shape[2]};
}

inline TakenBags taken_of(const View& patterns, const View& counts, int64_t n_bags) {
  require(patterns->ndim == 2 && patterns->itemsize == 2 &&
              patterns->shape[0] == (n_bags + kPatternBags - 1) / kPatternBags,
          "patterns must be (blocks of bags, units) uint16");
  require(counts->itemsize == 8 && counts.count() == patterns->shape[1], "counts must hold a float64 for each unit");
  return {patterns.as<const uint16_t>(), counts.as<const double>(), patterns->shape[1]};
}

// Runs work(first, last, poll) over n things, a few at a time, without the GIL; throws when it cannot be done. Points differ
// in what they cost, so each thread takes the next few when it is done with the last ones.
template <class Work> void over(int64_t n, int threads, int64_t few, Work work) {
  std::atomic<Problem> worst{Problem::none};
  std::atomic<int64_t> next{0};
  int64_t workers = std::clamp<int64_t>(threads, 1, (n + few - 1) / few + 1);
  split(workers, static_cast<int>(workers), 1, [&](int64_t, int64_t, Poll poll) {
    for (int64_t first; !poll.ask(poll.whom) && worst == Problem::none && (first = next.fetch_add(few)) < n;) {
      Problem problem = Problem::no_memory;
      try {
        problem = work(first, std::min(first + few, n), poll);
      } catch (const std::bad_alloc&) {
      }
      if (problem != Problem::none) worst = problem;
    }
  });
  if (worst == Problem::no_memory) throw std::bad_alloc();
  if (worst != Problem::none)
    throw std::invalid_argument("rule must apply to the mean of any bags; got a mean that does not sum to 1 within 1e-6.");
}

inline Problem done(bool enough_memory) { return enough_memory ? Problem::none : Problem::no_memory; }

}  // namespace steadyset
