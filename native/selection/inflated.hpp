// The inflated argmax (the paper's Theorem 9 and its proposition on computing it), on u = (w - max) / epsilon.
#pragma once
#include <stdint.h>

#include "selection/boundary.hpp"
#include "selection/scratch.hpp"
#include "selection/stretches.hpp"
#include "simd/simd.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

constexpr int64_t kSortable = 64;    // up to this many candidates are sorted, so that their order cannot change a bit
constexpr int64_t kCollect = 256;    // candidates met before the lower bound of c is raised for the first time
constexpr double kNever = -1;        // below every c

struct Sums {
  double s1, s2, count;  // sum of (u - c)_+, of its square, and how many are positive
};

// Eight running sums, folded every 1,024 entries to keep the rounding small.
inline Sums sums_above(const double* u, int64_t n, double c) {
  Sums total = {0, 0, 0};
  for (int64_t start = 0; start < n; start += 1024) {
    int64_t end = n - start > 1024 ? start + 1024 : n;
    Vec<double> a1 = {}, a2 = {}, below = broadcast(c);
    Vec<int64_t> positive = {};
    int64_t j = start;
    for (; j + 8 <= end; j += 8) {
      Vec<double> x = load(u + j) - below;
      Vec<int64_t> above = x > 0.0;
      x = only(above, x);
      a1 = a1 + x;
      a2 = a2 + x * x;
      positive = positive - above;
    }
    Sums part = {sum_in_order(a1), sum_in_order(a2), static_cast<double>(sum_in_order(positive))};
    for (; j < end; ++j) {
      double x = u[j] - c;
      if (!(x > 0)) continue;
      part.s1 += x;
      part.s2 += x * x;
      part.count += 1;
    }
    total.s1 += part.s1;
    total.s2 += part.s2;
    total.count += part.count;
  }
  return total;
}

// Moves the entries above c to the front, in their order; returns how many they are.
inline int64_t keep_above(double* u, int64_t n, double c) {
  int64_t kept = 0, j = 0;
  Vec<double> least = broadcast(c);
  for (; j + 8 <= n; j += 8) {
    Vec<double> x = load(u + j);
    kept += compress(u + kept, x > least, x);
  }
  for (; j < n; ++j) {
    double x = u[j];
    u[kept] = x;
    kept += x > c;
  }
  return kept;
}

// One Newton step on sqrt(f(c)) = 1, f(c) = (sum (u-c)_+)^2 + sum (u-c)_+^2: convex and decreasing, so that steps
// from the left never pass the root.
inline double newton(const Sums& s, double c) {
  double root = __builtin_sqrt(s.s1 * s.s1 + s.s2);
  double next = c + (root - 1) * root / ((s.count + 1) * s.s1);
  return next > c ? next : c;  // c for NaN too
}

// t_u = 1/sqrt(2) + A - sqrt((k+1)(1/k - Var)) over the k entries above `cut`, mean and variance in two passes.
inline double bound_from_active(const double* u, int64_t n, double cut) {
  Sums first = sums_above(u, n, cut);
  double k = first.count, mean = cut + first.s1 / k;
  double squares = 0;
  for (int64_t start = 0; start < n; start += 1024) {
    int64_t end = n - start > 1024 ? start + 1024 : n, j = start;
    Vec<double> sum = {};
    for (; j + 8 <= end; j += 8) {
      Vec<double> x = load(u + j), d = only(x > cut, x - mean);
      sum = sum + d * d;
    }
    double part = sum_in_order(sum);
    for (; j < end; ++j) part += u[j] > cut ? (u[j] - mean) * (u[j] - mean) : 0;
    squares += part;
  }
  double rest = (k + 1) * (1 / k - squares / k);
  double t = kInvSqrt2 + mean - __builtin_sqrt(rest > 0 ? rest : 0);
  return t > -kInvSqrt2 ? t : -kInvSqrt2;  // t >= M - h: rounding must not take the set past the fixed margin's
}

// Few candidates: sort, and stop at the first k with f_k > 1.
inline double bound_by_sorting(double* u, int64_t n) {
  insertion_sort_descending(u, n);
  int64_t k = 1;
  double s1 = 0, s2 = 0;  // sums of (u_l - u_k) and their squares over l <= k
  for (; k < n; ++k) {
    double drop = u[k - 1] - u[k], count = static_cast<double>(k);
    s2 += 2 * drop * s1 + count * drop * drop;
    s1 += count * drop;
    if (s1 * s1 + s2 > 1) break;
  }
  return bound_from_active(u, k, kNever);
}

// The bound t_u from candidates that hold every entry above c; u is overwritten.
inline double inflated_bound(double* u, int64_t n, double c) {
  n = keep_above(u, n, c);
  double previous = -1;
  for (int i = 0; i < 100 && n > kSortable; ++i) {
    Sums s = sums_above(u, n, c);
    if (s.count < 0.5 * static_cast<double>(n)) n = keep_above(u, n, c);
    double next = newton(s, c);
    if (s.count == previous && !(next - c > 4e-16)) break;
    previous = s.count;
    c = next;
  }
  return n > kSortable ? bound_from_active(u, n, c) : bound_by_sorting(u, n);
}

// The candidates of a row: entries above a lower bound of c that rises as they are met, so that few are kept.
template <class T> struct Candidates {
  Scratch& scratch;
  double max, epsilon;
  double inverse = 1 / epsilon;
  bool usable_inverse = inverse * 0 == 0;  // not for epsilons near the smallest numbers
  double c = -kInvSqrt2;
  int64_t n = 0, limit = kCollect;

  // Appends the entries of a stretch of the row that exceed c.
  bool add(const T* row, int64_t count) {
    if (!scratch.reserve(n + count + 8)) return false;
    double* u = scratch.values;
    int64_t j = 0;
    Vec<double> least = broadcast(c);
    for (; usable_inverse && j + 8 <= count; j += 8) {
      Vec<double> x = (load_as_doubles(row + j) - max) * inverse;
      n += compress(u + n, x > least, x);
    }
    for (; j < count; ++j) {
      double gap = static_cast<double>(row[j]) - max;
      u[n] = usable_inverse ? gap * inverse : gap / epsilon;
      n += u[n] > c;
    }
    return true;
  }
  // Raises c as far as what was met so far allows, and drops what falls below it.
  void tighten() {
    for (int i = 0; i < 8; ++i) {
      c = newton(sums_above(scratch.values, n, c), c);
      int64_t kept = keep_above(scratch.values, n, c);
      bool settled = 8 * kept > 7 * n;
      n = kept;
      if (settled) break;
    }
    limit = n + (n > kCollect ? n : kCollect);
  }
};

// Whether a stretch of the row can hold an entry that reaches a threshold: every one may in a row that nobody looked at.
struct EveryStretch {
  template <class T> bool reaches(int64_t, T) const { return true; }
};

// The threshold of the inflated argmax for a row of which more than two entries lie within the margin.
template <class T> struct InflatedRow {
  const T* row;
  int64_t n;
  T max, margin;

  template <class Stretches> bool solve(const Stretches& peaks, double epsilon, Scratch& scratch, T* threshold) const {
    constexpr int lanes = Vec<T>::lanes;
    Candidates<T> found{scratch, static_cast<double>(max), epsilon};
    T floor = margin;
    for (int64_t start = 0; start < n; start += kStretch) {
      if (!peaks.reaches(start, floor)) continue;
      int64_t end = n - start > kStretch ? start + kStretch : n, j = start;
      for (; j + lanes <= end; j += lanes) {
        if (!any(load(row + j) >= floor)) continue;
        if (!found.add(row + j, lanes)) return false;
        if (found.n >= found.limit) {
          found.tighten();
          T raised = threshold_at(max, found.c * epsilon);
          floor = raised > floor ? step(raised, false) : floor;
        }
      }
      if (j < end && !found.add(row + j, end - j)) return false;
    }
    double bound = inflated_bound(scratch.values, found.n, found.c);
    *threshold = threshold_at(max, smallest_difference(bound - kOutward, epsilon));
    return true;
  }
};

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset
