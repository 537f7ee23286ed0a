// Reading a row: in place where it is contiguous and aligned float32 or float64, else widened into the thread's own buffer.
#pragma once
#include <stdint.h>
#include <stdlib.h>

#include "selection/api.hpp"
#include "simd/level.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

inline float half_to_float(uint16_t h) {
  uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16, exponent = (h >> 10) & 31, mantissa = h & 1023;
  uint32_t bits;
  if (exponent == 31) {
    bits = sign | 0x7f800000 | mantissa << 13;
  } else if (exponent != 0) {
    bits = sign | (exponent + 112) << 23 | mantissa << 13;
  } else {
    float small = static_cast<float>(mantissa) * 0x1p-24f;  // subnormal or zero: exact
    __builtin_memcpy(&bits, &small, 4);
    bits |= sign;
  }
  float x;
  __builtin_memcpy(&x, &bits, 4);
  return x;
}

inline float bfloat_to_float(uint16_t b) {
  uint32_t bits = static_cast<uint32_t>(b) << 16;
  float x;
  __builtin_memcpy(&x, &bits, 4);
  return x;
}

template <class I> inline I entry(const char* row, int64_t stride, int64_t j) {
  I x;
  __builtin_memcpy(&x, row + j * stride, sizeof x);
  return x;
}

// Integers are shifted before they are widened, so that 2^53 and 2^53 + 1 stay apart. Rules on probabilities see
// integers as they are: there only 0 and 1 pass.
template <class I> inline void widen_integers(const char* row, int64_t stride, int64_t n, bool shift, double* out) {
  I max = entry<I>(row, stride, 0);
  for (int64_t j = 1; j < n; ++j) {
    I x = entry<I>(row, stride, j);
    max = x > max ? x : max;
  }
  for (int64_t j = 0; j < n; ++j) {
    I x = entry<I>(row, stride, j);
    out[j] = shift ? -static_cast<double>(static_cast<uint64_t>(max) - static_cast<uint64_t>(x)) : static_cast<double>(x);
  }
}

struct Buffer {
  void* data = nullptr;
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { free(data); }
};

// T is float for float32, float16 and bfloat16, and double for all else.
template <class T> struct Reader {
  const Rows& rows;
  bool shift_integers;
  Buffer buffer;
  bool in_place;

  Reader(const Rows& r, bool shift) : rows(r), shift_integers(shift) {
    constexpr int64_t size = sizeof(T);
    bool aligned = reinterpret_cast<uintptr_t>(r.data) % sizeof(T) == 0 && r.row_stride % size == 0;
    in_place = (r.kind == Kind::f64 || r.kind == Kind::f32) && r.class_stride == size && aligned;
  }
  bool ready() {
    if (in_place) return true;
    buffer.data = malloc(static_cast<size_t>(rows.n_classes) * sizeof(T));
    return buffer.data != nullptr;
  }
  // Entries from one row to the next, where they are read in place.
  int64_t stride() const { return rows.row_stride / static_cast<int64_t>(sizeof(T)); }

  const T* row(int64_t i) {
    const char* p = rows.data + i * rows.row_stride;
    if (in_place) return reinterpret_cast<const T*>(p);
    T* out = static_cast<T*>(buffer.data);
    widen(p, out);
    return out;
  }

 private:
  void widen(const char* p, float* out) {
    int64_t s = rows.class_stride, n = rows.n_classes;
    switch (rows.kind) {
      case Kind::f16: for (int64_t j = 0; j < n; ++j) out[j] = half_to_float(entry<uint16_t>(p, s, j)); break;
      case Kind::bf16: for (int64_t j = 0; j < n; ++j) out[j] = bfloat_to_float(entry<uint16_t>(p, s, j)); break;
      default: for (int64_t j = 0; j < n; ++j) out[j] = entry<float>(p, s, j); break;
    }
  }
  void widen(const char* p, double* out) {
    int64_t s = rows.class_stride, n = rows.n_classes;
    switch (rows.kind) {
      case Kind::i8: widen_integers<int8_t>(p, s, n, shift_integers, out); break;
      case Kind::i16: widen_integers<int16_t>(p, s, n, shift_integers, out); break;
      case Kind::i32: widen_integers<int32_t>(p, s, n, shift_integers, out); break;
      case Kind::i64: widen_integers<int64_t>(p, s, n, shift_integers, out); break;
      case Kind::u8: widen_integers<uint8_t>(p, s, n, shift_integers, out); break;
      case Kind::u16: widen_integers<uint16_t>(p, s, n, shift_integers, out); break;
      case Kind::u32: widen_integers<uint32_t>(p, s, n, shift_integers, out); break;
      case Kind::u64: widen_integers<uint64_t>(p, s, n, shift_integers, out); break;
      default: for (int64_t j = 0; j < n; ++j) out[j] = entry<double>(p, s, j); break;
    }
  }
};

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset
