// Conformal sets: all labels whose score is at most a threshold, one for all labels or one for each.
#pragma once
#include "poll.hpp"
#include "selection/api.hpp"
#include "selection/prefix.hpp"
#include "selection/scratch.hpp"
#include "simd/space.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

// The first entry, in descending order, with which the mass passes the threshold; -1 where it never does.
inline double first_left_out(Descending& w, double threshold) {
  double mass = 0;
  for (int64_t i = 0; i < w.n && !w.pace.stopped; ++i)
    if ((mass += w[i]) > threshold) return w[i];
  return -1;
}

template <class T> struct ConformalRules {
  const Rule& rule;
  Pace pace;
  Scratch scratch;
  Space<double> masses;

  bool reserve(int64_t n) {
    return scratch.reserve(n) && masses.reserve(rule.id == RuleId::aps && rule.n_thresholds > 1 ? n : 1);
  }
  Problem row(const T* row, int64_t n, uint8_t* out) {
    Widened read = widen(row, n, scratch.values, pace);
    if (pace.stopped) return Problem::none;
    Problem problem = read.off_simplex(rule.sum_slack);
    if (problem != Problem::none) return problem;
    if (rule.id == RuleId::lac) lac(n, out);
    else if (rule.n_thresholds == 1) aps(row, n, out);
    else aps_by_class(row, n, out);
    return Problem::none;
  }

 private:
  // {l : 1 - p_l <= threshold}
  void lac(int64_t n, uint8_t* out) {
    const double* v = scratch.values;
    if (rule.n_thresholds == 1)
      for (int64_t j = 0; j < n; ++j) out[j] = 1 - v[j] <= rule.thresholds[0];
    else
      for (int64_t j = 0; j < n; ++j) out[j] = 1 - v[j] <= rule.thresholds[j];
  }
  // {l : the mass of {k : p_k >= p_l} <= threshold}: the first label with which the mass passes it is out with its ties.
  void aps(const T* row, int64_t n, uint8_t* out) {
    Descending w{scratch.values, n, pace};
    double bound = first_left_out(w, rule.thresholds[0]);
    for (int64_t j = 0; j < n; ++j) out[j] = static_cast<double>(row[j]) > bound;
  }
  void aps_by_class(const T* row, int64_t n, uint8_t* out) {
    Descending w{scratch.values, n, pace};
    auto* mass = masses.data();  // of each entry in descending order with all before it and its ties
    for (int64_t i = 0; i < n; ++i) mass[i] = w[i] + (i > 0 ? mass[i - 1] : 0);
    for (int64_t i = n - 2; i >= 0; --i) mass[i] = w[i] == w[i + 1] ? mass[i + 1] : mass[i];
    for (int64_t j = 0; j < n && !pace.stop(64); ++j) {
      int64_t low = 0, high = n - 1;  // an entry that equals the label's own is between them
      double own = static_cast<double>(row[j]);
      while (low < high) {
        int64_t middle = (low + high) / 2;
        if (w.v[middle] > own) low = middle + 1;
        else high = middle;
      }
      out[j] = mass[low] <= rule.thresholds[j];
    }
  }
};

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset
