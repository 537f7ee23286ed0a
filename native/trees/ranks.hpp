// Ranks of a column by radix sort: stable, a byte or two at a time, over the bits that differ.
#pragma once
#include <stdint.h>
#include <string.h>

#include "simd/level.hpp"
#include "trees/api.hpp"
#include "trees/memory.hpp"

namespace steadyset::trees {
namespace STEADYSET_LEVEL {
namespace {

// Sorts items by the bits [low, high) of the item, stably, using `other` as room; returns where the sorted items are.
template <class Item> inline Item* radix_sort(Item* items, Item* other, int64_t n, int low, int high) {
  const int bits = high - low;
  if (bits <= 0 || n < 2) return items;
  const int most = n >= 4096 ? 11 : 8;
  const int passes = (bits + most - 1) / most, digit = (bits + passes - 1) / passes;
  const uint32_t mask = (1u << digit) - 1;
  uint32_t counts[1 << 11];
  for (int shift = low; shift < high; shift += digit) {
    memset(counts, 0, sizeof(uint32_t) << digit);
    for (int64_t i = 0; i < n; ++i) ++counts[static_cast<uint32_t>(items[i] >> shift) & mask];
    uint32_t at = 0;
    for (uint32_t d = 0; d <= mask; ++d) {
      const uint32_t count = counts[d];
      counts[d] = at;
      at += count;
    }
    for (int64_t i = 0; i < n; ++i) other[counts[static_cast<uint32_t>(items[i] >> shift) & mask]++] = items[i];
    Item* sorted = other;
    other = items;
    items = sorted;
  }
  return items;
}

struct KeyAt {
  uint64_t key;
  uint32_t row;
};

// Keys of 64 bits with their rows: passes over the bytes in which keys differ.
inline KeyAt* sort_keys(KeyAt* items, KeyAt* other, int64_t n, uint64_t differing, Pace& pace) {
  uint32_t counts[1 << 11];
  for (int shift = 0; shift < 64; shift += 11) {
    const uint32_t mask = (1u << 11) - 1;
    if (!(differing >> shift & mask)) continue;
    if (pace.stop(4 * n)) return items;
    memset(counts, 0, sizeof counts);
    for (int64_t i = 0; i < n; ++i) ++counts[items[i].key >> shift & mask];
    uint32_t at = 0;
    for (uint32_t& count : counts) {
      const uint32_t here = count;
      count = at;
      at += here;
    }
    for (int64_t i = 0; i < n; ++i) other[counts[items[i].key >> shift & mask]++] = items[i];
    KeyAt* sorted = other;
    other = items;
    items = sorted;
  }
  return items;
}

inline int64_t rank_column(const void* keys, bool wide, int64_t n, uint32_t* ranks, uint64_t* distinct, Poll poll) {
  Pace pace{poll};
  Array<KeyAt> items, other;
  if (!items.reserve(n) || !other.reserve(n)) return -1;
  uint64_t differing = 0;
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t key = wide ? static_cast<const uint64_t*>(keys)[i] : static_cast<const uint32_t*>(keys)[i];
    items[i] = {key, static_cast<uint32_t>(i)};
    differing |= key ^ items[0].key;
  }
  const KeyAt* sorted = sort_keys(items.get(), other.get(), n, differing, pace);
  int64_t rank = -1;
  for (int64_t i = 0; i < n; ++i) {
    if (rank < 0 || sorted[i].key != distinct[rank]) distinct[++rank] = sorted[i].key;
    ranks[sorted[i].row] = static_cast<uint32_t>(rank);
  }
  return rank + 1;
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::trees
