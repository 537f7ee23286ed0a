// The inflated top k: the inflated argmax of a row without its k - 1 largest entries, and those entries. All of it is one
// threshold again, because no entry outside of the rest is below its maximum, the k-th largest.
#pragma once
#include <stdint.h>
#include <stdlib.h>

#include "poll.hpp"
#include "selection/api.hpp"
#include "selection/boundary.hpp"
#include "selection/inflated.hpp"
#include "selection/scratch.hpp"
#include "selection/stretches.hpp"
#include "simd/simd.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

constexpr int kRounds = 16;  // the largest peaks that a bound is made from

// The k-th largest of n doubles, which are moved about; 1 <= k <= n.
inline double kth_of(double* v, int64_t n, int64_t k, Pace& pace) {
  select_largest(v, n, k, pace);
  double kth = v[0];
  for (int64_t i = 1; i < k; ++i) kth = v[i] < kth ? v[i] : kth;
  return kth;
}

// The k-th largest entry of any row; the scratch has room for it.
template <class T> inline T kth_largest(const T* row, int64_t n, int64_t k, Scratch& scratch, Pace& pace) {
  for (int64_t j = 0; j < n; ++j) scratch.values[j] = static_cast<double>(row[j]);
  return static_cast<T>(kth_of(scratch.values, n, k, pace));
}

// A row without its k - 1 largest entries; of equal ones, those with the lower index are taken out first.
template <class T> class Rest {
 public:
  Rest() = default;
  Rest(const Rest&) = delete;
  Rest& operator=(const Rest&) = delete;
  ~Rest() {
    free(values_);
    free(labels_);
  }
  bool reserve(int64_t n) {
    values_ = static_cast<T*>(malloc(static_cast<size_t>(n) * sizeof(T)));
    labels_ = static_cast<int64_t*>(malloc(static_cast<size_t>(n) * sizeof(int64_t)));
    return values_ != nullptr && labels_ != nullptr;
  }
  const T* values() const { return values_; }

  // Keeps the other entries alone, and which labels they are of; returns how many.
  int64_t gather(const T* row, int64_t n, int64_t k, T kth) {
    int64_t out = 0;
    for (int64_t j = 0; j < n; ++j) out += row[j] > kth;
    int64_t equal = k - 1 - out;
    count_ = 0;
    for (int64_t j = 0; j < n; ++j) {
      if (row[j] > kth || (row[j] == kth && equal-- > 0)) continue;
      values_[count_] = row[j];
      labels_[count_++] = j;
    }
    return count_;
  }
  // Brings what was found for the gathered entries back to their labels; 0 for the labels that were taken out.
  void scatter(const double* found, double* out, int64_t n) const {
    for (int64_t j = 0; j < n; ++j) out[j] = 0;
    for (int64_t j = 0; j < count_; ++j) out[labels_[j]] = found[j];
  }

 private:
  T* values_ = nullptr;
  int64_t* labels_ = nullptr;
  int64_t count_ = 0;
};

template <class T> struct InflatedTopK {
  const Rule& rule;
  double difference;  // smallest w_j - (k-th largest) inside the margin
  Pace pace;
  Scratch scratch;
  Peaks<T> peaks;

  InflatedTopK(const Rule& r, Poll poll) : rule(r), pace{poll} {
    difference = r.a == 0 ? 0 : smallest_difference(-kInvSqrt2 - kOutward, r.a);
  }
  bool reserve(int64_t n) { return scratch.reserve(n + Vec<T>::lanes) && peaks.reserve(n); }

  Problem row(const T* row, int64_t n, uint8_t* out) {
    if (n <= kSortable) return short_row(row, n, out);
    T kth;
    if (n > kStretch) {
      if (!peaks.look(row, n).finite) return Problem::not_finite;
      kth = kth_by_peaks(row, n);
    } else {
      if (!extent(row, n).finite) return Problem::not_finite;
      kth = kth_largest(row, n, rule.k, scratch, pace);
    }
    T margin = difference == 0 ? kth : threshold_at(kth, difference);
    bool open = (n > kStretch && is_open(n, kth, margin)) || !is_decided(row, n, kth, margin);
    write_mask(row, n, open ? solve(row, n, kth, margin) : margin, out);
    return Problem::none;
  }

 private:
  bool may_inflate() const { return difference < 0 && rule.a * 0 == 0; }

  // Few labels are sorted as a whole: then the rest is a suffix.
  Problem short_row(const T* row, int64_t n, uint8_t* out) {
    double* v = scratch.values;
    T zeros = 0;
    for (int64_t j = 0; j < n; ++j) {
      v[j] = static_cast<double>(row[j]);
      zeros += row[j] * T{0};
    }
    if (!(zeros == 0)) return Problem::not_finite;
    insertion_sort_descending(v, n);
    v += rule.k - 1;
    double max = v[0];
    T kth = static_cast<T>(max), threshold = difference == 0 ? kth : threshold_at(kth, difference);
    int64_t within = 1, size = n - rule.k + 1;
    while (within < size && v[within] >= static_cast<double>(threshold)) ++within;
    if (within > 2 && may_inflate()) {
      double inverse = 1 / rule.a;
      bool usable = inverse * 0 == 0;  // not for epsilons near the smallest numbers
      for (int64_t i = 0; i < within; ++i) v[i] = usable ? (v[i] - max) * inverse : (v[i] - max) / rule.a;
      threshold = threshold_at(kth, smallest_difference(bound_by_sorting(v, within) - kOutward, rule.a));
    }
    write_mask(row, n, threshold, out);
    return Problem::none;
  }

  T sure_threshold(int64_t n, T kth) const {
    double size = static_cast<double>(n - rule.k + 1), kappa = __builtin_sqrt(size / (size - 1)) - kInvSqrt2;
    return threshold_at(kth, -kappa * rule.a * (1 - 0x1p-40));
  }
  // Whether the set is all that is within the margin. Entries below the margin are out, with at most two of the rest
  // within it the others are in, and so are those less than kappa_L epsilon below the k-th largest, kappa_L =
  // sqrt(L/(L-1)) - 1/sqrt(2), L the size of the rest: mostly no entry is in between.
  bool is_decided(const T* row, int64_t n, T kth, T margin) const {
    if (!may_inflate()) return true;
    constexpr int lanes = Vec<T>::lanes;
    T sure = sure_threshold(n, kth);
    Vec<T> low = broadcast(margin), high = broadcast(sure);
    Mask<T> within = {}, surely = {};
    int64_t j = 0, some = 0, others = 0;
    for (; j + lanes <= n; j += lanes) {
      Vec<T> x = load(row + j);
      within = within - (x >= low);  // a comparison that holds is -1
      surely = surely - (x >= high);
    }
    for (; j < n; ++j) {
      some += row[j] >= margin;
      others += row[j] >= sure;
    }
    some += static_cast<int64_t>(sum_in_order(within));
    others += static_cast<int64_t>(sum_in_order(surely));
    return some <= rule.k + 1 || some == others;
  }

  // Whether the peaks of a long row alone show that entries are in between. An entry may be a peak twice.
  bool is_open(int64_t n, T kth, T margin) const {
    if (!may_inflate()) return false;
    T sure = sure_threshold(n, kth);
    int64_t within = 0;
    bool between = false;
    for (int64_t i = 0; i < Peaks<T>::count(n); i += Vec<T>::lanes) {
      Vec<T> x = load(peaks.all() + i);
      Mask<T> near = x >= margin;
      within += __builtin_popcount(lane_bits(near));
      between = between || any(near & (x < sure));
    }
    return between && within > 2 * (rule.k + 1);
  }

  // A lower bound of the c of the rest: that of some of its entries, which are the k-th largest and the largest peaks below
  // it. A peak of a whole stretch is an entry of its own; the vectors of a shorter one may overlap.
  double bound_of_rest(int64_t n, T kth) const {
    constexpr int lanes = Vec<T>::lanes;
    const Vec<T> none = broadcast(static_cast<T>(-__builtin_inf()));
    double max = static_cast<double>(kth), lowest = 0, s1 = 0, s2 = 0, size = 1;  // sums of u - lowest, and of squares
    int64_t count = n / kStretch * lanes;
    T bound = kth;
    for (int round = 0; round < kRounds; ++round) {
      Vec<T> best = none;
      for (int64_t i = 0; i < count; i += lanes) {
        Vec<T> x = load(peaks.all() + i);
        best = larger(pick<T>(x < bound, x, none), best);
      }
      bound = largest_lane(best);
      double u = (static_cast<double>(bound) - max) / rule.a, drop = lowest - u;
      double next1 = s1 + size * drop, next2 = s2 + 2 * drop * s1 + size * drop * drop;
      if (!(next1 * next1 + next2 <= 1)) break;  // all that is left is below c
      lowest = u, s1 = next1, s2 = next2;
      for (int64_t i = 0; i < count; i += lanes) size += __builtin_popcount(lane_bits(load(peaks.all() + i) == bound));
    }
    double left = 1 - (s2 - s1 * s1 / size);
    double c = lowest + s1 / size - __builtin_sqrt((left > 0 ? left : 0) / (size * (size + 1))) - 1e-12;
    return c > -kInvSqrt2 ? c : -kInvSqrt2;
  }
  // The threshold where entries are in between: the k - 1 largest are passed over, and so are entries below a bound that
  // the peaks of a long row give.
  T solve(const T* row, int64_t n, T kth, T margin) {
    constexpr int lanes = Vec<T>::lanes;
    bool is_long = n > kStretch;
    double max = static_cast<double>(kth), inverse = 1 / rule.a, c = is_long ? bound_of_rest(n, kth) : -kInvSqrt2;
    bool usable = inverse * 0 == 0;  // not for epsilons near the smallest numbers
    T raised = threshold_at(kth, c * rule.a), floor = raised > margin ? step(raised, false) : margin;
    double* u = scratch.values;
    int64_t found = 0, above = 0;
    auto add = [&](T x) {
      double gap = static_cast<double>(x) - max;
      u[found++] = usable ? gap * inverse : gap / rule.a;
    };
    for (int64_t start = 0; start < n; start += kStretch) {
      if (is_long && !peaks.reaches(start, floor)) continue;
      int64_t end = n - start > kStretch ? start + kStretch : n, j = start;
      for (; j + lanes <= end; j += lanes) {
        Vec<T> x = load(row + j);
        unsigned near = lane_bits(x >= floor);
        if (near == 0) continue;
        unsigned over = lane_bits(x > kth);
        above += __builtin_popcount(over);
        for (unsigned bits = near & ~over; bits != 0; bits &= bits - 1) add(row[j + __builtin_ctz(bits)]);
      }
      for (; j < end; ++j) {
        if (row[j] > kth) ++above;
        else if (row[j] >= floor) add(row[j]);
      }
    }
    // Of entries that equal the k-th largest, some are among the k - 1 that are passed over.
    int64_t surplus = rule.k - 1 - above, kept = 0;
    for (int64_t i = 0; i < found; ++i) {
      if (u[i] == 0 && surplus > 0) --surplus;
      else u[kept++] = u[i];
    }
    return threshold_at(kth, smallest_difference(inflated_bound(u, kept, c) - kOutward, rule.a));
  }

  // A value that at least k of the peaks reach: the largest such one.
  T bound_by_peaks(int64_t count, int64_t k) {
    constexpr int lanes = Vec<T>::lanes;
    if (k > 16) {
      for (int64_t i = 0; i < count; ++i) scratch.values[i] = static_cast<double>(peaks.all()[i]);
      return static_cast<T>(kth_of(scratch.values, count, k, pace));
    }
    const Vec<T> none = broadcast(static_cast<T>(-__builtin_inf()));
    T bound = 0;
    for (int64_t reached = 0, round = 0; reached < k; ++round) {  // the next largest, with all that equal it
      Vec<T> best = none;
      for (int64_t i = 0; i < count; i += lanes) {
        Vec<T> x = load(peaks.all() + i);
        best = larger(round == 0 ? x : pick<T>(x < bound, x, none), best);
      }
      bound = largest_lane(best);
      reached = 0;
      for (int64_t i = 0; i < count; i += lanes) reached += __builtin_popcount(lane_bits(load(peaks.all() + i) >= bound));
    }
    return bound;
  }
  // The k-th largest of the peaks is no larger than the k-th largest entry, so that few entries reach it. Peaks of
  // stretches that overlap may be one entry counted twice: where fewer than k entries reach it, twice as many peaks do.
  // Where most peaks would have to be looked at, the row is selected from as a whole.
  T kth_by_peaks(const T* row, int64_t n) {
    int64_t k = rule.k, count = Peaks<T>::count(n);
    if (8 * k > count) return kth_largest(row, n, k, scratch, pace);
    int64_t found = gather(row, n, bound_by_peaks(count, k));
    if (found < k) found = gather(row, n, bound_by_peaks(count, 2 * k));
    if (found < k) return kth_largest(row, n, k, scratch, pace);  // of a row that changed meanwhile
    return static_cast<T>(kth_of(scratch.values, found, k, pace));
  }
  // Brings the entries that reach a bound into the scratch; returns how many they are.
  int64_t gather(const T* row, int64_t n, T bound) {
    constexpr int lanes = Vec<T>::lanes;
    double* v = scratch.values;
    int64_t found = 0;
    for (int64_t start = 0; start < n; start += kStretch) {
      if (!peaks.reaches(start, bound)) continue;
      int64_t end = n - start > kStretch ? start + kStretch : n, j = start;
      for (; j + lanes <= end; j += lanes) {
        for (unsigned bits = lane_bits(load(row + j) >= bound); bits != 0; bits &= bits - 1)
          v[found++] = static_cast<double>(row[j + __builtin_ctz(bits)]);
      }
      for (; j < end; ++j)
        if (row[j] >= bound) v[found++] = static_cast<double>(row[j]);
    }
    return found;
  }
};

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset
