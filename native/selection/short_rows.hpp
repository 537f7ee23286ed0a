// Margin thresholds for short rows, sixteen rows at a time: a row of ten labels cannot fill a register by itself.
#pragma once
#include <stdint.h>

#include "selection/boundary.hpp"
#include "simd/simd.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

constexpr int kBlock = 16;
constexpr int64_t kShort = 48;

template <class T> inline void block_max(const T* p, int64_t n, T* max) {
  if (n >= 4) {
    for (int r = 0; r < kBlock; r += 4) largest_of_four_rows(p + r * n, n, max + r);
    return;
  }
  for (int r = 0; r < kBlock; ++r) max[r] = p[r * n];
  for (int64_t j = 1; j < n; ++j)
    for (int r = 0; r < kBlock; ++r) max[r] = p[r * n + j] > max[r] ? p[r * n + j] : max[r];
}

inline int64_t count_ones(const uint8_t* mask, int64_t n) {
  int64_t count = 0, j = 0;
  for (; j + 8 <= n; j += 8) {
    uint64_t word;
    __builtin_memcpy(&word, mask + j, 8);
    count += static_cast<int64_t>((word * 0x0101010101010101u) >> 56);
  }
  for (; j < n; ++j) count += mask[j];
  return count;
}

// Writes {w_j - max >= difference} for kBlock contiguous rows; false when an entry is not finite.
template <class T>
inline bool margin_block(const T* p, int64_t n, double difference, T* max, T* threshold, uint8_t* out) {
  constexpr int lanes = Vec<T>::lanes;
  block_max(p, n, max);
  for (int r = 0; r < kBlock; ++r) threshold[r] = difference == 0 ? max[r] : threshold_at(max[r], difference);

  // Each row's threshold, repeated for each of its entries. Whole vectors are stored, so that the last one of a row runs
  // into the next row, which then overwrites it.
  alignas(kVectorBytes) T spread[kBlock * kShort + lanes];
  for (int r = 0; r < kBlock; ++r) {
    Vec<T> t = broadcast(threshold[r]);
    for (int64_t j = 0; j < n; j += lanes) store(spread + r * n + j, t);
  }
  Vec<T> zeros = {};
  int64_t total = kBlock * n;  // a multiple of the lanes
  for (int64_t i = 0; i < total; i += lanes) {
    Vec<T> x = load(p + i);
    zeros = zeros + x * T{0};  // stays 0 for finite x alone
    store_bytes(out + i, x >= load(spread + i));
  }
  return !any(zeros != T{0});
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset
