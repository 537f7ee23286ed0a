// Criteria: the score of a split from the classes on its two sides. Larger is better. Sums are over whole numbers, so that
// they do not depend on the order of the rows: walking through sorted rows and counting by value give the same bits.
#pragma once
#include <stdint.h>
#include <string.h>

#include "simd/level.hpp"
#include "simd/simd.hpp"
#include "trees/memory.hpp"

namespace steadyset::trees {
namespace STEADYSET_LEVEL {
namespace {

using namespace steadyset::STEADYSET_LEVEL;  // the vector

// log2 of a positive number: the same on every machine, unlike a library's. 2 atanh(t) / log(2) with t = (x-1)/(x+1),
// the mantissa between sqrt(1/2) and sqrt(2).
inline double log2_of(double x) {
  int exponent = 0;
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  exponent = static_cast<int>(bits >> 52) - 1023;
  bits = (bits & ((uint64_t{1} << 52) - 1)) | uint64_t{1023} << 52;
  double mantissa;
  memcpy(&mantissa, &bits, sizeof mantissa);
  if (mantissa > 1.4142135623730951) {
    mantissa /= 2;
    ++exponent;
  }
  const double t = (mantissa - 1) / (mantissa + 1), square = t * t;
  double sum = 0;
  for (int k = 27; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
  return static_cast<double>(exponent) + 2 * t * sum * 1.4426950408889634;
}

// What criteria look up, for counts up to the size of the largest bag.
struct Lookup {
  Array<double> inverse;      // 1 / k
  Array<double> falling;      // 1 / (made - k)
  Array<int64_t> k_log_k;     // k log2(k) in units of 2^-unit, rounded
  int64_t made = 0, logs_made = -1;
  int unit = 0;

  bool prepare(int64_t n, bool entropy) {
    if (n > made) {
      if (!inverse.reserve(n + 9) || !falling.reserve(n + 9)) return false;
      inverse[0] = 0;
      for (int64_t k = made + 1; k <= n; ++k) inverse[k] = 1.0 / static_cast<double>(k);
      made = n;
      for (int64_t k = 0; k <= made; ++k) falling[k] = inverse[made - k];
      for (int64_t k = n + 1; k < n + 9; ++k) inverse[k] = falling[k] = 0;  // vectors read past the end
    }
    if (entropy && logs_made != n) {  // the unit depends on the bag's size alone
      if (!k_log_k.reserve(n + 2)) return false;
      unit = 60;
      for (double most = static_cast<double>(n + 2) * (log2_of(static_cast<double>(n + 2)) + 1); most >= 1; most /= 2) --unit;
      const double scale = static_cast<double>(int64_t{1} << unit);
      k_log_k[0] = 0;
      for (int64_t k = 1; k <= n + 1; ++k)
        k_log_k[k] = static_cast<int64_t>(static_cast<double>(k) * log2_of(static_cast<double>(k)) * scale + 0.5);
      logs_made = n;
    }
    return true;
  }
};

// The classes of one node: rows, and weights where rows have any.
struct Classes {
  const int32_t* rows;
  const int64_t* weights;
  const int32_t* present;  // classes with a row, rising
  int32_t n_present;
  int64_t n, weight;
};

// Gini impurity of unweighted rows: L the counts on the left, T those of the node. The score is sum L^2 / n_L +
// sum R^2 / n_R, and sum R^2 = sum T^2 - 2 sum T L + sum L^2.
class GiniCounts {
 public:
  using Value = double;
  static constexpr bool weighted = false, by_bits = true;
  static constexpr Value worst = 0;  // every split of rows scores more

  GiniCounts(const Lookup& lookup, int32_t* left, int64_t*, bool, int)
      : inverse_(lookup.inverse.get()), falling_(lookup.falling.get()), made_(lookup.made), left_(left) {}

  void node(const Classes& node) {
    total_ = node.rows;
    n_ = node.n;
    squares_ = 0;
    for (int32_t i = 0; i < node.n_present; ++i) {
      const int64_t count = total_[node.present[i]];
      squares_ += count * count;
    }
  }
  void begin() { left_squares_ = products_ = 0; }
  void add(int32_t c, int64_t) {
    const int32_t before = left_[c]++;
    left_squares_ += 2 * static_cast<int64_t>(before) + 1;
    products_ += total_[c];
  }
  // Counts of each class at once; returns how many rows they are.
  int64_t add_all(const int32_t* counts, int32_t n_classes) {
    int64_t rows = 0, squares = 0, products = 0;
    for (int32_t c = 0; c < n_classes; ++c) {
      const int64_t count = counts[c], now = left_[c] + count;
      left_[c] = static_cast<int32_t>(now);
      rows += count;
      squares += now * now;
      products += now * total_[c];
    }
    left_squares_ = squares;
    products_ = products;
    return rows;
  }
  Value score(int64_t n_left) const {
    return score_of(left_squares_, squares_ - 2 * products_ + left_squares_, n_left);
  }
  // Whether both sides of the split just scored hold one class each: no split is better.
  bool is_perfect(int64_t n_left) const {
    const int64_t n_right = n_ - n_left;
    return left_squares_ == n_left * n_left && squares_ - 2 * products_ + left_squares_ == n_right * n_right;
  }
  double gain(Value score) const { return score - static_cast<double>(squares_) * inverse_[n_]; }

  // Many splits at once, where sums of squares fit 32 bits: `put` after each row, then the best of places [0, count), at
  // which offset, offset + 1, ... rows are on the left. Both sums are 0 where there is no split.
  bool is_short() const { return n_ <= 46340; }
  void put(int64_t place, int32_t mask, int32_t* left_sums, int32_t* right_sums) const {
    left_sums[place] = static_cast<int32_t>(left_squares_) & mask;
    right_sums[place] = static_cast<int32_t>(squares_ - 2 * products_ + left_squares_) & mask;
  }
  struct Top {
    Value score;
    int64_t place;
  };
  // Eight scores at a time, from sums at places from 0 on.
  struct Scores {
    const double *inverse, *falling;
    Vec<double> at(const int32_t* left_sums, const int32_t* right_sums, int64_t i) const {
      return load_as_doubles(left_sums + i) * load(inverse + i) + load_as_doubles(right_sums + i) * load(falling + i);
    }
#if defined(__AVX2__)
    Vec<double> of(__m256i left_sums, __m256i right_sums, int64_t i) const {
      return as_doubles(left_sums) * load(inverse + i) + as_doubles(right_sums) * load(falling + i);
    }
#endif
    // The first place with the best score, given the best of each lane; -1 where none is above `least`.
    Top first_of(const int32_t* left_sums, const int32_t* right_sums, const Vec<double>& most, Value least) const {
      const double top = largest_lane(most);
      if (!(top > least)) return {least, -1};
      for (int64_t i = 0;; i += 8) {
        const unsigned bits = lane_bits(at(left_sums, right_sums, i) == top);
        if (bits) return {top, i + __builtin_ctz(bits)};
      }
    }
  };
  Scores scores_from(int64_t offset) const { return {inverse_ + offset, falling_ + (made_ - n_) + offset}; }
  Top best_of(const int32_t* left_sums, const int32_t* right_sums, int64_t count, int64_t offset, Value least) const {
    const Scores scores = scores_from(offset);
    Vec<double> most = broadcast(least);
    for (int64_t i = 0; i < count; i += 8) most = larger(scores.at(left_sums, right_sums, i), most);
    return scores.first_of(left_sums, right_sums, most, least);
  }
  int64_t squares() const { return squares_; }  // of the node
  Value score_of(int64_t left_squares, int64_t right_squares, int64_t n_left) const {
    return static_cast<double>(left_squares) * inverse_[n_left] + static_cast<double>(right_squares) * inverse_[n_ - n_left];
  }
  bool would_be_perfect(int64_t left_squares, int64_t right_squares, int64_t n_left) const {
    return left_squares == n_left * n_left && right_squares == (n_ - n_left) * (n_ - n_left);
  }

 private:
  const double* inverse_;
  const double* falling_;
  int64_t made_;
  const int32_t* total_ = nullptr;
  int32_t* left_;
  int64_t n_ = 0, squares_ = 0, left_squares_ = 0, products_ = 0;
};

// Entropy of unweighted rows, in fixed point: sum L log L - n_L log n_L, and the same on the right.
class EntropyCounts {
 public:
  using Value = int64_t;
  static constexpr bool weighted = false, by_bits = false;
  static constexpr Value worst = INT64_MIN;

  EntropyCounts(const Lookup& lookup, int32_t* left, int64_t*, bool, int)
      : g_(lookup.k_log_k.get()), left_(left), unit_(1.0 / static_cast<double>(int64_t{1} << lookup.unit)) {}

  void node(const Classes& node) {
    total_ = node.rows;
    n_ = node.n;
    whole_ = 0;
    for (int32_t i = 0; i < node.n_present; ++i) whole_ += g_[total_[node.present[i]]];
  }
  void begin() {
    left_sum_ = 0;
    right_sum_ = whole_;
  }
  void add(int32_t c, int64_t) {
    const int32_t before = left_[c]++;
    const int32_t rest = total_[c] - before;
    left_sum_ += g_[before + 1] - g_[before];
    right_sum_ -= g_[rest] - g_[rest - 1];
  }
  int64_t add_all(const int32_t* counts, int32_t n_classes) {
    int64_t rows = 0;
    for (int32_t c = 0; c < n_classes; ++c) {
      const int32_t count = counts[c], before = left_[c];
      if (count == 0) continue;
      left_[c] = before + count;
      rows += count;
      left_sum_ += g_[before + count] - g_[before];
      right_sum_ -= g_[total_[c] - before] - g_[total_[c] - before - count];
    }
    return rows;
  }
  Value score(int64_t n_left) const { return left_sum_ - g_[n_left] + right_sum_ - g_[n_ - n_left]; }
  bool is_perfect(int64_t n_left) const { return left_sum_ == g_[n_left] && right_sum_ == g_[n_ - n_left]; }
  double gain(Value score) const { return static_cast<double>(score - (whole_ - g_[n_])) * unit_; }

 private:
  const int64_t* g_;
  const int32_t* total_ = nullptr;
  int32_t* left_;
  double unit_;
  int64_t n_ = 0, whole_ = 0, left_sum_ = 0, right_sum_ = 0;
};

// Either criterion for weighted rows. Weights are whole numbers of a small unit; a score goes over the classes of the node.
class WeightedClasses {
 public:
  using Value = double;
  static constexpr bool weighted = true, by_bits = false;
  static constexpr Value worst = -1e300;

  WeightedClasses(const Lookup&, int32_t*, int64_t* left, bool entropy, int scale) : left_(left), entropy_(entropy) {
    unit_ = 1;
    for (int i = 0; i < scale; ++i) unit_ /= 2;
    for (int i = 0; i > scale; --i) unit_ *= 2;
  }

  void node(const Classes& node) {
    node_ = node;
    whole_ = 0;
    for (int32_t i = 0; i < node.n_present; ++i) whole_ += term(node.weights[node.present[i]]);
    whole_ = side(whole_, node.weight);
  }
  void begin() { left_weight_ = 0; }
  void add(int32_t c, int64_t weight) {
    left_[c] += weight;
    left_weight_ += weight;
  }
  int64_t add_all(const int32_t*, int32_t) { return 0; }  // weighted rows are not counted by value
  Value score(int64_t) const {
    double left = 0, right = 0;
    for (int32_t i = 0; i < node_.n_present; ++i) {
      const int32_t c = node_.present[i];
      left += term(left_[c]);
      right += term(node_.weights[c] - left_[c]);
    }
    return side(left, left_weight_) + side(right, node_.weight - left_weight_);
  }
  bool is_perfect(int64_t) const { return false; }
  double gain(Value score) const { return score - whole_; }

 private:
  double term(int64_t weight) const {
    const double w = static_cast<double>(weight) * unit_;
    return entropy_ ? (weight > 0 ? w * log2_of(w) : 0) : w * w;
  }
  double side(double sum, int64_t weight) const {
    const double w = static_cast<double>(weight) * unit_;
    return entropy_ ? sum - (weight > 0 ? w * log2_of(w) : 0) : (weight > 0 ? sum / w : 0);
  }

  Classes node_{};
  int64_t* left_;
  bool entropy_;
  double unit_ = 1, whole_ = 0;
  int64_t left_weight_ = 0;
};

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::trees
