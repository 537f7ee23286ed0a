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
  const int most = n >= 1024 ? 11 : 8;
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

// Numbers the distinct keys of rows that are in order; row_at(i) is the row at place i.
template <class Key, class RowAt> inline int64_t number_keys(const Key* keys, int64_t n, RowAt row_at, uint32_t* ranks, uint64_t* distinct) {
  int64_t rank = -1;
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t row = row_at(i);
    const uint64_t key = keys[row];
    if (rank < 0 || key != distinct[rank]) distinct[++rank] = key;
    ranks[row] = static_cast<uint32_t>(rank);
  }
  return rank + 1;
}

// Puts neighbours in order that are so by the upper half of the item alone, which is a part of the key of the row in the
// lower half. False where that is much work, and not yet done.
template <class Key> inline bool settle(const Key* keys, uint64_t* items, int64_t n) {
  int64_t left = 8 * n;
  for (int64_t i = 1; i < n; ++i) {
    for (int64_t j = i; j > 0 && items[j - 1] >> 32 == items[j] >> 32; --j) {
      if (keys[static_cast<uint32_t>(items[j - 1])] <= keys[static_cast<uint32_t>(items[j])]) break;
      if (--left < 0) return false;
      const uint64_t swapped = items[j];
      items[j] = items[j - 1];
      items[j - 1] = swapped;
    }
  }
  return true;
}

constexpr int64_t kFewRows = 1 << 14;
constexpr int kDigit = 11;

// Of the bits of a key in which keys differ, the first ones, with the row below them.
struct Prefix {
  int above, bits;
  uint64_t item(uint64_t key, int64_t row) const { return key << above >> (64 - bits) << 32 | static_cast<uint64_t>(row); }
};

// Sorts the rows of a column by up to two digits of their keys; both are counted while the items are made.
template <class Key> inline uint64_t* sort_few(const Key* keys, int64_t n, Prefix prefix, uint64_t* items, uint64_t* other) {
  constexpr uint32_t kMask = (1u << kDigit) - 1;
  uint32_t counts[2][1 << kDigit] = {};
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t item = prefix.item(keys[i], i);
    items[i] = item;
    ++counts[0][item >> 32 & kMask];
    ++counts[1][item >> (32 + kDigit)];
  }
  for (int digit = 0; digit < 2 && prefix.bits > digit * kDigit; ++digit) {
    uint32_t at = 0;
    for (uint32_t& count : counts[digit]) {
      const uint32_t here = count;
      count = at;
      at += here;
    }
    const int shift = 32 + digit * kDigit;
    for (int64_t i = 0; i < n; ++i) other[counts[digit][items[i] >> shift & kMask]++] = items[i];
    uint64_t* const sorted = other;
    other = items;
    items = sorted;
  }
  return items;
}

template <class Key> inline int64_t rank_keys(const Key* keys, int64_t n, uint32_t* ranks, uint64_t* distinct, Poll poll) {
  Pace pace{poll};
  uint64_t differing = 0;
  for (int64_t i = 1; i < n; ++i) differing |= static_cast<uint64_t>(keys[i] ^ keys[0]);
  if (differing == 0) return number_keys(keys, n, [](int64_t i) { return static_cast<uint32_t>(i); }, ranks, distinct);
  const int above = __builtin_clzll(differing), spread = 64 - above - __builtin_ctzll(differing);
  // Bits of a key that most often tell it from all others: of few rows two digits do.
  for (int enough = n < kFewRows ? 2 * kDigit : 32; enough <= 32; enough += 32 - 2 * kDigit) {
    const Prefix prefix{above, spread < enough ? spread : enough};
    Array<uint64_t> items, other;
    if (!items.reserve(n) || !other.reserve(n)) return -1;
    if (pace.stop(16 * n)) return 0;
    uint64_t* sorted;
    if (prefix.bits <= 2 * kDigit) {
      sorted = sort_few(keys, n, prefix, items.get(), other.get());
    } else {
      for (int64_t i = 0; i < n; ++i) items[i] = prefix.item(keys[i], i);
      sorted = radix_sort(items.get(), other.get(), n, 32, 32 + prefix.bits);
    }
    if (spread == prefix.bits || settle(keys, sorted, n))
      return number_keys(keys, n, [&](int64_t i) { return static_cast<uint32_t>(sorted[i]); }, ranks, distinct);
  }
  Array<KeyAt> items, other;
  if (!items.reserve(n) || !other.reserve(n)) return -1;
  for (int64_t i = 0; i < n; ++i) items[i] = {keys[i], static_cast<uint32_t>(i)};
  const KeyAt* sorted = sort_keys(items.get(), other.get(), n, differing, pace);
  return number_keys(keys, n, [&](int64_t i) { return sorted[i].row; }, ranks, distinct);
}

inline int64_t rank_column(const void* keys, bool wide, int64_t n, uint32_t* ranks, uint64_t* distinct, Poll poll) {
  return wide ? rank_keys(static_cast<const uint64_t*>(keys), n, ranks, distinct, poll)
              : rank_keys(static_cast<const uint32_t*>(keys), n, ranks, distinct, poll);
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::trees
