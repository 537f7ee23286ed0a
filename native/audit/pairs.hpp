// Every pair of a point and a unit that is left out: how far the mean moves, and whether the sets still share a label.
#pragma once
#include <cstdint>
#include <vector>

#include "audit/api.hpp"
#include "selection/api.hpp"

namespace steadyset {

// Everything that is asked of each pair of a point and a unit. Arrays over pairs are (points, units).
struct PairTask {
  BagValues values;
  TakenBags taken;
  int64_t n_classes;
  const double* mean;
  const uint8_t* set;     // null: shifts only
  const double* entries;  // of the means; null: no last conflicts
  std::vector<Rule> rules;  // whose union selects; none: shifts only
  float* shift;
  double* error;          // of a point's shifts
  uint8_t* conflict;
  double* last;           // the last conflict of a pair, -1 where it never is one
  double* jaccard;
};

// Whether nearly all pairs can be decided in fixed point.
bool is_screened(const PairTask& task);

// How many points a thread takes at a time.
int64_t points_at_once(const PairTask& task);

// Points [first, last): nearly all pairs in fixed point where the rule keeps to a margin, all others by the definition.
// unsure: scratch of a byte for each pair, where the task is screened.
Problem compare_pairs(const PairTask& task, int64_t first, int64_t last, uint8_t* unsure, Poll poll);

}  // namespace steadyset
