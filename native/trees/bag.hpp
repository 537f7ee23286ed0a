// One bag while its tree grows: its rows, and for each feature the cheapest way to see them in order.
#pragma once
#include <stdint.h>

#include "simd/level.hpp"
#include "trees/api.hpp"
#include "trees/memory.hpp"
#include "trees/order.hpp"

namespace steadyset::trees {
namespace STEADYSET_LEVEL {
namespace {

// A node with at most this many rows is grown to its leaves in a block of its own, in the first-level cache.
constexpr int64_t kBlock = 1024;
// The same where most features have few values, which need no order.
constexpr int64_t kCountedBlock = 256;
// A feature with at most this many values is counted by value, where classes are few enough.
constexpr int32_t kFewRanks = 256;
// In a block, a feature with at most this many values may be counted at the node.
constexpr int32_t kFewCodes = 32;
// With more classes in the bag, the bits of its classes are not kept: too much memory.
constexpr int32_t kClassBits = 8;
// Where large nodes look at a feature less often, its rows are put in order at each of them and not once for the bag: less
// work, and memory for one feature instead of all.
constexpr double kLooksToKeep = 2;

// How a feature's rows are put in order at a large node.
enum class Way : uint8_t {
  placed,   // by their places in the bag's order
  counted,  // counts of classes by value
};

// Arrays of the bag's size; a thread uses them for one bag after another.
struct BagArrays {
  int64_t n = 0;                // rows of the bag
  int64_t block = kBlock;       // rows of a block
  int32_t n_features = 0, n_classes = 0;
  const Ranked* table = nullptr;
  Array<uint32_t> row;          // of each row of the bag: the row of the table
  Array<uint16_t> label;
  Array<int64_t> weight;        // where rows have weights
  Array<uint32_t> members;      // the rows of each node, one node after the other
  Array<uint8_t> few;           // (n, counted features): ranks
  Array<uint32_t> spare, spare_values;
  Array<uint64_t> marked;       // a bit for each place; zeros between looks
  Array<Way> way;
  Array<int32_t> number;        // of each feature: its number among the placed or the counted ones
  int32_t n_placed = 0, n_counted = 0;
  int64_t n_cells = 0;          // of the counts of all counted features
  Array<int64_t> cells;         // of each feature: where its counts begin

  uint32_t rank(int32_t feature, uint32_t member) const {
    return table->ranks[static_cast<int64_t>(feature) * table->n + row[member]];
  }
  // The same from the ranks by row, where the feature is counted.
  uint32_t small_rank(int32_t feature, uint32_t member) const {
    return way[feature] == Way::counted ? few[static_cast<int64_t>(member) * n_counted + number[feature]] : rank(feature, member);
  }
  int32_t n_ranks(int32_t feature) const { return static_cast<int32_t>(table->start[feature + 1] - table->start[feature]); }
  uint32_t missing_rank(int32_t feature) const {  // UINT32_MAX where nothing is missing
    return table->missing[feature] ? static_cast<uint32_t>(n_ranks(feature) - 1) : UINT32_MAX;
  }

  bool take(const Ranked& all, const uint16_t* labels, const BagRows& bag) {
    table = &all;
    n = 0;
    n_features = all.n_features;
    if (!row.reserve(bag.n_rows) || !label.reserve(bag.n_rows) || !members.reserve(bag.n_rows)) return false;
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

  // Chooses a way for each feature; `countable` says whether values may be counted.
  bool choose(int32_t classes, bool countable) {
    n_classes = classes;
    n_placed = n_counted = 0;
    n_cells = 0;
    const int32_t stride = counts_stride();
    int32_t n_few = 0;
    for (int32_t f = 0; f < n_features; ++f) n_few += countable && n_ranks(f) <= kFewCodes;
    block = 2 * n_few > n_features ? kCountedBlock : kBlock;
    if (!way.reserve(n_features) || !number.reserve(n_features) || !cells.reserve(n_features)) return false;
    for (int32_t f = 0; f < n_features; ++f) {
      const int64_t ranks = n_ranks(f);
      if (countable && n > block && ranks <= kFewRanks && ranks * stride <= 2 * n) {
        way[f] = Way::counted;
        number[f] = n_counted++;
        cells[f] = n_cells;
        n_cells += ranks * stride;
      } else {
        way[f] = Way::placed;
        number[f] = n_placed++;
      }
    }
    return true;
  }
  int32_t counts_stride() const { return n_classes <= 8 ? n_classes : (n_classes + 7) / 8 * 8; }

  // Room for orders, which are made when they are asked for; ranks of the counted features. `looks` is how often large
  // nodes will look at a feature, about.
  bool prepare(bool class_bits, double looks, Pace& pace) {
    const int64_t words = words_for(n);
    keeps_orders_ = looks >= kLooksToKeep;
    const int64_t kept = keeps_orders_ || n_placed == 0 ? n_placed : 1;
    class_bits_ = class_bits && n_classes <= kClassBits;
    int64_t most = 1;
    for (int32_t f = 0; f < n_features; ++f)
      if (way[f] == Way::placed && n_ranks(f) > most) most = n_ranks(f);
    if (!placer_.reserve(n, most > n ? most : n) || !spare.reserve(n) || !spare_values.reserve(n))
      return false;
    if (!marked.zeros(words) || !few.reserve(n_counted * n) || !known_.zeros(n_features)) return false;
    for (int32_t f = 0; f < n_features; ++f) {
      if (way[f] != Way::counted) continue;
      if (pace.stop(4 * n)) return true;
      uint8_t* out = few.get() + number[f];
      const uint32_t* ranks = table->ranks + static_cast<int64_t>(f) * table->n;
      for (int64_t i = 0; i < n; ++i) out[i * n_counted] = static_cast<uint8_t>(ranks[row[i]]);
    }
    return places_.reserve(kept * n) && rows_.reserve(kept * n) && values_.reserve(kept * n) && starts_.reserve(kept * words) &&
           first_missing_.reserve(n_features) && (!class_bits_ || classes_.reserve(kept * n_classes * words));
  }

  // Whether there is an order of the bag for each placed feature; if not, each node makes its own.
  bool keeps_orders() const { return keeps_orders_; }
  // A placed feature's order.
  Order<uint32_t> order(int32_t f) {
    if (known_[f] == kUnknown) make_order(f, number[f], n, [](int64_t i) { return static_cast<uint32_t>(i); });
    return order_at(f, number[f], n);
  }
  // The order of some members alone, who are its rows; by place they are numbered as they come. It lasts until the next.
  Order<uint32_t> order_of(int32_t f, const uint32_t* some, int64_t count) {
    make_order(f, 0, count, [&](int64_t i) { return some[i]; });
    for (int64_t i = 0; i < count; ++i) rows_[i] = some[rows_[i]];
    return order_at(f, 0, count);
  }
  Placer& placer() { return placer_; }

 private:
  enum Known : uint8_t { kUnknown, kDistinct, kTied };

  template <class MemberAt> void make_order(int32_t f, int64_t slot, int64_t count, MemberAt member_at) {
    const int64_t at = slot * n, words = words_for(n);
    uint32_t *places = places_.get() + at, *rows = rows_.get() + at;
    const uint32_t* ranks = table->ranks + static_cast<int64_t>(f) * table->n;
    const bool distinct = placer_.place(count, n_ranks(f), [&](int64_t i) { return ranks[row[member_at(i)]]; }, places, rows);
    known_[f] = distinct ? kDistinct : kTied;
    if (!distinct)
      number_values(count, [&](int64_t i) { return placer_.rank(rows[i]); }, values_.get() + at, starts_.get() + slot * words);
    first_missing_[f] = count;
    const uint32_t missing = missing_rank(f);
    while (first_missing_[f] > 0 && placer_.rank(rows[first_missing_[f] - 1]) == missing) --first_missing_[f];
    if (class_bits_)
      mark_classes(count, places, [&](int64_t i) { return label[member_at(i)]; }, n_classes, classes_.get() + slot * words * n_classes);
  }
  Order<uint32_t> order_at(int32_t f, int64_t slot, int64_t count) const {
    const int64_t at = slot * n, words = words_for(n), at_word = slot * words;
    const bool tied = known_[f] == kTied;
    return {places_.get() + at, rows_.get() + at, tied ? values_.get() + at : nullptr, tied ? starts_.get() + at_word : nullptr,
            class_bits_ ? classes_.get() + at_word * n_classes : nullptr, words_for(count), count, first_missing_[f]};
  }

  bool class_bits_ = false, keeps_orders_ = true;
  Placer placer_;
  Array<uint8_t> known_;
  Array<uint32_t> places_, rows_, values_;  // (placed features, n), or of one feature
  Array<uint64_t> starts_, classes_;        // (placed features, words), (placed features, classes, words), or of one
  Array<int64_t> first_missing_;
};

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::trees
