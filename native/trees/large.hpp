// Nodes with many rows: places in the order of the bag, or counts by value.
#pragma once
#include "trees/placed.hpp"

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
    if (!must_be_leaf(n, node.depth) && n <= bag_.block && !settings_->random) {
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

// Puts the members of a node in the order: left, right, each in the order they had.
template <class Criterion> int64_t Grower<Criterion>::divide_node(const Pending& node, const Split& split) {
  const int64_t n = node.n();
  uint32_t* members = bag_.members.get() + node.begin;
  uint32_t* spare = bag_.spare.get();
  int64_t left = 0, right = 0;
  const auto divide = [&](auto goes_left) {
    for (int64_t i = 0; i < n; ++i) {
      const uint32_t member = members[i];
      const int64_t is_left = goes_left(member);
      members[left] = member;
      spare[right] = member;
      left += is_left;
      right += 1 - is_left;
    }
  };
  if (bag_.way[split.feature] == Way::placed && bag_.keeps_orders()) {
    const Order<uint32_t> order = bag_.order(split.feature);
    const uint32_t missing = static_cast<uint32_t>(order.first_missing), last = static_cast<uint32_t>(split.place);
    divide([&](uint32_t member) {
      const uint32_t place = order.place[member];
      return place >= missing ? split.missing_left : place <= last;
    });
  } else {
    const uint32_t missing = bag_.missing_rank(split.feature);
    divide([&](uint32_t member) {
      const uint32_t rank = bag_.small_rank(split.feature, member);
      return rank == missing ? split.missing_left : rank <= split.low;
    });
  }
  memcpy(members + left, spare, static_cast<size_t>(right) * sizeof(uint32_t));
  pace_.stop(4 * n);
  return node.begin + left;
}

template <class Criterion> Split Grower<Criterion>::best_split(Pending& node) {
  if (settings_->random) return random_split(node);
  const int64_t n = node.n();
  Criterion criterion = this->criterion();
  criterion.node(classes(n));
  Best<Criterion> best;
  if (subtract_ && node.counts < 0 && (node.counts = new_counts()) >= 0) fill_counts(node.counts, node);
  set_classes([](int32_t c) { return c; });
  FeatureOrder order(order_.get(), bag_.n_features, node.seed);
  int32_t constant = 0;
  while (memory_ && !order.done() && (order.drawn() < settings_->max_features || order.drawn() <= constant)) {
    const int32_t f = order.next();
    const bool count = bag_.way[f] == Way::counted;
    const int32_t* counts = node.counts >= 0 ? counts_at(node.counts) : nullptr;
    const bool varies = count ? look_counted(criterion, node, f, counts, best) : look_bag(criterion, node, f, best);
    constant += !varies;
    clear_sides();
    if (best.perfect || pace_.stop(4 * n)) break;
  }
  return resolved(criterion, best, n);
}

// A feature whose rows are placed. False where it is constant at the node.
template <class Criterion>
bool Grower<Criterion>::look_bag(Criterion& criterion, const Pending& node, int32_t f, Best<Criterion>& best) {
  const int64_t n = node.n();
  const uint32_t* members = bag_.members.get() + node.begin;
  const Order<uint32_t> order = bag_.keeps_orders() ? bag_.order(f) : bag_.order_of(f, members, n);
  uint64_t* marked = bag_.marked.get();
  if (n == order.n) {
    set_bits(marked, n);
  } else {
    mark_places(order.place, members, n, marked);
  }
  const PlacedNode<uint32_t> seen{order, marked, n, bag_.label.get(), bag_.weight.get(), bag_.spare.get(), bag_.spare_values.get()};
  const bool varies = look_placed(criterion, f, seen, [&](uint32_t row) { return bag_.rank(f, row); }, best);
  if (n < order.words) {
    for (int64_t i = 0; i < n; ++i) marked[order.place[members[i]] >> 6] = 0;
  } else {
    memset(marked, 0, static_cast<size_t>(order.words) * sizeof(uint64_t));
  }
  return varies;
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
    const uint8_t* few = bag_.few.get() + bag_.number[f];
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
  if (large.n() <= bag_.block) return drop_counts(parent);
  const int32_t number = new_counts();
  if (number < 0) return drop_counts(parent);
  fill_counts(number, small);
  int32_t* whole = counts_at(parent.counts);
  const int32_t* part = counts_at(number);
  for (int64_t i = 0; i < bag_.n_cells; ++i) whole[i] -= part[i];
  large.counts = parent.counts;
  small.counts = number;
  if (small.n() <= bag_.block) drop_counts(small);
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::trees
