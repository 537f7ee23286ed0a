// A forest that owns its arrays: made from trees that were grown, or from arrays of anybody, which are checked.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "poll.hpp"
#include "trees/api.hpp"
#include "trees/coded.hpp"

namespace steadyset::trees {

// The arrays of `Grown`, as views.
struct ForestArrays {
  int64_t n_trees, n_nodes, n_leaves, n_entries;
  const int64_t* tree_nodes;
  const int32_t* feature;
  const uint64_t* key;
  const uint8_t* missing_left;
  const int64_t* leaf_rows;
  const int64_t* leaf_entries;
  const int32_t* entry_class;
  const double* entry_weight;
  const double* importances;
};

class OwnedForest {
 public:
  // Throws std::invalid_argument where the arrays do not describe trees.
  OwnedForest(const ForestArrays& arrays, int32_t n_features, int32_t n_classes, bool wide);

  // Trees [first, last) of a forest.
  struct Run {
    const OwnedForest* forest;
    int64_t first, last;
  };
  // The trees of several forests; its steps are not coded, whether theirs are or not.
  static OwnedForest joined(const std::vector<Run>& runs);

  // Whether steps are coded is decided once. `code` does what takes long: whoever calls holds `coding`, but not Python's
  // lock. `decide` puts it in place: whoever calls holds both.
  bool is_decided() const { return decided_; }
  bool is_coded() const { return coded_.has_value(); }
  std::mutex& coding() { return *coding_; }
  std::optional<CodedForest> code(Poll poll) const;
  void decide(std::optional<CodedForest> coded);
  // How prediction reads it, once that is decided.
  Forest view() const;
  int64_t n_trees() const { return static_cast<int64_t>(root_.size()) - 1; }
  int64_t n_nodes() const { return root_.back(); }
  int32_t n_features() const { return n_features_; }
  int32_t n_classes() const { return n_classes_; }
  bool wide() const { return wide_; }

  // The arrays it was made of.
  std::vector<int64_t> tree_nodes() const;
  std::vector<int32_t> feature() const;
  std::vector<uint64_t> key() const;
  std::vector<uint8_t> missing_left() const;
  std::vector<int64_t> leaf_rows() const { return {leaf_rows_.begin(), leaf_rows_.end()}; }
  std::vector<int64_t> leaf_entries() const;
  const std::vector<int32_t>& entry_class() const { return entry_class_; }
  const std::vector<double>& entry_weight() const { return entry_weight_; }
  const std::vector<double>& importances() const { return importances_; }

 private:
  OwnedForest(int32_t n_features, int32_t n_classes, bool wide) : n_features_(n_features), n_classes_(n_classes), wide_(wide) {}
  // Where the leaves of a tree begin: it has one more than it has splits.
  int64_t first_leaf(int64_t tree) const { return (root_[static_cast<size_t>(tree)] + tree) / 2; }
  void append(const Run& run);
  template <class Key> void put_uncoded(std::vector<Step<Key>>& to, const OwnedForest& part, int64_t first, int64_t last);
  template <class Key> void lay_out(const ForestArrays& arrays, std::vector<Step<Key>>& steps);
  void take_leaves(const ForestArrays& arrays);
  // Of each class at a leaf: its part of the leaf's weight. Only prediction needs it, so that a forest which is joined to
  // others first has none.
  std::vector<double> shares() const;
  // A node as the arrays have it, and its left child: feature -1 for a leaf, which is its own child.
  struct Split {
    int64_t node, left;
    int32_t feature;
    uint64_t key;
    uint8_t missing_left;
  };
  Split uncoded(int64_t place) const;
  template <class T, class Of> std::vector<T> of_nodes(Of of) const;

  int32_t n_features_, n_classes_;
  bool wide_, decided_ = false;
  std::unique_ptr<std::mutex> coding_ = std::make_unique<std::mutex>();
  std::optional<CodedForest> coded_;  // in place of steps and leaf
  std::vector<Step<uint32_t>> steps_;
  std::vector<Step<uint64_t>> wide_steps_;
  std::vector<uint32_t> leaf_;
  std::vector<int64_t> root_;
  std::vector<uint32_t> entries_, leaf_rows_;
  std::vector<int32_t> entry_class_;
  std::vector<double> entry_weight_, importances_;
  std::vector<double> entry_share_;  // once it is decided how prediction reads
};

}  // namespace steadyset::trees
