// A tree while it grows, and how it is put with the others when it is done.
#pragma once
#include <stdint.h>

#include "simd/level.hpp"
#include "trees/api.hpp"
#include "trees/memory.hpp"

namespace steadyset::trees {
namespace STEADYSET_LEVEL {
namespace {

// Nodes in the order in which they came up; the right child follows the left one.
struct Tree {
  Array<int32_t> feature;   // -1 - leaf for a leaf
  Array<uint64_t> key;
  Array<uint8_t> missing_left;
  Array<int64_t> left;
  Array<int64_t> leaf_rows, leaf_start;
  Array<int32_t> entry_class;
  Array<double> entry_weight;
  Array<double> importances;
  Array<int64_t> order;     // nodes level by level
  bool memory = true;

  void clear(int32_t n_features) {
    feature.size = key.size = missing_left.size = left.size = 0;
    leaf_rows.size = leaf_start.size = entry_class.size = entry_weight.size = 0;
    memory = importances.zeros(n_features);
    add_node();
  }
  int64_t add_node() {
    memory = memory && feature.add(-1) && key.add(0) && missing_left.add(0) && left.add(-1);
    return feature.size - 1;
  }
  // Splits a node and returns its left child, or -1 when memory runs out.
  int64_t split(int64_t node, int32_t by, uint64_t threshold, bool with_missing) {
    const int64_t child = add_node();
    add_node();
    if (!memory) return -1;
    feature[node] = by;
    key[node] = threshold;
    missing_left[node] = with_missing;
    left[node] = child;
    return child;
  }
  void begin_leaf(int64_t node, int64_t rows) {
    if (memory) feature[node] = static_cast<int32_t>(-1 - leaf_rows.size);
    memory = memory && leaf_rows.add(rows) && leaf_start.add(entry_class.size);
  }
  void add_class(int32_t c, double weight) { memory = memory && entry_class.add(c) && entry_weight.add(weight); }
};

// The trees of several bags, one after the other.
struct Trees {
  Array<int64_t> tree_nodes;
  Array<int32_t> feature;
  Array<uint64_t> key;
  Array<uint8_t> missing_left;
  Array<int64_t> leaf_rows, leaf_entries;
  Array<int32_t> entry_class;
  Array<double> entry_weight, importances;

  // Numbers the nodes level by level. False when memory runs out.
  bool add(Tree& tree, int32_t n_features) {
    if (!tree.memory || !tree.leaf_start.add(tree.entry_class.size) || !tree_nodes.add(tree.feature.size)) return false;
    tree.order.size = 0;
    if (!tree.order.add(0)) return false;
    for (int64_t i = 0; i < tree.order.size; ++i) {
      const int64_t node = tree.order[i], child = tree.left[node];
      const bool leaf = child < 0;
      if (!feature.add(leaf ? -1 : tree.feature[node]) || !key.add(tree.key[node]) ||
          !missing_left.add(tree.missing_left[node]))
        return false;
      if (leaf ? !add_leaf(tree, -1 - tree.feature[node]) : !tree.order.add(child) || !tree.order.add(child + 1)) return false;
    }
    for (int32_t f = 0; f < n_features; ++f)
      if (!importances.add(tree.importances[f])) return false;
    return true;
  }

 private:
  bool add_leaf(const Tree& tree, int64_t leaf) {
    const int64_t first = tree.leaf_start[leaf], last = tree.leaf_start[leaf + 1];
    if (!leaf_rows.add(tree.leaf_rows[leaf]) || !leaf_entries.add(last - first)) return false;
    for (int64_t i = first; i < last; ++i)
      if (!entry_class.add(tree.entry_class[i]) || !entry_weight.add(tree.entry_weight[i])) return false;
    return true;
  }
};

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::trees
