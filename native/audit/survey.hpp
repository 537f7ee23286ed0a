// Which points no unit can disturb, and how far the bags spread.
#pragma once
#include <stdint.h>

#include "audit/api.hpp"
#include "simd/loose.hpp"
#include "simd/simd.hpp"
#include "simd/space.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

// Sums of (t - d)_+, and how many of them are positive.
struct Below {
  double sum, count;
};

inline Below below(const double* d, int64_t n, double t) {
  Vec<double> sums = {}, least = broadcast(t);
  Vec<int64_t> counts = {};
  int64_t b = 0;
  for (; b + 8 <= n; b += 8) {
    Vec<double> x = least - load(d + b);
    Mask<double> positive = x > 0.0;
    sums = sums + only(positive, x);
    counts = counts - positive;
  }
  Below found = {sum_in_order(sums), static_cast<double>(sum_in_order(counts))};
  for (; b < n; ++b) {
    if (!(t - d[b] > 0)) continue;
    found.sum += t - d[b];
    found.count += 1;
  }
  return found;
}

// Whether the mean of the `least` smallest of n differences exceeds the bound. It is the largest over t of
// t - sum (t - d)_+ / least, so that any t proves it; the search for t stops as soon as either answer is certain.
// "No" is always safe.
inline bool smallest_exceed(const double* d, int64_t n, int64_t least, double bound) {
  double low = d[0], high = d[0], k = static_cast<double>(least);
  for (int64_t b = 1; b < n; ++b) {
    low = d[b] < low ? d[b] : low;
    high = d[b] > high ? d[b] : high;
  }
  if (low > bound) return true;
  for (int i = 0; i < 48; ++i) {
    double t = 0.5 * (low + high);
    Below found = below(d, n, t);
    double value = t - found.sum / k, slope = 1 - found.count / k;
    if (value > bound) return true;
    if (value + slope * (slope > 0 ? high - t : low - t) <= bound) return false;  // concave: nothing exceeds the tangent
    (slope > 0 ? low : high) = t;
  }
  return false;
}

// sum_b (v_b - mean)^2, added to `square` in the order of the lanes.
inline double add_squares(const double* v, int64_t n, double mean, double square) {
  Vec<double> sums = {}, center = broadcast(mean);
  int64_t b = 0;
  for (; b + 8 <= n; b += 8) {
    Vec<double> x = load(v + b) - center;
    sums = sums + x * x;
  }
  for (int l = 0; l < 8; ++l) square += sums.lane(l);
  for (; b < n; ++b) square += (v[b] - mean) * (v[b] - mean);
  return square;
}

template <class T> bool survey_of(const SurveyTask& t, int64_t first, int64_t last, Pace& pace) {
  const auto* values = static_cast<const Loose<T>*>(t.values.data);
  int64_t n = t.values.n_bags, n_classes = t.n_classes;
  Space<double> votes;  // (classes, bags)
  if (!votes.reserve(n * n_classes)) return false;
  for (int64_t k = first; k < last && !pace.stop(4 * n * n_classes); ++k) {
    const double* p = t.mean + k * n_classes;
    int64_t lead = 0;
    for (int64_t l = 1; l < n_classes; ++l) lead = p[l] > p[lead] ? l : lead;
    for (int64_t b = 0; b < n; ++b)
      for (int64_t l = 0; l < n_classes; ++l)
        votes[l * n + b] = static_cast<double>(values[b * t.values.stride + k * n_classes + l]);
    double square = 0;
    for (int64_t l = 0; l < n_classes; ++l) square = add_squares(&votes[l * n], n, p[l], square);
    t.spread[k] = square;
    bool calm = true;
    for (int64_t l = 0; l < n_classes && calm && !pace.stop(16 * n); ++l) {
      if (l == lead) continue;
      if (!(p[lead] - p[l] > t.bound)) calm = false;
      if (!calm) break;
      double* d = &votes[l * n];
      for (int64_t b = 0; b < n; ++b) d[b] = votes[lead * n + b] - d[b];
      calm = smallest_exceed(d, n, t.least, t.bound);
    }
    t.settled[k] = calm;
  }
  return true;
}

bool survey(const SurveyTask& task, int64_t first, int64_t last, Poll poll) {
  Pace pace{poll};
  return task.values.wide ? survey_of<double>(task, first, last, pace) : survey_of<float>(task, first, last, pace);
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset
