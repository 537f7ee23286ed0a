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
#include "selection/short_rows.hpp"
#include "selection/stretches.hpp"
#include "simd/simd.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

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

  // Copies the row, the k - 1 largest entries as -infinity: no sum takes those in.
  void blank(const T* row, int64_t n, int64_t k, T kth) {
    constexpr int lanes = Vec<T>::lanes;
    const T nothing = static_cast<T>(-__builtin_inf());
    Vec<T> bound = broadcast(kth), none = broadcast(nothing);
    int64_t above = 0, j = 0;
    for (; j + lanes <= n; j += lanes) {
      Vec<T> x = load(row + j);
      Mask<T> over = x > bound;
      above += __builtin_popcount(lane_bits(over));
      store(values_ + j, pick<T>(over, none, x));
    }
    for (; j < n; ++j) {
      bool over = row[j] > kth;
      above += over;
      values_[j] = over ? nothing : row[j];
    }
    for (j = 0; j < n && above < k - 1; ++j) {
      if (!(values_[j] == kth)) continue;
      values_[j] = nothing;
      ++above;
    }
  }
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
  Rest<T> rest;

  InflatedTopK(const Rule& r, Poll poll) : rule(r), pace{poll} {
    difference = r.a == 0 ? 0 : smallest_difference(-kInvSqrt2 - kOutward, r.a);
  }
  bool reserve(int64_t n) { return scratch.reserve(n + Vec<T>::lanes) && peaks.reserve(n) && rest.reserve(n); }

  Problem row(const T* row, int64_t n, uint8_t* out) {
    T kth;
    if (n > kStretch) {
      if (!peaks.look(row, n).finite) return Problem::not_finite;
      kth = kth_by_peaks(row, n);
    } else {
      if (!extent(row, n).finite) return Problem::not_finite;
      kth = kth_largest(row, n, rule.k, scratch, pace);
    }
    T margin = difference == 0 ? kth : threshold_at(kth, difference);
    if (is_decided(row, n, kth, margin, out)) return Problem::none;
    rest.blank(row, n, rule.k, kth);
    T threshold;
    if (!InflatedRow<T>{rest.values(), n, kth, margin}.solve(EveryStretch{}, rule.a, scratch, &threshold))
      return Problem::no_memory;
    write_mask(row, n, threshold, out);
    return Problem::none;
  }

 private:
  // Writes the set where it needs no solving. Entries below the margin are out, with at most two of the rest within it
  // the others are in, and so are those less than kappa_L epsilon below the k-th largest, kappa_L = sqrt(L/(L-1)) -
  // 1/sqrt(2), L the size of the rest: mostly no entry is in between.
  bool is_decided(const T* row, int64_t n, T kth, T margin, uint8_t* out) const {
    bool may_inflate = difference < 0 && rule.a * 0 == 0;
    write_mask(row, n, margin, out);
    if (!may_inflate) return true;
    int64_t within = count_ones(out, n);
    if (within <= rule.k + 1) return true;
    double rest_size = static_cast<double>(n - rule.k + 1);
    double kappa = __builtin_sqrt(rest_size / (rest_size - 1)) - kInvSqrt2;
    return within == count_reaching(row, n, threshold_at(kth, -kappa * rule.a * (1 - 0x1p-40)));
  }
  static int64_t count_reaching(const T* row, int64_t n, T threshold) {
    constexpr int lanes = Vec<T>::lanes;
    int64_t count = 0, j = 0;
    for (; j + lanes <= n; j += lanes) count += __builtin_popcount(lane_bits(load(row + j) >= threshold));
    for (; j < n; ++j) count += row[j] >= threshold;
    return count;
  }

  // A value that at least k of the peaks reach: the largest such one, unless k is large.
  T bound_by_peaks(int64_t count) {
    constexpr int lanes = Vec<T>::lanes;
    if (rule.k > 16) {
      for (int64_t i = 0; i < count; ++i) scratch.values[i] = static_cast<double>(peaks.all()[i]);
      return static_cast<T>(kth_of(scratch.values, count, rule.k, pace));
    }
    const Vec<T> none = broadcast(static_cast<T>(-__builtin_inf()));
    T bound = 0;
    for (int64_t reached = 0, round = 0; reached < rule.k; ++round) {  // the next largest, with all that equal it
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
  // stretches that overlap may be one entry counted twice; then fewer than k reach it, and the row is selected from as a
  // whole. So it is where most peaks would have to be looked at.
  T kth_by_peaks(const T* row, int64_t n) {
    constexpr int lanes = Vec<T>::lanes;
    int64_t k = rule.k, count = Peaks<T>::count(n);
    if (4 * k > count) return kth_largest(row, n, k, scratch, pace);
    double* v = scratch.values;
    T bound = bound_by_peaks(count);
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
    if (found < k) return kth_largest(row, n, k, scratch, pace);
    return static_cast<T>(kth_of(v, found, k, pace));
  }
};

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset
