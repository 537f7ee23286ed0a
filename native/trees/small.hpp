// Nodes with few rows: a block and all nodes below it. Most nodes of a tree are here.
#pragma once
#include "trees/placed.hpp"

namespace steadyset::trees {
namespace STEADYSET_LEVEL {
namespace {

// The members of nodes are places in the block from here on.
template <class Criterion> void Grower<Criterion>::grow_block(const Pending& root) {
  block_.open(bag_, root.begin, static_cast<int32_t>(root.n()), Criterion::weighted, Criterion::by_bits && kScansBits);
  block_.number_classes(present_.get(), n_present_);
  corner_.close();
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
  set_classes([&](int32_t c) { return block_.number(c); });
  by_codes_ = Criterion::by_bits && kScansCodes && node.n() <= kCodedRows && n_present_ <= kCodedClasses && block_.any_codes();
  if (by_codes_) {
    for (int32_t c = 0; c < n_present_; ++c) number_here_[present_[c]] = static_cast<uint8_t>(c);
    codes_.node(block_.members + node.begin, node.n(), block_.label, number_here_.get(), class_totals_, n_present_);
  }
  const bool in_corner = enter_corner(node);
  const Corner::Rows rows = in_corner ? corner_.rows_of(block_.members + node.begin, node.n()) : Corner::Rows{};
  FeatureOrder order(order_.get(), bag_.n_features, node.seed);
  int32_t constant = 0;
  while (!order.done() && (order.drawn() < settings_->max_features || order.drawn() <= constant)) {
    const int32_t f = order.next();
    const bool goes_on = node.n() == block_.n && order.drawn() < settings_->max_features && !order.done();
    block_.expect(goes_on ? order.upcoming() : -1);
    const bool here = in_corner && !(by_codes_ && block_.is_coded(f));
    constant += !(here ? look_corner(criterion, f, rows, node.n(), best) : look_small(criterion, f, node, best));
    if (best.perfect || pace_.stop(4 * node.n())) break;
  }
  if (in_corner && best.feature >= 0 && !(by_codes_ && block_.is_coded(best.feature))) find_sides(rows, best);
  return resolved(criterion, best, node.n());
}

// False where the feature is constant at the node.
template <class Criterion>
bool Grower<Criterion>::look_small(Criterion& criterion, int32_t f, const Pending& node, Best<Criterion>& best) {
  const Small* members = block_.members + node.begin;
  if constexpr (Criterion::by_bits) {
    if (by_codes_ && block_.is_coded(f))
      return codes_.offer(criterion, block_.codes(f), bag_.n_ranks(f), members, f, min_leaf_, best);
  }
  uint64_t marked[kBlock / 64];
  Small in_order[kBlock], values[kBlock];
  const Order<Small> rows = block_.order(f);
  marks_.mark(rows, members, node.n(), marked);
  const PlacedNode<Small> seen{rows, marked, node.n(), block_.label, block_.weight, in_order, values};
  return look_placed(criterion, f, seen, [&](Small row) { return block_.rank(f, row); }, best);
}

// Whether the node is in a corner of the block, which it may open, and looks at features there.
template <class Criterion> bool Grower<Criterion>::enter_corner(const Pending& node) {
  if (!Criterion::by_bits || !kScansBits) return false;
  if (!corner_.holds(node.begin, node.end)) {
    // Orders of the corner pay where nodes ask for many of the features, most of which have an order.
    if (4 * settings_->max_features < bag_.n_features || bag_.block != kBlock) return false;
    if (node.n() > kCorner || node.n() < kLeastCorner || n_present_ > kFewClasses || !block_.has_class_bits()) return false;
    corner_.open(block_, node.begin, node.end, class_numbers_, n_present_, bag_.n_features);
  }
  for (int32_t c = 0; c < n_present_; ++c) class_numbers_[c] = corner_.class_at(class_numbers_[c]);
  return true;
}

// The same as look_small; where the split is in the order is left to find_sides.
template <class Criterion>
bool Grower<Criterion>::look_corner(Criterion& criterion, int32_t f, const Corner::Rows& rows, int64_t n, Best<Criterion>& best) {
  if constexpr (Criterion::by_bits) {
    const Order<uint8_t> order = corner_.order(f, block_, marks_);
    uint64_t marked[2];
    Corner::mark(order, rows, marked);
    const int64_t n_missing = order.first_missing < order.n ? bits_from(marked, 2, order.first_missing) : 0;
    if (!scan_.take(order, marked, class_numbers_, n_present_, n)) return false;
    scan_.offer(criterion, class_totals_, f, min_leaf_, n_missing, false, best);
    if (n_missing > 0 && !best.perfect) scan_.offer(criterion, class_totals_, f, min_leaf_, n_missing, true, best);
  }
  return true;
}

template <class Criterion> void Grower<Criterion>::find_sides(const Corner::Rows& rows, Best<Criterion>& best) {
  const int32_t f = best.feature;
  const Order<uint8_t> order = corner_.order(f, block_, marks_);
  uint64_t marked[2];
  Corner::mark(order, rows, marked);
  const Neighbours sides = neighbours(marked, best.at);
  const Small low = corner_.row(order.row[sides.first]), high = corner_.row(order.row[sides.second]);
  best.low = block_.rank(f, low);
  best.high = block_.rank(f, high);
  best.place = block_.order(f).place[low];
  best.any_missing = order.first_missing < order.n && bits_from(marked, 2, order.first_missing) > 0;
}

template <class Criterion> int64_t Grower<Criterion>::divide_small(const Pending& node, const Split& split) {
  Small spare[kBlock];
  Small* members = block_.members + node.begin;
  int64_t left = 0, right = 0;
  const auto divide = [&](auto goes_left) {
    for (int64_t i = 0, n = node.n(); i < n; ++i) {
      const Small member = members[i];
      const int64_t is_left = goes_left(member);
      members[left] = member;
      spare[right] = member;
      left += is_left;
      right += 1 - is_left;
    }
  };
  if (block_.is_coded(split.feature)) {
    const uint8_t* codes = block_.codes(split.feature);
    divide([&](Small member) { return codes[member] <= split.low; });
  } else {
    const Order<Small> order = block_.order(split.feature);
    divide([&](Small member) {
      const int32_t place = order.place[member];
      return place >= order.first_missing ? split.missing_left : place <= split.place;
    });
  }
  memcpy(members + left, spare, static_cast<size_t>(right) * sizeof(Small));
  return node.begin + left;
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::trees
