#include "trees/forest.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include "require.hpp"

namespace steadyset::trees {
OwnedForest::OwnedForest(const ForestArrays& arrays, int32_t n_features, int32_t n_classes, bool wide)
    : n_features_(n_features), n_classes_(n_classes), wide_(wide) {
  require(n_features >= 1 && n_classes >= 1, "a forest has features and classes");
  require(arrays.n_nodes < (int64_t{1} << 31) && arrays.n_leaves < (int64_t{1} << 31), "a forest has fewer than 2^31 nodes");
  require(arrays.n_entries <= std::numeric_limits<uint32_t>::max(), "the leaves of a forest hold fewer than 2^32 classes");
  root_.push_back(0);
  for (int64_t t = 0; t < arrays.n_trees; ++t) {
    const int64_t nodes = arrays.tree_nodes[t];
    require(nodes >= 1 && nodes % 2 == 1 && nodes <= arrays.n_nodes - root_.back(), "a tree has one node more than twice its splits");
    root_.push_back(root_.back() + nodes);
  }
  require(root_.back() == arrays.n_nodes, "every node belongs to a tree");
  take_leaves(arrays);
  if (wide_) {
    lay_out(arrays, wide_steps_);
  } else {
    lay_out(arrays, steps_);
  }
  importances_.assign(arrays.importances, arrays.importances + arrays.n_trees * n_features);
  for (double value : importances_) require(std::isfinite(value), "importances are finite");
}

void OwnedForest::take_leaves(const ForestArrays& arrays) {
  leaf_rows_.resize(static_cast<size_t>(arrays.n_leaves));
  for (int64_t leaf = 0; leaf < arrays.n_leaves; ++leaf) leaf_rows_[leaf] = static_cast<uint32_t>(arrays.leaf_rows[leaf]);
  entry_class_.assign(arrays.entry_class, arrays.entry_class + arrays.n_entries);
  entry_weight_.assign(arrays.entry_weight, arrays.entry_weight + arrays.n_entries);
  entries_.push_back(0);
  for (int64_t leaf = 0; leaf < arrays.n_leaves; ++leaf) {
    const int64_t count = arrays.leaf_entries[leaf], first = entries_.back();
    require(count >= 1 && count <= arrays.n_entries - first, "a leaf holds at least one class");
    require(arrays.leaf_rows[leaf] >= 1, "a leaf holds at least one row");
    require(arrays.leaf_rows[leaf] <= std::numeric_limits<uint32_t>::max(), "a leaf holds fewer than 2^32 rows");
    double total = 0;
    for (int64_t i = first; i < first + count; ++i) {
      require(entry_class_[i] >= 0 && entry_class_[i] < n_classes_, "a leaf holds known classes");
      require(i == first || entry_class_[i] > entry_class_[i - 1], "a leaf holds each class once, in order");
      require(entry_weight_[i] > 0 && std::isfinite(entry_weight_[i]), "weights are above zero and finite");
      total += entry_weight_[i];
    }
    require(std::isfinite(total), "weights have a finite sum");
    entries_.push_back(static_cast<uint32_t>(first + count));
  }
  require(entries_.back() == arrays.n_entries, "every class belongs to a leaf");
}

std::vector<double> OwnedForest::shares() const {
  std::vector<double> found(entry_weight_.size());
  for (size_t leaf = 0; leaf + 1 < entries_.size(); ++leaf) {
    const size_t first = entries_[leaf], last = entries_[leaf + 1];
    double total = 0;
    for (size_t i = first; i < last; ++i) total += entry_weight_[i];
    for (size_t i = first; i < last; ++i) found[i] = last - first == 1 ? 1.0 : entry_weight_[i] / total;
  }
  return found;
}

template <class Key> void OwnedForest::lay_out(const ForestArrays& arrays, std::vector<Step<Key>>& steps) {
  steps.resize(static_cast<size_t>(arrays.n_nodes));
  leaf_.resize(steps.size());
  int64_t leaf = 0;
  for (int64_t t = 0; t < arrays.n_trees; ++t) {
    int64_t splits = 0;
    for (int64_t node = root_[t]; node < root_[t + 1]; ++node) {
      const int32_t feature = arrays.feature[node];
      if (feature < 0) {
        require(feature == -1 && leaf < arrays.n_leaves, "there is a leaf for each node without a split");
        steps[node] = {std::numeric_limits<Key>::max(), static_cast<uint32_t>(node), 0};
        const bool pure = entries_[leaf + 1] - entries_[leaf] == 1;
        leaf_[node] = pure ? static_cast<uint32_t>(entry_class_[entries_[leaf]]) | kPure : static_cast<uint32_t>(leaf);
        ++leaf;
        continue;
      }
      // Children come later than their node, so that every way down ends.
      const int64_t left = root_[t] + 2 * splits + 1;
      require(feature < n_features_, "a split is by a known feature");
      require(left > node && left + 1 < root_[t + 1], "the nodes of a tree are numbered level by level");
      require(arrays.key[node] < std::numeric_limits<Key>::max(), "a threshold is no missing value");
      require(arrays.missing_left[node] <= 1, "missing values go left or right");
      steps[node] = {static_cast<Key>(arrays.key[node]), static_cast<uint32_t>(left),
                     static_cast<uint32_t>(feature) | (arrays.missing_left[node] ? kMissingLeft : 0)};
      leaf_[node] = 0;
      ++splits;
    }
    require(2 * splits + 1 == root_[t + 1] - root_[t], "a tree has one node more than twice its splits");
  }
  require(leaf == arrays.n_leaves, "every leaf belongs to a node");
}

OwnedForest OwnedForest::joined(const std::vector<Run>& runs) {
  require(!runs.empty(), "a forest is joined of at least one");
  for (const Run& run : runs) {
    require(run.forest != nullptr, "parts must be forests");
    require(run.first >= 0 && run.first < run.last && run.last <= run.forest->n_trees(), "a part holds trees of its forest");
  }
  const OwnedForest& first = *runs[0].forest;
  OwnedForest whole(first.n_features_, first.n_classes_, first.wide_);
  size_t nodes = 0, leaves = 0, entries = 0;
  for (const Run& run : runs) {
    const OwnedForest& part = *run.forest;
    require(part.n_features_ == first.n_features_ && part.n_classes_ == first.n_classes_ && part.wide_ == first.wide_,
            "forests have the same features and classes");
    const size_t from = static_cast<size_t>(part.first_leaf(run.first)), to = static_cast<size_t>(part.first_leaf(run.last));
    nodes += static_cast<size_t>(part.root_[static_cast<size_t>(run.last)] - part.root_[static_cast<size_t>(run.first)]);
    leaves += to - from;
    entries += static_cast<size_t>(part.entries_[to] - part.entries_[from]);
  }
  require(nodes < (size_t{1} << 31), "a forest has fewer than 2^31 nodes");
  require(entries <= std::numeric_limits<uint32_t>::max(), "the leaves of a forest hold fewer than 2^32 classes");
  whole.wide_ ? whole.wide_steps_.reserve(nodes) : whole.steps_.reserve(nodes);
  whole.leaf_.reserve(nodes);
  whole.leaf_rows_.reserve(leaves);
  whole.entries_.reserve(leaves + 1);
  whole.entry_class_.reserve(entries);
  whole.entry_weight_.reserve(entries);
  whole.root_.push_back(0);
  whole.entries_.push_back(0);
  for (const Run& run : runs) whole.append(run);
  return whole;
}

void OwnedForest::append(const Run& run) {
  const OwnedForest& part = *run.forest;
  const std::lock_guard<std::mutex> no_coding(*part.coding_);  // which would move its steps
  const auto put = [](auto& to, const auto& from, int64_t first, int64_t last) {
    to.insert(to.end(), from.begin() + first, from.begin() + last);
  };
  const int64_t first_node = part.root_[static_cast<size_t>(run.first)], last_node = part.root_[static_cast<size_t>(run.last)];
  const int64_t leaf = part.first_leaf(run.first), last_leaf = part.first_leaf(run.last);
  const int64_t entry = part.entries_[static_cast<size_t>(leaf)], last_entry = part.entries_[static_cast<size_t>(last_leaf)];
  const int64_t node = root_.back() - first_node;
  const uint32_t node_shift = static_cast<uint32_t>(node), entry_shift = static_cast<uint32_t>(entries_.back() - entry);
  const uint32_t leaf_shift = static_cast<uint32_t>(static_cast<int64_t>(leaf_rows_.size()) - leaf);
  const auto put_nodes = [&](auto& to, const auto& from) {
    const size_t begin = to.size();
    if (part.coded_) {
      put_uncoded(to, part, first_node, last_node);
    } else {
      put(to, from, first_node, last_node);
      put(leaf_, part.leaf_, first_node, last_node);
    }
    for (size_t i = begin; i < to.size(); ++i) {
      to[i].left += node_shift;
      // Of a leaf its class, or its number; 0 where the node is split.
      const bool numbered = to[i].left == i && !(leaf_[i] & kPure);
      leaf_[i] += numbered ? leaf_shift : 0;
    }
  };
  wide_ ? put_nodes(wide_steps_, part.wide_steps_) : put_nodes(steps_, part.steps_);
  const auto put_shifted = [&](auto& to, const auto& from, int64_t first, int64_t last, auto shift) {
    const size_t begin = to.size();
    put(to, from, first, last);
    for (size_t i = begin; i < to.size(); ++i) to[i] += shift;
  };
  put_shifted(root_, part.root_, run.first + 1, run.last + 1, node);
  put_shifted(entries_, part.entries_, leaf + 1, last_leaf + 1, entry_shift);
  put(leaf_rows_, part.leaf_rows_, leaf, last_leaf);
  put(entry_class_, part.entry_class_, entry, last_entry);
  put(entry_weight_, part.entry_weight_, entry, last_entry);
  put(importances_, part.importances_, run.first * n_features_, run.last * n_features_);
}

template <class Key>
void OwnedForest::put_uncoded(std::vector<Step<Key>>& to, const OwnedForest& part, int64_t first, int64_t last) {
  const size_t begin = to.size();
  to.resize(begin + static_cast<size_t>(last - first));
  leaf_.resize(to.size());
  for (int64_t place = first; place < last; ++place) {  // the coded steps of a tree stand where its nodes did
    const Split split = part.uncoded(place);
    const size_t at = begin + static_cast<size_t>(split.node - first);
    const bool ends = split.feature < 0;
    to[at] = {ends ? std::numeric_limits<Key>::max() : static_cast<Key>(split.key), static_cast<uint32_t>(split.left),
              ends ? 0 : static_cast<uint32_t>(split.feature) | (split.missing_left ? kMissingLeft : 0)};
    leaf_[at] = part.coded_->leaf[static_cast<size_t>(place)];
  }
}

std::optional<CodedForest> OwnedForest::code(Poll poll) const {
  return wide_ ? coded_forest(wide_steps_, leaf_, root_, n_features_, n_classes_, poll)
               : coded_forest(steps_, leaf_, root_, n_features_, n_classes_, poll);
}

void OwnedForest::decide(std::optional<CodedForest> coded) {
  entry_share_ = shares();
  coded_ = std::move(coded);
  decided_ = true;
  if (!coded_) return;
  wide_steps_ = {};
  steps_ = {};
  leaf_ = {};
}

Forest OwnedForest::view() const {
  Forest view{};
  view.steps = wide_ ? static_cast<const void*>(wide_steps_.data()) : static_cast<const void*>(steps_.data());
  view.leaf = leaf_.data();
  if (coded_) {
    view.coded = coded_->steps.data();
    view.coded_missing_left = coded_->missing_left.data();
    view.coded_node = coded_->node.data();
    view.coded_columns = coded_->columns;
    view.leaf = coded_->leaf.data();
    view.cuts = wide_ ? static_cast<const void*>(coded_->wide_cuts.data()) : static_cast<const void*>(coded_->cuts.data());
    view.cut_start = coded_->cut_start.data();
  }
  view.wide = wide_;
  view.root = root_.data();
  view.entries = entries_.data();
  view.entry_class = entry_class_.data();
  view.entry_share = entry_share_.data();
  view.n_trees = n_trees();
  view.n_features = n_features_;
  view.n_classes = n_classes_;
  return view;
}

OwnedForest::Split OwnedForest::uncoded(int64_t place) const {
  if (!coded_) {
    const Step<uint64_t> step = wide_ ? wide_steps_[place] : Step<uint64_t>{steps_[place].key, steps_[place].left, steps_[place].feature};
    if (step.left == static_cast<uint32_t>(place)) return {place, place, -1, 0, 0};
    return {place, step.left, static_cast<int32_t>(step.feature & ~kMissingLeft), step.key, (step.feature & kMissingLeft) != 0};
  }
  const CodedStep step = coded_->steps[place];
  const int64_t node = coded_->node[place];
  if (step.left == static_cast<uint32_t>(place)) return {node, node, -1, 0, 0};
  const int32_t feature = step.offset / kFlight;
  const int64_t cut = coded_->cut_start[feature] + step.place();
  return {node, coded_->node[step.left], feature, wide_ ? coded_->wide_cuts[cut] : coded_->cuts[cut], coded_->missing_left[place]};
}

std::vector<int64_t> OwnedForest::tree_nodes() const {
  std::vector<int64_t> out;
  for (size_t t = 1; t < root_.size(); ++t) out.push_back(root_[t] - root_[t - 1]);
  return out;
}

template <class T, class Of> std::vector<T> OwnedForest::of_nodes(Of of) const {
  std::vector<T> out(static_cast<size_t>(n_nodes()));
  for (int64_t place = 0; place < n_nodes(); ++place) {
    const Split split = uncoded(place);
    out[split.node] = of(split);
  }
  return out;
}

std::vector<int32_t> OwnedForest::feature() const {
  return of_nodes<int32_t>([](const Split& split) { return split.feature; });
}

std::vector<uint64_t> OwnedForest::key() const {
  return of_nodes<uint64_t>([](const Split& split) { return split.key; });
}

std::vector<uint8_t> OwnedForest::missing_left() const {
  return of_nodes<uint8_t>([](const Split& split) { return split.missing_left; });
}

std::vector<int64_t> OwnedForest::leaf_entries() const {
  std::vector<int64_t> out;
  for (size_t i = 1; i < entries_.size(); ++i) out.push_back(entries_[i] - entries_[i - 1]);
  return out;
}

}  // namespace steadyset::trees
