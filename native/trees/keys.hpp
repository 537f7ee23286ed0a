// Values as keys: unsigned numbers in the order of the values. Missing values (NaN) have the largest key.
#pragma once
#include <stdint.h>
#include <string.h>

#include "trees/api.hpp"
#include "simd/level.hpp"

namespace steadyset::trees {
namespace STEADYSET_LEVEL {
namespace {

template <class T, class U> inline U bits_as(T x) {
  static_assert(sizeof(T) == sizeof(U));
  U u;
  memcpy(&u, &x, sizeof u);
  return u;
}

// IEEE numbers in the order of their bits once the sign is turned round; -0 is 0.
inline uint32_t key_of(float x) {
  if (x != x) return UINT32_MAX;
  const uint32_t bits = bits_as<float, uint32_t>(x + 0.0f);
  return bits >> 31 ? ~bits : bits | 1u << 31;
}
inline uint64_t key_of(double x) {
  if (x != x) return UINT64_MAX;
  const uint64_t bits = bits_as<double, uint64_t>(x + 0.0);
  return bits >> 63 ? ~bits : bits | uint64_t{1} << 63;
}
inline float float_of(uint32_t key) { return bits_as<uint32_t, float>(key >> 31 ? key & ~(1u << 31) : ~key); }
inline double double_of(uint64_t key) {
  return bits_as<uint64_t, double>(key >> 63 ? key & ~(uint64_t{1} << 63) : ~key);
}

// Whole numbers, from their half of the range: those below zero come first. The caller has none of 2^63 or more.
template <class Key, class T> inline Key whole_key(T x) {
  return static_cast<Key>(x) ^ Key{1} << (8 * sizeof(Key) - 1);
}

// The key of the threshold between two neighbouring values: the midpoint, which is at least the lower and below the
// upper one. It depends on these two alone. Categories are split just above the lower one.
inline uint64_t between(uint64_t low, uint64_t high, uint8_t kind) {
  if (kind == kCategory) return low;
  if (kind == kWhole) return low + (high - low) / 2;
  if (kind == kFloat32) {  // in float64, rounded down: no float32 lies between
    const double a = float_of(static_cast<uint32_t>(low)), b = float_of(static_cast<uint32_t>(high));
    const double exact = a / 2 + b / 2;
    uint32_t key = key_of(static_cast<float>(exact));
    if (static_cast<double>(float_of(key)) > exact) --key;
    return key < low ? low : key;
  }
  const double a = double_of(low), b = double_of(high);
  const uint64_t key = key_of(a / 2 + b / 2);
  return key < low || key >= high ? low : key;
}

// A key between low and high, high excluded, for u in [0, 1): uniform on the values, as an extremely random split is.
inline uint64_t drawn_between(uint64_t low, uint64_t high, uint8_t kind, double u) {
  uint64_t key = low;
  if (kind == kFloat32) {
    const double a = float_of(static_cast<uint32_t>(low)), b = float_of(static_cast<uint32_t>(high));
    key = key_of(static_cast<float>(a + u * (b - a)));
  } else if (kind == kFloat64) {
    const double a = double_of(low) / 2, b = double_of(high) / 2;  // halves: the difference must not overflow
    key = key_of(2 * (a + u * (b - a)));
  } else {
    const double width = static_cast<double>(high - low);
    key = low + static_cast<uint64_t>(u * width);
  }
  return key < low || key >= high ? low : key;
}

inline bool is_infinite(float x) { return x - x != 0.0f && x == x; }
inline bool is_infinite(double x) { return x - x != 0.0 && x == x; }

template <class Key, class T> inline Key key_from(T x) { return whole_key<Key>(x); }
template <> inline uint32_t key_from<uint32_t, float>(float x) { return key_of(x); }
template <> inline uint64_t key_from<uint64_t, float>(float x) { return key_of(static_cast<double>(x)); }
template <> inline uint64_t key_from<uint64_t, double>(double x) { return key_of(x); }
template <class T> inline bool refused(T) { return false; }
inline bool refused(float x) { return is_infinite(x); }
inline bool refused(double x) { return is_infinite(x); }

struct Strides {
  int64_t row, column, out_row, out_column;
};

template <class T, class Key>
int64_t convert(const char* values, int64_t n, int64_t n_features, Strides s, Key* out, Poll poll) {
  Pace pace{poll};
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t f = 0; f < n_features; ++f) {
      T x;
      memcpy(&x, values + i * s.row + f * s.column, sizeof x);  // at any address
      if (refused(x)) return i * n_features + f;
      out[i * s.out_row + f * s.out_column] = key_from<Key>(x);
    }
    if (pace.stop(n_features)) return -1;
  }
  return -1;
}

inline int64_t keys_of(const void* values, ValueType type, int64_t n, int64_t n_features, int64_t row_stride,
                       int64_t column_stride, void* out, bool wide, int64_t out_row, int64_t out_column, Poll poll) {
  const char* from = static_cast<const char*>(values);
  const Strides s{row_stride, column_stride, out_row, out_column};
#define STEADYSET_CASE(name, T)                                                                             \
  case name:                                                                                                \
    return wide ? convert<T, uint64_t>(from, n, n_features, s, static_cast<uint64_t*>(out), poll)           \
                : convert<T, uint32_t>(from, n, n_features, s, static_cast<uint32_t*>(out), poll);
  switch (type) {
    STEADYSET_CASE(kFromFloat32, float)
    STEADYSET_CASE(kFromInt8, int8_t)
    STEADYSET_CASE(kFromInt16, int16_t)
    STEADYSET_CASE(kFromUint8, uint8_t)
    STEADYSET_CASE(kFromUint16, uint16_t)
    STEADYSET_CASE(kFromInt32, int32_t)
    case kFromUint32: return convert<uint32_t, uint64_t>(from, n, n_features, s, static_cast<uint64_t*>(out), poll);
    case kFromFloat64: return convert<double, uint64_t>(from, n, n_features, s, static_cast<uint64_t*>(out), poll);
    case kFromInt64: return convert<int64_t, uint64_t>(from, n, n_features, s, static_cast<uint64_t*>(out), poll);
    case kFromUint64: return convert<uint64_t, uint64_t>(from, n, n_features, s, static_cast<uint64_t*>(out), poll);
  }
#undef STEADYSET_CASE
  return -1;
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::trees
