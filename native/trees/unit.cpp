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

void hand_over(Trees& trees, Grown* out) {
  out->n_trees = trees.tree_nodes.size;
  out->n_nodes = trees.feature.size;
  out->n_leaves = trees.leaf_rows.size;
  out->n_entries = trees.entry_class.size;
  out->tree_nodes = trees.tree_nodes.release();
  out->feature = trees.feature.release();
  out->key = trees.key.release();
  out->missing_left = trees.missing_left.release();
  out->leaf_rows = trees.leaf_rows.release();
  out->leaf_entries = trees.leaf_entries.release();
  out->entry_class = trees.entry_class.release();
  out->entry_weight = trees.entry_weight.release();
  out->importances = trees.importances.release();
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
  hand_over(trees, grown);
  return kDone;
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
