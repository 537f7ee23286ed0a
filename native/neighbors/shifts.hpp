// The models without each of a point's nearest rows, eight at a time, and how far each lies from the model on all rows.
#pragma once
#include <stdint.h>

#include "neighbors/api.hpp"
#include "simd/simd.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

constexpr int kTogether = Vec<double>::lanes;  // models
constexpr int kRoom = 2 * kTogether;           // of a label: a store that starts at any of the models stays inside

inline double share_of(int64_t votes) { return static_cast<double>(votes) * 0x1p-62; }

// Eight models, label by label, and what is asked of them.
struct Together {
  const LeftOutRanks& ranks;
  double* shares;  // (classes, kRoom)

  // All models from `at` on give the label this share.
  void give(int64_t label, int at, int64_t votes) { store(shares + label * kRoom + at, broadcast(share_of(votes))); }
  Vec<double> of(int64_t label) const { return load(shares + label * kRoom); }

  // ||model - own||, with the terms added in the order of distance_to in audit/near.hpp, to the bit.
  Vec<double> shift() const {
    const int64_t whole = ranks.n_classes / kTogether * kTogether;
    Vec<double> square = zeros<double>();
    for (int64_t first = 0; first < kTogether && first < whole; ++first) {
      Vec<double> lane = zeros<double>();
      for (int64_t label = first; label < whole; label += kTogether) lane = lane + term(label);
      square = square + lane;
    }
    for (int64_t label = whole; label < ranks.n_classes; ++label) square = square + term(label);
    return root(square);
  }
  Vec<double> term(int64_t label) const {
    Vec<double> d = of(label) - ranks.own[label];
    return d * d;
  }

  // The largest share of a label other than `top` and `second`.
  Vec<double> others() const {
    Vec<double> largest = broadcast(-__builtin_inf());
    for (int64_t label = 0; label < ranks.n_classes; ++label)
      if (label != ranks.top && label != ranks.second) largest = larger(of(label), largest);
    return largest;
  }
};

// The model without the r-th nearest row differs from the one without the row before it by one weight, which goes from the
// label of the one to that of the other.
Leads left_out_shifts(const LeftOutRanks& ranks, const LeftOutRoom& room) {
  Together models = {ranks, room.shares};
  for (int64_t label = 0; label < ranks.n_classes; ++label) room.votes[label] = 0;
  for (int64_t r = 0; r < ranks.depth; ++r) room.votes[ranks.labels[r + 1]] += ranks.whole[r];
  Vec<double> least = broadcast(__builtin_inf()), most = broadcast(-__builtin_inf()), of_others = least;
  for (int64_t first = 0; first <= ranks.depth; first += kTogether) {
    for (int l = 0; l < kTogether && first + l <= ranks.depth; ++l) {
      const int64_t r = first + l;
      const int64_t from = ranks.labels[r], to = ranks.labels[r > 0 ? r - 1 : 0];
      if (from != to) {
        room.votes[from] -= ranks.whole[r - 1];
        room.votes[to] += ranks.whole[r - 1];
      }
      if (l == 0) {
        for (int64_t label = 0; label < ranks.n_classes; ++label) models.give(label, 0, room.votes[label]);
      } else if (from != to) {
        models.give(from, l, room.votes[from]);
        models.give(to, l, room.votes[to]);
      }
    }
    store_as_floats(room.shift + first, models.shift());
    Vec<double> top = models.of(ranks.top), lead = top - models.of(ranks.second);
    least = smaller(lead, least);
    most = larger(lead, most);
    of_others = smaller(top - models.others(), of_others);
  }
  return {-largest_lane(0.0 - least), largest_lane(most), -largest_lane(0.0 - of_others)};
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset
