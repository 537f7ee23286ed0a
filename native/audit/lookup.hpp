// Sums over bags in fixed point. Predictions are rounded to whole multiples of a power of two and summed as integers, so
// that the order of summing is irrelevant. The sum over eight bags has only 256 values, which are looked up.
#pragma once
#include <stdint.h>

#include "audit/api.hpp"
#include "simd/simd.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

using Sixteen = Vec<int32_t>;
constexpr int kColumns = Sixteen::lanes;  // columns that are summed together
constexpr int64_t kUnitsAtOnce = 2048;    // units whose sums are held

// Bags that are looked up together: a word of bits for each unit, seven bits for each table. Four tables of 8 KB stay in
// the first-level cache, and a sum is loaded and stored once for 28 bags.
constexpr int kGroupBits = 7, kGroups = 4, kWordBags = kGroupBits * kGroups;

struct Lookup {
  Sixteen sums[kGroups][1 << kGroupBits];

  // bags: kWordBags vectors of columns
  void fill(const Sixteen* bags) {
    for (int group = 0; group < kGroups; ++group) {
      Sixteen* of = sums[group];
      of[0] = Sixteen{};
      for (int b = 0; b < kGroupBits; ++b) {
        const Sixteen bag = bags[group * kGroupBits + b];
        for (int bits = 0; bits < 1 << b; ++bits) of[bits + (1 << b)] = of[bits] + bag;
      }
    }
  }
  void add(const uint32_t* words, int64_t n, Sixteen* totals) const {
    const Lookup& own = *this;
    for (const Sixteen* end = totals + n; totals != end; ++totals, ++words) {
      uint64_t bits = static_cast<uint64_t>(*words) << kRowShift;
      Sixteen sum = *totals;
#pragma GCC unroll 8
      for (int group = 0; group < kGroups; ++group) sum = sum + own.row(group, bits >> (kGroupBits * group));
      *totals = sum;
    }
  }

 private:
  static constexpr int kRowShift = 6;  // a row of a table is 64 bytes: indices are kept as distances
  const Sixteen& row(int group, uint64_t distance) const {
    constexpr uint64_t mask = ((1 << kGroupBits) - 1) << kRowShift;
    return *reinterpret_cast<const Sixteen*>(reinterpret_cast<const char*>(sums[group]) + (distance & mask));
  }
};

inline int64_t words_of(int64_t n_bags) { return (n_bags + kWordBags - 1) / kWordBags; }

// The bits of bags [kWordBags * word, ...) of `count` units from `from` on.
inline void pack_words(const TakenBags& taken, int64_t blocks, int64_t from, int64_t count, int64_t word, uint32_t* out) {
  int64_t first = word * kWordBags / kPatternBags;
  int shift = static_cast<int>(word * kWordBags % kPatternBags);
  const uint16_t* patterns = taken.patterns + first * taken.n_units + from;
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<uint32_t>(patterns[i]) >> shift;
  for (int64_t next = 1; next <= 2 && first + next < blocks && kPatternBags * next - shift < kWordBags; ++next) {
    patterns += taken.n_units;
    int up = static_cast<int>(kPatternBags * next) - shift;
    for (int64_t i = 0; i < count; ++i) out[i] |= static_cast<uint32_t>(patterns[i]) << up;
  }
  for (int64_t i = 0; i < count; ++i) out[i] &= (1u << kWordBags) - 1;
}

// The largest power of two by which predictions of at most about 1 may be multiplied, so that what sums of all bags and
// `slack` for each of them come to stays below 2^31.
inline double fixed_scale(int64_t n_bags, int64_t slack) {
  double scale = 0x1p30, bags = static_cast<double>(n_bags);
  while (scale * (1.001 * bags + 1) + static_cast<double>(slack) * bags >= 0x1p31) scale *= 0.5;
  return scale;
}

// A prediction in fixed point. What is none, as in an array that another thread changes meanwhile, counts as 0: no
// integer may hold it, and sums of it could overflow.
inline double in_fixed(double prediction, double scale) {
  double x = prediction * scale;
  return x >= -scale && x <= 2 * scale ? x : 0;
}

// The sums of `tiles` times 16 columns over the bags of `count` units from `from` on: totals[tile * kUnitsAtOnce + unit].
// bags: the columns in fixed point, kWordBags * words_of(n_bags) vectors to a tile; words: room for those of all units.
inline void sum_units(const TakenBags& taken, int64_t n_bags, int64_t from, int64_t count, const Sixteen* bags, int64_t tiles,
                      Lookup& lookup, uint32_t* words, Sixteen* totals, Pace& pace) {
  int64_t n_words = words_of(n_bags), blocks = (n_bags + kPatternBags - 1) / kPatternBags;
  for (int64_t w = 0; w < n_words; ++w) pack_words(taken, blocks, from, count, w, words + w * kUnitsAtOnce);
  for (int64_t tile = 0; tile < tiles; ++tile) {
    Sixteen* sums = totals + tile * kUnitsAtOnce;
    for (int64_t i = 0; i < kUnitsAtOnce; ++i) sums[i] = Sixteen{};
    for (int64_t w = 0; w < n_words && !pace.stop(4 * count + 512); ++w) {
      lookup.fill(bags + (tile * n_words + w) * kWordBags);
      lookup.add(words + w * kUnitsAtOnce, count, sums);
    }
  }
}

// The sums of eight units from `unit` on, column by column, `stride` apart.
inline void turn_units(const Sixteen* totals, int64_t tiles, int64_t unit, int32_t* out, int64_t stride) {
  for (int64_t tile = 0; tile < tiles; ++tile)
    turn_columns(reinterpret_cast<const int32_t*>(totals + tile * kUnitsAtOnce + unit), out + tile * kColumns * stride, stride);
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset
