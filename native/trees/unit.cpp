// Ranking tables, growing trees and predicting with them. Compiled once per instruction set; internal linkage but for the
// entry.
#include <stdint.h>

#include "trees/api.hpp"
#include "trees/keys.hpp"
#include "trees/large.hpp"
#include "trees/predict.hpp"
#include "trees/random.hpp"
#include "trees/ranks.hpp"
#include "trees/small.hpp"

namespace steadyset::trees {
namespace STEADYSET_LEVEL {
namespace {

// What a caller frees.
template <class T> inline bool handed_over(const Array<T>& from, T*& to) {
  const size_t bytes = static_cast<size_t>(from.size) * sizeof(T);
  to = static_cast<T*>(malloc(bytes ? bytes : 1));
  if (to != nullptr && bytes) memcpy(static_cast<void*>(to), from.get(), bytes);
  return to != nullptr;
}

bool hand_over(const Trees& trees, Grown* out) {
  out->n_trees = trees.tree_nodes.size;
  out->n_nodes = trees.feature.size;
  out->n_leaves = trees.leaf_rows.size;
  out->n_entries = trees.entry_class.size;
  return handed_over(trees.tree_nodes, out->tree_nodes) && handed_over(trees.feature, out->feature) &&
         handed_over(trees.key, out->key) && handed_over(trees.missing_left, out->missing_left) &&
         handed_over(trees.leaf_rows, out->leaf_rows) && handed_over(trees.leaf_entries, out->leaf_entries) &&
         handed_over(trees.entry_class, out->entry_class) && handed_over(trees.entry_weight, out->entry_weight) &&
         handed_over(trees.importances, out->importances);
}

template <class Criterion>
Outcome grow_with(const Ranked& table, const uint16_t* labels, int32_t n_classes, const BagRows* bags, int64_t n_bags,
                  const Settings& settings, Grown* grown, Poll poll) {
  Grower<Criterion> grower(poll);
  Trees trees;
  for (int64_t b = 0; b < n_bags; ++b) {
    const Outcome outcome = grower.grow(table, labels, n_classes, bags[b], settings, trees);
    if (outcome != kDone) return outcome;
  }
  return hand_over(trees, grown) ? kDone : kNoMemory;
}

Outcome grow(const Ranked& table, const uint16_t* labels, int32_t n_classes, const BagRows* bags, int64_t n_bags,
             const Settings& settings, Grown* grown, Poll poll) {
  *grown = Grown{};
  const auto with = bags[0].weights != nullptr ? grow_with<WeightedClasses>
                    : settings.entropy         ? grow_with<EntropyCounts>
                                               : grow_with<GiniCounts>;
  return with(table, labels, n_classes, bags, n_bags, settings, grown, poll);
}

constexpr TreesUnit kUnit = {keys_of, rank_column, grow, add_shares, put_shares, apply_rows};

}  // namespace
}  // namespace STEADYSET_LEVEL

const TreesUnit& STEADYSET_ENTRY(trees_unit_)() { return STEADYSET_LEVEL::kUnit; }

}  // namespace steadyset::trees
