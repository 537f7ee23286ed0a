// Drawing bags: the rows of smallest hash, and draws with replacement.
#pragma once
#include <stdint.h>
#include <stdlib.h>

#include "bags/api.hpp"
#include "simd/simd.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

using Words = Vec<uint64_t>;
// A product of 64-bit words is one instruction for a single word. For a vector it is one with registers of 64 bytes, and
// seven with 32 bytes, which still pays where words are compared too; below that it does not.
constexpr bool kHashVectors = kRegisterBytes >= 32, kDrawVectors = kRegisterBytes >= 64;

// The finaliser of MurmurHash3: a bijection of 64-bit words. W is a word, or a vector of them.
template <class W> inline W mixed(W x) {
  x = x ^ (x >> 33);
  x = x * uint64_t{0xff51afd7ed558ccdu};
  x = x ^ (x >> 33);
  x = x * uint64_t{0xc4ceb9fe1a85ec53u};
  return x ^ (x >> 33);
}

// Two rounds with a key before each: for one bag a bijection of the ids, so that no two rows tie.
template <class W> inline W hashed(W id, BagKey key) { return mixed(mixed(id ^ key.first) ^ key.second); }

inline Words first_eight() {
  constexpr uint64_t from_zero[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  return load(from_zero);
}

struct Found {
  uint64_t hash;
  int64_t row;
};

struct FoundList {
  Found* items = nullptr;
  int64_t n = 0, capacity = 0;
  FoundList() = default;
  FoundList(const FoundList&) = delete;
  FoundList& operator=(const FoundList&) = delete;
  ~FoundList() { free(items); }
  bool add(uint64_t hash, int64_t row) {
    if (n == capacity) {
      int64_t wanted = capacity ? 2 * capacity : 4096;
      void* grown = realloc(items, static_cast<size_t>(wanted) * sizeof(Found));
      if (grown == nullptr) return false;
      items = static_cast<Found*>(grown);
      capacity = wanted;
    }
    items[n++] = {hash, row};
    return true;
  }
};

inline void exchange(Found& a, Found& b) {
  Found c = a;
  a = b;
  b = c;
}

// Moves the k smallest hashes to the front; all are distinct.
inline void select_smallest(Found* v, int64_t n, int64_t k) {
  int64_t low = 0, high = n;
  while (high - low > 1 && k > low && k < high) {
    Found pivot = v[low + (high - low) / 2];
    int64_t i = low, j = high - 1;
    while (i <= j) {
      while (v[i].hash < pivot.hash) ++i;
      while (v[j].hash > pivot.hash) --j;
      if (i <= j) exchange(v[i++], v[j--]);
    }
    if (k <= j + 1) high = j + 1;
    else if (k >= i) low = i;
    else return;
  }
}

// Sifts the rows of one bag by their hashes: those below `low` become bits, those from `low` to `high` are listed.
struct Sieve {
  BagKey key;
  const uint64_t* ids;  // null: 0, 1, 2, ...
  uint64_t low, high;
  uint8_t* bits;
  FoundList& middle;
  int64_t below = 0;    // how many bits were set

  uint64_t hash_of(int64_t row) const { return hashed(ids != nullptr ? ids[row] : static_cast<uint64_t>(row), key); }

  // Bits of eight rows from i on: which hashes are below `low`, and which are at most `high`.
  struct Byte {
    uint64_t under, up_to;
  };
  Byte sift_byte(int64_t i) const {
    if constexpr (kHashVectors) {
      Words h = hashed(ids != nullptr ? load(ids + i) : first_eight() + static_cast<uint64_t>(i), key);
      return {lane_bits(h < broadcast(low)), lane_bits(h <= broadcast(high))};
    }
    Byte found = {0, 0};
    for (int j = 0; j < 8; ++j) {
      uint64_t h = hash_of(i + j);
      found.under |= static_cast<uint64_t>(h < low) << j;
      found.up_to |= static_cast<uint64_t>(h <= high) << j;
    }
    return found;
  }
  // Up to 64 rows from i on, whole bytes of bits; false when memory runs out.
  bool sift_word(int64_t i, int64_t count) {
    uint64_t under = 0, within = 0;
    for (int64_t j = 0; j < count; j += 8) {
      Byte found = sift_byte(i + j);
      bits[(i + j) / 8] = static_cast<uint8_t>(found.under);
      under |= found.under << j;
      within |= found.up_to << j;
    }
    below += __builtin_popcountll(under);
    // Few rows are in between: their hashes are made again.
    for (within &= ~under; within != 0; within &= within - 1) {
      int64_t row = i + __builtin_ctzll(within);
      if (!middle.add(hash_of(row), row)) return false;
    }
    return true;
  }
  bool sift_row(int64_t i) {
    uint64_t h = hash_of(i);
    if (h >= low) return h > high || middle.add(h, i);
    bits[i / 8] |= static_cast<uint8_t>(1u << (i % 8));
    ++below;
    return true;
  }
  // All n rows; false when memory runs out.
  bool sift(int64_t n, Pace& pace) {
    int64_t i = 0, whole = n / 8 * 8;
    middle.n = below = 0;
    for (; i < whole; i += 64) {
      if (i % 4096 == 0 && pace.stop(4096)) return true;
      if (!sift_word(i, whole - i < 64 ? whole - i : 64)) return false;
    }
    if (whole < n) bits[whole / 8] = 0;
    for (i = whole; i < n; ++i)
      if (!sift_row(i)) return false;
    return true;
  }
};

// Hashes are uniform, so that the m-th smallest lies within a few standard deviations of m/n of their range: only rows
// in that window are compared with each other. Where the guess fails, the window is everything.
bool smallest(BagKey key, const uint64_t* ids, int64_t n, int64_t m, uint8_t* bits, int64_t* next, Poll poll) {
  Pace pace{poll};
  FoundList middle;
  double share = static_cast<double>(m) / static_cast<double>(n), rows = static_cast<double>(n);
  double slack = (8 * __builtin_sqrt(share * (1 - share) / rows)) + 16 / rows;
  double from = share - slack, to = share + slack;
  uint64_t low = from <= 0 ? 0 : static_cast<uint64_t>(from * 0x1p64);
  uint64_t high = to >= 0.999999 ? ~static_cast<uint64_t>(0) : static_cast<uint64_t>(to * 0x1p64);
  Sieve sieve{key, ids, low, high, bits, middle};
  if (!sieve.sift(n, pace)) return false;
  if (pace.stopped) return true;
  if (sieve.below > m || sieve.below + middle.n < m + (m < n)) {
    sieve.low = 0;
    sieve.high = ~static_cast<uint64_t>(0);
    if (!sieve.sift(n, pace)) return false;
    if (pace.stopped) return true;
  }
  int64_t wanted = m - sieve.below;
  select_smallest(middle.items, middle.n, wanted);
  for (int64_t i = 0; i < wanted; ++i) bits[middle.items[i].row / 8] |= static_cast<uint8_t>(1u << (middle.items[i].row % 8));
  *next = -1;
  uint64_t least = 0;
  for (int64_t i = wanted; i < middle.n; ++i) {
    if (*next < 0 || middle.items[i].hash < least) {
      least = middle.items[i].hash;
      *next = middle.items[i].row;
    }
  }
  return true;
}

bool enters(BagKey key, const uint64_t* ids, const uint32_t* held, int64_t m, const uint64_t* fresh, int64_t n_fresh, Poll poll) {
  Pace pace{poll};
  uint64_t least = ~static_cast<uint64_t>(0), most = 0;
  for (int64_t i = 0; i < n_fresh && !pace.stop(1); ++i) {
    uint64_t h = hashed(fresh[i], key);
    if (h < least) least = h;
  }
  for (int64_t i = 0; i < m && !pace.stop(1); ++i) {
    uint64_t h = hashed(ids[held[i]], key);
    if (h > most) most = h;
  }
  return least <= most;
}

// floor(h n / 2^64) for n below 2^32: the upper word of h times n, and what the lower one carries into it.
template <class W> inline W scaled_down(W h, uint64_t n) { return ((h >> 32) * n + ((h & uint64_t{0xffffffffu}) * n >> 32)) >> 32; }

void draw(BagKey key, int64_t n, int64_t m, uint32_t* out, Poll poll) {
  Pace pace{poll};
  uint64_t range = static_cast<uint64_t>(n);
  for (int64_t start = 0; start < m && !pace.stop(4096); start += 4096) {
    int64_t i = start, end = m - start > 4096 ? start + 4096 : m;
    for (; kDrawVectors && i + 8 <= end; i += 8)
      store_low_halves(out + i, scaled_down(hashed(first_eight() + static_cast<uint64_t>(i), key), range));
    for (; i < end; ++i) out[i] = static_cast<uint32_t>(scaled_down(hashed(static_cast<uint64_t>(i), key), range));
  }
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset
