// Sums of predictions over bags, in float64 and in a fixed order.
#pragma once
#include <stdint.h>

#include "bags/api.hpp"
#include "simd/loose.hpp"
#include "simd/simd.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

constexpr int64_t kStripe = 2048;   // columns whose running sums stay in the first-level cache
constexpr int kRowsAtOnce = 8;      // bags that are read side by side: more streams than this end the prefetching

// Running sums of one block of bags at some columns, `part`, are begun or gone on with by a few more bags.
template <class T> inline void add_rows(const T* const* rows, int n, bool begin, int64_t width, double* part) {
  int64_t c = 0;
  for (; c + 8 <= width; c += 8) {
    Vec<double> sum = begin ? load_as_doubles(rows[0] + c) : load(part + c) + load_as_doubles(rows[0] + c);
    for (int r = 1; r < n; ++r) sum = sum + load_as_doubles(rows[r] + c);
    store(part + c, sum);
  }
  for (; c < width; ++c) {
    const auto at = [&](int r) { return static_cast<double>(reinterpret_cast<const Loose<T>*>(rows[r])[c]); };
    double sum = begin ? at(0) : part[c] + at(0);
    for (int r = 1; r < n; ++r) sum += at(r);
    part[c] = sum;
  }
}

template <class T>
void sum_stripe(const T* values, const SumTask& t, int64_t width, double* out, Pace& pace) {
  double part[kStripe];
  for (int64_t c = 0; c < width; ++c) out[c] = 0;
  for (int64_t first = 0; first < t.n_bags && !pace.stopped; first += t.block) {
    int64_t last = t.n_bags - first > t.block ? first + t.block : t.n_bags;
    const T* rows[kRowsAtOnce];
    int n = 0;
    bool begun = false;
    for (int64_t b = first; b < last; ++b) {
      if (t.take == nullptr || t.take[b]) rows[n++] = values + b * t.stride;
      if (n < kRowsAtOnce && b + 1 < last) continue;
      if (pace.stop(4 * width * n)) return;  // a new page or two for each bag
      if (n > 0) add_rows(rows, n, !begun, width, part);
      begun |= n > 0;
      n = 0;
    }
    if (begun)
      for (int64_t c = 0; c < width; ++c) out[c] += part[c];
  }
}

void sum(const SumTask& task, int64_t first, int64_t last, double* out, Poll poll) {
  Pace pace{poll};
  for (int64_t c = first; c < last && !pace.stopped; c += kStripe) {
    int64_t width = last - c < kStripe ? last - c : kStripe;
    if (task.wide) sum_stripe(static_cast<const double*>(task.values) + c, task, width, out + c, pace);
    else sum_stripe(static_cast<const float*>(task.values) + c, task, width, out + c, pace);
  }
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset
