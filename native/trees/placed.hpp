// A feature whose rows are placed, at one node of the frame: its rows are marked, and their splits offered.
#pragma once
#include "trees/grower.hpp"

namespace steadyset::trees {
namespace STEADYSET_LEVEL {
namespace {

// False where the feature is constant at the node. `rank_of` gives the rank of a row of the frame.
template <class Criterion>
template <class Place, class RankOf>
bool Grower<Criterion>::look_placed(Criterion& criterion, int32_t f, const PlacedNode<Place>& node, RankOf rank_of,
                                    Best<Criterion>& best) {
  const Order<Place>& order = node.order;
  const int64_t n_missing = order.first_missing < order.n ? bits_from(node.marked, order.words, order.first_missing) : 0;
  bool by_bits = false;
  if constexpr (Criterion::by_bits) {
    by_bits = kScansBits && order.classes != nullptr && n_present_ <= kFewClasses && criterion.is_short();
    if (by_bits) {
      if (!scan_.take(order, node.marked, class_numbers_, n_present_, node.n)) return false;
      scan_.offer(criterion, class_totals_, f, min_leaf_, n_missing, false, best);
      if (n_missing > 0 && !best.perfect) scan_.offer(criterion, class_totals_, f, min_leaf_, n_missing, true, best);
    }
  }
  if (!by_bits && !walk_placed(criterion, f, node, n_missing, best)) return false;
  if (best.feature == f) {
    const Neighbours sides = neighbours(node.marked, best.at);
    best.low = rank_of(order.row[sides.first]);
    best.high = rank_of(order.row[sides.second]);
    best.place = static_cast<int32_t>(sides.first);
    best.any_missing = n_missing > 0;
  }
  return true;
}

// The same by walking through the rows.
template <class Criterion>
template <class Place>
bool Grower<Criterion>::walk_placed(Criterion& criterion, int32_t f, const PlacedNode<Place>& node, int64_t n_missing,
                                    Best<Criterion>& best) {
  const Order<Place>& order = node.order;
  Ordered<Place, Place> rows{node.rows, nullptr, node.labels, node.weights, node.n, n_missing};
  if (order.value == nullptr) {
    each_bit(node.marked, order.words, [&](int64_t i, int64_t place) { node.rows[i] = order.row[place]; });
    look<false, false>(criterion, rows, f, min_leaf_, best, sums_.get());
  } else {
    rows.ranks = node.values;
    each_bit(node.marked, order.words, [&](int64_t i, int64_t place) {
      node.rows[i] = order.row[place];
      node.values[i] = order.value[place];
    });
    if (node.values[0] == node.values[node.n - 1]) return false;
    look<false, true>(criterion, rows, f, min_leaf_, best, sums_.get());
  }
  if (n_missing > 0 && !best.perfect) {
    clear_sides();
    if (order.value == nullptr) {
      look<true, false>(criterion, rows, f, min_leaf_, best, sums_.get());
    } else {
      look<true, true>(criterion, rows, f, min_leaf_, best, sums_.get());
    }
  }
  clear_sides();
  return true;
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::trees
