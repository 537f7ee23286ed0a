// A point's own mean and set beside those with units left out, by the definition.
#pragma once
#include <stdint.h>

#include "audit/api.hpp"
#include "simd/level.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

void compare(const Comparison& c, float* shift, uint8_t* conflict, int64_t stride, double* jaccard) {
  for (int64_t i = 0; i < c.n_units; ++i) {
    for (int64_t k = 0; k < c.n_points; ++k) {
      int64_t at = (i * c.n_points + k) * c.n_classes;
      const double* own = c.mean + k * c.n_classes;
      double square = 0;
      for (int64_t l = 0; l < c.n_classes; ++l) {
        double d = c.means[at + l] - own[l];
        square += d * d;
      }
      shift[k * stride + i] = static_cast<float>(__builtin_sqrt(square));
      if (c.set == nullptr) continue;
      const uint8_t* set = c.set + k * c.n_classes;
      int64_t both = 0, either = 0;
      for (int64_t l = 0; l < c.n_classes; ++l) {
        both += set[l] & c.sets[at + l];
        either += set[l] | c.sets[at + l];
      }
      conflict[k * stride + i] = both < c.n_common;
      jaccard[k] += either == 0 ? 1 : static_cast<double>(both) / static_cast<double>(either);  // two empty sets are alike
    }
  }
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset
