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
constexpr int64_t kSample = 128;     // entries that a first guess of c is made from
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

// A lower bound of the root of f(c) = (sum (u-c)_+)^2 + sum (u-c)_+^2 = 1, from the sums at any c. Over the k entries
// above c alone f is a quadratic; f is no smaller than that one between its root and c, so that this root is a lower
// bound, and exact where no entry lies between. A quadratic that stays above 1 has none: then the step is Newton's on
// sqrt(f), which is convex.
inline double below_root(const Sums& s, double c) {
  double f = s.s1 * s.s1 + s.s2, slope = (s.count + 1) * s.s1;
  double inside = slope * slope - s.count * (s.count + 1) * (f - 1), root = __builtin_sqrt(f);
  return c + (inside >= 0 ? (f - 1) / (slope + __builtin_sqrt(inside)) : (root - 1) * root / slope);
}

// The same, but not below c, which is one already.
inline double raised(const Sums& s, double c) {
  double next = below_root(s, c);
  return next > c ? next : c;  // c for NaN too
}

// t_u = 1/sqrt(2) + A - sqrt((k+1)(1/k - Var)); t >= M - h: rounding must not take the set past the fixed margin's.
inline double bound_of(double k, double mean, double squares) {
  double rest = (k + 1) * (1 / k - squares / k);
  double t = kInvSqrt2 + mean - __builtin_sqrt(rest > 0 ? rest : 0);
  return t > -kInvSqrt2 ? t : -kInvSqrt2;
}

// The same from sums over the entries above c. At the root of f they are at most 1, so that the squares lose nothing.
inline double bound_from_sums(const Sums& s, double c) {
  return bound_of(s.count, c + s.s1 / s.count, s.s2 - s.s1 * s.s1 / s.count);
}

// Sorts up to kSortable numbers: the place of each is how many are larger, or the next free one among equals.
inline void sort_few_descending(double* u, int64_t n) {
  alignas(kVectorBytes) double own[kSortable];
  alignas(kVectorBytes) int64_t place[kSortable];
  for (int64_t i = 0; i < n; ++i) own[i] = u[i];
  for (int64_t i = n; i % 8 != 0; ++i) own[i] = kNever;
  for (int64_t i = 0; i < n; i += 8) {
    Vec<double> x = load(own + i);
    Vec<int64_t> larger = {};
    for (int64_t j = 0; j < n; ++j) larger = larger - (broadcast(own[j]) > x);
    store(place + i, larger);
  }
  uint64_t taken = 0;
  for (int64_t i = 0; i < n; ++i) {
    int64_t at = place[i];
    while (taken >> at & 1) ++at;
    taken |= uint64_t{1} << at;
    u[at] = own[i];
  }
}

// Few candidates: sort, and stop at the first k with f_k > 1; then mean and variance of those k.
inline double bound_by_sorting(double* u, int64_t n) {
  sort_few_descending(u, n);
  int64_t k = 1;
  double s1 = 0, s2 = 0;  // sums of (u_l - u_k) and their squares over l <= k
  for (; k < n; ++k) {
    double drop = u[k - 1] - u[k], count = static_cast<double>(k);
    s2 += 2 * drop * s1 + count * drop * drop;
    s1 += count * drop;
    if (s1 * s1 + s2 > 1) break;
  }
  double mean = kNever + sums_above(u, k, kNever).s1 / static_cast<double>(k);
  Vec<double> sum = {};
  int64_t j = 0;
  for (; j + 8 <= k; j += 8) {
    Vec<double> d = load(u + j) - mean;
    sum = sum + d * d;
  }
  double squares = sum_in_order(sum);
  for (; j < k; ++j) squares += (u[j] - mean) * (u[j] - mean);
  return bound_of(static_cast<double>(k), mean, squares);
}

// A guess of the root of f from a sample of the entries, from all over them, whose sums are scaled up.
inline double guessed_root(const double* u, int64_t n, double c) {
  alignas(kVectorBytes) double sample[kSample];
  constexpr int64_t last = kSample / 8 - 1;
  for (int64_t i = 0; i <= last; ++i) store(sample + 8 * i, load(u + (n - 8) * i / last));
  double scale = static_cast<double>(n) / kSample;
  for (int i = 0; i < 8; ++i) {
    Sums s = sums_above(sample, kSample, c);
    double next = raised({scale * s.s1, scale * s.s2, scale * s.count}, c);
    if (!(next - c > 0x1p-10)) break;
    c = next;
  }
  return c;
}

// The bound t_u from candidates that hold every entry above c; u is overwritten.
inline double inflated_bound(double* u, int64_t n, double c) {
  bool few = true;
  if (n > 2 * kSample) {  // one pass from near the root saves several from the left
    double guess = guessed_root(u, n, c);
    Sums s = sums_above(u, n, guess);
    double bound = below_root(s, guess);
    c = bound > c ? bound : c;
    few = s.count < 0.5 * static_cast<double>(n);  // else moving them costs more than passing them by
  }
  if (few) n = keep_above(u, n, c);
  for (int i = 0; n > kSortable; ++i) {
    Sums s = sums_above(u, n, c);
    double next = raised(s, c);
    if (!(next - c > 4e-16) || i == 100) return bound_from_sums(s, c);
    if (s.count < 0.5 * static_cast<double>(n)) n = keep_above(u, n, c);
    c = next;
  }
  return bound_by_sorting(u, n);
}

// The candidates of a row: entries above a lower bound of c that rises as they are met, so that few are kept.
template <class T> struct Candidates {
  Scratch& scratch;
  double max, epsilon;
  double inverse = 1 / epsilon;
  bool usable_inverse = inverse * 0 == 0;  // not for epsilons near the smallest numbers
  double c = -kInvSqrt2;
  int64_t n = 0, limit = kCollect;

  // Appends entries of the row. One vector more may be read, and is written.
  bool add(const T* entries, int64_t count) {
    if (!scratch.reserve(n + count + 8)) return false;
    double* u = scratch.values + n;
    if (usable_inverse) {
      for (int64_t j = 0; j < count; j += 8) store(u + j, (load_as_doubles(entries + j) - max) * inverse);
    } else {
      for (int64_t j = 0; j < count; ++j) u[j] = (static_cast<double>(entries[j]) - max) / epsilon;
    }
    n += count;
    return true;
  }
  // Raises c as far as what was met so far allows, and drops what falls below it.
  void tighten() {
    for (int i = 0; i < 8; ++i) {
      double next = raised(sums_above(scratch.values, n, c), c);
      if (next == c) break;
      c = next;
      int64_t kept = keep_above(scratch.values, n, c);
      bool settled = 8 * kept > 7 * n;
      n = kept;
      if (settled) break;
    }
    limit = n + (n > kCollect ? n : kCollect);
  }
};

// The stretches of a row that nobody looked at: every one may hold an entry that reaches a threshold.
struct EveryStretch {
  template <class T> bool reaches(int64_t, T) const { return true; }
};

// The threshold of the inflated argmax for a row of which more than two entries lie within the margin.
template <class T> struct InflatedRow {
  const T* row;
  int64_t n;
  T max, margin;

  template <class Stretches> bool solve(const Stretches& peaks, double epsilon, Scratch& scratch, T* threshold) const {
    Candidates<T> found{scratch, static_cast<double>(max), epsilon};
    T floor = margin;
    if (!start_from(peaks, &floor, found)) return false;
    for (int64_t start = 0; start < n; start += kStretch)
      if (peaks.reaches(start, floor) && !take(row + start, at_most(n - start), &floor, found)) return false;
    double bound = inflated_bound(scratch.values, found.n, found.c);
    *threshold = threshold_at(max, smallest_difference(bound - kOutward, epsilon));
    return true;
  }

 private:
  static int64_t at_most(int64_t left) { return left < kStretch ? left : kStretch; }

  // Any of the entries give a lower bound of c; the largest of them, which the peaks are, a good one.
  bool start_from(const EveryStretch&, T*, Candidates<T>&) const { return true; }
  bool start_from(const Peaks<T>& peaks, T* floor, Candidates<T>& found) const {
    int64_t count = Peaks<T>::apart(n);
    for (int64_t i = 0; i < count; i += kStretch)
      if (!take(peaks.all() + i, at_most(count - i), floor, found)) return false;
    found.tighten();
    raise(floor, found);
    found.limit = n;
    found.n = 0;
    return true;
  }
  // Adds the entries that reach the floor, and raises it once they are many.
  bool take(const T* entries, int64_t count, T* floor, Candidates<T>& found) const {
    alignas(kVectorBytes) T reaching[kStretch + Vec<T>::lanes];
    int64_t kept = keep_reaching(entries, count, *floor, reaching);
    store(reaching + kept, broadcast(*floor));
    if (!found.add(reaching, kept)) return false;
    if (found.n >= found.limit) {
      found.tighten();
      raise(floor, found);
    }
    return true;
  }
  void raise(T* floor, const Candidates<T>& found) const {
    T to = threshold_at(max, found.c * found.epsilon);
    *floor = to > *floor ? step(to, false) : *floor;
  }
};

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset
