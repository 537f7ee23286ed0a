// A number at any address: an array that was cut out of bytes need not be aligned.
#pragma once
#include "simd/level.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

template <class T> struct __attribute__((packed)) Loose {
  T value;
  operator T() const { return value; }
};

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset
