// Theorem 6 for nearly all pairs of a point and a row, decided in fixed point: which rows no votes in the bags that hold
// them can make turn the point's set. Labels with hardly any votes are not summed; their total bounds what they have.
// Pairs that the rounding of votes or such a bound could turn are left to exact arithmetic.
#pragma once
#include <stdint.h>

#include "audit/api.hpp"
#include "audit/lookup.hpp"
#include "simd/loose.hpp"
#include "simd/simd.hpp"
#include "simd/space.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

constexpr double kNegligible = 0x1p-10;  // a label with less than this share of all votes is not summed

// The columns of a point that are summed, and what is known of the others.
struct Kept {
  int64_t start, count, outside;     // columns, how many, and how many labels the set leaves out
  int32_t most_inside, most_outside; // at most this many votes has a label that is not summed, in the set or outside
  int32_t error;                     // of the difference of two sums
  int bound;                         // which of the upper bounds of a lead is its own
};

inline int32_t whole(double x) {  // rounded up, within the integers; the largest for a NaN, as a bound that none reaches
  x = __builtin_ceil(x);
  return x < -0x1p31 + 1 ? -0x7fffffff : x <= 0x1p31 - 2 ? static_cast<int32_t>(x) : 0x7ffffffe;
}

// Some points against all units.
class Clear {
 public:
  Clear(const ClearTask& task, int64_t first, int64_t last)
      : t_(task), first_(first), points_(last - first), n_(task.n_classes),
        padded_(words_of(task.values.n_bags) * kWordBags), scale_(fixed_scale(task.values.n_bags, 1)) {}

  bool reserve() {
    int64_t widest = (points_ * n_ + kColumns - 1) / kColumns;
    return kept_.reserve(points_) && source_.reserve(points_ * n_) && inside_.reserve(points_ * n_) &&
           fixed_.reserve(widest * padded_) && table_.reserve(1) && words_.reserve(padded_ / kWordBags * kUnitsAtOnce) &&
           totals_.reserve((widest + 1) * kUnitsAtOnce) &&
           turned_.reserve((widest + 1) * kColumns * kColumns) && votes_.reserve(points_ * n_) &&
           low_.reserve(kUnitsAtOnce) && high_.reserve(points_ * kUnitsAtOnce);
  }
  void read() {
    if (t_.values.wide) read_as<double>();
    else read_as<float>();
    tiles_ = (columns_ + kColumns - 1) / kColumns;
    for (int64_t c = 0; c < columns_; ++c) {
      votes_[c] = 0;
      for (int64_t b = 0; b < padded_; ++b) votes_[c] += fixed(b, c);
    }
    bounds_ = 0;
    for (int64_t k = 0; k < points_; ++k) {
      int64_t before = 0;
      while (kept_[before].outside != kept_[k].outside) ++before;
      kept_[k].bound = before < k ? kept_[before].bound : bounds_++;
    }
  }
  // verdict: (points, units)
  void compare(uint8_t* verdict, Pace& pace) {
    int64_t units = t_.taken.n_units;
    for (int64_t from = 0; from < units && !pace.stopped; from += kUnitsAtOnce) {
      int64_t count = units - from < kUnitsAtOnce ? units - from : kUnitsAtOnce;
      sum_units(t_.taken, t_.values.n_bags, from, count, fixed_.data(), tiles_, table_[0], words_.data(), totals_.data(), pace);
      if (t_.radius == nullptr) bound_leads(t_.most + from, count);
      for (int64_t i = 0; i < count && !pace.stop(32 * points_ * n_); i += kColumns) {
        turn_units(totals_.data(), tiles_, i, turned_.data(), kColumns);
        turn_units(totals_.data(), tiles_, i + 8, turned_.data() + 8, kColumns);
        int64_t some = count - i < kColumns ? count - i : kColumns;
        for (int64_t k = 0; k < points_; ++k) {
          uint8_t found[kColumns];
          if (t_.radius != nullptr) judge_distances(kept_[k], t_.most + from + i, some, t_.radius[first_ + k], found);
          else judge_leads(kept_[k], i, found);
          __builtin_memcpy(verdict + k * units + from + i, found, static_cast<size_t>(some));
        }
      }
    }
  }

 private:
  int32_t& fixed(int64_t bag, int64_t c) const {
    return reinterpret_cast<int32_t*>(&fixed_[c / kColumns * padded_ + bag])[c % kColumns];
  }

  template <class T> void read_as() {
    const auto* values = static_cast<const Loose<T>*>(t_.values.data);
    columns_ = 0;
    for (int64_t k = 0; k < points_; ++k) keep_columns(values, k);
    int64_t tiles = (columns_ + kColumns - 1) / kColumns;
    for (int64_t i = 0; i < tiles * padded_; ++i) fixed_[i] = Sixteen{};
    for (int64_t b = 0; b < t_.values.n_bags; ++b)
      for (int64_t c = 0; c < columns_; ++c) {
        double x = static_cast<double>(values[b * t_.values.stride + source_[c]]);
        fixed(b, c) = static_cast<int32_t>(in_fixed(x, scale_) + 0.5);
      }
  }
  template <class T> void keep_columns(const Loose<T>* values, int64_t k) {
    int64_t bags = t_.values.n_bags, at = (first_ + k) * n_;
    Kept kept = {columns_, 0, 0, 0, 0, 0, 0};
    bool rounded = false;
    for (int64_t l = 0; l < n_; ++l) {
      double total = 0;
      for (int64_t b = 0; b < bags; ++b) {
        double x = static_cast<double>(values[b * t_.values.stride + at + l]);
        total += x;
        double fixed = in_fixed(x, scale_);
        rounded |= static_cast<double>(static_cast<int32_t>(fixed)) != fixed;
      }
      uint8_t in = t_.set[at + l];
      kept.outside += !in;
      if (t_.radius == nullptr && total <= kNegligible * static_cast<double>(bags)) {
        int32_t& most = in ? kept.most_inside : kept.most_outside;
        int32_t here = whole(total * scale_ * (1 + 0x1p-40));
        most = here > most ? here : most;
      } else {
        source_[columns_] = at + l;
        inside_[columns_++] = in;
        ++kept.count;
      }
    }
    kept.error = rounded ? static_cast<int32_t>(bags) : 0;  // half a unit for each vote of either label
    kept_[k] = kept;
  }

  // The lead of the set's best label over the best one outside decides: from `high` on the row is cleared, below `low` it
  // is not. In between the labels near the best one outside matter.
  void bound_leads(const double* most, int64_t count) {
    for (int64_t i = 0; i < kUnitsAtOnce; ++i) low_[i] = i < count ? whole((most[i] - t_.margin) * scale_) : 0;
    for (int64_t k = 0, next = 0; k < points_; ++k) {
      if (kept_[k].bound != next) continue;
      int32_t* high = &high_[kUnitsAtOnce * next++];
      __builtin_memcpy(high, low_.data(), kUnitsAtOnce * sizeof(int32_t));
      if (!t_.inflated || kept_[k].outside == 0) continue;
      // t lies between M - h and M - (sqrt(1 + 1/labels outside) - 1/sqrt(2)) epsilon, and is the former where the best
      // label outside has all its new votes a margin before the others.
      double outside = static_cast<double>(kept_[k].outside), bags = static_cast<double>(t_.values.n_bags);
      double near = t_.epsilon * (__builtin_sqrt(1 + 1 / outside) - 0.70710678118654752440) * (1 - 0x1p-50);
      for (int64_t i = 0; i < count && kept_[k].outside > 1; ++i)
        if (!(most[i] >= t_.margin * (1 + 0x1p-40))) high[i] = whole((most[i] - near * bags) * scale_);
    }
  }
  void judge_leads(const Kept& kept, int64_t unit, uint8_t* found) const {
    Sixteen in = {}, out = {};
    for (int64_t c = kept.start; c < kept.start + kept.count; ++c) {
      Sixteen x = load(turned_.data() + c * kColumns);
      if (inside_[c]) in = larger(x, in);
      else out = larger(x, out);
    }
    Sixteen at_most = larger(in, broadcast(kept.most_inside)), rival = larger(out, broadcast(kept.most_outside));
    Sixteen least = in - rival - kept.error, most = at_most - out + kept.error;
    Mask<int32_t> cleared = least >= load(&high_[kept.bound * kUnitsAtOnce + unit]);
    Mask<int32_t> not_cleared = most < load(low_.data() + unit);
    uint8_t open[kColumns];
    store_bytes(found, cleared);
    store_bytes(open, not_cleared);
    for (int r = 0; r < kColumns; ++r) found[r] = found[r] ? kCleared : open[r] ? kNotCleared : kUnsure;
  }

  // Any rule with a radius: the farthest of the corners c e_l is sqrt(c^2 - 2 c min s + ||s||^2) from s, the votes of the
  // bags that hold the unit, and no votes go farther.
  void judge_distances(const Kept& kept, const double* most, int64_t some, double radius, uint8_t* found) const {
    double error = __builtin_sqrt(static_cast<double>(kept.count)) * 0.5 * kept.error + 1, all[kColumns] = {};
    for (int64_t r = 0; r < some; ++r) all[r] = most[r];
    for (int half = 0; half < kColumns; half += 8) {
      Vec<double> square = {}, least = broadcast(0x1p62), c = load(all + half) * scale_;
      for (int64_t j = kept.start; j < kept.start + kept.count; ++j) {
        Vec<double> s = votes_[j] - load_as_doubles(turned_.data() + j * kColumns + half);
        square = square + s * s;
        least = smaller(s, least);
      }
      Vec<double> far = c * c - 2.0 * c * (least - error) + square;
      Mask<double> cleared = root(larger(far, Vec<double>{})) + error < broadcast(radius * scale_);
      store_bytes(found + half, cleared);
    }
    for (int r = 0; r < kColumns; ++r) found[r] = found[r] ? kCleared : kNotCleared;
  }

  const ClearTask& t_;
  int64_t first_, points_, n_, padded_, columns_ = 0, tiles_ = 0;
  int bounds_ = 0;
  double scale_;
  Space<Kept> kept_;
  Space<int64_t> source_;       // of each packed column: the column of the values
  Space<uint8_t> inside_;       // whether its label is in the set
  Space<Sixteen> fixed_, totals_;
  Space<Lookup> table_;
  Space<uint32_t> words_;
  Space<double> votes_;         // of all bags
  Space<int32_t> turned_, low_, high_;
};

// Points [first, last) against all units, into verdict (last - first, units).
bool clear(const ClearTask& task, int64_t first, int64_t last, uint8_t* verdict, Poll poll) {
  Pace pace{poll};
  Clear clear(task, first, last);
  if (!clear.reserve()) return false;
  clear.read();
  clear.compare(verdict, pace);
  return true;
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset
