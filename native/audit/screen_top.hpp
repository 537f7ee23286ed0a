// The screen of the inflated top k: what screen.hpp asks about the largest mean, asked about the k-th largest.
#pragma once
#include <stdint.h>

#include "audit/api.hpp"
#include "audit/verdict.hpp"
#include "simd/simd.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

// Eight units at once. Where the k-th largest mean leads by more than the margin, the set is the k largest; where exactly
// one more is within it, that one belongs too, as a runner-up of the rest. Otherwise the pair is unsure.
inline Verdict judge_top(const PointScreen& p, const int32_t* sums, const Vec<double>& weight, double margin, int64_t k) {
  Vec<double> top[kScreenedLabels + 2], square = {};
  for (int64_t i = 0; i < k + 2; ++i) top[i] = broadcast(-1.0);
  for (int64_t l = 0; l < p.n_classes; ++l) {
    Vec<double> x = load_as_doubles(sums + 8 * l) * weight, d = x - p.mean[l];
    square = square + d * d;
    for (int64_t i = 0; i < k + 2; ++i) {
      Vec<double> rest = smaller(x, top[i]);
      top[i] = larger(x, top[i]);
      x = rest;
    }
  }
  double wide = margin + margin * 0x1p-46 + p.blur, narrow = margin - margin * 0x1p-46 - p.blur;
  Vec<double> last = top[k - 1], lead = last - top[k];
  Mask<double> exactly = lead > broadcast(wide);
  Mask<double> one_more = (lead < broadcast(narrow)) & (last - top[k + 1] > broadcast(wide));
  Vec<double> least = pick<double>(exactly, last, top[k]), one = broadcast(1.0), both = {};
  for (int64_t l = 0; l < p.n_classes; ++l)
    if (p.set[l]) both = both + only(load_as_doubles(sums + 8 * l) * weight >= least, one);
  double labels = static_cast<double>(k);
  Vec<double> either = p.size + pick<double>(exactly, broadcast(labels), broadcast(labels + 1)) - both;
  Verdict v;
  v.conflict = both < labels;
  v.unsure = (exactly | one_more) == int64_t{0};
  v.jaccard = both / either;
  v.shift = root(square);
  return v;
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset
