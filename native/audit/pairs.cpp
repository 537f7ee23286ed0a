#include "audit/pairs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace steadyset {
namespace {

constexpr int64_t kTileColumns = 64;
constexpr int64_t kScreenColumns = 80;
constexpr int64_t kTogether = 1024;  // units whose means are held at a time

// How many labels two sets must have in common not to conflict: the most that a rule asks for.
int64_t common_labels(const std::vector<Rule>& rules) {
  int64_t most = 1;
  for (const Rule& rule : rules)
    if (rule.id == RuleId::inflated_top_k) most = std::max(most, rule.k);
  return most;
}

// The union of the sets of all rules; `more` is room for those of the rules behind the first.
Problem select_union(const std::vector<Rule>& rules, const Rows& rows, uint8_t* sets, std::vector<uint8_t>& more, Poll poll) {
  size_t entries = static_cast<size_t>(rows.n_rows * rows.n_classes);
  for (size_t i = 0; i < rules.size(); ++i) {
    if (i == 1) more.resize(entries);
    uint8_t* out = i == 0 ? sets : more.data();
    Outcome outcome = selection_unit().select(rows, rules[i], out, 0, rows.n_rows, poll);
    if (outcome.problem != Problem::none) return outcome.problem;
    for (size_t at = 0; i > 0 && at < entries; ++at) sets[at] |= out[at];
  }
  return Problem::none;
}

// The largest epsilon at which two sets of the inflated argmax are disjoint, min_j max(eps_j(v), eps_j(w)).
double last_conflict(const double* v, const double* w, int64_t n) {
  double least = std::numeric_limits<double>::infinity();
  for (int64_t j = 0; j < n; ++j) least = std::min(least, std::max(v[j], w[j]));
  return least;
}

// Pairs of one point with some units, by the definition: means in the fixed order, the rule, the path.
class Solver {
 public:
  Solver(const PairTask& task, Poll poll) : t(task), poll(poll) {}

  Problem solve(int64_t point, const std::vector<int64_t>& units) {
    int64_t n = t.n_classes, found = static_cast<int64_t>(units.size());
    means.resize(static_cast<size_t>(found * n));
    sets.resize(means.size());
    if (!audit_unit().means(t.values, point * n, (point + 1) * n, t.taken, units.data(), found, means.data(), poll))
      return Problem::no_memory;
    Rows rows = packed_rows(means.data(), found, n);
    Problem problem = select_union(t.rules, rows, sets.data(), more, poll);
    if (problem != Problem::none) return problem;
    if (t.entries != nullptr) {
      paths.resize(means.size());
      Outcome outcome = selection_unit().entry_epsilons(rows, paths.data(), 0, found, poll);
      if (outcome.problem != Problem::none) return outcome.problem;
    }
    for (int64_t i = 0; i < found; ++i) write(point, units[static_cast<size_t>(i)], i);
    return Problem::none;
  }

 private:
  const PairTask& t;
  Poll poll;
  std::vector<double> means, paths;
  std::vector<uint8_t> sets, more;

  void write(int64_t point, int64_t unit, int64_t i) {
    int64_t n = t.n_classes, place = point * t.taken.n_units + unit, both = 0, either = 0;
    const uint8_t *set = t.set + point * n, *without = sets.data() + i * n;
    for (int64_t l = 0; l < n; ++l) {
      both += set[l] & without[l];
      either += set[l] | without[l];
    }
    bool apart = both < common_labels(t.rules);
    t.conflict[place] = apart;
    t.jaccard[point] += static_cast<double>(both) / static_cast<double>(either);
    if (t.entries == nullptr) return;
    double e = last_conflict(t.entries + point * n, paths.data() + i * n, n);
    // The rule itself, which is rounded outward, decides at its own epsilon.
    double own = t.rules[0].a;
    if (apart) e = std::max(e, own);
    else if (e >= own) e = std::nextafter(own, -1.0);
    t.last[place] = e > 0 || apart ? e : -1;
  }
};

// Points [first, last), a few at a time: nearly all pairs in fixed point, the others by the definition.
Problem screen_range(const PairTask& t, int64_t first, int64_t last, uint8_t* unsure, Poll poll) {
  int64_t n = t.n_classes, units = t.taken.n_units, together = std::clamp<int64_t>(kScreenColumns / n, 1, 16);
  std::vector<uint8_t> leads(t.entries == nullptr ? 0 : static_cast<size_t>(last * n));  // in step with the points
  for (size_t i = static_cast<size_t>(first * n); i < leads.size(); ++i) leads[i] = t.entries[i] == 0;
  const Rule& rule = t.rules[0];
  ScreenTask task = {t.values, t.taken, n, rule.a * std::sqrt(0.5), common_labels(t.rules), t.mean, t.set, leads.empty() ? nullptr : leads.data(),
                     t.shift, t.error, t.conflict, unsure, t.jaccard};
  if (rule.id == RuleId::argmax) task.margin = 0;
  Solver solver(t, poll);
  std::vector<int64_t> open;
  for (int64_t point = first; point < last; point += together) {
    int64_t end = std::min(point + together, last);
    if (!audit_unit().screen(task, point, end, poll)) return Problem::no_memory;
    if (poll.ask(poll.whom)) return Problem::none;
    for (int64_t k = point; k < end; ++k) {
      if (t.last != nullptr) std::fill_n(t.last + k * units, units, -1.0);
      for (int64_t from = 0; from < units; from += kTogether) {
        if (poll.ask(poll.whom)) return Problem::none;
        open.clear();
        for (int64_t i = from; i < std::min(from + kTogether, units); ++i)
          if (unsure[k * units + i]) open.push_back(i);
        if (open.empty()) continue;
        Problem problem = solver.solve(k, open);
        if (problem != Problem::none) return problem;
      }
    }
  }
  return Problem::none;
}

// Points [first, last), a few at a time, against all units, a block at a time, by the definition.
Problem audit_range(const PairTask& t, int64_t first, int64_t last, Poll poll) {
  const AuditUnit& chosen = audit_unit();
  int64_t n = t.n_classes, together = std::max<int64_t>(1, kTileColumns / n);
  std::vector<double> means(static_cast<size_t>(kTogether * together * n));
  std::vector<uint8_t> sets(t.set != nullptr ? means.size() : 0), more;
  std::vector<int64_t> numbers(kTogether);
  for (int64_t point = first; point < last; point += together) {
    int64_t points = std::min(together, last - point);
    std::fill_n(t.error + point, points, 0x1p-23);  // shifts are floats
    for (int64_t from = 0; from < t.taken.n_units; from += kTogether) {
      int64_t units = std::min(kTogether, t.taken.n_units - from), pairs = units * points;
      std::iota(numbers.begin(), numbers.end(), from);
      if (!chosen.means(t.values, point * n, (point + points) * n, t.taken, numbers.data(), units, means.data(), poll))
        return Problem::no_memory;
      if (poll.ask(poll.whom)) return Problem::none;
      if (t.set != nullptr) {
        Problem problem = select_union(t.rules, packed_rows(means.data(), pairs, n), sets.data(), more, poll);
        if (problem != Problem::none) return problem;
      }
      Comparison c = {t.mean + point * n, t.set == nullptr ? nullptr : t.set + point * n, means.data(), sets.data(),
                      units, points, n, common_labels(t.rules)};
      int64_t place = point * t.taken.n_units + from;
      chosen.compare(c, t.shift + place, t.set == nullptr ? nullptr : t.conflict + place, t.taken.n_units,
                     t.jaccard + point);
    }
  }
  return Problem::none;
}

}  // namespace

bool is_screened(const PairTask& t) {
  if (t.set == nullptr || t.rules.size() != 1) return false;
  const Rule& rule = t.rules[0];
  return keeps_to_margin(rule.id) || (rule.id == RuleId::inflated_top_k && rule.k <= kScreenedLabels);
}

int64_t points_at_once(const PairTask& t) {
  return is_screened(t) ? std::clamp<int64_t>(kScreenColumns / t.n_classes, 1, 16)
                        : std::max<int64_t>(1, kTileColumns / t.n_classes);
}

Problem compare_pairs(const PairTask& task, int64_t first, int64_t last, uint8_t* unsure, Poll poll) {
  return is_screened(task) ? screen_range(task, first, last, unsure, poll) : audit_range(task, first, last, poll);
}

}  // namespace steadyset
