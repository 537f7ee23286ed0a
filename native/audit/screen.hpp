// Nearly all pairs of a point and a unit, decided in fixed point: a mean is off by at most half a unit of it. Pairs that
// this error could turn are left to exact arithmetic.
#pragma once
#include <stdint.h>

#include "audit/api.hpp"
#include "audit/lookup.hpp"
#include "audit/screen_top.hpp"
#include "audit/to_fixed.hpp"
#include "audit/verdict.hpp"
#include "simd/loose.hpp"
#include "simd/simd.hpp"
#include "simd/space.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

constexpr double kShiftRounding = 0x1p-23;  // of a shift of at most sqrt(2) as a float

// The largest entries met so far, and those of some labels.
struct TopThree {
  Vec<double> first = broadcast(-1.0), second = first, third = first;
  void add(const Vec<double>& x) {
    Vec<double> rest = smaller(x, first);
    first = larger(x, first);
    third = larger(smaller(rest, second), third);
    second = larger(rest, second);
  }
};
struct TopTwo {
  Vec<double> first = broadcast(-1.0), second = first;
  void add(const Vec<double>& x) {
    second = larger(smaller(x, first), second);
    first = larger(x, first);
  }
};

// Eight units at once, of whose sums each label has eight, times the weight of each unit. At most two labels within the
// margin of the largest are the set itself, for every rule that keeps to a margin; with three or more near it, or one near
// the boundary, the pair is unsure.
inline Verdict judge(const PointScreen& p, const int32_t* sums, const Vec<double>& weight, double margin) {
  TopThree all;
  TopTwo inside;
  Vec<double> square = {}, lead = broadcast(-1.0), other = lead;
  for (int64_t l = 0; l < p.n_classes; ++l) {
    Vec<double> x = load_as_doubles(sums + 8 * l) * weight, d = x - p.mean[l];
    square = square + d * d;
    all.add(x);
    if (p.set[l]) inside.add(x);
    if (p.leads == nullptr) continue;
    if (p.leads[l]) lead = larger(x, lead);
    else other = larger(x, other);
  }
  double wide = margin + margin * 0x1p-46 + p.blur, narrow = margin - margin * 0x1p-46 - p.blur;
  Mask<double> single = all.first - all.second > broadcast(wide);
  Mask<double> pair = (all.first - all.second < broadcast(narrow)) & (all.first - all.third > broadcast(wide));
  // How many labels of the set are among the one or two that are selected: exact wherever the pair is not unsure.
  Vec<double> one = broadcast(1.0), of_one = only(inside.first == all.first, one);
  Vec<double> of_two = only(inside.first >= all.second, one) + only(inside.second >= all.second, one);
  Vec<double> both = pick<double>(single, of_one, of_two);
  Vec<double> either = p.size + pick<double>(single, one, broadcast(2.0)) - both;
  Verdict v;
  v.conflict = both == 0.0;
  v.unsure = (single | pair) == int64_t{0};
  if (p.leads != nullptr) v.unsure = v.unsure | (other + p.blur >= lead);
  v.jaccard = both / either;
  v.shift = root(square);
  return v;
}

// Some points against all units.
class Screen {
 public:
  Screen(const ScreenTask& task, int64_t first, int64_t last)
      : t_(task), first_(first), points_(last - first), n_(task.n_classes), tiles_((points_ * n_ + kColumns - 1) / kColumns),
        padded_(words_of(task.values.n_bags) * kWordBags), scale_(fixed_scale(task.values.n_bags, 0)) {}

  bool reserve() {
    return fixed_.reserve(tiles_ * padded_) && table_.reserve(1) && words_.reserve(padded_ / kWordBags * kUnitsAtOnce) &&
           totals_.reserve(tiles_ * kUnitsAtOnce) &&
           turned_.reserve(tiles_ * kColumns * 8) && rounded_.reserve(points_) && seen_.reserve(points_);
  }
  void read() {
    for (int64_t k = 0; k < points_; ++k) rounded_[k] = 0;
    if (t_.values.wide) read_as<double>();
    else read_as<float>();
    // The summing of B floats in blocks, the rule's own rounding and that of this function are far below this.
    double rounding = static_cast<double>(t_.values.n_bags + 64) * 0x1p-50;
    for (int64_t k = 0; k < points_; ++k) {
      int64_t at = (first_ + k) * n_;
      double size = 0;
      for (int64_t l = 0; l < n_; ++l) size += t_.set[at + l];
      seen_[k] = {t_.mean + at, t_.set + at, t_.leads == nullptr ? nullptr : t_.leads + at, n_, size,
                  2 * ((rounded_[k] ? 0.5 / scale_ : 0) + rounding)};
      t_.error[first_ + k] = __builtin_sqrt(static_cast<double>(n_)) * seen_[k].blur * 0.5 + kShiftRounding;
    }
  }
  void compare(Pace& pace) {
    int64_t units = t_.taken.n_units;
    for (int64_t from = 0; from < units && !pace.stopped; from += kUnitsAtOnce) {
      int64_t count = units - from < kUnitsAtOnce ? units - from : kUnitsAtOnce;
      sum_units(t_.taken, t_.values.n_bags, from, count, fixed_.data(), tiles_, table_[0], words_.data(), totals_.data(), pace);
      for (int64_t i = 0; i < count && !pace.stop(16 * points_ * n_); i += 8) {
        int64_t some = count - i < 8 ? count - i : 8;
        double weight[8] = {};
        for (int64_t r = 0; r < some; ++r) weight[r] = 1 / (scale_ * t_.taken.counts[from + i + r]);
        turn_units(totals_.data(), tiles_, i, turned_.data(), 8);
        for (int64_t k = 0; k < points_; ++k) {
          const int32_t* sums = turned_.data() + k * n_ * 8;
          Verdict verdict = t_.k == 1 ? judge(seen_[k], sums, load(weight), t_.margin)
                                      : judge_top(seen_[k], sums, load(weight), t_.margin, t_.k);
          write(verdict, first_ + k, from + i, some);
        }
      }
    }
  }

 private:
  template <class T> void read_as() {
    to_fixed(static_cast<const Loose<T>*>(t_.values.data) + first_ * n_, t_.values, points_ * n_, n_, scale_,
             padded_, fixed_.data(), rounded_.data());
  }
  void write(const Verdict& v, int64_t point, int64_t unit, int64_t some) const {
    int64_t place = point * t_.taken.n_units + unit;
    float shift[8];
    uint8_t conflict[8], unsure[8];
    double jaccard[8];
    store_as_floats(shift, v.shift);
    store_bytes(conflict, v.conflict & (v.unsure == int64_t{0}));
    store_bytes(unsure, v.unsure);
    store(jaccard, v.jaccard);
    double total = t_.jaccard[point];
    for (int64_t r = 0; r < some; ++r) {
      t_.shift[place + r] = shift[r];
      t_.conflict[place + r] = conflict[r];
      t_.unsure[place + r] = unsure[r];
      total += unsure[r] ? 0 : jaccard[r];
    }
    t_.jaccard[point] = total;
  }

  const ScreenTask& t_;
  int64_t first_, points_, n_, tiles_, padded_;
  double scale_;
  Space<Sixteen> fixed_, totals_;
  Space<Lookup> table_;
  Space<int32_t> turned_;
  Space<uint32_t> words_;
  Space<uint8_t> rounded_;
  Space<PointScreen> seen_;
};

// Points [first, last) against all units. shift, conflict and unsure are (all points, n_units).
bool screen(const ScreenTask& task, int64_t first, int64_t last, Poll poll) {
  Pace pace{poll};
  Screen screen(task, first, last);
  if (!screen.reserve()) return false;
  screen.read();
  screen.compare(pace);
  return true;
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset
