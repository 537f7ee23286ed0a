// Thresholds: every rule ends as "all entries >= threshold", so that membership is monotone in the score, to the bit.
#pragma once
#include "selection/bits.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

constexpr double kInvSqrt2 = 0.70710678118654752440;
constexpr double kOutward = 8 * 2.220446049250313e-16;  // sets are rounded outward: any superset keeps compatibility

// The smallest difference d = w_j - M (a double) that counts as d / epsilon > bound.
inline double smallest_difference(double bound, double epsilon) {
  double d = bound * epsilon;
  if (d != d || d * 0 != 0) return d;  // an infinite epsilon takes every label
  for (int i = 0; i < 4 && d / epsilon > bound; ++i) d = step(d, false);
  for (int i = 0; i < 4 && !(d / epsilon > bound); ++i) d = step(d, true);
  return d > 0 ? 0 : d;
}

// The smallest entry w with w - max >= difference. Neighbouring numbers subtract exactly (Sterbenz), so that a large
// offset costs nothing; where they do not, one step between numbers is far below epsilon's own rounding.
template <class T> inline T threshold_at(T max, double difference) {
  double m = max;
  T t = static_cast<T>(m + difference);
  if (!(static_cast<double>(t) - m >= difference)) return step(t, true);
  T below = step(t, false);
  return static_cast<double>(below) - m >= difference ? below : t;
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset
