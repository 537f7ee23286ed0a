#include "audit/counting.hpp"

#include <algorithm>
#include <cmath>

namespace steadyset {
namespace {

// The largest integer below x, as far as int32_t goes.
int32_t integer_below(double x) {
  return x == x ? static_cast<int32_t>(std::clamp(std::ceil(x) - 1, -0x1p31, 0x1p31 - 1)) : INT32_MIN;
}

}  // namespace

std::vector<Brink> brinks(const TakenBags& taken, const double* bounds, int64_t n_bags, double scale, bool exact) {
  std::vector<Brink> found(static_cast<size_t>(taken.n_units));
  // A mean of floats in blocks of 16 is off by at most (B / 16 + 18) 2^-53, the product below by a few 2^-53 more; a
  // prediction that is no multiple of 1 / scale by half of one, and by the rounding of x + 0.5.
  double relative = (static_cast<double>(n_bags) / 16 + 20) * 0x1p-52;
  for (size_t i = 0; i < found.size(); ++i) {
    double bags = taken.counts[i], whole = bags * scale, bound = bounds[i] * whole;
    double off = whole * relative + (exact ? 0 : bags * (0.5 + 0x1p-20));
    found[i] = {integer_below(bound - off), integer_below(bound + off)};
  }
  return found;
}

}  // namespace steadyset
