// The epsilon-path: the epsilon beyond which each label enters the inflated argmax.
#pragma once
#include <stdint.h>
#include <stdlib.h>

#include "poll.hpp"
#include "selection/boundary.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

struct Ranked {
  double w;
  int64_t label;
};

struct RankedScratch {
  Ranked* items = nullptr;
  int64_t capacity = 0;
  RankedScratch() = default;
  RankedScratch(const RankedScratch&) = delete;
  RankedScratch& operator=(const RankedScratch&) = delete;
  ~RankedScratch() { free(items); }
  bool reserve(int64_t n) {
    if (n <= capacity) return true;
    free(items);
    items = static_cast<Ranked*>(malloc(static_cast<size_t>(2 * n) * sizeof(Ranked)));  // half of it for merging
    capacity = items != nullptr ? n : 0;
    return items != nullptr;
  }
};

inline void sort_ranked(Ranked* v, int64_t n, Ranked* space, Pace& pace) {
  if (pace.stop(4 * n)) return;
  if (n <= 24) {
    for (int64_t i = 1; i < n; ++i) {
      Ranked x = v[i];
      int64_t j = i;
      for (; j > 0 && v[j - 1].w < x.w; --j) v[j] = v[j - 1];
      v[j] = x;
    }
    return;
  }
  int64_t half = n / 2;
  sort_ranked(v, half, space, pace);
  sort_ranked(v + half, n - half, space, pace);
  if (!(v[half - 1].w < v[half].w)) return;
  __builtin_memcpy(space, v, static_cast<size_t>(half) * sizeof(Ranked));
  int64_t a = 0, b = half, out = 0;
  while (a < half && b < n) v[out++] = space[a].w < v[b].w ? v[b++] : space[a++];
  while (a < half) v[out++] = space[a++];
}

// With k other labels above c (mean A, variance Var) and d = A - w_j:
//   R = sqrt(k(k+1)/2 (d^2 + (k+2) Var/2)),  c = A - 2((k+1) d + R)/((k+1)(k+2)),  eps_j = sqrt(2)(k d + 2R)/(k+2).
// k only grows as w_j falls: one sweep. All w are at most 0 (shifted by the maximum) and at least -1 (scaled).
struct Path {
  double mean = 0, squares = 0;  // squares: sum of (w - mean)^2
  int64_t k = 1;

  void take(double w) {
    double delta = w - mean;
    ++k;
    mean += delta / static_cast<double>(k);
    squares += delta * (w - mean);
  }
  double entry(const Ranked* sorted, int64_t rank) {
    for (;;) {
      double n = static_cast<double>(k), d = mean - sorted[rank].w;
      double r = __builtin_sqrt((n + 1) * (n * d * d + 0.5 * (n + 2) * squares) * 0.5);
      double c = mean - 2 * ((n + 1) * d + r) / ((n + 1) * (n + 2));
      if (k < rank && sorted[k].w > c) take(sorted[k].w);
      else return 2 * kInvSqrt2 * (n * d + 2 * r) / (n + 2);
    }
  }
};

constexpr double kSquareSafe = 1e-120;  // squares of smaller numbers leave the range

// Gaps so small beside the row's range that their squares vanish: each label on its own scale.
inline double entry_on_own_scale(const Ranked* sorted, int64_t rank, Ranked* space) {
  double scale = -sorted[rank].w;
  for (int64_t i = 0; i <= rank; ++i) space[i].w = sorted[i].w / scale;
  Path path;
  return path.entry(space, rank) * scale;
}

template <class T>
inline bool path_of_row(const T* row, int64_t n, T max, RankedScratch& scratch, double* out, Pace& pace) {
  if (!scratch.reserve(n)) return false;
  Ranked* sorted = scratch.items;
  Ranked* space = sorted + n;
  // A quarter keeps the difference of two finite numbers finite; it is exact but for numbers next to zero, which stay.
  double m = max, quarter = __builtin_fabs(m) > 0x1p1000 ? 0.25 : 1;
  double lowest = 0;
  for (int64_t j = 0; j < n; ++j) {
    double d = static_cast<double>(row[j]) * quarter - m * quarter;
    if (d < -0x1.fffffffffffffp1023) {
      quarter = 0.25;
      j = -1;
      continue;
    }
    sorted[j] = {d, j};
    lowest = d < lowest ? d : lowest;
  }
  sort_ranked(sorted, n, space, pace);
  if (lowest == 0) {
    for (int64_t j = 0; j < n; ++j) out[j] = 0;
    return true;
  }
  bool tiny = false;
  double scale = -lowest, largest_before = 0;
  for (int64_t i = 0; i < n; ++i) tiny |= sorted[i].w != 0 && -sorted[i].w < kSquareSafe * scale;
  bool rescale = scale > 0x1p100 || scale < 0x1p-100;
  if (rescale && !tiny)
    for (int64_t i = 0; i < n; ++i) sorted[i].w /= scale;
  double unit = rescale && !tiny ? scale : 1;
  Path path;
  for (int64_t rank = 0; rank < n && !pace.stop(tiny ? 8 * rank : 16); ++rank) {
    double gap = -sorted[rank].w;
    double e = gap == 0 ? 0
               : rank == 1 ? 2 * kInvSqrt2 * gap
               : tiny ? entry_on_own_scale(sorted, rank, space)
                      : path.entry(sorted, rank);
    e = e > largest_before ? e : largest_before;  // a lower score never enters before a higher one
    largest_before = e;
    out[sorted[rank].label] = e * unit / quarter;
  }
  return true;
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset
