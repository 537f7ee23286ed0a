#include "audit/clearing.hpp"

#include <algorithm>
#include <vector>

namespace steadyset {
namespace {

constexpr int64_t kAtOnce = 1024;  // pairs solved at a time

// Pairs of one point with some units, by Theorem 6 in double precision: sums in the fixed order.
class Clearing {
 public:
  Clearing(const ClearTask& task, const Comparer& how, Poll poll) : t(task), how_(how), poll_(poll) {}

  // Which of the units are not cleared, in `open()`.
  Problem solve(int64_t point, const std::vector<int64_t>& units) {
    int64_t n = t.n_classes, found = static_cast<int64_t>(units.size()), outside = 0;
    const uint8_t* set = t.set + point * n;
    for (int64_t l = 0; l < n; ++l) outside += !set[l];
    sums.resize(static_cast<size_t>(found * n));
    if (!audit_unit().means(t.values, point * n, (point + 1) * n, t.taken, units.data(), found, sums.data(), poll_))
      return Problem::no_memory;
    uncleared.assign(units.size(), 0);
    asked.clear();
    Questions near(how_.shrunk(), outside + 1);
    for (int64_t i = 0; i < found; ++i) {
      const double* f = sums.data() + i * n;
      double inside = -1, rival = -1, most = t.most[units[static_cast<size_t>(i)]];
      int64_t best = 0;
      for (int64_t l = 0; l < n; ++l) {
        if (set[l]) inside = std::max(inside, f[l]);
        else if (f[l] > rival) rival = f[best = l];
      }
      if (inside - rival < most - t.margin) uncleared[static_cast<size_t>(i)] = 1;
      else if (t.inflated && outside > 1 && most < t.margin * (1 + 0x1p-40)) {
        double bags = static_cast<double>(t.values.n_bags), *row = near.add();
        *row++ = inside / bags;
        for (int64_t l = 0; l < n; ++l)
          if (!set[l]) *row++ = (l == best ? f[l] + most : f[l]) / bags;
        asked.push_back(i);
      }
    }
    if (asked.empty()) return Problem::none;
    Problem problem = near.answer(poll_);
    for (size_t i = 0; i < asked.size(); ++i) uncleared[static_cast<size_t>(asked[i])] = !near.selected()[i];
    return problem;
  }
  const std::vector<uint8_t>& open() const { return uncleared; }

 private:
  const ClearTask& t;
  Comparer how_;
  Poll poll_;
  std::vector<double> sums;
  std::vector<uint8_t> uncleared;
  std::vector<int64_t> asked;
};

}  // namespace

Problem clear_range(const ClearTask& t, const Comparer& how, const int64_t* times, int64_t first, int64_t last, int64_t* out,
                    Poll poll) {
  int64_t units = t.taken.n_units;
  std::vector<uint8_t> verdict(static_cast<size_t>((last - first) * units));
  if (!audit_unit().clear(t, first, last, verdict.data(), poll)) return Problem::no_memory;
  Clearing exact(t, how, poll);
  std::vector<int64_t> unsure;
  for (int64_t k = first; k < last; ++k) {
    const uint8_t* found = verdict.data() + (k - first) * units;
    uint64_t total = 0;  // which may wrap around: times are the caller's
    for (int64_t from = 0; from < units; from += kAtOnce) {
      if (poll.ask(poll.whom)) return Problem::none;
      unsure.clear();
      for (int64_t i = from; i < std::min(from + kAtOnce, units); ++i) {
        total += found[i] == kNotCleared ? static_cast<uint64_t>(times[i]) : 0;
        if (found[i] == kUnsure) unsure.push_back(i);
      }
      if (unsure.empty()) continue;
      Problem problem = exact.solve(k, unsure);
      if (problem != Problem::none) return problem;
      for (size_t i = 0; i < unsure.size(); ++i) total += exact.open()[i] ? static_cast<uint64_t>(times[unsure[i]]) : 0;
    }
    out[k] = static_cast<int64_t>(total);
  }
  return Problem::none;
}

}  // namespace steadyset
