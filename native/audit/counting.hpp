// What counting in fixed point needs beforehand: between which sums each unit's bound lies.
#pragma once
#include <vector>

#include "audit/api.hpp"

namespace steadyset {

// For each unit: what the sums of its bags in fixed point are compared with. exact: predictions are multiples of 1 / scale.
std::vector<Brink> brinks(const TakenBags& taken, const double* bounds, int64_t n_bags, double scale, bool exact);

}  // namespace steadyset
