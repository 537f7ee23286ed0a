// Models of which each point has a few: the point's own mean and set beside theirs.
#pragma once
#include <stdint.h>

#include "audit/api.hpp"
#include "simd/simd.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

// ||model - own||^2, lane by lane and then in their order, and whether an entry of the model exceeds `lead`.
struct Distance {
  double square;
  bool exceeds;
};

Distance distance_to(const double* model, const double* own, int64_t n, double lead) {
  constexpr int kWidth = Vec<double>::lanes;
  Vec<double> sums = zeros<double>();
  Mask<double> above = zeros<int64_t>();
  int64_t l = 0;
  for (; l + kWidth <= n; l += kWidth) {
    Vec<double> entries = load(model + l), d = entries - load(own + l);
    sums = sums + d * d;
    above = above | (entries > lead);
  }
  double square = sum_in_order(sums);
  bool exceeds = any(above);
  for (; l < n; ++l) {
    double d = model[l] - own[l];
    square += d * d;
    exceeds = exceeds || model[l] > lead;
  }
  return {square, exceeds};
}

bool equal_sets(const uint8_t* a, const uint8_t* b, int64_t n) {
  uint64_t differ = 0;
  int64_t l = 0;
  for (; l + 8 <= n; l += 8) {
    uint64_t x, y;
    __builtin_memcpy(&x, a + l, 8);
    __builtin_memcpy(&y, b + l, 8);
    differ |= x ^ y;
  }
  for (; l < n; ++l) differ |= static_cast<uint64_t>(a[l] ^ b[l]);
  return differ == 0;
}

// Points [first, last).
void compare_near(const NearPairs& t, int64_t first, int64_t last, Poll poll) {
  Pace pace{poll};
  const int64_t n = t.n_classes;
  for (int64_t i = first; i < last; ++i) {
    const double* own = t.mean + i * n;
    const uint8_t* set = t.set + i * n;
    double top = own[0];
    int64_t size = 0, first_top = 0, last_top = 0;
    for (int64_t l = 0; l < n; ++l) {
      if (own[l] > top) first_top = l;
      if (own[l] >= top) last_top = l;
      top = own[l] > top ? own[l] : top;
      size += set[l];
    }
    for (int64_t at = t.starts[i]; at < t.starts[i + 1]; ++at) {
      if (pace.stop(n)) return;
      const double* model = t.models + at * n;
      const uint8_t* without = t.sets + at * n;
      double lead = -__builtin_inf();  // the largest entry of the model among the largest labels of the point
      for (int64_t l = first_top; l <= last_top; ++l) lead = own[l] == top && model[l] > lead ? model[l] : lead;
      Distance found = distance_to(model, own, n, lead);
      t.shift[at] = static_cast<float>(__builtin_sqrt(found.square));
      t.apart[at] = found.exceeds;
      t.conflict[at] = size < t.n_common;
      t.jaccard[at] = 1.0;
      if (equal_sets(set, without, n)) continue;
      int64_t both = 0, either = 0;
      for (int64_t l = 0; l < n; ++l) {
        both += set[l] & without[l];
        either += set[l] | without[l];
      }
      t.conflict[at] = both < t.n_common;
      t.jaccard[at] = static_cast<double>(both) / static_cast<double>(either);
    }
  }
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset
