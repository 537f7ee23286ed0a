// Growing the tree of a bag. Its large nodes are in large.hpp, small ones in small.hpp.
#pragma once
#include <stdint.h>
#include <stdlib.h>

#include "poll.hpp"
#include "simd/level.hpp"
#include "trees/bag.hpp"
#include "trees/bits.hpp"
#include "trees/block.hpp"
#include "trees/codes.hpp"
#include "trees/corner.hpp"
#include "trees/criteria.hpp"
#include "trees/draws.hpp"
#include "trees/keys.hpp"
#include "trees/scan.hpp"
#include "trees/tree.hpp"

namespace steadyset::trees {
namespace STEADYSET_LEVEL {
namespace {

// A node that waits: its rows are members [begin, end).
struct Pending {
  int64_t begin, end, node, depth;
  uint64_t seed;
  int32_t counts;  // the number of its counts by value, or -1

  int64_t n() const { return end - begin; }
};

// A split that was chosen: keys up to `key` go left, and the missing ones where the flag says so.
struct Split {
  int32_t feature = -1;
  uint64_t key = 0;
  uint32_t low = 0;   // the largest rank on the left
  int32_t place = 0;  // where the feature is placed: the largest place on the left
  bool missing_left = false, perfect = false;
  double gain = 0;  // decrease of the impurity times the weight of the rows
};

// A node seen in the order of one feature of its frame, and room for its rows.
template <class Place> struct PlacedNode {
  const Order<Place>& order;
  const uint64_t* marked;  // its rows, as bits
  int64_t n;
  const uint16_t* labels;
  const int64_t* weights;
  Place *rows, *values;
};

// A node that best-first growth may split next.
struct Candidate {
  Pending node;
  Split split;
};

inline int compare_classes(const void* a, const void* b) {
  return *static_cast<const int32_t*>(a) - *static_cast<const int32_t*>(b);
}

inline double power_of_half(int scale) {
  double unit = 1;
  for (int i = 0; i < scale; ++i) unit /= 2;
  for (int i = 0; i > scale; --i) unit *= 2;
  return unit;
}

template <class Criterion> class Grower {
 public:
  explicit Grower(Poll poll) : pace_{poll} {}

  Outcome grow(const Ranked& table, const uint16_t* labels, int32_t n_classes, const BagRows& bag, const Settings& settings,
               Trees& out) {
    settings_ = &settings;
    if (!start(table, labels, n_classes, bag)) return kNoMemory;
    if (settings.max_leaf_nodes > 0) {
      grow_best_first(bag.seed);
    } else {
      grow_depth_first(bag.seed);
    }
    if (pace_.stopped) return kStopped;
    return memory_ && out.add(tree_, table.n_features) ? kDone : kNoMemory;
  }

 private:
  bool start(const Ranked& table, const uint16_t* labels, int32_t n_classes, const BagRows& bag);

  // The classes of a node, and what follows from them.
  template <class Row> void count_classes(const Row* rows, int64_t n, const uint16_t* label, const int64_t* weight);
  Classes classes(int64_t n) const {
    return {counts_.get(), weights_.get(), present_.get(), n_present_, n, node_weight_};
  }
  void clear_sides() {
    for (int32_t i = 0; i < n_present_; ++i) {
      left_[present_[i]] = 0;
      if (Criterion::weighted) left_weights_[present_[i]] = 0;
    }
  }
  bool must_be_leaf(int64_t n, int64_t depth) const {
    return n_present_ < 2 || n < min_split_ || n < 2 * min_leaf_ || (settings_->max_depth > 0 && depth >= settings_->max_depth);
  }
  void leaf(int64_t node, int64_t n);
  bool is_enough(const Split& split) const {
    // An impurity of rounding errors is none.
    return split.feature >= 0 && split.gain / total_ + 2.220446049250313e-16 >= settings_->min_decrease;
  }
  Split resolved(const Criterion& criterion, const Best<Criterion>& best, int64_t n) const;
  Criterion criterion() { return Criterion(lookup_, left_.get(), left_weights_.get(), settings_->entropy, scale_); }

  // How often large nodes look at a feature, about. Random splits need no order.
  double looks() const {
    if (settings_->random) return 0;
    const double rows = static_cast<double>(bag_.n), leaves = static_cast<double>(settings_->max_leaf_nodes);
    const double nodes = leaves > 0 ? 2 * (leaves < rows ? leaves : rows) : 2 * rows / static_cast<double>(bag_.block);
    return nodes * settings_->max_features / bag_.n_features;
  }

  // large.hpp
  void grow_depth_first(uint64_t seed);
  void grow_best_first(uint64_t seed);
  void consider(Pending node);
  Candidate best_candidate();
  int64_t branch(const Pending& parent, const Split& split, Pending& left, Pending& right);
  int64_t divide_node(const Pending& node, const Split& split);
  bool is_settled(const uint32_t* members, int64_t n) const;
  Split best_split(Pending& node);
  Split random_split(const Pending& node);
  bool look_bag(Criterion& criterion, const Pending& node, int32_t f, Best<Criterion>& best);
  bool look_counted(Criterion& criterion, const Pending& node, int32_t f, const int32_t* counts, Best<Criterion>& best);
  int32_t new_counts();
  void drop_counts(Pending& node) {
    if (node.counts >= 0) free_[n_free_++] = node.counts;
    node.counts = -1;
  }
  int32_t* counts_at(int32_t number) { return pool_.get() + number * bag_.n_cells; }
  void fill_counts(int32_t number, const Pending& node);
  void share_counts(Pending& parent, Pending& small, Pending& large);

  // placed.hpp
  template <class Place, class RankOf>
  bool look_placed(Criterion& criterion, int32_t f, const PlacedNode<Place>& node, RankOf rank_of, Best<Criterion>& best);
  template <class Place>
  bool walk_placed(Criterion& criterion, int32_t f, const PlacedNode<Place>& node, int64_t n_missing, Best<Criterion>& best);
  // Tells the scan of bits the classes of the node: `number_of` gives the number of a class in the frame.
  template <class NumberOf> void set_classes(NumberOf number_of) {
    if (!Criterion::by_bits || n_present_ > kCodedClasses) return;
    for (int32_t c = 0; c < n_present_; ++c) {
      class_numbers_[c] = number_of(present_[c]);
      class_totals_[c] = counts_[present_[c]];
    }
  }

  // small.hpp
  void grow_block(const Pending& root);
  Split small_split(const Pending& node);
  bool look_small(Criterion& criterion, int32_t f, const Pending& node, Best<Criterion>& best);
  bool enter_corner(const Pending& node);
  bool look_corner(Criterion& criterion, int32_t f, const Corner::Rows& rows, int64_t n, Best<Criterion>& best);
  void find_sides(const Corner::Rows& rows, Best<Criterion>& best);
  int64_t divide_small(const Pending& node, const Split& split);

  static constexpr int32_t kMostCounts = 40;  // more than log2 of the rows of a bag

  Pace pace_;
  const Settings* settings_ = nullptr;
  BagArrays bag_;
  Tree tree_;
  Lookup lookup_;
  Block block_;
  BlockMarks marks_;
  Corner corner_;
  BitScan scan_;
  CodeScan codes_;
  bool by_codes_ = false;  // whether features with few values are counted at the small node
  Array<uint8_t> number_here_;  // of each class present at a small node
  int32_t class_numbers_[kCodedClasses], class_totals_[kCodedClasses];  // of the classes present at the node
  Array<Pending> stack_, small_;
  Array<Candidate> heap_;
  Array<int32_t> order_, counts_, left_, present_, one_, pool_, sums_;
  Array<int64_t> weights_, left_weights_, cells_;
  int32_t free_[kMostCounts];
  int32_t n_present_ = 0, n_counts_ = 0, n_free_ = 0;
  int scale_ = 0;
  bool subtract_ = false, memory_ = true;
  int64_t min_split_ = 2, min_leaf_ = 1, node_weight_ = 0;
  double unit_ = 1, total_ = 1;
};

// A number of rows, or a share of the bag's rows, rounded up.
inline int64_t row_limit(double value, bool is_share, int64_t rows, int64_t least) {
  double asked = value;
  if (is_share) {
    asked = value * static_cast<double>(rows);
    const double whole = static_cast<double>(static_cast<int64_t>(asked));
    asked = whole < asked ? whole + 1 : whole;
  }
  if (asked < static_cast<double>(least)) return least;
  return asked > 9e15 ? int64_t{9000000000000000} : static_cast<int64_t>(asked);
}

template <class Criterion>
bool Grower<Criterion>::start(const Ranked& table, const uint16_t* labels, int32_t n_classes, const BagRows& bag) {
  const int32_t features = table.n_features;
  if (!bag_.take(table, labels, bag)) return false;
  min_split_ = row_limit(settings_->min_split, settings_->split_is_share, bag.n_rows, 2);
  min_leaf_ = row_limit(settings_->min_leaf, settings_->leaf_is_share, bag.n_rows, 1);
  // Counts by value cost too much at small nodes, which best-first growth does not leave to blocks.
  const bool countable = !Criterion::weighted && settings_->max_leaf_nodes == 0;
  if (!bag_.choose(n_classes, countable) || !bag_.prepare(Criterion::by_bits && kScansBits, looks(), pace_)) return false;
  subtract_ = settings_->max_features >= features && settings_->max_leaf_nodes == 0 && bag_.n_counted > 0;
  scale_ = bag.scale;
  unit_ = power_of_half(scale_);
  total_ = static_cast<double>(bag_.n);
  if (Criterion::weighted) {
    int64_t sum = 0;
    for (int64_t i = 0; i < bag_.n; ++i) sum += bag_.weight[i];
    total_ = static_cast<double>(sum) * unit_;
  }
  n_counts_ = n_free_ = n_present_ = 0;
  cells_.size = 0;
  if (!order_.reserve(features)) return false;
  for (int32_t f = 0; f < features; ++f) {
    order_[f] = f;
    if (bag_.way[f] == Way::counted && !cells_.add(bag_.cells[f])) return false;
  }
  tree_.clear(features);
  if (!sums_.reserve(2 * (bag_.n < 46341 ? bag_.n : 46341) + 32)) return false;
  if (!block_.allocate(features, n_classes) || !corner_.allocate(features)) return false;
  block_.begin(bag_);
  return lookup_.prepare(bag_.n, settings_->entropy && !Criterion::weighted) &&
         scan_.reserve(bag_.n) && number_here_.reserve(n_classes) && counts_.zeros(n_classes + 8) && left_.zeros(n_classes + 8) &&
         present_.reserve(n_classes) && weights_.zeros(n_classes) && left_weights_.zeros(n_classes);
}

template <class Criterion>
template <class Row>
void Grower<Criterion>::count_classes(const Row* rows, int64_t n, const uint16_t* label, const int64_t* weight) {
  for (int32_t i = 0; i < n_present_; ++i) {
    counts_[present_[i]] = 0;
    if (Criterion::weighted) weights_[present_[i]] = 0;
  }
  n_present_ = 0;
  node_weight_ = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int32_t c = label[rows[i]];
    if (counts_[c]++ == 0) present_[n_present_++] = c;
    if (Criterion::weighted) {
      weights_[c] += weight[rows[i]];
      node_weight_ += weight[rows[i]];
    }
  }
  if (Criterion::weighted && n_present_ > 1)  // sums of floats go in the order of the classes
    qsort(present_.get(), static_cast<size_t>(n_present_), sizeof(int32_t), compare_classes);
}

template <class Criterion> void Grower<Criterion>::leaf(int64_t node, int64_t n) {
  tree_.begin_leaf(node, n);
  if (!Criterion::weighted && n_present_ > 1)
    qsort(present_.get(), static_cast<size_t>(n_present_), sizeof(int32_t), compare_classes);
  for (int32_t i = 0; i < n_present_; ++i) {
    const int32_t c = present_[i];
    tree_.add_class(c, Criterion::weighted ? static_cast<double>(weights_[c]) * unit_ : static_cast<double>(counts_[c]));
  }
}

// What the tree keeps of the best split of a node with n rows.
template <class Criterion>
Split Grower<Criterion>::resolved(const Criterion& criterion, const Best<Criterion>& best, int64_t n) const {
  Split split;
  if (best.feature < 0) return split;
  const int32_t f = best.feature;
  const uint64_t* distinct = bag_.table->distinct + bag_.table->start[f];
  const uint8_t kind = bag_.table->kinds[f];
  split.feature = f;
  split.low = best.low;
  split.place = best.place;
  split.perfect = best.perfect;
  split.gain = criterion.gain(best.score);
  // Where only missing values go right, every other key goes left.
  split.key = best.high == bag_.missing_rank(f) ? bag_.table->top : between(distinct[best.low], distinct[best.high], kind);
  // Where none is missing at the node, missing values go to the side with more rows.
  split.missing_left = best.any_missing ? best.missing_left : kind != kWhole && 2 * best.n_left > n;
  return split;
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::trees
