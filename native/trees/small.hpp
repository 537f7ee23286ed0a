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
