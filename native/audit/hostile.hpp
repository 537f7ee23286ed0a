// Theorem C2: how many bags may vote anything before a point's set can turn.
#pragma once
#include <cstdint>

#include "audit/api.hpp"
#include "audit/comparer.hpp"

namespace steadyset {

struct HostileTask {
  BagValues values;     // aligned
  const uint8_t* sets;  // (points, classes)
  int64_t n_classes;
  Comparer how;
  double vote, slack;   // the largest sum of a vote, and what rounding may add to a lead
  int64_t least;        // fewer bags than these are of no use
};

// The largest number of bags whose votes may be anything, for points [first, last); 0 where it is below `least`.
Problem hostile_range(const HostileTask& task, int64_t first, int64_t last, int64_t* out, Poll poll);

}  // namespace steadyset
