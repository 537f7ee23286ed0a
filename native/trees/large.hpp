// Nodes with many rows: lists that are split with the node, counts by value, or sorting at the node.
#pragma once
#include "trees/grower.hpp"

namespace steadyset::trees {
namespace STEADYSET_LEVEL {
namespace {

template <class Criterion> void Grower<Criterion>::grow_depth_first(uint64_t seed) {
  stack_.size = 0;
  memory_ = stack_.add({0, bag_.n, 0, 0, mixed(seed), -1});
  while (memory_ && stack_.size > 0 && !pace_.stop(64)) {
    Pending node = stack_[--stack_.size];
    const int64_t n = node.n();
    count_classes(bag_.members.get() + node.begin, n, bag_.label.get(), bag_.weight.get());
    if (!must_be_leaf(n, node.depth) && n <= kBlock && !settings_->random) {
      drop_counts(node);
      grow_block(node);
      continue;
    }
    const Split split = must_be_leaf(n, node.depth) ? Split() : best_split(node);
    if (!is_enough(split)) {
      drop_counts(node);
      leaf(node.node, n);
      continue;
    }
    Pending left, right;
    const int64_t middle = branch(node, split, left, right);
    Pending *small = &left, *large = &right;
    if (middle - node.begin > node.end - middle) small = &right, large = &left;
    share_counts(node, *small, *large);
    // The smaller one is grown first: counts by value are kept for the larger one meanwhile, at most log2(n) times.
    memory_ = memory_ && stack_.add(*large) && stack_.add(*small);
  }
}

// Whether one candidate comes before another: by its gain, then by its node.
inline bool comes_before(const Candidate& a, const Candidate& b) {
  return a.split.gain > b.split.gain || (a.split.gain == b.split.gain && a.node.node < b.node.node);
}

// Splits the candidate with the largest decrease of the impurity, until there are enough leaves.
template <class Criterion> void Grower<Criterion>::grow_best_first(uint64_t seed) {
  heap_.size = 0;
  memory_ = true;
  consider({0, bag_.n, 0, 0, mixed(seed), -1});
  int64_t leaves = 1;
  for (; memory_ && heap_.size > 0 && leaves < settings_->max_leaf_nodes && !pace_.stop(64); ++leaves) {
    const Candidate chosen = best_candidate();
    Pending left, right;
    branch(chosen.node, chosen.split, left, right);
    consider(left);
    consider(right);
  }
  for (int64_t i = 0; memory_ && i < heap_.size; ++i) {
    const Pending& node = heap_[i].node;
    count_classes(bag_.members.get() + node.begin, node.n(), bag_.label.get(), bag_.weight.get());
    leaf(node.node, node.n());
  }
}

// Takes the first candidate off the heap.
template <class Criterion> Candidate Grower<Criterion>::best_candidate() {
  const Candidate first = heap_[0], last = heap_[--heap_.size];
  int64_t at = 0;
  for (int64_t child = 1; child < heap_.size; child = 2 * at + 1) {
    if (child + 1 < heap_.size && comes_before(heap_[child + 1], heap_[child])) ++child;
    if (!comes_before(heap_[child], last)) break;
    heap_[at] = heap_[child];
    at = child;
  }
  if (heap_.size > 0) heap_[at] = last;
  return first;
}

// Makes a node a leaf, or a candidate with its best split.
template <class Criterion> void Grower<Criterion>::consider(Pending node) {
  if (!memory_) return;
  count_classes(bag_.members.get() + node.begin, node.n(), bag_.label.get(), bag_.weight.get());
  const Split split = must_be_leaf(node.n(), node.depth) ? Split() : best_split(node);
  if (is_enough(split)) {
    const Candidate candidate{node, split};
    memory_ = memory_ && heap_.add(candidate);
    int64_t at = heap_.size - 1;
    for (; memory_ && at > 0 && comes_before(candidate, heap_[(at - 1) / 2]); at = (at - 1) / 2) heap_[at] = heap_[(at - 1) / 2];
    if (memory_) heap_[at] = candidate;
  } else {
    leaf(node.node, node.n());
  }
}

// Adds the children to the tree and divides the rows; returns where those of the right one begin.
template <class Criterion>
int64_t Grower<Criterion>::branch(const Pending& parent, const Split& split, Pending& left, Pending& right) {
  const int64_t child = tree_.split(parent.node, split.feature, split.key, split.missing_left);
  memory_ = memory_ && child >= 0;
  tree_.importances[split.feature] += split.gain;
  const int64_t middle = divide_node(parent, split);
  left = {parent.begin, middle, child, parent.depth + 1, child_seed(parent.seed, false), -1};
  right = {middle, parent.end, child + 1, parent.depth + 1, child_seed(parent.seed, true), -1};
  return middle;
}

// Puts the members of a node, and its part of the lists, in the order: left, right.
template <class Criterion> int64_t Grower<Criterion>::divide_node(const Pending& node, const Split& split) {
  const int64_t n = node.n();
  uint32_t* members = bag_.members.get() + node.begin;
  const uint32_t missing = bag_.missing_rank(split.feature);
  const uint32_t* ranks = bag_.table->ranks + static_cast<int64_t>(split.feature) * bag_.table->n;
  uint8_t* side = bag_.side.get();
  int64_t n_left = 0;
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t rank = ranks[bag_.row[members[i]]];
    const bool left = rank == missing ? split.missing_left : rank <= split.low;
    side[members[i]] = left;
    n_left += left;
  }
  divide<false>(members, nullptr, side, bag_.spare.get(), nullptr, n);
  pace_.stop(4 * n);
  if (split.perfect || (is_settled(members, n_left) && is_settled(members + n_left, n - n_left))) return node.begin + n_left;
  for (int32_t f = 0; f < bag_.n_features; ++f) {
    if (bag_.way[f] != Way::listed) continue;
    const int64_t at = bag_.place[f] * bag_.n + node.begin;
    uint32_t *list = bag_.list.get() + at, *list_ranks = bag_.list_ranks.get() + at;
    if (bag_.ties[bag_.place[f]]) {
      divide<true>(list, list_ranks, side, bag_.spare.get(), bag_.spare_ranks.get(), n);
    } else {
      divide<false>(list, nullptr, side, bag_.spare.get(), nullptr, n);
    }
    if (pace_.stop(2 * n)) break;
  }
  return node.begin + n_left;
}

// Whether these rows will be a leaf, so that nobody looks at their lists.
template <class Criterion> bool Grower<Criterion>::is_settled(const uint32_t* members, int64_t n) const {
  if (n < min_split_ || n < 2 * min_leaf_) return true;
  for (int64_t i = 1; i < n; ++i)
    if (bag_.label[members[i]] != bag_.label[members[0]]) return false;
  return true;
}

template <class Criterion> Split Grower<Criterion>::best_split(Pending& node) {
  if (settings_->random) return random_split(node);
  const int64_t n = node.n();
  Criterion criterion = this->criterion();
  criterion.node(classes(n));
  Best<Criterion> best;
  if (subtract_ && node.counts < 0 && (node.counts = new_counts()) >= 0) fill_counts(node.counts, node);
  FeatureOrder order(order_.get(), bag_.n_features, node.seed);
  int32_t constant = 0;
  while (memory_ && !order.done() && (order.drawn() < settings_->max_features || order.drawn() <= constant)) {
    const int32_t f = order.next();
    const bool count = bag_.way[f] == Way::counted && 4 * n >= static_cast<int64_t>(bag_.n_ranks(f)) * bag_.counts_stride();
    const int32_t* counts = node.counts >= 0 ? counts_at(node.counts) : nullptr;
    const bool varies = count ? look_counted(criterion, node, f, counts, best) : look_ordered(criterion, node, f, best);
    constant += !varies;
    clear_sides();
    if (best.perfect || pace_.stop(4 * n)) break;
  }
  return resolved(criterion, best, n);
}

// A feature whose rows are walked through in order. False where it is constant at the node.
template <class Criterion>
bool Grower<Criterion>::look_ordered(Criterion& criterion, const Pending& node, int32_t f, Best<Criterion>& best) {
  const int64_t n = node.n();
  Ordered<uint32_t, uint32_t> rows{nullptr, nullptr, bag_.label.get(), bag_.weight.get(), n, 0};
  if (bag_.way[f] == Way::listed) {
    const int64_t at = bag_.place[f] * bag_.n + node.begin;
    rows.rows = bag_.list.get() + at;
    if (bag_.ties[bag_.place[f]]) rows.ranks = bag_.list_ranks.get() + at;
  } else {
    const uint64_t* sorted = bag_.sorted(f, bag_.members.get() + node.begin, n);
    for (int64_t i = 0; i < n; ++i) {
      bag_.spare[i] = static_cast<uint32_t>(sorted[i]);
      bag_.spare_ranks[i] = static_cast<uint32_t>(sorted[i] >> 32);
    }
    rows.rows = bag_.spare.get();
    rows.ranks = bag_.spare_ranks.get();
  }
  if (rows.ranks == nullptr) {
    look<false, false>(criterion, rows, f, min_leaf_, best, sums_.get());
  } else {
    if (rows.ranks[0] == rows.ranks[n - 1]) return false;
    const uint32_t missing = bag_.missing_rank(f);
    while (rows.ranks[n - 1 - rows.n_missing] == missing) ++rows.n_missing;
    look<false, true>(criterion, rows, f, min_leaf_, best, sums_.get());
    if (rows.n_missing > 0 && !best.perfect) {
      clear_sides();
      look<true, true>(criterion, rows, f, min_leaf_, best, sums_.get());
    }
  }
  if (best.feature == f) {
    best.low = bag_.rank(f, rows.rows[best.at]);
    best.high = bag_.rank(f, rows.rows[best.at + 1]);
    best.any_missing = rows.n_missing > 0;
  }
  return true;
}

// A feature whose classes are counted by value. False where it is constant at the node.
template <class Criterion>
bool Grower<Criterion>::look_counted(Criterion& criterion, const Pending& node, int32_t f, const int32_t* counts,
                                     Best<Criterion>& best) {
  const int64_t n = node.n();
  const int32_t stride = bag_.counts_stride(), n_ranks = bag_.n_ranks(f);
  if (counts != nullptr) {
    counts += bag_.cells[f];
  } else {
    memory_ = one_.zeros(static_cast<int64_t>(n_ranks) * stride);
    if (!memory_) return false;
    const uint32_t* members = bag_.members.get() + node.begin;
    const uint8_t* few = bag_.few.get() + bag_.place[f];
    for (int64_t i = 0; i < n; ++i)
      ++one_[static_cast<int64_t>(few[static_cast<int64_t>(members[i]) * bag_.n_counted]) * stride + bag_.label[members[i]]];
    counts = one_.get();
  }
  const auto rows_at = [&](int32_t rank) {
    int64_t rows = 0;
    for (int32_t c = 0; c < stride; ++c) rows += counts[static_cast<int64_t>(rank) * stride + c];
    return rows;
  };
  int32_t first = 0;
  while (rows_at(first) == 0) ++first;
  if (rows_at(first) == n) return false;
  const Counts by{counts, n_ranks, stride};
  const int64_t n_missing = bag_.table->missing[f] ? rows_at(n_ranks - 1) : 0;
  walk_counts(criterion, by, n, 0, f, min_leaf_, best);
  if (n_missing > 0 && !best.perfect) {
    clear_sides();
    walk_counts(criterion, by, n, n_missing, f, min_leaf_, best);
  }
  if (best.feature == f) {
    best.low = best.high = static_cast<uint32_t>(best.at);
    do ++best.high;
    while (rows_at(static_cast<int32_t>(best.high)) == 0);
    best.any_missing = n_missing > 0;
  }
  return true;
}

// ---- counts by value of all features, handed down: those of the larger child are the parent's less the smaller one's ----

template <class Criterion> int32_t Grower<Criterion>::new_counts() {
  if (n_free_ > 0) return free_[--n_free_];
  if (n_counts_ >= kMostCounts || !pool_.reserve((n_counts_ + 1) * bag_.n_cells)) return -1;
  return n_counts_++;
}

template <class Criterion> void Grower<Criterion>::fill_counts(int32_t number, const Pending& node) {
  int32_t* counts = counts_at(number);
  memset(counts, 0, static_cast<size_t>(bag_.n_cells) * sizeof(int32_t));
  const int32_t stride = bag_.counts_stride(), features = bag_.n_counted;
  for (int64_t i = node.begin; i < node.end; ++i) {
    const uint32_t member = bag_.members[i];
    const uint8_t* ranks = bag_.few.get() + static_cast<int64_t>(member) * features;
    int32_t* const at = counts + bag_.label[member];
    for (int32_t j = 0; j < features; ++j) ++at[cells_[j] + ranks[j] * stride];
  }
  pace_.stop(node.n() * features);
}

template <class Criterion> void Grower<Criterion>::share_counts(Pending& parent, Pending& small, Pending& large) {
  if (parent.counts < 0) return;
  if (large.n() <= kBlock) return drop_counts(parent);
  const int32_t number = new_counts();
  if (number < 0) return drop_counts(parent);
  fill_counts(number, small);
  int32_t* whole = counts_at(parent.counts);
  const int32_t* part = counts_at(number);
  for (int64_t i = 0; i < bag_.n_cells; ++i) whole[i] -= part[i];
  large.counts = parent.counts;
  small.counts = number;
  if (small.n() <= kBlock) drop_counts(small);
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::trees
