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
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    __m512i at = _mm512_mullo_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                                    _mm512_set1_epi32(static_cast<int>(n)));
    __m512 best = _mm512_i32gather_ps(at, p, 4);
    for (int64_t j = 1; j < n; ++j) best = _mm512_max_ps(_mm512_i32gather_ps(at, p + j, 4), best);
    _mm512_storeu_ps(max, best);
    return;
  }
#endif
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
