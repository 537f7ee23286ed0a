// Rows through trees, several rows at a time: while one waits for its node, the others go on.
#pragma once
#include <stdint.h>

#include "poll.hpp"
#include "simd/level.hpp"
#include "trees/api.hpp"

namespace steadyset::trees {
namespace STEADYSET_LEVEL {
namespace {

constexpr int kFlight = 8;

// The nodes that `kFlight` rows end in. Every row is in memory, and a leaf leads to itself.
template <bool missing, class Key>
inline void descend(const Step<Key>* steps, uint32_t root, const Key* const* rows, uint32_t* at) {
  for (int j = 0; j < kFlight; ++j) at[j] = root;
  uint32_t moved = 1;
  while (moved) {
    moved = 0;
    for (int j = 0; j < kFlight; ++j) {
      const Step<Key>& step = steps[at[j]];
      const Key key = rows[j][step.feature & ~kMissingLeft];
      bool right = key > step.key;
      if (missing) right = right && !(key == static_cast<Key>(-1) && (step.feature & kMissingLeft));
      const uint32_t next = step.left + right;
      moved |= next ^ at[j];
      at[j] = next;
    }
  }
}

template <class Key> inline bool any_missing(const Key* keys, int64_t n) {
  bool found = false;
  for (int64_t i = 0; i < n; ++i) found |= keys[i] == static_cast<Key>(-1);
  return found;
}

// Calls take(row, tree, node) for every row of [first, last) and every tree of [from, to): all trees for some rows, then
// the next ones, so that sums are taken in the order of the trees.
template <bool missing, class Key, class Take>
inline void pass_rows(const Forest& forest, const Key* keys, int64_t first, int64_t last, int64_t from, int64_t to, Poll poll, Take take) {
  Pace pace{poll};
  const Step<Key>* steps = static_cast<const Step<Key>*>(forest.steps);
  constexpr int64_t kRows = 2048;  // that stay in the second-level cache, with a tree
  for (int64_t start = first; start < last; start += kRows) {
    const int64_t end = start + kRows < last ? start + kRows : last;
    for (int64_t tree = from; tree < to; ++tree) {
      for (int64_t i = start; i < end; i += kFlight) {
        const Key* rows[kFlight];
        uint32_t at[kFlight];
        const int count = static_cast<int>(end - i < kFlight ? end - i : kFlight);
        for (int j = 0; j < kFlight; ++j) rows[j] = keys + (i + (j < count ? j : 0)) * forest.n_features;
        descend<missing>(steps, static_cast<uint32_t>(forest.root[tree]), rows, at);
        for (int j = 0; j < count; ++j) take(i + j, tree, at[j]);
      }
      if (pace.stop((end - start) * 16)) return;
    }
  }
}

template <class Key>
inline void predict_keys(const Forest& forest, const Key* keys, int64_t first, int64_t last, int64_t from, int64_t to,
                         double* sums, double* out, int64_t out_rows, Poll poll) {
  const int64_t classes = forest.n_classes;
  const auto give = [&](uint32_t node, double* target) {
    const uint32_t leaf = forest.leaf[node];
    if (leaf & kPure) {
      target[leaf & ~kPure] += 1.0;
      return;
    }
    for (int64_t i = forest.entries[leaf]; i < forest.entries[leaf + 1]; ++i)
      target[forest.entry_class[i]] += forest.entry_share[i];
  };
  const auto add = [&](int64_t row, int64_t, uint32_t node) { give(node, sums + row * classes); };
  const auto put = [&](int64_t row, int64_t tree, uint32_t node) {
    give(node, out + ((tree - from) * out_rows + row) * classes);
  };
  const bool missing = any_missing(keys + first * forest.n_features, (last - first) * forest.n_features);
  if (sums != nullptr) {
    missing ? pass_rows<true>(forest, keys, first, last, from, to, poll, add)
            : pass_rows<false>(forest, keys, first, last, from, to, poll, add);
  } else {
    missing ? pass_rows<true>(forest, keys, first, last, from, to, poll, put)
            : pass_rows<false>(forest, keys, first, last, from, to, poll, put);
  }
}

inline void predict_rows(const Forest& forest, const void* keys, int64_t first, int64_t last, int64_t from, int64_t to,
                         double* sums, double* out, int64_t out_rows, Poll poll) {
  if (forest.wide) {
    predict_keys(forest, static_cast<const uint64_t*>(keys), first, last, from, to, sums, out, out_rows, poll);
  } else {
    predict_keys(forest, static_cast<const uint32_t*>(keys), first, last, from, to, sums, out, out_rows, poll);
  }
}

inline void apply_rows(const Forest& forest, const void* keys, int64_t first, int64_t last, int64_t* out, Poll poll) {
  const auto put = [&](int64_t row, int64_t tree, uint32_t node) { out[row * forest.n_trees + tree] = node - forest.root[tree]; };
  if (forest.wide) {
    pass_rows<true>(forest, static_cast<const uint64_t*>(keys), first, last, 0, forest.n_trees, poll, put);
  } else {
    pass_rows<true>(forest, static_cast<const uint32_t*>(keys), first, last, 0, forest.n_trees, poll, put);
  }
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::trees
