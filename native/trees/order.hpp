// Rows in the order of a feature's values: the place of each row, the row at each place. Rows of a frame, which is a bag or
// a block of it, are placed once; a node below marks the places of its rows, as bits, and so has them in order.
#pragma once
#include <stdint.h>
#include <string.h>

#include "simd/level.hpp"
#include "simd/simd.hpp"
#include "trees/memory.hpp"
#include "trees/ranks.hpp"

namespace steadyset::trees {
namespace STEADYSET_LEVEL {
namespace {

// One feature of a frame. Missing values are last; rows with equal values are in the order of the frame.
template <class Place> struct Order {
  const Place* place;       // of each row
  const Place* row;         // at each place
  const Place* value;       // at each place, a number that rises with the value; null where no two rows tie
  const uint64_t* starts;   // a bit at each place whose value is not that of the place before; null likewise
  const uint64_t* classes;  // (classes, words): a bit at each place whose row is of the class; null where not kept
  int64_t words, n, first_missing;
};

inline int64_t words_for(int64_t places) { return (places + 63) / 64; }
inline void set_bit(uint64_t* words, int64_t place) { words[place >> 6] |= uint64_t{1} << (place & 63); }

// Bits that are set, in order: act(k, place) for the k-th.
template <class Do> inline int64_t each_bit(const uint64_t* words, int64_t n_words, Do act) {
  int64_t n = 0;
  for (int64_t w = 0; w < n_words; ++w) {
    uint64_t bits = words[w];
    while (bits) {
      act(n++, 64 * w + __builtin_ctzll(bits));
      bits &= bits - 1;
    }
  }
  return n;
}

// The k-th of the bits that are set, and the one after it.
struct Neighbours {
  int64_t first, second;
};
inline Neighbours neighbours(const uint64_t* words, int64_t k) {
  int64_t w = 0;
  for (int64_t here; (here = __builtin_popcountll(words[w])) <= k; ++w) k -= here;
  uint64_t bits = words[w];
  for (; k > 0; --k) bits &= bits - 1;
  const int64_t first = 64 * w + __builtin_ctzll(bits);
  bits &= bits - 1;
  while (!bits) bits = words[++w];
  return {first, 64 * w + __builtin_ctzll(bits)};
}

// How many bits are set from `place` on.
inline int64_t bits_from(const uint64_t* words, int64_t n_words, int64_t place) {
  int64_t w = place >> 6;
  int64_t n = __builtin_popcountll(words[w] >> (place & 63));
  while (++w < n_words) n += __builtin_popcountll(words[w]);
  return n;
}

// Places rows by their ranks. Ranks of which no two are equal are marked as bits, so that the bits before one are its
// place; others are sorted.
class Placer {
 public:
  bool reserve(int64_t rows, int64_t most_ranks) {
    const int64_t words = words_for(most_ranks < kSparse * rows ? most_ranks : kSparse * rows) + 1;
    return seen_.reserve(words) && before_.reserve(words) && rank_.reserve(rows) && items_.reserve(rows) && other_.reserve(rows);
  }

  // Fills `place` and `row`; whether no two of the ranks are equal.
  template <class Place, class RankOf> bool place(int64_t n, int64_t n_ranks, RankOf rank_of, Place* place, Place* row) {
    return this->place(n, n_ranks, rank_of, place, row, [](int64_t) {});
  }
  // The same; meanwhile ahead(i) is called for each row where they are marked as bits, for memory that will be needed.
  template <class Place, class RankOf, class Ahead>
  bool place(int64_t n, int64_t n_ranks, RankOf rank_of, Place* place, Place* row, Ahead ahead) {
    for (int64_t i = 0; i < n; ++i) rank_[i] = rank_of(i);
    if (n_ranks <= kSparse * n && n_ranks >= n && by_bits(n, n_ranks, place, row, ahead)) return true;
    int bits = 0;
    while ((n_ranks - 1) >> bits) ++bits;
    for (int64_t i = 0; i < n; ++i) items_[i] = static_cast<uint64_t>(rank_[i]) << 32 | static_cast<uint64_t>(i);
    const uint64_t* sorted = radix_sort(items_.get(), other_.get(), n, 32, 32 + bits);
    bool distinct = true;
    for (int64_t i = 0; i < n; ++i) {
      const uint32_t at = static_cast<uint32_t>(sorted[i]);
      row[i] = static_cast<Place>(at);
      place[at] = static_cast<Place>(i);
      distinct &= i == 0 || sorted[i] >> 32 != sorted[i - 1] >> 32;
    }
    return distinct;
  }
  // What `place` was given, by row.
  uint32_t rank(int64_t i) const { return rank_[i]; }

 private:
  static constexpr int64_t kSparse = 128;  // beyond that many ranks per row, sorting is cheaper than a bit for each rank

  template <class Place, class Ahead> bool by_bits(int64_t n, int64_t n_ranks, Place* place, Place* row, Ahead ahead) {
    const int64_t words = words_for(n_ranks);
    memset(seen_.get(), 0, static_cast<size_t>(words) * sizeof(uint64_t));
    uint64_t twice = 0;
    for (int64_t i = 0; i < n; ++i) {
      const uint32_t rank = rank_[i];
      const uint64_t bit = uint64_t{1} << (rank & 63), before = seen_[rank >> 6];
      twice |= before & bit;
      seen_[rank >> 6] = before | bit;
    }
    if (twice) return false;
    uint32_t sum = 0;
    for (int64_t w = 0; w < words; ++w) {
      before_[w] = sum;
      sum += static_cast<uint32_t>(__builtin_popcountll(seen_[w]));
    }
    for (int64_t i = 0; i < n; ++i) {
      const uint32_t rank = rank_[i], w = rank >> 6;
      const uint64_t below = (uint64_t{1} << (rank & 63)) - 1;
      const uint32_t at = before_[w] + static_cast<uint32_t>(__builtin_popcountll(seen_[w] & below));
      place[i] = static_cast<Place>(at);
      row[at] = static_cast<Place>(i);
      ahead(i);
    }
    return true;
  }

  Array<uint64_t> seen_, items_, other_;
  Array<uint32_t> before_, rank_;
};

// Numbers the values at the places, and sets a bit where one begins.
template <class Place, class RankAt> inline void number_values(int64_t n, RankAt rank_at, Place* value, uint64_t* starts) {
  memset(starts, 0, static_cast<size_t>(words_for(n)) * sizeof(uint64_t));
  uint32_t before = rank_at(0), number = 0;
  value[0] = 0;
  for (int64_t i = 1; i < n; ++i) {
    const uint32_t rank = rank_at(i);
    const uint32_t differs = rank != before;
    number += differs;
    starts[i >> 6] |= static_cast<uint64_t>(differs) << (i & 63);
    before = rank;
    value[i] = static_cast<Place>(number);
  }
}

// Sets the bits of the classes, (classes, words).
template <class Place, class LabelOf>
inline void mark_classes(int64_t n, const Place* place, LabelOf label_of, int32_t n_classes, uint64_t* classes) {
  const int64_t words = words_for(n);
  memset(classes, 0, static_cast<size_t>(n_classes * words) * sizeof(uint64_t));
  for (int64_t i = 0; i < n; ++i) set_bit(classes + label_of(i) * words, place[i]);
}

// Sets the first n bits.
inline void set_bits(uint64_t* words, int64_t n) {
  memset(words, 0xff, static_cast<size_t>(n / 64) * sizeof(uint64_t));
  if (n & 63) words[n >> 6] = (uint64_t{1} << (n & 63)) - 1;
}

// Marks the places of rows in words that are zero.
template <class Place> inline void mark_places(const Place* place, const Place* rows, int64_t n, uint64_t* words) {
  for (int64_t i = 0; i < n; ++i) set_bit(words, place[rows[i]]);
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::trees
