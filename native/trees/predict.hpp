// Rows through trees, several rows at a time: while one waits for its node, the others go on.
#pragma once
#include <stdint.h>
#include <string.h>

#include "pages.hpp"
#include "poll.hpp"
#include "simd/level.hpp"
#include "trees/api.hpp"
#include "trees/row_codes.hpp"
#include "trees/memory.hpp"

namespace steadyset::trees {
namespace STEADYSET_LEVEL {
namespace {

// Rows as keys. A way to read rows knows how many to take at a time, makes them ready, and takes kFlight of them, of
// which `count` are there, from the root of a tree to their leaves.
template <class Key> class KeyRows {
 public:
  KeyRows(const Forest& forest, const void* keys)
      : forest_(forest), keys_(static_cast<const Key*>(keys)), steps_(static_cast<const Step<Key>*>(forest.steps)) {}

  int64_t row_bytes() const { return forest_.n_features * static_cast<int64_t>(sizeof(Key)); }
  bool reserve(int64_t) { return true; }
  void begin(int64_t) {}
  // Returns whether a value is missing.
  bool prepare(int64_t first, int64_t last) {
    start_ = keys_ + first * forest_.n_features;
    return any_missing(start_, (last - first) * forest_.n_features);
  }
  template <bool missing> void descend(uint32_t root, int64_t row, int count, uint32_t* at) const {
    const Key* rows[kFlight];
    for (int j = 0; j < kFlight; ++j) rows[j] = start_ + (row + (j < count ? j : 0)) * forest_.n_features;
    for (int j = 0; j < kFlight; ++j) at[j] = root;
    for (uint32_t moved = 1; moved;) {
      moved = 0;
      for (int j = 0; j < kFlight; ++j) {
        const Step<Key>& step = steps_[at[j]];
        const Key key = rows[j][step.feature & ~kMissingLeft];
        bool right = key > step.key;
        if (missing) right = right && !(key == static_cast<Key>(-1) && (step.feature & kMissingLeft));
        const uint32_t next = step.left + right;
        moved |= next ^ at[j];
        at[j] = next;
      }
    }
  }

 private:
  const Forest& forest_;
  const Key* keys_;
  const Step<Key>* steps_;
  const Key* start_ = nullptr;
};

// Rows as codes, kFlight of them side by side for each feature.
template <class Key> class CodedRows {
 public:
  CodedRows(const Forest& forest, const void* keys) : forest_(forest), keys_(static_cast<const Key*>(keys)) {}

  int64_t row_bytes() const { return forest_.coded_columns * static_cast<int64_t>(sizeof(uint16_t)); }
  bool reserve(int64_t rows) { return codes_.zeros(rows * forest_.coded_columns); }
  bool prepare(int64_t first, int64_t last) {
    return encode(forest_, keys_ + first * forest_.n_features, last - first, codes_.get());
  }
  template <bool missing> void descend(uint32_t root, int64_t row, int, uint32_t* at) const {
    walk<missing>(forest_.coded, forest_.coded_missing_left, codes_.get() + row * forest_.coded_columns, root, sure_, at);
  }
  void begin(int64_t nodes) {
    for (sure_ = 0; nodes > 3; nodes /= 2) ++sure_;
  }

 private:
  template <bool missing>
  static __attribute__((noinline)) void walk(const CodedStep* __restrict steps, const uint8_t* missing_left,
                                             const uint16_t* __restrict codes, uint32_t root, int sure, uint32_t* __restrict at) {
    uint64_t node[kFlight];
    for (int j = 0; j < kFlight; ++j) node[j] = root;
    for (int k = 0; k < sure; ++k)
      for (int j = 0; j < kFlight; ++j) node[j] = next<missing>(steps, missing_left, node[j], codes + j);
    uint64_t moved;
    do {
      for (int k = 0; k < kUnchecked; ++k)
        for (int j = 0; j < kFlight; ++j) node[j] = next<missing>(steps, missing_left, node[j], codes + j);
      moved = 0;
      for (int j = 0; j < kFlight; ++j) {
        const uint64_t below = next<missing>(steps, missing_left, node[j], codes + j);
        moved |= below ^ node[j];
        node[j] = below;
      }
    } while (moved);
    for (int j = 0; j < kFlight; ++j) at[j] = static_cast<uint32_t>(node[j]);
  }
  template <bool missing>
  static uint64_t next(const CodedStep* steps, const uint8_t* missing_left, uint64_t node, const uint16_t* codes) {
    uint64_t step;
    memcpy(&step, steps + node, sizeof step);
    const uint64_t code = codes[static_cast<uint16_t>(step)];
    if (missing && code == kCodedMissing && missing_left[node]) return step >> 32;
    return (step + (code << 16)) >> 32;
  }
  static constexpr int kUnchecked = 2;  // steps between two looks at whether all rows have arrived

  const Forest& forest_;
  const Key* keys_;
  Array<uint16_t> codes_;
  int sure_ = 0;  // steps that hardly any flight is done before: a balanced tree has as many levels
};

// Brings the coded steps of the next tree near while rows go through this one, some lines of the cache per flight.
class Prefetch {
 public:
  Prefetch(const Forest& forest, int64_t tree, int64_t flights) {
    if (forest.coded == nullptr || tree >= forest.n_trees) return;
    at_ = reinterpret_cast<const char*>(forest.coded + forest.root[tree]);
    end_ = reinterpret_cast<const char*>(forest.coded + forest.root[tree + 1]);
    lines_ = ((end_ - at_) / kLine + flights) / flights;
  }
  void some() {
    for (int64_t i = 0; i < lines_ && at_ < end_; ++i, at_ += kLine) __builtin_prefetch(at_, 0, 2);
  }

 private:
  static constexpr int64_t kLine = 64;
  const char *at_ = nullptr, *end_ = nullptr;
  int64_t lines_ = 0;
};

// Calls take(row, row of these, tree, node) for every row of [first, last) and every tree: all trees for some rows, then
// the next ones, which stay in the second-level cache with a tree and with `row_bytes` each of the caller. Before them
// comes begin(first, last, tree), and done(first, last) follows each block of trees. False when memory runs out.
template <class Rows, class Begin, class Take, class Done>
inline bool pass_rows(const Forest& forest, Rows& rows, int64_t first, int64_t last, int64_t row_bytes, int64_t block, Poll poll,
                      Begin begin, Take take, Done done) {
  const int64_t some = rows_at_once(row_bytes + rows.row_bytes(), last - first);
  if (!rows.reserve(some)) return false;
  Pace pace{poll};
  for (int64_t start = first; start < last; start += some) {
    const int64_t end = start + some < last ? start + some : last;
    const bool missing = rows.prepare(start, end);
    for (int64_t tree = 0; tree < forest.n_trees; ++tree) {
      const uint32_t root = static_cast<uint32_t>(forest.root[tree]);
      begin(start, end, tree);
      rows.begin(forest.root[tree + 1] - forest.root[tree]);
      Prefetch coming(forest, tree + 1, (end - start + kFlight - 1) / kFlight);
      for (int64_t i = start; i < end; i += kFlight) {
        coming.some();
        uint32_t at[kFlight];
        const int count = static_cast<int>(end - i < kFlight ? end - i : kFlight);
        missing ? rows.template descend<true>(root, i - start, count, at) : rows.template descend<false>(root, i - start, count, at);
        for (int j = 0; j < count; ++j) take(i + j, i + j - start, tree, at[j]);
      }
      if (pace.stop((end - start) * 16)) return true;
      if ((tree + 1) % block == 0 || tree + 1 == forest.n_trees) done(start, end);
    }
  }
  return true;
}

template <class Begin, class Take, class Done>
inline bool pass(const Forest& forest, const void* keys, int64_t first, int64_t last, int64_t row_bytes, int64_t block, Poll poll,
                 Begin begin, Take take, Done done) {
  const auto through = [&](auto&& rows) { return pass_rows(forest, rows, first, last, row_bytes, block, poll, begin, take, done); };
  if (forest.coded != nullptr)
    return forest.wide ? through(CodedRows<uint64_t>(forest, keys)) : through(CodedRows<uint32_t>(forest, keys));
  return forest.wide ? through(KeyRows<uint64_t>(forest, keys)) : through(KeyRows<uint32_t>(forest, keys));
}
inline void no_beginning(int64_t, int64_t, int64_t) {}

// The leaf of a step that is one, as `Forest` says it.
inline uint32_t leaf_at(const Forest& forest, uint32_t step) {
  if (forest.coded != nullptr) {
    const uint32_t column = forest.coded[step].offset / kFlight;  // the step was just read
    if (column + 1 < forest.coded_columns) return column | kPure;
  }
  return forest.leaf[step];
}

// Adds what a leaf gives to each class.
inline void give(const Forest& forest, uint32_t leaf, double* target) {
  if (leaf & kPure) {
    target[leaf & ~kPure] += 1.0;
    return;
  }
  for (int64_t i = forest.entries[leaf]; i < forest.entries[leaf + 1]; ++i)
    target[forest.entry_class[i]] += forest.entry_share[i];
}

// The sums over a block of trees, of some rows. Most leaves hold one class: a row counts them in bytes until it meets a
// leaf of several, and its sums are numbers from then on. Counts are exact, so that both ways give the same bits.
class BlockSums {
 public:
  static constexpr int64_t kMostTrees = 255;

  explicit BlockSums(const Forest& forest) : forest_(forest), classes_(forest.n_classes) {}

  bool reserve(int64_t rows) { return counts_.zeros(rows * classes_) && mixed_.zeros(rows) && sums_.reserve(rows * classes_); }
  void add(int64_t row, uint32_t step) {
    const uint32_t leaf = leaf_at(forest_, step);
    uint8_t* counts = counts_.get() + row * classes_;
    if ((leaf & kPure) && !mixed_[row]) {
      ++counts[leaf & ~kPure];
      return;
    }
    double* sums = sums_.get() + row * classes_;
    for (int64_t c = 0; !mixed_[row] && c < classes_; ++c) sums[c] = counts[c];
    mixed_[row] = 1;
    give(forest_, leaf, sums);
  }
  // Adds the sums to those of all blocks, and begins anew.
  void flush(int64_t rows, double* total) {
    for (int64_t row = 0; row < rows; ++row, total += classes_) {
      uint8_t* counts = counts_.get() + row * classes_;
      const double* sums = sums_.get() + row * classes_;
      if (mixed_[row]) {
        for (int64_t c = 0; c < classes_; ++c) total[c] += sums[c];
      } else {
        for (int64_t c = 0; c < classes_; ++c) total[c] += counts[c];
      }
      memset(counts, 0, static_cast<size_t>(classes_));
      mixed_[row] = 0;
    }
  }

 private:
  const Forest& forest_;
  const int64_t classes_;
  Array<uint8_t> counts_, mixed_;
  Array<double> sums_;
};

inline bool add_shares(const Forest& forest, const void* keys, int64_t first, int64_t last, int64_t block, double* sums, Poll poll) {
  const int64_t classes = forest.n_classes, row_bytes = classes * static_cast<int64_t>(sizeof(double));
  BlockSums of_block(forest);
  if (!of_block.reserve(rows_at_once(row_bytes, last - first))) return false;
  return pass(forest, keys, first, last, row_bytes, block, poll, no_beginning,
              [&](int64_t, int64_t within, int64_t, uint32_t step) { of_block.add(within, step); },
              [&](int64_t start, int64_t end) { of_block.flush(end - start, sums + start * classes); });
}

inline bool put_shares(const Forest& forest, const void* keys, int64_t first, int64_t last, double* out, int64_t out_rows, Poll poll) {
  const int64_t classes = forest.n_classes;
  const int64_t row_bytes = classes * static_cast<int64_t>(sizeof(double));
  const auto at = [&](int64_t tree, int64_t row) { return out + (tree * out_rows + row) * classes; };
  const auto begin = [&](int64_t start, int64_t end, int64_t tree) {
    constexpr int64_t kEveryPage = 4096;  // rows so short that something is written to each page
    if (row_bytes <= kEveryPage) bring_pages(at(tree, start), static_cast<size_t>((end - start) * row_bytes));
  };
  const auto take = [&](int64_t row, int64_t, int64_t tree, uint32_t node) { give(forest, leaf_at(forest, node), at(tree, row)); };
  return pass(forest, keys, first, last, 0, forest.n_trees, poll, begin, take, [](int64_t, int64_t) {});
}

inline bool apply_rows(const Forest& forest, const void* keys, int64_t first, int64_t last, int64_t* out, Poll poll) {
  const auto take = [&](int64_t row, int64_t, int64_t tree, uint32_t at) {
    const uint32_t node = forest.coded == nullptr ? at : forest.coded_node[at];
    out[row * forest.n_trees + tree] = node - forest.root[tree];
  };
  return pass(forest, keys, first, last, 0, forest.n_trees, poll, no_beginning, take, [](int64_t, int64_t) {});
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::trees
