// The best split of one feature at one node: rows in the order of their values, or counts of classes by value.
#pragma once
#include <stdint.h>

#include "simd/level.hpp"
#include "trees/criteria.hpp"

namespace steadyset::trees {
namespace STEADYSET_LEVEL {
namespace {

// The best split so far. A later one has to be better, so that of equal ones the first stands.
template <class Criterion> struct Best {
  typename Criterion::Value score = Criterion::worst;
  int32_t feature = -1;
  int64_t at = -1;  // the last row on the left, in the order of the values, or its rank
  uint32_t low = 0, high = 0;  // the ranks on its two sides, once `at` is resolved
  int32_t place = 0;           // where the feature is placed: the place of the last row on the left
  int64_t n_left = 0;
  bool missing_left = false;
  bool any_missing = false;    // whether rows of the node lack the feature
  bool perfect = false;

  // Whether it is perfect now.
  bool offer(const Criterion& criterion, int32_t candidate, int64_t place, int64_t left, bool with_missing) {
    const auto value = criterion.score(left);
    if (!(value > score)) return false;
    score = value;
    feature = candidate;
    at = place;
    n_left = left;
    missing_left = with_missing;
    perfect = criterion.is_perfect(left);
    return perfect;
  }
};

// The rows of a node in the order of a feature's values, missing ones last.
template <class Row, class Rank> struct Ordered {
  const Row* rows;
  const Rank* ranks;  // null where no two rows tie
  const uint16_t* labels;
  const int64_t* weights;
  int64_t n, n_missing;
};

// Walks through the rows, the missing ones first where they go left.
template <bool missing_left, bool ties, class Criterion, class Row, class Rank>
inline void walk(Criterion& criterion, const Ordered<Row, Rank>& rows, int32_t feature, int64_t min_leaf, Best<Criterion>& best) {
  const auto add = [&](int64_t i) {
    const Row row = rows.rows[i];
    criterion.add(rows.labels[row], Criterion::weighted ? rows.weights[row] : 1);
  };
  criterion.begin();
  int64_t last = rows.n - 1, offset = 1;
  if (missing_left) {
    for (int64_t i = rows.n - rows.n_missing; i < rows.n; ++i) add(i);
    last -= rows.n_missing;
    offset += rows.n_missing;
  }
  int64_t i = 0;
  const int64_t first = min_leaf - offset;  // the first place with enough rows on the left
  for (; i < first && i < last; ++i) add(i);
  if (rows.n - min_leaf - offset + 1 < last) last = rows.n - min_leaf - offset + 1;
  for (; i < last; ++i) {
    add(i);
    if (ties && rows.ranks[i] == rows.ranks[i + 1]) continue;
    if (best.offer(criterion, feature, i, i + offset, missing_left)) return;
  }
}

// The same for unweighted rows and Gini impurity: sums first, then all scores at once. `sums` has room for two numbers per
// row and a vector beyond.
template <bool missing_left, bool ties, class Row, class Rank>
inline void walk(GiniCounts& criterion, const Ordered<Row, Rank>& rows, int32_t feature, int64_t min_leaf, Best<GiniCounts>& best,
                 int32_t* sums) {
  const int64_t n = rows.n, end = n - 1 - (missing_left ? rows.n_missing : 0);
  const int64_t offset = 1 + (missing_left ? rows.n_missing : 0);
  int32_t *left = sums, *right = sums + n + 8;
  criterion.begin();
  if (missing_left)
    for (int64_t i = n - rows.n_missing; i < n; ++i) criterion.add(rows.labels[rows.rows[i]], 1);
  const int64_t first = min_leaf > offset ? min_leaf - offset : 0;
  const int64_t last = n - min_leaf - offset + 1 < end ? n - min_leaf - offset + 1 : end;
  if (last <= first) return;
  for (int64_t i = 0; i < first; ++i) criterion.add(rows.labels[rows.rows[i]], 1);
  for (int64_t i = first; i < last; ++i) {
    criterion.add(rows.labels[rows.rows[i]], 1);
    criterion.put(i - first, ties ? -static_cast<int32_t>(rows.ranks[i] != rows.ranks[i + 1]) : -1, left, right);
  }
  const int64_t count = last - first;
  for (int64_t i = count; i < (count + 7) / 8 * 8; ++i) left[i] = right[i] = 0;
  const auto top = criterion.best_of(left, right, count, first + offset, best.score);
  if (top.place < 0) return;
  best.score = top.score;
  best.feature = feature;
  best.at = first + top.place;
  best.n_left = best.at + offset;
  best.missing_left = missing_left;
  best.perfect = criterion.would_be_perfect(left[top.place], right[top.place], best.n_left);
}

// Chooses between the two.
template <bool missing_left, bool ties, class Criterion, class Row, class Rank>
inline void look(Criterion& criterion, const Ordered<Row, Rank>& rows, int32_t feature, int64_t min_leaf, Best<Criterion>& best,
                 int32_t*) {
  walk<missing_left, ties>(criterion, rows, feature, min_leaf, best);
}
template <bool missing_left, bool ties, class Row, class Rank>
inline void look(GiniCounts& criterion, const Ordered<Row, Rank>& rows, int32_t feature, int64_t min_leaf, Best<GiniCounts>& best,
                 int32_t* sums) {
  if (criterion.is_short()) {
    walk<missing_left, ties>(criterion, rows, feature, min_leaf, best, sums);
  } else {
    walk<missing_left, ties>(criterion, rows, feature, min_leaf, best);
  }
}

// Counts of classes by value: (ranks, stride), the missing ones last.
struct Counts {
  const int32_t* counts;
  int32_t n_ranks, stride;
};

template <class Criterion>
inline void walk_counts(Criterion& criterion, const Counts& by, int64_t n, int64_t n_missing, int32_t feature, int64_t min_leaf,
                        Best<Criterion>& best) {
  criterion.begin();
  int64_t n_left = 0;
  int32_t last = by.n_ranks;
  if (n_missing > 0) {
    n_left += criterion.add_all(by.counts + static_cast<int64_t>(last - 1) * by.stride, by.stride);
    --last;
  }
  for (int32_t rank = 0; rank < last; ++rank) {
    const int64_t rows = criterion.add_all(by.counts + static_cast<int64_t>(rank) * by.stride, by.stride);
    if (rows == 0) continue;
    n_left += rows;
    if (n_left == n) return;
    if (n_left < min_leaf || n - n_left < min_leaf) continue;
    if (best.offer(criterion, feature, rank, n_left, n_missing > 0)) return;
  }
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::trees
