// What the bindings and unit.cpp of trees share: plain data only.
#pragma once
#include <cstdint>

#include "dispatch.hpp"
#include "poll.hpp"

namespace steadyset::trees {

// How a key, an unsigned number, stands for a value: keys are in the order of the values, and the largest key is a
// missing value.
enum Kind : uint8_t { kWhole, kFloat32, kFloat64, kCategory };

// The types of values that become keys.
enum ValueType : int { kFromFloat32, kFromFloat64, kFromInt8, kFromInt16, kFromInt32, kFromInt64, kFromUint8, kFromUint16,
                       kFromUint32, kFromUint64 };

// A table whose columns are ranked, over all rows; bags share it. Comparing two rows by rank involves no third row.
struct Ranked {
  int64_t n;
  int32_t n_features;
  const uint32_t* ranks;    // (features, n): the dense rank of each value in its column
  const uint64_t* distinct; // the keys of the ranks, column after column
  const int64_t* start;     // where each column's keys begin; features + 1 entries
  const uint8_t* missing;   // whether the last rank of a column stands for missing values
  const uint8_t* kinds;
  uint64_t top;             // the largest key of a value that is not missing
};

struct Settings {
  bool entropy, random;
  int32_t max_features;
  int64_t max_depth, max_leaf_nodes;  // 0: no limit
  double min_split, min_leaf;         // rows, or a share of the bag's rows where the flag says so
  bool split_is_share, leaf_is_share;
  double min_decrease;
};

// One bag: its rows, and their weights in units of 2^-scale, or null.
struct BagRows {
  const int64_t* rows;
  int64_t n_rows;
  const int64_t* weights;
  int scale;
  uint64_t seed;
};

// Trees, one after the other. The nodes of a tree are numbered level by level, so that the children of the k-th node
// that is split (k from 0) are nodes 2k + 1 and 2k + 2. Its leaves are in the order of their nodes.
struct Grown {
  int64_t n_trees, n_nodes, n_leaves, n_entries;
  int64_t* tree_nodes;    // nodes of each tree
  int32_t* feature;       // of each node: the feature of its split, or -1 for a leaf
  uint64_t* key;          // of each node: keys up to this one go left
  uint8_t* missing_left;  // of each node: whether missing values go left
  int64_t* leaf_rows;     // of each leaf: its rows
  int64_t* leaf_entries;  // of each leaf: how many classes it holds
  int32_t* entry_class;   // of each class in each leaf: the class, and the weight of its rows
  double* entry_weight;
  double* importances;    // (trees, features): total decrease of the impurity, not normalised
};

enum Outcome : int { kDone, kStopped, kNoMemory };

// A node as prediction reads it: keys up to `key` go to node `left`, others to the next one. A leaf leads to itself.
template <class Key> struct Step {
  Key key;
  uint32_t left;
  uint32_t feature;  // the highest bit: missing values go left
};
constexpr uint32_t kMissingLeft = 1u << 31;

constexpr uint16_t kCodedMissing = 0xffff;  // the code of a missing value; and as a place, every value goes left

// The same in eight bytes, for many trees: a feature's thresholds in the whole forest are its cuts, in order, and the
// code of a value is how many of them lie below it. A leaf says in `offset` which class it holds, or that it does not.
// Read as one word, which is one load, a step is a sum to be: a code in the place of `under` carries into `left` where it
// is larger than the place of the threshold.
struct CodedStep {
  uint16_t offset;  // of the feature in a flight of rows; of a leaf: of the column of its class, or of the last column
  uint16_t under;   // 2^16 - 1 less the place of the threshold among the cuts: larger codes go right
  uint32_t left;

  static CodedStep of(uint16_t place, int64_t offset, uint32_t left) {
    return {static_cast<uint16_t>(offset), static_cast<uint16_t>(kCodedMissing - place), left};
  }
  uint16_t place() const { return static_cast<uint16_t>(kCodedMissing - under); }
};
static_assert(sizeof(CodedStep) == 8 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a step is read as a word");
constexpr int kFlight = 16;  // rows that go through a tree at the same time, their codes side by side for each feature
constexpr int64_t kCodedColumns = (1 << 16) / kFlight;
constexpr int64_t kCodedCuts = kCodedMissing - 1;

// A forest as prediction reads it. `leaf` of a step is its leaf's class where it holds one, plus kPure, or its number.
struct Forest {
  const void* steps;       // by node; not where there are coded steps
  const CodedStep* coded;
  const uint8_t* coded_missing_left;
  const uint32_t* coded_node;  // the node of each coded step, by its number in the forest
  int64_t coded_columns;       // of a flight of rows: its features, or as many as leaves point to
  const void* cuts;        // keys, feature after feature
  const int64_t* cut_start;
  bool wide;              // 64-bit keys
  const uint32_t* leaf;
  const int64_t* root;    // of each tree, and the number of nodes after the last
  const uint32_t* entries; // where the classes of each leaf begin, one more than there are leaves
  const int32_t* entry_class;
  const double* entry_share;
  int64_t n_trees;
  int32_t n_features, n_classes;
};
constexpr uint32_t kPure = 1u << 31;

struct TreesUnit {
  // Keys of an (n, features) array with any strides (in bytes) into `out`, whose strides are in entries. Returns the
  // first value that is infinite as row * features + feature, or -1.
  int64_t (*keys)(const void* values, ValueType type, int64_t n, int64_t n_features, int64_t row_stride, int64_t column_stride,
                  void* out, bool wide, int64_t out_row, int64_t out_column, Poll poll);
  // Ranks of one column of keys: how many distinct ones there are, written to `distinct`; -1 when memory runs out.
  int64_t (*rank)(const void* keys, bool wide, int64_t n, uint32_t* ranks, uint64_t* distinct, Poll poll);
  // A tree for each bag, appended to `grown`, whose arrays are from malloc. Labels are those of all rows.
  Outcome (*grow)(const Ranked& table, const uint16_t* labels, int32_t n_classes, const BagRows* bags, int64_t n_bags,
                  const Settings& settings, Grown* grown, Poll poll);
  // The shares of rows [first, last) of a table of keys are added to sums, (rows, classes): first those of each block of
  // so many trees by themselves, then these. False when memory runs out, in all three.
  bool (*add_shares)(const Forest& forest, const void* keys, int64_t first, int64_t last, int64_t block, double* sums, Poll poll);
  // The shares by each tree are written to out, (trees, rows, classes), which holds zeros.
  bool (*put_shares)(const Forest& forest, const void* keys, int64_t first, int64_t last, double* out, int64_t out_rows, Poll poll);
  // The node that each of the rows [first, last) ends in, (rows, trees).
  bool (*apply)(const Forest& forest, const void* keys, int64_t first, int64_t last, int64_t* out, Poll poll);
};

// Registers of 64 bytes win nothing here, and some CPUs lower their clock where they are used.
STEADYSET_HOT_UNIT_UP_TO_AVX2(TreesUnit, trees_unit)

}  // namespace steadyset::trees
