// One bag while its tree grows: its rows, and for each feature the cheapest way to see them in order.
#pragma once
#include <stdint.h>

#include "simd/level.hpp"
#include "trees/api.hpp"
#include "trees/memory.hpp"
#include "trees/ranks.hpp"

namespace steadyset::trees {
namespace STEADYSET_LEVEL {
namespace {

// A node with at most this many rows is grown to its leaves in a block of its own, in the first-level cache.
constexpr int64_t kBlock = 256;
// A feature with at most this many values is counted by value, where classes are few enough.
constexpr int32_t kFewRanks = 256;

// How a feature's rows are put in order at a large node.
enum class Way : uint8_t {
  listed,   // sorted once per bag; lists are split with the node, in order
  sorted,   // sorted at the node
  counted,  // counts of classes by value
};

// Arrays of the bag's size; a thread uses them for one bag after another.
struct BagArrays {
  int64_t n = 0;                // rows of the bag
  int32_t n_features = 0, n_classes = 0;
  const Ranked* table = nullptr;
  Array<uint32_t> row;          // of each row of the bag: the row of the table
  Array<uint16_t> label;
  Array<int64_t> weight;        // where rows have weights
  Array<uint32_t> members;      // the rows of each node, one node after the other
  Array<uint32_t> list;         // (listed features, n): rows in the order of their values, node by node
  Array<uint32_t> list_ranks;   // the same for ranks, for features in which rows tie
  Array<uint8_t> few;           // (n, counted features): ranks
  Array<uint8_t> side;          // of each row of a node that is being divided: 1 for left
  Array<uint32_t> spare, spare_ranks;
  Array<uint64_t> items, other; // ranks with rows, to be sorted
  Array<Way> way;
  Array<int32_t> place;         // of each feature: its number among the listed or the counted ones
  Array<uint8_t> ties;          // of each listed feature: whether its ranks are kept
  Array<int32_t> rank_bits;     // of each feature: bits of its largest rank
  int32_t n_listed = 0, n_counted = 0;
  int64_t n_cells = 0;          // of the counts of all counted features
  Array<int64_t> cells;         // of each feature: where its counts begin

  uint32_t rank(int32_t feature, uint32_t member) const {
    return table->ranks[static_cast<int64_t>(feature) * table->n + row[member]];
  }
  // The same from the ranks by row, where the feature is counted.
  uint32_t small_rank(int32_t feature, uint32_t member) const {
    return way[feature] == Way::counted ? few[static_cast<int64_t>(member) * n_counted + place[feature]] : rank(feature, member);
  }
  int32_t n_ranks(int32_t feature) const { return static_cast<int32_t>(table->start[feature + 1] - table->start[feature]); }
  uint32_t missing_rank(int32_t feature) const {  // UINT32_MAX where nothing is missing
    return table->missing[feature] ? static_cast<uint32_t>(n_ranks(feature) - 1) : UINT32_MAX;
  }

  bool take(const Ranked& all, const uint16_t* labels, const BagRows& bag) {
    table = &all;
    n = 0;
    n_features = all.n_features;
    if (!row.reserve(bag.n_rows) || !label.reserve(bag.n_rows) || !members.reserve(bag.n_rows) || !side.reserve(bag.n_rows))
      return false;
    if (bag.weights != nullptr && !weight.reserve(bag.n_rows)) return false;
    for (int64_t i = 0; i < bag.n_rows; ++i) {
      const int64_t at = bag.rows[i];  // read once: another thread may change it
      if (at < 0 || at >= all.n) continue;
      if (bag.weights != nullptr) {
        if (bag.weights[i] == 0) continue;  // such a row is not in the tree
        weight[n] = bag.weights[i];
      }
      row[n] = static_cast<uint32_t>(at);
      label[n] = labels[at];
      members[n] = static_cast<uint32_t>(n);
      ++n;
    }
    return true;
  }

  // Chooses a way for each feature. Lists pay where a node looks at most of the features.
  bool choose(int32_t classes, bool weighted, bool keep_lists) {
    n_classes = classes;
    n_listed = n_counted = 0;
    n_cells = 0;
    const int32_t stride = counts_stride();
    if (!way.reserve(n_features) || !place.reserve(n_features) || !rank_bits.reserve(n_features) || !cells.reserve(n_features))
      return false;
    for (int32_t f = 0; f < n_features; ++f) {
      const int64_t ranks = n_ranks(f);
      rank_bits[f] = 0;
      while ((ranks - 1) >> rank_bits[f]) ++rank_bits[f];
      if (n <= kBlock) {
        way[f] = Way::sorted;  // and no large node ever asks
      } else if (!weighted && ranks <= kFewRanks && ranks * stride <= 2 * n) {
        way[f] = Way::counted;
        place[f] = n_counted++;
        cells[f] = n_cells;
        n_cells += ranks * stride;
      } else if (keep_lists) {
        way[f] = Way::listed;
        place[f] = n_listed++;
      } else {
        way[f] = Way::sorted;
      }
    }
    return true;
  }
  int32_t counts_stride() const { return n_classes <= 8 ? n_classes : (n_classes + 7) / 8 * 8; }

  // Fills lists and small ranks.
  bool prepare(Pace& pace) {
    if (!items.reserve(n) || !other.reserve(n) || !spare.reserve(n) || !spare_ranks.reserve(n)) return false;
    if (!list.reserve(n_listed * n) || !list_ranks.reserve(n_listed * n) || !ties.reserve(n_listed)) return false;
    if (!few.reserve(n_counted * n)) return false;
    for (int32_t f = 0; f < n_features; ++f) {
      if (pace.stop(4 * n)) return true;
      if (way[f] == Way::counted) {
        uint8_t* out = few.get() + place[f];
        const uint32_t* ranks = table->ranks + static_cast<int64_t>(f) * table->n;
        for (int64_t i = 0; i < n; ++i) out[i * n_counted] = static_cast<uint8_t>(ranks[row[i]]);
      } else if (way[f] == Way::listed) {
        make_list(f);
      }
    }
    return true;
  }

  // Fills items with (rank, member), in the order of the ranks, and returns them.
  const uint64_t* sorted(int32_t f, const uint32_t* some, int64_t count) {
    const uint32_t* ranks = table->ranks + static_cast<int64_t>(f) * table->n;
    for (int64_t i = 0; i < count; ++i) items[i] = static_cast<uint64_t>(ranks[row[some[i]]]) << 32 | some[i];
    return radix_sort(items.get(), other.get(), count, 32, 32 + rank_bits[f]);
  }

 private:
  void make_list(int32_t f) {
    const uint64_t* in_order = sorted(f, members.get(), n);
    uint32_t* out = list.get() + place[f] * n;
    uint32_t* out_ranks = list_ranks.get() + place[f] * n;
    bool tied = table->missing[f];
    for (int64_t i = 0; i < n; ++i) {
      out[i] = static_cast<uint32_t>(in_order[i]);
      out_ranks[i] = static_cast<uint32_t>(in_order[i] >> 32);
      tied |= i > 0 && out_ranks[i] == out_ranks[i - 1];
    }
    ties[place[f]] = tied;
  }
};

// The rows of one node: those on the left first, then those on the right, both in the order they had; their ranks too,
// where there are any. `spare` has room for all of them.
template <bool with_ranks>
inline void divide(uint32_t* members, uint32_t* ranks, const uint8_t* side, uint32_t* spare, uint32_t* spare_ranks, int64_t n) {
  int64_t left = 0, right = 0;
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t member = members[i];
    const int64_t goes_left = side[member];
    members[left] = member;
    spare[right] = member;
    if (with_ranks) {
      const uint32_t rank = ranks[i];
      ranks[left] = rank;
      spare_ranks[right] = rank;
    }
    left += goes_left;
    right += 1 - goes_left;
  }
  memcpy(members + left, spare, static_cast<size_t>(right) * sizeof(uint32_t));
  if (with_ranks) memcpy(ranks + left, spare_ranks, static_cast<size_t>(right) * sizeof(uint32_t));
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::trees
