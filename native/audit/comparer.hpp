// Whether a label stays selected, asked of rules that compare labels.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

#include "selection/api.hpp"

namespace steadyset {

inline const double kMargin = std::sqrt(0.5) * (1 - 0x1p-50);

// A rule by which labels are compared: its margin over the number of bags, and how the inflated argmax is asked. Whatever
// is selected at the smaller epsilon is selected at the rule's own, whatever the rounding.
struct Comparer {
  RuleId id;
  double epsilon;

  double margin() const { return id == RuleId::argmax ? 0 : kMargin * epsilon; }
  bool inflated() const { return id == RuleId::inflated_argmax; }
  Rule shrunk() const { return {id, epsilon * (1 - 1e-9) - 1e-9, 0, 0, 0}; }
};

// Rows of scores of which it is asked whether their first entry is selected by the inflated argmax.
class Questions {
 public:
  Questions(Rule rule, int64_t width) : rule_(rule), width_(width) {}

  double* add() {
    scores_.resize(scores_.size() + static_cast<size_t>(width_));
    return scores_.data() + scores_.size() - width_;
  }
  int64_t count() const { return static_cast<int64_t>(scores_.size()) / width_; }
  void forget() { scores_.clear(); }
  // Fills `selected()`, one for each row.
  Problem answer(Poll poll) {
    first_.assign(static_cast<size_t>(count()), 0);
    if (!(rule_.a > 0)) return Problem::none;
    sets_.resize(scores_.size());
    Outcome outcome = selection_unit().select(packed_rows(scores_.data(), count(), width_), rule_, sets_.data(), 0, count(), poll);
    for (int64_t i = 0; i < count(); ++i) first_[static_cast<size_t>(i)] = sets_[static_cast<size_t>(i * width_)];
    return outcome.problem;
  }
  const std::vector<uint8_t>& selected() const { return first_; }

 private:
  Rule rule_;
  int64_t width_;
  std::vector<double> scores_;
  std::vector<uint8_t> sets_, first_;
};

}  // namespace steadyset
