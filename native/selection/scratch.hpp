// A growing buffer that a thread keeps while it works, and sorting inside it.
// Every loop is bounded by the buffer's own length: an input that another thread changes meanwhile cannot lead out of it.
#pragma once
#include <stdint.h>
#include <stdlib.h>

#include "poll.hpp"
#include "simd/level.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

struct Scratch {
  double* values = nullptr;
  int64_t capacity = 0;
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { free(values); }

  bool reserve(int64_t n) {
    if (n <= capacity) return true;
    int64_t wanted = n > 2 * capacity ? n : 2 * capacity;
    void* grown = realloc(values, static_cast<size_t>(wanted) * sizeof(double));
    if (grown == nullptr) return false;
    values = static_cast<double*>(grown);
    capacity = wanted;
    return true;
  }
};

inline void swap_values(double& a, double& b) {
  double c = a;
  a = b;
  b = c;
}

inline void insertion_sort_descending(double* v, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    double x = v[i];
    int64_t j = i;
    for (; j > 0 && v[j - 1] < x; --j) v[j] = v[j - 1];
    v[j] = x;
  }
}

inline void sift_down(double* v, int64_t root, int64_t n) {
  for (;;) {
    int64_t child = 2 * root + 1;
    if (child >= n) return;
    if (child + 1 < n && v[child + 1] < v[child]) ++child;
    if (!(v[child] < v[root])) return;
    swap_values(v[child], v[root]);
    root = child;
  }
}

inline void heap_sort_descending(double* v, int64_t n, Pace& pace) {
  for (int64_t i = n / 2 - 1; i >= 0 && !pace.stop(64); --i) sift_down(v, i, n);
  for (int64_t end = n - 1; end > 0 && !pace.stop(64); --end) {
    swap_values(v[0], v[end]);
    sift_down(v, 0, end);
  }
}

// Splits v into entries > pivot, == pivot, < pivot.
struct Split {
  int64_t above, not_below;
};
inline Split split_around(double* v, int64_t n, double pivot) {
  int64_t above = 0, i = 0, below = n;
  while (i < below) {
    if (v[i] > pivot) swap_values(v[i++], v[above++]);
    else if (v[i] < pivot) swap_values(v[i], v[--below]);
    else ++i;
  }
  return {above, below};
}

inline double median_of_three(double a, double b, double c) {
  if (a < b) return b < c ? b : (a < c ? c : a);
  return a < c ? a : (b < c ? c : b);
}

inline void sort_descending(double* v, int64_t n, Pace& pace) {
  for (int depth = 0; n > 24; ++depth) {
    if (pace.stop(2 * n)) return;
    if (depth > 60) return heap_sort_descending(v, n, pace);
    Split s = split_around(v, n, median_of_three(v[0], v[n / 2], v[n - 1]));
    int64_t right = n - s.not_below;
    if (s.above < right) {  // recurse into the smaller side only
      sort_descending(v, s.above, pace);
      v += s.not_below;
      n = right;
    } else {
      sort_descending(v + s.not_below, right, pace);
      n = s.above;
    }
  }
  insertion_sort_descending(v, n);
}

// Moves the k largest entries of v to its front, in no order.
inline void select_largest(double* v, int64_t n, int64_t k, Pace& pace) {
  for (int depth = 0; n > 24 && k > 0 && k < n; ++depth) {
    if (pace.stop(2 * n)) return;
    if (depth > 60) return heap_sort_descending(v, n, pace);
    Split s = split_around(v, n, median_of_three(v[0], v[n / 2], v[n - 1]));
    if (k <= s.above) {
      n = s.above;
    } else if (k >= s.not_below) {
      v += s.not_below;
      n -= s.not_below;
      k -= s.not_below;
    } else {
      return;
    }
  }
  if (k > 0 && k < n) insertion_sort_descending(v, n);
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset
