// Nodes with few rows: a block and all nodes below it. Most nodes of a tree are here.
#pragma once
#include "trees/grower.hpp"

namespace steadyset::trees {
namespace STEADYSET_LEVEL {
namespace {

// The members of nodes are places in the block from here on.
template <class Criterion> void Grower<Criterion>::grow_block(const Pending& root) {
  block_.open(bag_, place_in_block_, root.begin, static_cast<int32_t>(root.n()), Criterion::weighted);
  small_.size = 0;
  memory_ = memory_ && small_.add({0, root.n(), root.node, root.depth, root.seed, -1});
  while (memory_ && small_.size > 0) {
    const Pending node = small_[--small_.size];
    count_classes(block_.members + node.begin, node.n(), block_.label, block_.weight);
    const Split split = must_be_leaf(node.n(), node.depth) ? Split() : small_split(node);
    if (pace_.stop(64)) return;
    if (!is_enough(split)) {
      leaf(node.node, node.n());
      continue;
    }
    const int64_t child = tree_.split(node.node, split.feature, split.key, split.missing_left);
    memory_ = memory_ && child >= 0;
    tree_.importances[split.feature] += split.gain;
    const int64_t middle = divide_small(node, split);
    memory_ = memory_ && small_.add({middle, node.end, child + 1, node.depth + 1, child_seed(node.seed, true), -1}) &&
              small_.add({node.begin, middle, child, node.depth + 1, child_seed(node.seed, false), -1});
  }
}

template <class Criterion> Split Grower<Criterion>::small_split(const Pending& node) {
  Criterion criterion = this->criterion();
  criterion.node(classes(node.n()));
  Best<Criterion> best;
  FeatureOrder order(order_.get(), bag_.n_features, node.seed);
  int32_t constant = 0;
  while (!order.done() && (order.drawn() < settings_->max_features || order.drawn() <= constant)) {
    const int32_t f = order.next();
    constant += !look_small(criterion, f, node, best);
    if (best.perfect || pace_.stop(4 * node.n())) break;
  }
  return resolved(criterion, best, node.n());
}

// False where the feature is constant at the node.
template <class Criterion>
bool Grower<Criterion>::look_small(Criterion& criterion, int32_t f, const Pending& node, Best<Criterion>& best) {
  uint8_t in_order[kBlock], values[kBlock];
  const int32_t n = static_cast<int32_t>(node.n());
  const uint8_t* members = block_.members + node.begin;
  block_.know(f);
  Ordered<uint8_t, uint8_t> rows{in_order, nullptr, block_.label, block_.weight, n, 0};
  if (block_.coded(f)) return look_coded(criterion, f, node, best);
  const uint8_t* places = block_.places(f);
  if (!block_.ties(f) && block_.first_missing(f) == block_.n) {
    places_.rows(places, block_.order(f), members, n, block_.n, in_order);
    look<false, false>(criterion, rows, f, min_leaf_, best, sums_.get());
  } else {
    rows.ranks = values;
    places_.rows_and_values(places, block_.order(f), block_.values(f), members, n, block_.n, in_order, values);
    if (values[0] == values[n - 1]) return false;
    while (places[in_order[n - 1 - rows.n_missing]] >= block_.first_missing(f)) ++rows.n_missing;
    look<false, true>(criterion, rows, f, min_leaf_, best, sums_.get());
    if (rows.n_missing > 0 && !best.perfect) {
      clear_sides();
      look<true, true>(criterion, rows, f, min_leaf_, best, sums_.get());
    }
  }
  clear_sides();
  if (best.feature == f) {
    best.low = block_.rank(f, in_order[best.at]);
    best.high = block_.rank(f, in_order[best.at + 1]);
    best.place = places[in_order[best.at]];
    best.any_missing = rows.n_missing > 0;
  }
  return true;
}

// A feature with few values: rows are put in order by counting.
template <class Criterion>
bool Grower<Criterion>::look_coded(Criterion& criterion, int32_t f, const Pending& node, Best<Criterion>& best) {
  uint8_t in_order[kBlock], values[kBlock];
  uint16_t at[kFewCodes] = {};
  const int32_t n = static_cast<int32_t>(node.n());
  const uint8_t* members = block_.members + node.begin;
  const uint8_t* codes = block_.values(f);
  for (int32_t i = 0; i < n; ++i) ++at[codes[members[i]]];
  if (at[codes[members[0]]] == n) return false;
  Ordered<uint8_t, uint8_t> rows{in_order, values, block_.label, block_.weight, n, 0};
  const int32_t n_codes = block_.n_codes(f);
  if (block_.missing_code(f) < n_codes) rows.n_missing = at[n_codes - 1];
  uint16_t start = 0;
  for (int32_t code = 0; code < n_codes; ++code) {
    const uint16_t count = at[code];
    at[code] = start;
    start = static_cast<uint16_t>(start + count);
  }
  for (int32_t i = 0; i < n; ++i) {
    const uint8_t code = codes[members[i]];
    const int32_t place = at[code]++;
    in_order[place] = members[i];
    values[place] = code;
  }
  look<false, true>(criterion, rows, f, min_leaf_, best, sums_.get());
  if (rows.n_missing > 0 && !best.perfect) {
    clear_sides();
    look<true, true>(criterion, rows, f, min_leaf_, best, sums_.get());
  }
  clear_sides();
  if (best.feature == f) {
    best.low = values[best.at];
    best.high = values[best.at + 1];
    best.place = values[best.at];
    best.any_missing = rows.n_missing > 0;
  }
  return true;
}

template <class Criterion> int64_t Grower<Criterion>::divide_small(const Pending& node, const Split& split) {
  uint8_t spare[kBlock];
  // By place, or by value where there are few.
  const bool coded = block_.coded(split.feature);
  const uint8_t* places = coded ? block_.values(split.feature) : block_.places(split.feature);
  const int32_t missing = coded ? block_.missing_code(split.feature) : block_.first_missing(split.feature);
  uint8_t* members = block_.members + node.begin;
  int64_t left = 0, right = 0;
  for (int64_t i = 0; i < node.n(); ++i) {
    const uint8_t member = members[i];
    const int32_t place = places[member];
    const bool goes_left = place >= missing ? split.missing_left : place <= split.place;
    members[left] = member;
    spare[right] = member;
    left += goes_left;
    right += !goes_left;
  }
  memcpy(members + left, spare, static_cast<size_t>(right));
  return node.begin + left;
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::trees
