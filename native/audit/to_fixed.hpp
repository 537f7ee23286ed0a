// Predictions of all bags in fixed point, as the lookup tables of sums take them.
#pragma once
#include <stdint.h>

#include "audit/api.hpp"
#include "audit/lookup.hpp"
#include "simd/loose.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

// Columns [0, width) of all bags in fixed point, sixteen to a vector: out[tile * padded bags + bag]. `rounded` is set for
// each run of n_classes columns with an entry that is no multiple of 1 / scale.
template <class T>
void to_fixed(const Loose<T>* values, const BagValues& in, int64_t width, int64_t n_classes, double scale, int64_t padded,
              Sixteen* out, uint8_t* rounded) {
  int64_t tiles = (width + kColumns - 1) / kColumns;
  for (int64_t i = 0; i < tiles * padded; ++i) out[i] = Sixteen{};
  for (int64_t b = 0; b < in.n_bags; ++b) {
    for (int64_t c = 0; c < width; ++c) {
      double x = in_fixed(static_cast<double>(values[b * in.stride + c]), scale);
      int32_t whole = static_cast<int32_t>(x + 0.5);
      reinterpret_cast<int32_t*>(out + c / kColumns * padded + b)[c % kColumns] = whole;
      if (static_cast<double>(whole) != x) rounded[c / n_classes] = 1;
    }
  }
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset
