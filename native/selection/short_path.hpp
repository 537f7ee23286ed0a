// The epsilon-path for short rows, as many rows at a time as a vector has lanes.
#pragma once
#include <stdint.h>

#include "selection/boundary.hpp"
#include "selection/path.hpp"
#include "selection/short_rows.hpp"
#include "simd/simd.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

using Eight = Vec<double>;

// Whole numbers as doubles, and their reciprocals.
struct Counts {
  double of[kShort + 1], inverse[kShort + 1];
  constexpr Counts() : of(), inverse() {
    for (int64_t k = 1; k <= kShort; ++k) {
      of[k] = static_cast<double>(k);
      inverse[k] = 1 / of[k];
    }
  }
};
constexpr Counts kCounts;

// pick(where, yes, no) for yes >= no >= 0, and for yes <= no <= 0. At AVX2 a blend is three operations on Intel's CPUs.
inline Eight risen(const Mask<double>& where, const Eight& yes, const Eight& no) {
  return kParts == 1 ? pick<double>(where, yes, no) : larger(only(where, yes), no);
}
inline Eight fallen(const Mask<double>& where, const Eight& yes, const Eight& no) {
  return kParts == 1 ? pick<double>(where, yes, no) : smaller(only(where, yes), no);
}

// The paths of eight rows, from their entries in descending order, shifted by the maximum.
//
// As c falls, t(c) falls strictly, so that the number of entries above c_j, where t(c_j) = w_j, is the number of sorted
// entries v_k with t(v_k) > w_j. One square root for each t(v_k), one for each label, and no loop that depends on data.
struct EightPaths {
  Eight v[kShort], mean[kShort + 1], squares[kShort + 1], t[kShort], entry[kShort];

  // Bit r of what it returns is set where the squares of row r would leave the range.
  template <class T> unsigned out_of_range(int64_t n) const {
    Eight range = Eight{} - v[n - 1], least_gap = broadcast(0x1p1000);
    if (sizeof(T) == 8)  // floats differ by at least 2^-149 and at most 2^129
      for (int64_t k = 1; k < n; ++k)
        least_gap = smaller(pick<double>(v[k] < 0.0, Eight{} - v[k], broadcast(0x1p1000)), least_gap);
    Mask<double> plain = (range < 0x1p100) & (range > broadcast(0x1p-100)) & (least_gap > kSquareSafe * range);
    return lane_bits(v[n - 1] < 0.0) & ~lane_bits(plain);
  }
  void solve(int64_t n) {
    entry[0] = Eight{};
    if (n == 1) return;
    sum(n);
    entry[1] = only(v[1] < 0.0, 2 * kInvSqrt2 * (Eight{} - v[1]));
    for (int64_t rank = 2; rank < n; ++rank)  // a lower score never enters before a higher one
      entry[rank] = larger(only(v[rank] < 0.0, entry_at(rank)), entry[rank - 1]);
    for (int64_t rank = n - 2; rank > 0; --rank)  // equal scores enter together
      entry[rank] = risen(v[rank] == v[rank + 1], entry[rank + 1], entry[rank]);
  }

 private:
  void sum(int64_t n) {
    mean[1] = squares[1] = Eight{};
    for (int64_t k = 1; k < n - 1; ++k) {  // t(v) at the next entry v, below the k entries that are summed
      double count = kCounts.of[k];
      Eight x = mean[k] - v[k], s = count * x;
      Eight f = s * s + squares[k] + count * x * x;
      t[k] = v[k] + kInvSqrt2 * root(f) - s;
      Eight delta = v[k] - mean[k];
      mean[k + 1] = mean[k] + delta * kCounts.inverse[k + 1];
      squares[k + 1] = squares[k] + delta * (v[k] - mean[k + 1]);
    }
  }
  Eight entry_at(int64_t rank) const {
    Eight w = v[rank], a = {}, s = {}, k = broadcast(1.0);
    for (int64_t i = 1; i < rank; ++i) {  // up to the last i with t > w: means only fall, squares only rise
      Mask<double> more = t[i] > w;
      a = fallen(more, mean[i + 1], a);
      s = risen(more, squares[i + 1], s);
      k = risen(more, broadcast(kCounts.of[i + 1]), k);
    }
    // R^2 = k(k+1)/2 d^2 + (k+1)(k+2)/4 times the sum of squares (k Var).
    Eight d = a - w, r = root(0.5 * k * (k + 1.0) * d * d + 0.25 * (k + 1.0) * (k + 2.0) * s);
    return 2 * kInvSqrt2 * (k * d + 2.0 * r) / (k + 2.0);
  }
};

template <class T> struct PathBlock {
  static constexpr int rows = Vec<T>::lanes;
  using Int = typename IntOf<T>::type;

  int64_t n;
  alignas(kVectorBytes) T w[kShort][rows], sorted[kShort][rows];
  alignas(kVectorBytes) Int rank[kShort][rows];
  unsigned own_scale;  // bit r is set where row r is to be solved by itself
  EightPaths paths;

  // Reads a row into lane r.
  void read(int r, const T* row) {
    for (int64_t j = 0; j < n; ++j) w[j][r] = row[j];
  }
  // Reads a row into every lane; the rows lie `stride` entries apart.
  void read_all(const T* first, int64_t stride) {
    if constexpr (sizeof(T) == 4) {
      for (int64_t j = 0; n >= 4 && j < n; j += 4) {
        int64_t from = j + 4 <= n ? j : n - 4;  // the last four columns may be read twice
        for (int r = 0; r < rows; r += 4) turn_four(first + r * stride + from, stride, w[from] + r, rows);
      }
      if (n >= 4) return;
    }
    for (int r = 0; r < rows; ++r) read(r, first + r * stride);
  }
  // Bit r is set where an entry of row r is not finite.
  unsigned not_finite() const {
    Vec<T> zeros = {};
    for (int64_t j = 0; j < n; ++j) zeros = zeros + load(w[j]) * T{0};  // stays 0 for finite numbers alone
    return lane_bits(zeros != T{0});
  }
  void sort() {
    store(sorted[0], load(w[0]));
    for (int64_t i = 1; i < n; ++i) {
      Vec<T> low = load(w[i]);
      for (int64_t j = i; j > 0; --j) {
        Vec<T> high = load(sorted[j - 1]);
        store(sorted[j], smaller(low, high));
        low = larger(low, high);
      }
      store(sorted[0], low);
    }
    for (int64_t j = 0; j < n; ++j) {  // the last place of each label among those of its score
      Vec<T> own = load(w[j]);
      Vec<Int> at = {};
      for (int64_t i = 1; i < n; ++i) at = at - (load(sorted[i]) >= own);
      store(rank[j], at);
    }
  }
  // Solves the rows and writes the first `of_rows` of them.
  void solve(double* out, int of_rows) {
    own_scale = 0;
    for (int first = 0; first < of_rows; first += Eight::lanes) {
      Eight max = load_as_doubles(sorted[0] + first);
      for (int64_t k = 0; k < n; ++k) paths.v[k] = load_as_doubles(sorted[k] + first) - max;
      own_scale |= paths.template out_of_range<T>(n) << first;
      paths.solve(n);
      int end = of_rows - first < Eight::lanes ? of_rows : first + Eight::lanes;
      for (int r = first; r < end; ++r) write(r, out + r * n);
    }
  }

 private:
  void write(int r, double* out) const {
    typedef double Lanes[Eight::lanes] __attribute__((may_alias));
    const Lanes* entry = reinterpret_cast<const Lanes*>(paths.entry);
    for (int64_t j = 0; j < n; ++j) out[j] = entry[rank[j][r]][r % Eight::lanes];
  }
};

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset
