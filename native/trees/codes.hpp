// The best split by Gini impurity of a feature with few values at a small node: rows are counted by class and value, and all
// splits of the feature are summed up at once, in 16 bits. The sums are those of walking through the rows.
#pragma once
#include <stdint.h>
#include <string.h>

#include "simd/level.hpp"
#include "simd/simd.hpp"
#include "trees/bag.hpp"
#include "trees/criteria.hpp"
#include "trees/scan.hpp"

namespace steadyset::trees {
namespace STEADYSET_LEVEL {
namespace {

constexpr int32_t kCodedClasses = 32;    // classes at the node
constexpr int64_t kCodedRows = 256;      // rows at the node: a sum of squares on one side fits 16 bits

#if defined(__AVX2__)
constexpr bool kScansCodes = true;

class CodeScan {
 public:
  // The classes of a node's rows: `label_number` gives the number of a label among the classes present.
  template <class Row> void node(const Row* rows, int64_t n, const uint16_t* label, const uint8_t* label_number, const int32_t* totals, int32_t n_classes) {
    n_ = n;
    n_classes_ = n_classes;
    totals_ = totals;
    for (int64_t i = 0; i < n; ++i) class_[i] = label_number[label[rows[i]]];
  }

  // Offers the splits of a feature without missing values, by the code of each row's value. False where it is constant.
  template <class Row>
  bool offer(const GiniCounts& criterion, const uint8_t* codes, int32_t n_codes, const Row* rows, int32_t feature, int64_t min_leaf,
             Best<GiniCounts>& best) {
    if (n_codes <= 16) {
      count<16>(codes, rows);
      sum<1>(criterion.squares());
    } else {
      count<32>(codes, rows);
      sum<2>(criterion.squares());
    }
    // A bit for each value that rows have, but the largest.
    uint32_t present = present_;
    const uint32_t below = present & ~(uint32_t{1} << (31 - __builtin_clz(present)));
    if (!below) return false;
    for (uint32_t left = below; left; left &= left - 1) {
      const int32_t code = __builtin_ctz(left);
      const int64_t n_left = n_left_[code];
      if (n_left < min_leaf || n_ - n_left < min_leaf) continue;
      const double score = criterion.score_of(left_[code], right_[code], n_left);
      if (!(score > best.score)) continue;
      best.score = score;
      best.feature = feature;
      best.at = code;
      best.n_left = n_left;
      best.missing_left = false;
      best.perfect = criterion.would_be_perfect(left_[code], right_[code], n_left);
      if (best.perfect) break;
    }
    if (best.feature == feature) {
      best.low = static_cast<uint32_t>(best.at);
      best.high = static_cast<uint32_t>(__builtin_ctz(present >> best.at >> 1)) + best.low + 1;
      best.any_missing = false;
    }
    return true;
  }

 private:
  template <int stride, class Row> void count(const uint8_t* codes, const Row* rows) {
    uint16_t* counts = counts_;
    memset(counts, 0, static_cast<size_t>(n_classes_) * stride * sizeof(uint16_t));
    const uint8_t* classes = class_;
    for (int64_t i = 0, n = n_; i < n; ++i) ++counts[classes[i] * stride + codes[rows[i]]];
  }

  // Sums up to each of 16 values.
  static __m256i running(__m256i x) {
    x = _mm256_add_epi16(x, _mm256_slli_si256(x, 2));
    x = _mm256_add_epi16(x, _mm256_slli_si256(x, 4));
    x = _mm256_add_epi16(x, _mm256_slli_si256(x, 8));
    const __m256i low_half = _mm256_permute2x128_si256(x, x, 0x08);  // zero, then the low half
    return _mm256_add_epi16(x, _mm256_shuffle_epi8(low_half, _mm256_set1_epi16(0x0f0e)));
  }

  template <int parts> void sum(int64_t squares) {
    __m256i left[parts], products[parts], rows[parts];
    for (int p = 0; p < parts; ++p) left[p] = products[p] = rows[p] = _mm256_setzero_si256();
    for (int32_t c = 0; c < n_classes_; ++c) {
      const __m256i total = _mm256_set1_epi16(static_cast<int16_t>(totals_[c]));
      __m256i before = _mm256_setzero_si256();
      for (int p = 0; p < parts; ++p) {
        const __m256i* at = reinterpret_cast<const __m256i*>(counts_ + (c * parts + p) * 16);
        const __m256i sums = _mm256_add_epi16(running(_mm256_load_si256(at)), before);
        left[p] = _mm256_add_epi16(left[p], _mm256_mullo_epi16(sums, sums));
        products[p] = _mm256_add_epi16(products[p], _mm256_mullo_epi16(sums, total));
        rows[p] = _mm256_add_epi16(rows[p], sums);
        if (p + 1 < parts) before = _mm256_set1_epi16(static_cast<int16_t>(_mm256_extract_epi16(sums, 15)));
      }
    }
    const __m256i whole = _mm256_set1_epi16(static_cast<int16_t>(squares));
    for (int p = 0; p < parts; ++p) {  // whole - 2 products + left, modulo 2^16
      const __m256i right = _mm256_add_epi16(_mm256_sub_epi16(whole, _mm256_add_epi16(products[p], products[p])), left[p]);
      _mm256_store_si256(reinterpret_cast<__m256i*>(left_ + 16 * p), left[p]);
      _mm256_store_si256(reinterpret_cast<__m256i*>(right_ + 16 * p), right);
      _mm256_store_si256(reinterpret_cast<__m256i*>(n_left_ + 16 * p), rows[p]);
    }
    present_ = 0;
    for (int p = 0; p < parts; ++p) {  // where the number of rows rises
      const __m256i before = p == 0 ? _mm256_alignr_epi8(rows[p], _mm256_permute2x128_si256(rows[p], rows[p], 0x08), 14)
                                    : _mm256_loadu_si256(reinterpret_cast<const __m256i*>(n_left_ + 16 * p - 1));
      const __m256i same = _mm256_cmpeq_epi16(rows[p], before);
      const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(same), _mm256_extracti128_si256(same, 1));
      present_ |= (static_cast<uint32_t>(~_mm_movemask_epi8(bytes)) & 0xffff) << (16 * p);
    }
  }

  int64_t n_ = 0;
  int32_t n_classes_ = 0;
  uint32_t present_ = 0;
  const int32_t* totals_ = nullptr;
  uint8_t class_[kCodedRows];
  alignas(32) uint16_t counts_[kCodedClasses * kFewCodes];  // (classes, values)
  alignas(32) uint16_t left_[kFewCodes], right_[kFewCodes], n_left_[kFewCodes];
};
#else
constexpr bool kScansCodes = false;

class CodeScan {
 public:
  template <class Row> void node(const Row*, int64_t, const uint16_t*, const uint8_t*, const int32_t*, int32_t) {}
  template <class Row>
  bool offer(const GiniCounts&, const uint8_t*, int32_t, const Row*, int32_t, int64_t, Best<GiniCounts>&) { return true; }
};
#endif

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::trees
