// The bits of a number, and its neighbours.
#pragma once
#include <stdint.h>

#include "simd/simd.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

template <class T> constexpr typename IntOf<T>::type kMagnitude = 0;  // all bits but the sign
template <> constexpr int32_t kMagnitude<float> = 0x7fffffff;
template <> constexpr int64_t kMagnitude<double> = 0x7fffffffffffffff;

template <class T> inline T step(T x, bool up) {  // the neighbouring number of a finite x
  using Int = typename IntOf<T>::type;
  Int bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  if (x == 0) bits = up ? 1 : static_cast<Int>(1) | ~kMagnitude<T>;
  else bits += (x > 0) == up ? 1 : -1;
  T y;
  __builtin_memcpy(&y, &bits, sizeof y);
  return y;
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset
