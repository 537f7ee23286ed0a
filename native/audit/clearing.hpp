// Theorem 6: the rows that no votes in the bags which hold them can make turn a point's set.
#pragma once
#include <cstdint>

#include "audit/api.hpp"
#include "audit/comparer.hpp"

namespace steadyset {

// Adds up, for points [first, last), how many rows the units stand for that are not cleared: times[unit] for each.
Problem clear_range(const ClearTask& task, const Comparer& how, const int64_t* times, int64_t first, int64_t last, int64_t* out,
                    Poll poll);

}  // namespace steadyset
