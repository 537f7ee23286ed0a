// The best split by Gini impurity from bits: for each class present at a node, the bits of its rows in the order of the
// values, from which eight splits are scored at once. The sums are those of walking through the rows.
#pragma once
#include <stdint.h>

#include "simd/level.hpp"
#include "simd/simd.hpp"
#include "trees/criteria.hpp"
#include "trees/order.hpp"
#include "trees/scan.hpp"

namespace steadyset::trees {
namespace STEADYSET_LEVEL {
namespace {

// With more classes at the node, walking through its rows costs less.
constexpr int32_t kFewClasses = 16;

#if defined(__BMI2__) && defined(__AVX2__)
constexpr bool kScansBits = true;

// Of each byte: how many of its bits are set up to each one, as eight bytes.
struct PrefixCounts {
  uint64_t of[256];
  constexpr PrefixCounts() : of() {
    for (int byte = 0; byte < 256; ++byte) {
      uint64_t counts = 0, sum = 0;
      for (int bit = 0; bit < 8; ++bit) {
        sum += static_cast<uint64_t>(byte >> bit & 1);
        counts |= sum << (8 * bit);
      }
      of[byte] = counts;
    }
  }
};
constexpr PrefixCounts kPrefix;

// The rows before which a value starts that no earlier row has: starts on rows, and those that a sum carries from the
// places before a row to the row.
inline uint64_t first_of_values(uint64_t starts, uint64_t mark, uint64_t& carry) {
  const uint64_t others = ~mark, sum = others + (starts & others), carried = sum + carry;
  carry = (sum < others) | (carried < sum);
  return mark & (starts | carried);
}

class BitScan {
 public:
  bool reserve(int64_t rows) {
    stride_ = words_for(rows) + 2;
    return streams_.reserve((kFewClasses + 1) * stride_);
  }

  // The rows that are marked, class by class: classes[i] is the number of the i-th class present, totals[i] its rows.
  // False where all their values are equal.
  template <class Place>
  bool take(const Order<Place>& order, const uint64_t* marked, const int32_t* classes, int32_t n_classes, int64_t n) {
    n_classes_ = n_classes;
    n_ = n;
    tied_ = order.starts != nullptr;
    const uint64_t* of[kFewClasses];
    for (int32_t c = 0; c < n_classes; ++c) {
      of[c] = order.classes + classes[c] * order.words;
      stream(c)[0] = 0;
    }
    stream(n_classes)[0] = 0;
    int64_t at = 0;
    uint64_t carry = 0;
    for (int64_t w = 0; w < order.words; ++w) {
      const uint64_t mark = marked[w];
      if (tied_ && !mark) carry |= order.starts[w] != 0;
      if (!mark) continue;
      for (int32_t c = 0; c < n_classes; ++c) append(c, at, _pext_u64(of[c][w], mark));
      if (tied_) append(n_classes, at, _pext_u64(first_of_values(order.starts[w], mark, carry), mark));
      at += __builtin_popcountll(mark);
    }
    return !tied_ || varies();
  }

  // Offers the splits whose left side ends at a row in [first, last), with `before` rows of missing values on the left.
  void offer(const GiniCounts& criterion, const int32_t* totals, int32_t feature, int64_t min_leaf, int64_t n_missing,
             bool missing_left, Best<GiniCounts>& best) {
    const int64_t before = missing_left ? n_missing : 0, offset = 1 + before;
    const int64_t end = n_ - 1 - before;
    const int64_t first = min_leaf > offset ? min_leaf - offset : 0;
    const int64_t last = n_ - min_leaf - offset + 1 < end ? n_ - min_leaf - offset + 1 : end;
    if (last <= first) return;
    int32_t base[kFewClasses];
    for (int32_t c = 0; c < n_classes_; ++c) base[c] = before > 0 ? last_bits(c, before) : 0;
    const Splits in{totals, base, first, last};
    const auto scores = criterion.scores_from(offset);
    Vec<double> most = broadcast(best.score);
    each_group(in, [&](int64_t at, __m256i left, __m256i right) {
      most = larger(scores.of(left, right, at), most);
      return false;
    });
    if (!lane_bits(most > best.score)) return;
    // Few features are better than those before them: only then the place of the best score is looked for.
    const double top = largest_lane(most);
    each_group(in, [&](int64_t at, __m256i left, __m256i right) {
      const unsigned bits = lane_bits(scores.of(left, right, at) == top);
      if (!bits) return false;
      const int lane = __builtin_ctz(bits);
      int32_t lefts[8], rights[8];
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(lefts), left);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(rights), right);
      best.score = top;
      best.feature = feature;
      best.at = at + lane;
      best.n_left = best.at + offset;
      best.missing_left = missing_left;
      best.perfect = criterion.would_be_perfect(lefts[lane], rights[lane], best.n_left);
      return true;
    });
  }

 private:
  uint64_t* stream(int64_t c) { return streams_.get() + c * stride_; }
  void append(int64_t c, int64_t at, uint64_t bits) {
    uint64_t* word = stream(c) + (at >> 6);
    const int shift = static_cast<int>(at & 63);
    word[0] |= bits << shift;
    word[1] = bits >> 1 >> (63 - shift);
  }
  // Whether any row but the first has a value of its own.
  bool varies() {
    const uint64_t* words = stream(n_classes_);
    uint64_t any = words[0] & ~uint64_t{1};
    for (int64_t w = 1; w < words_for(n_); ++w) any |= words[w];
    return any != 0;
  }
  int32_t last_bits(int64_t c, int64_t count) { return static_cast<int32_t>(bits_from(stream(c), words_for(n_), n_ - count)); }
  // Eight bits: whether the splits after the rows of this group are any.
  unsigned splits(int64_t group, int64_t first, int64_t last) {
    const int64_t at = 8 * group;
    unsigned bits = 0xff;
    if (tied_) {
      const uint8_t* bytes = reinterpret_cast<const uint8_t*>(stream(n_classes_));
      bits = (bytes[group] >> 1 | static_cast<unsigned>(bytes[group + 1]) << 7) & 0xff;
    }
    if (at < first) bits &= first - at < 8 ? 0xffu << (first - at) : 0;
    if (at + 8 > last) bits &= 0xffu >> (at + 8 - last);
    return bits;
  }

  struct Splits {
    const int32_t *totals, *base;  // of each class: its rows, and those on the left of the first
    int64_t first, last;
  };
  template <class Act> void each_group(const Splits& in, Act act) {
    const bool narrow = n_ < 32768;
    if (narrow && n_classes_ == 2) return each_group<2, true>(in, act);
    if (narrow && n_classes_ == 3) return each_group<3, true>(in, act);
    return narrow ? each_group<0, true>(in, act) : each_group<0, false>(in, act);
  }
  // Sums of squares on both sides of eight splits at a time, 0 where there is none: act(place, left, right) until it is true.
  // `fixed` is the number of classes where it is not 0; counts that are narrow go in pairs of 16 bits.
  template <int fixed, bool narrow, class Act> void each_group(const Splits& in, Act act) {
    constexpr int32_t step = narrow ? 2 : 1;
    const int32_t n_classes = fixed ? fixed : n_classes_;
    const __m256i lanes = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    int32_t base[fixed ? fixed : kFewClasses], totals[fixed ? fixed : kFewClasses];
    const uint8_t* bytes[fixed ? fixed : kFewClasses];
    for (int32_t c = 0; c < n_classes; ++c) {
      const bool upper = narrow && c % 2;
      const int32_t at = c / step;
      base[at] = upper ? base[at] + (in.base[c] << 16) : in.base[c];
      totals[at] = upper ? totals[at] + (in.totals[c] << 16) : in.totals[c];
      bytes[c] = reinterpret_cast<const uint8_t*>(stream(c));
    }
    for (int64_t group = 0; 8 * group < in.last; ++group) {
      __m256i l = _mm256_setzero_si256(), r = _mm256_setzero_si256();
      for (int32_t c = 0; c < n_classes; c += step) {
        const uint64_t prefix = kPrefix.of[bytes[c][group]];
        __m256i more = widened(prefix);
        int32_t whole = static_cast<int32_t>(prefix >> 56);
        if (narrow && c + 1 < n_classes) {
          const uint64_t upper = kPrefix.of[bytes[c + 1][group]];
          more = _mm256_or_si256(more, _mm256_slli_epi32(widened(upper), 16));
          whole += static_cast<int32_t>(upper >> 56 << 16);
        }
        const __m256i count = _mm256_add_epi32(_mm256_set1_epi32(base[c / step]), more);
        const __m256i rest = _mm256_sub_epi32(_mm256_set1_epi32(totals[c / step]), count);
        l = _mm256_add_epi32(l, narrow ? _mm256_madd_epi16(count, count) : _mm256_mullo_epi32(count, count));
        r = _mm256_add_epi32(r, narrow ? _mm256_madd_epi16(rest, rest) : _mm256_mullo_epi32(rest, rest));
        base[c / step] += whole;
      }
      const __m256i bits = _mm256_and_si256(_mm256_set1_epi32(static_cast<int>(splits(group, in.first, in.last))), lanes);
      const __m256i mask = _mm256_cmpeq_epi32(bits, lanes);
      if (act(8 * group, _mm256_and_si256(l, mask), _mm256_and_si256(r, mask))) return;
    }
  }
  static __m256i widened(uint64_t bytes) { return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(bytes))); }

  Array<uint64_t> streams_;  // bits of the classes, then those of first_of_values
  int64_t stride_ = 0, n_ = 0;
  int32_t n_classes_ = 0;
  bool tied_ = false;
};
#else
// Without an instruction that gathers bits, walking through the rows costs less.
constexpr bool kScansBits = false;

class BitScan {
 public:
  bool reserve(int64_t) { return true; }
  template <class Place> bool take(const Order<Place>&, const uint64_t*, const int32_t*, int32_t, int64_t) { return true; }
  void offer(const GiniCounts&, const int32_t*, int32_t, int64_t, int64_t, bool, Best<GiniCounts>&) {}
};
#endif

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::trees
