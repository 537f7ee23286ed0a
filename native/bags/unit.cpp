// Drawing bags and summing their predictions. Compiled once per instruction set; internal linkage but for the entry.
#include <stdint.h>
#include <stdlib.h>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "bags/api.hpp"

namespace steadyset {
namespace {

typedef uint64_t Words __attribute__((vector_size(64)));
typedef int64_t Flags __attribute__((vector_size(64)));

// The finaliser of MurmurHash3: a bijection of 64-bit words.
template <class W> inline W mixed(W x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdu;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53u;
  x ^= x >> 33;
  return x;
}

// Two rounds with a key before each: for one bag a bijection of the ids, so that no two rows tie.
template <class W> inline W hashed(W id, BagKey key) { return mixed(mixed(id ^ key.first) ^ key.second); }

struct Found {
  uint64_t hash;
  int64_t row;
};

struct FoundList {
  Found* items = nullptr;
  int64_t n = 0, capacity = 0;
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

// A bit for each of eight rows: 1 where the flag is set.
inline uint8_t bits_of(Flags flags) {
#if defined(__AVX512F__)
  return static_cast<uint8_t>(_mm512_movepi64_mask(reinterpret_cast<__m512i>(flags)));
#else
  uint8_t bits = 0;
  for (int l = 0; l < 8; ++l) bits |= static_cast<uint8_t>((flags[l] & 1) << l);
  return bits;
#endif
}

// Rows with a hash below `low` become bits; those from `low` to `high` are listed. Returns how many bits were set,
// or -1 when memory runs out.
inline int64_t sift(BagKey key, const uint64_t* ids, int64_t n, uint64_t low, uint64_t high, uint8_t* bits, FoundList& middle) {
  int64_t below = 0, i = 0;
  middle.n = 0;
  Words id = {0, 1, 2, 3, 4, 5, 6, 7};
  for (; i + 8 <= n; i += 8) {
    if (ids != nullptr) __builtin_memcpy(&id, ids + i, sizeof id);
    Words h = hashed(id, key);
    uint8_t under = bits_of(h < low), within = bits_of(h <= high) & static_cast<uint8_t>(~under);
    if (ids == nullptr) id += 8;
    bits[i / 8] = under;
    below += __builtin_popcount(under);
    for (; within != 0; within &= static_cast<uint8_t>(within - 1)) {
      int l = __builtin_ctz(within);
      if (!middle.add(h[l], i + l)) return -1;
    }
  }
  if (i < n) bits[i / 8] = 0;
  for (; i < n; ++i) {
    uint64_t h = hashed(ids != nullptr ? ids[i] : static_cast<uint64_t>(i), key);
    if (h < low) {
      bits[i / 8] |= static_cast<uint8_t>(1u << (i % 8));
      ++below;
    } else if (h <= high && !middle.add(h, i)) {
      return -1;
    }
  }
  return below;
}

// Hashes are uniform, so that the m-th smallest lies within a few standard deviations of m/n of their range: only rows
// in that window are compared with each other. Where the guess fails, the window is everything.
bool smallest(BagKey key, const uint64_t* ids, int64_t n, int64_t m, uint8_t* bits, int64_t* next) {
  FoundList middle;
  double share = static_cast<double>(m) / static_cast<double>(n), rows = static_cast<double>(n);
  double slack = (8 * __builtin_sqrt(share * (1 - share) / rows)) + 16 / rows;
  double from = share - slack, to = share + slack;
  uint64_t low = from <= 0 ? 0 : static_cast<uint64_t>(from * 0x1p64);
  uint64_t high = to >= 0.999999 ? ~static_cast<uint64_t>(0) : static_cast<uint64_t>(to * 0x1p64);
  int64_t below = sift(key, ids, n, low, high, bits, middle);
  if (below < 0) return false;
  if (below > m || below + middle.n < m + (m < n)) {
    below = sift(key, ids, n, 0, ~static_cast<uint64_t>(0), bits, middle);
    if (below < 0) return false;
  }
  int64_t wanted = m - below;
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

void draw(BagKey key, int64_t n, int64_t m, uint32_t* out) {
  for (int64_t i = 0; i < m; ++i) {
    uint64_t h = hashed(static_cast<uint64_t>(i), key);
    out[i] = static_cast<uint32_t>((static_cast<unsigned __int128>(h) * static_cast<uint64_t>(n)) >> 64);
  }
}

constexpr int64_t kColumns = 2048;  // a stripe of running sums that stays in the first-level cache

template <class T>
void sum_stripe(const T* values, int64_t n_bags, int64_t stride, const uint8_t* take, int64_t block, int64_t width, double* out) {
  double part[kColumns];
  for (int64_t c = 0; c < width; ++c) out[c] = 0;
  for (int64_t first = 0; first < n_bags; first += block) {
    int64_t last = n_bags - first > block ? first + block : n_bags;
    bool any = false;
    for (int64_t b = first; b < last; ++b) {
      if (take != nullptr && !take[b]) continue;
      const T* row = values + b * stride;
      if (any)
        for (int64_t c = 0; c < width; ++c) part[c] += static_cast<double>(row[c]);
      else
        for (int64_t c = 0; c < width; ++c) part[c] = static_cast<double>(row[c]);
      any = true;
    }
    if (any)
      for (int64_t c = 0; c < width; ++c) out[c] += part[c];
  }
}

void sum(const void* values, bool wide, int64_t n_bags, int64_t stride, const uint8_t* take, int64_t block, int64_t first,
         int64_t last, double* out) {
  for (int64_t c = first; c < last; c += kColumns) {
    int64_t width = last - c < kColumns ? last - c : kColumns;
    if (wide) sum_stripe(static_cast<const double*>(values) + c, n_bags, stride, take, block, width, out + c);
    else sum_stripe(static_cast<const float*>(values) + c, n_bags, stride, take, block, width, out + c);
  }
}

const BagsUnit kUnit = {&smallest, &draw, &sum};

}  // namespace

#define STEADYSET_JOIN2(a, b) a##b
#define STEADYSET_JOIN(a, b) STEADYSET_JOIN2(a, b)
const BagsUnit& STEADYSET_JOIN(bags_unit_, STEADYSET_LEVEL)() { return kUnit; }

}  // namespace steadyset
