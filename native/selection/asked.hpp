// Conformal rules as Python names them.
#pragma once
#include "require.hpp"
#include "selection/api.hpp"
#include "view.hpp"

namespace steadyset {

// `thresholds`, one for all labels or one for each, must outlive the rule.
inline Rule conformal_rule(int rule, const View& thresholds, int64_t n_classes, double sum_slack) {
  RuleId id = static_cast<RuleId>(rule);
  int64_t n = thresholds.count();
  require(is_conformal(id), "rule must be a conformal one");
  require(thresholds->itemsize == 8 && (n == 1 || n == n_classes), "thresholds must be one float64, or one for each class");
  return {id, 0, 0, 0, sum_slack, thresholds.as<const double>(), n};
}

}  // namespace steadyset
