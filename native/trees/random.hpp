// Extremely random splits: a threshold drawn between the node's extreme values, for each feature that is looked at.
#pragma once
#include "trees/grower.hpp"

namespace steadyset::trees {
namespace STEADYSET_LEVEL {
namespace {

template <class Criterion> Split Grower<Criterion>::random_split(const Pending& node) {
  const int64_t n = node.n();
  const uint32_t* members = bag_.members.get() + node.begin;
  Criterion criterion = this->criterion();
  criterion.node(classes(n));
  Best<Criterion> best;
  uint64_t best_key = 0;
  FeatureOrder order(order_.get(), bag_.n_features, node.seed);
  int32_t constant = 0;
  while (!order.done() && (order.drawn() < settings_->max_features || order.drawn() <= constant)) {
    const int32_t f = order.next();
    const uint32_t missing = bag_.missing_rank(f);
    const uint64_t* distinct = bag_.table->distinct + bag_.table->start[f];
    uint32_t lowest = UINT32_MAX, highest = 0;
    int64_t n_missing = 0;
    for (int64_t i = 0; i < n; ++i) {
      const uint32_t rank = bag_.rank(f, members[i]);
      n_missing += rank == missing;
      if (rank == missing) continue;
      if (rank < lowest) lowest = rank;
      if (rank > highest) highest = rank;
    }
    if (n_missing == n || (lowest == highest && n_missing == 0)) {
      ++constant;
      continue;
    }
    // Where all values are equal, the missing ones are split off.
    uint64_t key = bag_.table->top;
    bool missing_left = false;
    if (lowest < highest) {
      key = drawn_between(distinct[lowest], distinct[highest], bag_.table->kinds[f], order.draws().unit());
      missing_left = n_missing > 0 && (order.draws().next() & 1);
    }
    criterion.begin();
    int64_t n_left = 0;
    uint32_t low = 0;
    for (int64_t i = 0; i < n; ++i) {
      const uint32_t member = members[i], rank = bag_.rank(f, member);
      if (rank == missing ? !missing_left : distinct[rank] > key) continue;
      criterion.add(bag_.label[member], Criterion::weighted ? bag_.weight[member] : 1);
      ++n_left;
      if (rank != missing && rank > low) low = rank;
    }
    if (n_left >= min_leaf_ && n - n_left >= min_leaf_) {
      best.offer(criterion, f, 0, n_left, missing_left);
      if (best.feature == f) {
        best.low = low;
        best.high = missing;  // the key is set below
        best.any_missing = n_missing > 0;
        best_key = key;
      }
    }
    clear_sides();
    if (best.perfect || pace_.stop(8 * n)) break;
  }
  Split split = resolved(criterion, best, n);
  split.key = best_key;
  return split;
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::trees
