// Random draws of a tree. Those of a node follow from the bag's seed and the way from the root to the node alone, not
// from the order in which nodes are grown.
#pragma once
#include <stdint.h>

#include "simd/level.hpp"

namespace steadyset::trees {
namespace STEADYSET_LEVEL {
namespace {

// The finaliser of SplitMix64: a bijection of 64-bit words.
inline uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

inline uint64_t child_seed(uint64_t seed, bool right) { return mixed(seed ^ (right ? 0xd1b54a32d192ed03u : 0x8cb92ba72f3d8dd7u)); }

class Draws {
 public:
  explicit Draws(uint64_t seed) : state_(seed) {}
  uint64_t next() { return mixed(state_++); }
  // From [0, n).
  uint32_t below(uint32_t n) { return static_cast<uint32_t>((next() >> 32) * n >> 32); }
  // From [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

// Features in random order, one after the other: `order` holds all of them and is put back as it was at the end.
class FeatureOrder {
 public:
  FeatureOrder(int32_t* order, int32_t n, uint64_t seed) : order_(order), n_(n), draws_(seed) {}
  FeatureOrder(const FeatureOrder&) = delete;
  ~FeatureOrder() {
    // A place that a draw has changed held, before the first such draw, the feature of its own number, which was drawn.
    for (int32_t i = 0; i < drawn_; ++i)
      if (order_[i] >= drawn_) order_[order_[i]] = order_[i];
    for (int32_t i = 0; i < drawn_; ++i) order_[i] = i;
  }
  bool done() const { return drawn_ == n_; }
  int32_t drawn() const { return drawn_; }
  int32_t next() {
    const int32_t at = drawn_ + static_cast<int32_t>(draws_.below(static_cast<uint32_t>(n_ - drawn_)));
    const int32_t feature = order_[at];
    order_[at] = order_[drawn_];
    order_[drawn_++] = feature;
    return feature;
  }
  // What next() will give, where it is not done.
  int32_t upcoming() const {
    Draws draws = draws_;
    return order_[drawn_ + static_cast<int32_t>(draws.below(static_cast<uint32_t>(n_ - drawn_)))];
  }
  Draws& draws() { return draws_; }

 private:
  int32_t* order_;
  int32_t n_, drawn_ = 0;
  Draws draws_;
};

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::trees
