// A node of a block with at most 128 rows, and all nodes below it. A set of its rows is 16 bytes, which one instruction looks
// up: the rows of a node are in the order of a feature after a few instructions, and none of them costs a store.
#pragma once
#include <stdint.h>
#include <string.h>

#include "simd/level.hpp"
#include "simd/simd.hpp"
#include "trees/bits.hpp"
#include "trees/block.hpp"

namespace steadyset::trees {
namespace STEADYSET_LEVEL {
namespace {

constexpr int64_t kCorner = 128;
// A node of fewer rows has so few below it that their orders are not worth making.
constexpr int64_t kLeastCorner = 12;

#if defined(__BMI2__) && defined(__AVX2__)
class Corner {
 public:
  struct Rows {  // of a node below, as bits
    uint64_t bits[2];
  };

  bool allocate(int32_t n_features) {
    return rows_.reserve(n_features * kCorner) && classes_.reserve(n_features * 2 * kFewClasses) && starts_.reserve(n_features * 2) &&
           known_.reserve(n_features) && first_missing_.reserve(n_features);
  }
  void close() { begin_ = end_ = 0; }
  bool holds(int64_t begin, int64_t end) const { return begin_ <= begin && end <= end_; }

  // The rows of a node are members [begin, end) of the block, in whatever order later; class_numbers are those of the block.
  void open(const Block& block, int64_t begin, int64_t end, const int32_t* class_numbers, int32_t n_classes, int32_t n_features) {
    begin_ = begin;
    end_ = end;
    n_classes_ = n_classes;
    for (int64_t i = begin; i < end; ++i) {
      row_[i - begin] = block.members[i];
      number_[block.members[i]] = static_cast<uint8_t>(i - begin);
    }
    for (int32_t c = 0; c < n_classes; ++c) {
      of_block_[c] = class_numbers[c];
      class_at_[class_numbers[c]] = static_cast<uint8_t>(c);
    }
    memset(known_.get(), 0, static_cast<size_t>(n_features));
  }
  // The number of a class here, from that in the block.
  int32_t class_at(int32_t number) const { return class_at_[number]; }

  Rows rows_of(const Small* members, int64_t n) const {
    Rows rows{};
    for (int64_t i = 0; i < n; ++i) set_bit(rows.bits, number_[members[i]]);
    return rows;
  }

  Order<uint8_t> order(int32_t f, Block& block, BlockMarks& marks) {
    if (!known_[f]) arrange(f, block.order(f), marks);
    return {nullptr, rows_.get() + f * kCorner, nullptr, known_[f] == kTied ? starts_.get() + 2 * f : nullptr,
            classes_.get() + f * 2 * kFewClasses, 2, end_ - begin_, first_missing_[f]};
  }
  Small row(int64_t number) const { return row_[number]; }

  // Marks the rows in the order of a feature.
  static void mark(const Order<uint8_t>& order, const Rows& rows, uint64_t* words) {
    const __m128i set = _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows.bits));
    const __m128i bit = _mm_set1_epi64x(static_cast<int64_t>(0x8040201008040201));
    for (int w = 0; w < 2; ++w) {
      words[w] = 0;
      for (int half = 0; half < 2; ++half) {
        const __m256i row = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(order.row + 64 * w + 32 * half));
        const __m256i byte = _mm256_and_si256(_mm256_srli_epi16(row, 3), _mm256_set1_epi8(0x0f));
        const __m256i found = _mm256_and_si256(_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(set), byte),
                                               _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(bit), row));
        const int none = _mm256_movemask_epi8(_mm256_cmpeq_epi8(found, _mm256_setzero_si256()));
        words[w] |= static_cast<uint64_t>(~static_cast<uint32_t>(none)) << (32 * half);
      }
    }
  }

 private:
  enum Known : uint8_t { kUnknown, kDistinct, kTied };

  void arrange(int32_t f, const Order<Small>& order, BlockMarks& marks) {
    uint64_t marked[kBlock / 64], firsts[kBlock / 64];
    uint8_t before[kBlock / 64];
    const int64_t n = end_ - begin_;
    marks.mark(order, row_, n, marked);
    int64_t at = 0;
    uint64_t carry = 0;
    for (int64_t w = 0; w < order.words; ++w) {
      before[w] = static_cast<uint8_t>(at);
      at += __builtin_popcountll(marked[w]);
      if (order.starts) firsts[w] = first_of_values(order.starts[w], marked[w], carry);
    }
    for (int32_t c = 0; c < n_classes_; ++c)
      gather(order.classes + of_block_[c] * order.words, marked, order.words, classes_.get() + 2 * (f * kFewClasses + c));
    if (order.starts) gather(firsts, marked, order.words, starts_.get() + 2 * f);
    known_[f] = order.starts ? kTied : kDistinct;
    first_missing_[f] = n - (order.first_missing < order.n ? bits_from(marked, order.words, order.first_missing) : 0);
    uint8_t* rows = rows_.get() + f * kCorner;
    memset(rows, 0xff, kCorner);  // beyond the last row: in no set
    for (int64_t i = 0; i < n; ++i) {
      const uint32_t place = order.place[row_[i]], w = place >> 6;
      rows[before[w] + __builtin_popcountll(_bzhi_u64(marked[w], place & 63))] = static_cast<uint8_t>(i);
    }
  }
  // The bits at marked places, one after the other.
  static void gather(const uint64_t* bits, const uint64_t* marked, int64_t words, uint64_t* out) {
    out[0] = out[1] = 0;
    for (int64_t w = 0, at = 0; w < words; ++w) {
      if (!marked[w]) continue;
      const uint64_t some = _pext_u64(bits[w], marked[w]);
      out[at >> 6] |= some << (at & 63);
      if (at < 64) out[1] |= some >> 1 >> (63 - at);
      at += __builtin_popcountll(marked[w]);
    }
  }

  int64_t begin_ = 0, end_ = 0;
  int32_t n_classes_ = 0;
  Small row_[kCorner];           // of the block
  uint8_t number_[kBlock];       // of a row of the block
  int32_t of_block_[kFewClasses];
  uint8_t class_at_[kCodedClasses];
  Array<uint8_t> rows_, known_;  // (features, 128): the row at each place
  Array<uint64_t> classes_, starts_;  // (features, kFewClasses, 2), (features, 2): bits as in Order
  Array<int64_t> first_missing_;
};
#else
class Corner {
 public:
  struct Rows {};
  bool allocate(int32_t) { return true; }
  void close() {}
  bool holds(int64_t, int64_t) const { return false; }
  void open(const Block&, int64_t, int64_t, const int32_t*, int32_t, int32_t) {}
  int32_t class_at(int32_t) const { return 0; }
  Rows rows_of(const Small*, int64_t) const { return {}; }
  Order<uint8_t> order(int32_t, Block&, BlockMarks&) { return {}; }
  Small row(int64_t) const { return 0; }
  static void mark(const Order<uint8_t>&, const Rows&, uint64_t*) {}
};
#endif

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::trees
