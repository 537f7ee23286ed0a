// A node of up to 1,024 rows, grown to its leaves. Each feature that is asked for is placed once for the block.
#pragma once
#include <stdint.h>
#include <string.h>

#include "simd/level.hpp"
#include "simd/simd.hpp"
#include "trees/bag.hpp"
#include "trees/bits.hpp"
#include "trees/codes.hpp"

namespace steadyset::trees {
namespace STEADYSET_LEVEL {
namespace {

using Small = uint16_t;  // a row of a block, or a place

class Block {
 public:
  uint16_t label[kBlock];
  int64_t weight[kBlock];
  Small members[kBlock];  // the block's rows, node by node
  int32_t n = 0;

  bool allocate(int32_t n_features, int32_t n_classes) {
    return places_.reserve(n_features * kBlock) && rows_.reserve(n_features * kBlock) && values_.reserve(n_features * kBlock) &&
           starts_.reserve(n_features * kWords) && classes_.reserve(n_features * kMostClasses * kWords) &&
           known_.reserve(n_features) && coded_.reserve(n_features) && has_codes_.reserve(n_features) &&
           codes_.reserve(n_features * kBlock) && first_missing_.reserve(n_features) && number_.reserve(n_classes);
  }

  // What holds for all blocks of a bag.
  void begin(const BagArrays& bag) {
    any_codes_ = false;
    for (int32_t f = 0; f < bag.n_features; ++f) {
      coded_[f] = bag.n_ranks(f) <= kFewCodes && !bag.table->missing[f];
      any_codes_ |= coded_[f] != 0;
    }
  }

  // The rows of a node: `at` is where they begin in the bag.
  void open(BagArrays& bag, int64_t at, int32_t count, bool weighted, bool class_bits) {
    bag_ = &bag;
    n = count;
    words_ = words_for(n);
    stride_ = 64 * words_;
    of_bag_ = bag.members.get() + at;
    for (int32_t i = 0; i < n; ++i) {
      const uint32_t row = of_bag_[i];
      label[i] = bag.label[row];
      if (weighted) weight[i] = bag.weight[row];
      members[i] = static_cast<Small>(i);
    }
    class_bits_ = class_bits;
    memset(known_.get(), kUnknown, static_cast<size_t>(bag.n_features));
    if (any_codes_) memset(has_codes_.get(), 0, static_cast<size_t>(bag.n_features));
  }
  // Numbers the classes of the block, where they are few enough for bits.
  void number_classes(const int32_t* present, int32_t n_present) {
    n_classes_ = n_present;
    class_bits_ = class_bits_ && n_present <= kMostClasses;
    if (!class_bits_) return;
    for (int32_t c = 0; c < n_present; ++c) number_[present[c]] = static_cast<uint8_t>(c);
    for (int32_t i = 0; i < n; ++i) class_of_[i] = number_[label[i]];
  }
  int32_t number(int32_t c) const { return number_[c]; }
  bool has_class_bits() const { return class_bits_; }

  Order<Small> order(int32_t f) {
    if (known_[f] == kUnknown) arrange(f);
    const int64_t at = f * stride_, word = f * words_;
    const bool tied = known_[f] == kTied;
    return {places_.get() + at, rows_.get() + at, tied ? values_.get() + at : nullptr, tied ? starts_.get() + word : nullptr,
            class_bits_ ? classes_.get() + word * n_classes_ : nullptr, words_, n, first_missing_[f]};
  }
  // Says which feature will be asked for after the one that is next, or -1: its ranks are fetched while that one is placed.
  void expect(int32_t f) { next_ = f; }
  // A feature with few values, none of them missing: the rank of each row.
  bool is_coded(int32_t f) const { return coded_[f]; }
  bool any_codes() const { return any_codes_; }
  const uint8_t* codes(int32_t f) {
    if (!has_codes_[f]) fill_codes(f);
    return codes_.get() + f * stride_;
  }
  uint32_t rank(int32_t f, int64_t row) const { return bag_->rank(f, of_bag_[row]); }

 private:
  enum Known : uint8_t { kUnknown, kDistinct, kTied };
  static constexpr int64_t kWords = kBlock / 64;
  static constexpr int32_t kMostClasses = 32;

  void arrange(int32_t f) {
    Small *places = places_.get() + f * stride_, *rows = rows_.get() + f * stride_;
    first_missing_[f] = n;
    if (bag_->way[f] == Way::counted) {
      count_out(f, places, rows);
    } else if (bag_->n == n || !bag_->keeps_orders()) {
      const uint32_t* ranks = bag_->table->ranks + static_cast<int64_t>(f) * bag_->table->n;
      Placer& placer = bag_->placer();
      const uint32_t* next = next_ < 0 ? nullptr : bag_->table->ranks + static_cast<int64_t>(next_) * bag_->table->n;
      const bool distinct = placer.place(
          n, bag_->n_ranks(f), [&](int64_t i) { return ranks[bag_->row[of_bag_[i]]]; }, places, rows,
          [&](int64_t i) { if (next) __builtin_prefetch(next + bag_->row[of_bag_[i]]); });
      finish(f, distinct, bag_->missing_rank(f), [&](int64_t i) { return placer.rank(rows[i]); });
    } else {
      const Order<uint32_t> whole = bag_->order(f);
      Placer& placer = bag_->placer();
      placer.place(n, whole.n, [&](int64_t i) { return whole.place[of_bag_[i]]; }, places, rows);
      finish(f, whole.value == nullptr, UINT32_MAX, [&](int64_t i) { return whole.value[placer.rank(rows[i])]; });
      if (whole.first_missing < whole.n)
        while (first_missing_[f] > 0 && placer.rank(rows[first_missing_[f] - 1]) >= whole.first_missing) --first_missing_[f];
    }
    if (class_bits_) mark_classes(n, places, [&](int64_t i) { return class_of_[i]; }, n_classes_, classes_.get() + f * words_ * n_classes_);
  }

  void fill_codes(int32_t f) {
    uint8_t* codes = codes_.get() + f * stride_;
    for (int32_t i = 0; i < n; ++i) codes[i] = static_cast<uint8_t>(bag_->small_rank(f, of_bag_[i]));
    has_codes_[f] = 1;
  }

  // A feature with few values.
  void count_out(int32_t f, Small* places, Small* rows) {
    uint8_t ranks[kBlock];
    uint16_t at[kFewRanks + 1] = {};
    for (int32_t i = 0; i < n; ++i) {
      ranks[i] = static_cast<uint8_t>(bag_->small_rank(f, of_bag_[i]));
      ++at[ranks[i] + 1];
    }
    for (int32_t r = 1, last = bag_->n_ranks(f); r < last; ++r) at[r] = static_cast<uint16_t>(at[r] + at[r - 1]);
    for (int32_t i = 0; i < n; ++i) {
      const uint16_t place = at[ranks[i]]++;
      places[i] = place;
      rows[place] = static_cast<Small>(i);
    }
    finish(f, false, bag_->missing_rank(f), [&](int64_t i) { return ranks[rows[i]]; });
  }

  template <class RankAt> void finish(int32_t f, bool distinct, uint32_t missing, RankAt rank_at) {
    known_[f] = distinct ? kDistinct : kTied;
    if (!distinct) number_values(n, rank_at, values_.get() + f * stride_, starts_.get() + f * words_);
    if (missing == UINT32_MAX) return;
    while (first_missing_[f] > 0 && rank_at(first_missing_[f] - 1) == missing) --first_missing_[f];
  }

  BagArrays* bag_ = nullptr;
  const uint32_t* of_bag_ = nullptr;
  int64_t words_ = 0, stride_ = 0;  // words of bits, and entries, per feature
  bool class_bits_ = false, any_codes_ = false;
  int32_t n_classes_ = 0, next_ = -1;
  uint8_t class_of_[kBlock];
  Array<Small> places_, rows_, values_;
  Array<uint64_t> starts_, classes_;
  Array<uint8_t> known_, number_, coded_, has_codes_, codes_;
  Array<int32_t> first_missing_;
};

// The places of a node's rows in a block, marked as bytes: a byte is stored without reading what was there.
class BlockMarks {
 public:
  void mark(const Order<Small>& order, const Small* members, int64_t n, uint64_t* words) {
    if (n == order.n) return set_bits(words, n);
    if (n < 16) {
      memset(words, 0, static_cast<size_t>(order.words) * sizeof(uint64_t));
      return mark_places(order.place, members, n, words);
    }
    const Small* place = order.place;  // a byte may alias anything: what is read below is kept in registers
    uint8_t* flag = flag_;
    for (int64_t i = 0; i < n; ++i) flag[place[members[i]]] = 0x80;
    for (int64_t w = 0; w < order.words; ++w) words[w] = taken(flag_ + 64 * w);
  }

 private:
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
