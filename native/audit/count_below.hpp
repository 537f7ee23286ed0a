// How many units have a mean below a bound of their own, column by column: counted in fixed point, and bounded from both
// sides where its rounding could turn a pair.
#pragma once
#include <stdint.h>

#include "audit/api.hpp"
#include "audit/lookup.hpp"
#include "audit/to_fixed.hpp"
#include "simd/simd.hpp"
#include "simd/space.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

constexpr int64_t kCountTiles = 4;  // tiles of columns that are counted together

// Some columns against all units.
class BelowCount {
 public:
  BelowCount(const CountTask& task, int64_t first, int64_t last)
      : t_(task), first_(first), width_(last - first), tiles_((width_ + kColumns - 1) / kColumns),
        padded_(words_of(task.values.n_bags) * kWordBags), scale_(task.scale) {}

  bool reserve() {
    return fixed_.reserve(tiles_ * padded_) && table_.reserve(1) && words_.reserve(padded_ / kWordBags * kUnitsAtOnce) &&
           totals_.reserve(tiles_ * kUnitsAtOnce) && rounded_.reserve(width_) && counts_.reserve(2 * tiles_);
  }
  void read() {
    for (int64_t c = 0; c < width_; ++c) rounded_[c] = 0;
    if (t_.values.wide) read_as<double>();
    else read_as<float>();
    for (int64_t i = 0; i < 2 * tiles_; ++i) counts_[i] = Sixteen{};
  }
  void count(Pace& pace) {
    int64_t units = t_.taken.n_units;
    for (int64_t from = 0; from < units && !pace.stopped; from += kUnitsAtOnce) {
      int64_t some = units - from < kUnitsAtOnce ? units - from : kUnitsAtOnce;
      sum_units(t_.taken, t_.values.n_bags, from, some, fixed_.data(), tiles_, table_[0], words_.data(), totals_.data(), pace);
      for (int64_t tile = 0; tile < tiles_ && !pace.stop(4 * some); ++tile) {
        const Brink* brinks = (is_exact(tile) ? t_.exact : t_.rounded) + from;
        Sixteen surely = counts_[2 * tile], perhaps = counts_[2 * tile + 1];
        for (int64_t i = 0; i < some; ++i) {
          Sixteen sum = totals_[tile * kUnitsAtOnce + i];
          surely = surely - (sum <= brinks[i].surely);  // true is -1
          perhaps = perhaps - (sum <= brinks[i].perhaps);
        }
        counts_[2 * tile] = surely;
        counts_[2 * tile + 1] = perhaps;
      }
    }
    for (int64_t c = 0; c < width_; ++c) {
      const auto* tile = reinterpret_cast<const int32_t*>(counts_.data() + 2 * (c / kColumns));
      t_.least[first_ + c] = tile[c % kColumns];
      t_.most[first_ + c] = tile[kColumns + c % kColumns];
    }
  }

 private:
  template <class T> void read_as() {
    to_fixed(static_cast<const Loose<T>*>(t_.values.data) + first_, t_.values, width_, 1, scale_, padded_, fixed_.data(),
             rounded_.data());
  }
  bool is_exact(int64_t tile) const {
    for (int64_t c = tile * kColumns; c < width_ && c < (tile + 1) * kColumns; ++c)
      if (rounded_[c]) return false;
    return true;
  }

  const CountTask& t_;
  int64_t first_, width_, tiles_, padded_;
  double scale_;
  Space<Sixteen> fixed_, totals_, counts_;
  Space<Lookup> table_;
  Space<uint32_t> words_;
  Space<uint8_t> rounded_;
};

double scale_of(int64_t n_bags) { return fixed_scale(n_bags, 0); }

// Columns [first, last).
bool count_below(const CountTask& task, int64_t first, int64_t last, Poll poll) {
  Pace pace{poll};
  for (int64_t c = first; c < last && !pace.stopped; c += kCountTiles * kColumns) {
    BelowCount some(task, c, last - c < kCountTiles * kColumns ? last : c + kCountTiles * kColumns);
    if (!some.reserve()) return false;
    some.read();
    some.count(pace);
  }
  return true;
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset
