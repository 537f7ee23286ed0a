// A node of up to 256 rows, grown to its leaves. Each feature is ranked once for the block; at a node below, a bit for
// each row at its place in that order gives the node's rows in order.
#pragma once
#include <stdint.h>
#include <string.h>

#include "simd/level.hpp"
#include "simd/simd.hpp"
#include "trees/bag.hpp"

namespace steadyset::trees {
namespace STEADYSET_LEVEL {
namespace {

// In a block, a feature with at most this many values is counted by value at the node.
constexpr int32_t kFewCodes = 32;

class Block {
 public:
  uint16_t label[kBlock];
  int64_t weight[kBlock];
  uint8_t members[kBlock];  // the block's rows, node by node
  int32_t n = 0;

  bool allocate(int32_t n_features) {
    return orders_.reserve(n_features * kBlock) && places_.reserve(n_features * kBlock) && values_.reserve(n_features * kBlock) &&
           state_.reserve(n_features) && first_missing_.reserve(n_features);
  }

  // The rows of a node: `at` is where they begin in the bag's lists.
  void open(const BagArrays& bag, Array<uint8_t>& place_in_block, int64_t at, int32_t count, bool weighted) {
    bag_ = &bag;
    at_ = at;
    n = count;
    rows_ = bag.members.get() + at;
    place_in_block_ = place_in_block.get();
    for (int32_t i = 0; i < n; ++i) {
      const uint32_t row = rows_[i];
      label[i] = bag.label[row];
      if (weighted) weight[i] = bag.weight[row];
      members[i] = static_cast<uint8_t>(i);
      table_row_[i] = bag.row[row];
      place_in_block_[row] = static_cast<uint8_t>(i);
    }
    memset(state_.get(), kUnknown, static_cast<size_t>(bag.n_features));
  }

  // The place of each row in the order of a feature's values, the row at each place, and the value there, as a number that
  // rises with it.
  const uint8_t* places(int32_t f) const { return places_.get() + f * kBlock; }
  const uint8_t* order(int32_t f) const { return orders_.get() + f * kBlock; }
  const uint8_t* values(int32_t f) const { return values_.get() + f * kBlock; }
  bool ties(int32_t f) const { return state_[f] == kTied; }
  // Features with few values have no places: `values` holds the rank of each row, and rows are counted by it at the node.
  bool coded(int32_t f) const { return state_[f] == kCoded; }
  int32_t n_codes(int32_t f) const { return bag_->n_ranks(f); }
  int32_t missing_code(int32_t f) const { return bag_->table->missing[f] ? n_codes(f) - 1 : kBlock; }
  int32_t first_missing(int32_t f) const { return first_missing_[f]; }  // the place of the first missing value
  uint32_t rank(int32_t f, uint8_t i) const { return bag_->rank(f, rows_[i]); }

  void know(int32_t f) {
    if (state_[f] == kUnknown) arrange(f);
  }

 private:
  enum State : uint8_t { kUnknown, kDistinct, kTied, kCoded };

  void arrange(int32_t f) {
    uint8_t* order = orders_.get() + f * kBlock;
    uint8_t* places = places_.get() + f * kBlock;
    uint8_t* values = values_.get() + f * kBlock;
    const uint32_t missing = bag_->missing_rank(f);
    first_missing_[f] = n;
    if (bag_->n_ranks(f) <= kFewCodes) {
      for (int32_t i = 0; i < n; ++i) values[i] = static_cast<uint8_t>(bag_->small_rank(f, rows_[i]));
      state_[f] = kCoded;
      return;
    }
    if (bag_->way[f] == Way::listed) {
      const int64_t from = bag_->place[f] * bag_->n + at_;
      const uint32_t* list = bag_->list.get() + from;
      for (int32_t i = 0; i < n; ++i) {
        order[i] = place_in_block_[list[i]];
        places[order[i]] = static_cast<uint8_t>(i);
      }
      state_[f] = kDistinct;
      if (!bag_->ties[bag_->place[f]]) return;
      const uint32_t* ranks = bag_->list_ranks.get() + from;
      number(f, values, missing, [&](int32_t i) { return ranks[i]; });
      return;
    }
    uint64_t items[kBlock], other[kBlock];
    const uint32_t* ranks = bag_->table->ranks + static_cast<int64_t>(f) * bag_->table->n;
    for (int32_t i = 0; i < n; ++i) items[i] = static_cast<uint64_t>(ranks[table_row_[i]]) << 8 | static_cast<uint64_t>(i);
    const uint64_t* sorted = radix_sort(items, other, n, 8, 8 + bag_->rank_bits[f]);
    for (int32_t i = 0; i < n; ++i) {
      order[i] = static_cast<uint8_t>(sorted[i]);
      places[order[i]] = static_cast<uint8_t>(i);
    }
    number(f, values, missing, [&](int32_t i) { return static_cast<uint32_t>(sorted[i] >> 8); });
  }

  template <class RankAt> void number(int32_t f, uint8_t* values, uint32_t missing, RankAt rank_at) {
    uint32_t before = rank_at(0);
    uint8_t value = 0;
    if (before == missing) first_missing_[f] = 0;
    values[0] = 0;
    for (int32_t i = 1; i < n; ++i) {
      const uint32_t rank = rank_at(i);
      if (rank != before) {
        ++value;
        if (rank == missing) first_missing_[f] = i;
        before = rank;
      }
      values[i] = value;
    }
    state_[f] = value == n - 1 ? kDistinct : kTied;
  }

  const BagArrays* bag_ = nullptr;
  const uint32_t* rows_ = nullptr;
  uint32_t table_row_[kBlock];  // of each row of the block
  uint8_t* place_in_block_ = nullptr;
  int64_t at_ = 0;
  Array<uint8_t> orders_, places_, values_, state_;
  Array<int32_t> first_missing_;
};

// The set of places that a node's rows have, as bits.
class Places {
 public:
  // The rows of a node in the order of the feature; returns how many there are.
  int32_t rows(const uint8_t* places, const uint8_t* order, const uint8_t* members, int32_t n, int32_t block, uint8_t* out) {
    fill(places, members, n);
    return each(block, [&](int32_t at, int32_t place) { out[at] = order[place]; });
  }
  int32_t rows_and_values(const uint8_t* places, const uint8_t* order, const uint8_t* values, const uint8_t* members, int32_t n,
                          int32_t block, uint8_t* out, uint8_t* out_values) {
    fill(places, members, n);
    return each(block, [&](int32_t at, int32_t place) {
      out[at] = order[place];
      out_values[at] = values[place];
    });
  }

 private:
  void fill(const uint8_t* places, const uint8_t* members, int32_t n) {
    for (int32_t i = 0; i < n; ++i) flag_[places[members[i]]] = 0x80;
  }
  template <class Do> int32_t each(int32_t block, Do act) {
    int32_t n = 0;
    for (int32_t start = 0; start < block; start += 64) {
      uint64_t bits = taken(flag_ + start);
      while (bits) {
        act(n++, start + __builtin_ctzll(bits));
        bits &= bits - 1;
      }
    }
    return n;
  }
  // The highest bits of 64 bytes, which become zero.
  static uint64_t taken(uint8_t* flags) {
    uint64_t bits = 0;
#if defined(__AVX2__)
    for (int half = 0; half < 2; ++half) {
      __m256i* at = reinterpret_cast<__m256i*>(flags + 32 * half);
      bits |= static_cast<uint64_t>(static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_load_si256(at)))) << (32 * half);
      _mm256_store_si256(at, _mm256_setzero_si256());
    }
#elif defined(__SSE2__)
    for (int part = 0; part < 4; ++part) {
      __m128i* at = reinterpret_cast<__m128i*>(flags + 16 * part);
      bits |= static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(_mm_load_si128(at)))) << (16 * part);
      _mm_store_si128(at, _mm_setzero_si128());
    }
#else
    for (int i = 0; i < 64; ++i) bits |= static_cast<uint64_t>(flags[i] >> 7) << i;
    memset(flags, 0, 64);
#endif
    return bits;
  }

  alignas(64) uint8_t flag_[kBlock] = {};
};

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::trees
