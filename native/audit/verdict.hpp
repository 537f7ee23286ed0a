// What a screen knows of a point, and what it finds for eight units at once.
#pragma once
#include <stdint.h>

#include "simd/simd.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

// What decides a point: its own mean and set, and how wide the boundaries are blurred.
struct PointScreen {
  const double* mean;
  const uint8_t* set;
  const uint8_t* leads;  // null: conflicts at other epsilons are not asked for
  int64_t n_classes;
  double size, blur;     // labels in the set; twice the error of a label's mean
};

struct Verdict {
  Vec<double> shift, jaccard;
  Mask<double> conflict, unsure;
};

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset
