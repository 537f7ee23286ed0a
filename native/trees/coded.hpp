// A forest for prediction by codes: steps of eight bytes, near to each other in memory as they are in the tree.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "poll.hpp"
#include "trees/api.hpp"

namespace steadyset::trees {

struct CodedForest {
  int64_t columns;  // of a flight of rows
  std::vector<CodedStep> steps;
  std::vector<uint8_t> missing_left;
  std::vector<uint32_t> leaf;      // as in `Forest`
  std::vector<uint32_t> node;      // of each step: its node, by its number in the forest
  std::vector<uint32_t> cuts;      // for keys of 32 bits
  std::vector<uint64_t> wide_cuts; // or of 64
  std::vector<int64_t> cut_start;
};

// Nothing where codes do not fit, or do not pay: finding those of a row takes longer than the ways through the trees; and
// where `poll` says to stop.
template <class Key>
std::optional<CodedForest> coded_forest(const std::vector<Step<Key>>& steps, const std::vector<uint32_t>& leaf,
                                        const std::vector<int64_t>& root, int32_t n_features, int32_t n_classes, Poll poll);

}  // namespace steadyset::trees
