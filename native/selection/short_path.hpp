// The epsilon-path for short rows, eight rows at a time.
#pragma once
#include <stdint.h>

#include "selection/boundary.hpp"
#include "selection/path.hpp"
#include "selection/short_rows.hpp"
#include "simd/simd.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

constexpr int kPathBlock = 8;
using Eight = Vec<double>;
typedef double EightRows[kPathBlock];

// As c falls, t(c) falls strictly, so that the number of entries above c_j, where t(c_j) = w_j, is the number of sorted
// entries v_k with t(v_k) > w_j. One square root for each t(v_k), one for each label, and no loop that depends on data.
struct PathBlock {
  alignas(kVectorBytes) EightRows w[kShort], sorted[kShort];
  Eight mean[kShort + 1], squares[kShort + 1], t[kShort], entry[kShort];
  int64_t n;

  bool own_scale[kPathBlock];  // a row whose squares would leave the range is solved by itself

  double max[kPathBlock];

  // Reads a row into lane r.
  template <class T> void read(int r, const T* row) {
    for (int64_t j = 0; j < n; ++j) w[j][r] = static_cast<double>(row[j]);
  }
  // Shifts each row by its maximum and looks at the scale of its entries. Bit r of what it returns is set where an entry
  // of row r is not finite.
  unsigned shift() {
    Eight best = load(w[0]), zeros = {};
    for (int64_t j = 0; j < n; ++j) {
      Eight x = load(w[j]);
      best = larger(x, best);
      zeros = zeros + x * 0.0;  // stays 0 for finite x alone
    }
    store(max, best);
    Eight lowest = {}, least_gap = broadcast(0x1p1000);
    for (int64_t j = 0; j < n; ++j) {
      Eight x = load(w[j]) - best;
      store(w[j], x);
      lowest = smaller(x, lowest);
      least_gap = smaller(pick<double>(x < 0.0, Eight{} - x, broadcast(0x1p1000)), least_gap);
    }
    Eight range = Eight{} - lowest;
    Mask<double> plain = (range < 0x1p100) & (range > broadcast(0x1p-100)) & (least_gap > kSquareSafe * range);
    unsigned own = lane_bits(lowest < 0.0) & ~lane_bits(plain);
    for (int r = 0; r < kPathBlock; ++r) own_scale[r] = own >> r & 1;
    return lane_bits(zeros != 0.0);
  }
  void sort() {
    store(sorted[0], load(w[0]));
    for (int64_t i = 1; i < n; ++i) {
      Eight low = load(w[i]);
      for (int64_t j = i; j > 0; --j) {
        Eight high = load(sorted[j - 1]);
        store(sorted[j], smaller(low, high));
        low = larger(low, high);
      }
      store(sorted[0], low);
    }
  }
  void solve() {
    mean[1] = squares[1] = t[0] = Eight{};
    for (int64_t k = 1; k < n; ++k) {  // t(v) at the next entry v, below the k entries that are summed
      double count = static_cast<double>(k);
      Eight v = load(sorted[k]), x = mean[k] - v, s = count * x;
      Eight f = s * s + squares[k] + count * x * x;
      t[k] = v + kInvSqrt2 * root(f) - s;
      Eight delta = v - mean[k];
      mean[k + 1] = mean[k] + delta * (1 / (count + 1));
      squares[k + 1] = squares[k] + delta * (v - mean[k + 1]);
    }
    entry[0] = Eight{};
    for (int64_t rank = 1; rank < n; ++rank) {
      Eight v = load(sorted[rank]), a = {}, s = {}, k = broadcast(1.0);
      for (int64_t i = 1; i < rank; ++i) {
        Mask<double> more = t[i] > v;
        a = pick<double>(more, mean[i + 1], a);
        s = pick<double>(more, squares[i + 1], s);
        k = pick<double>(more, broadcast(static_cast<double>(i + 1)), k);
      }
      // R^2 = k(k+1)/2 d^2 + (k+1)(k+2)/4 times the sum of squares (k Var).
      Eight d = a - v, r = root(0.5 * k * (k + 1.0) * d * d + 0.25 * (k + 1.0) * (k + 2.0) * s);
      Eight e = rank == 1 ? 2 * kInvSqrt2 * (Eight{} - v) : 2 * kInvSqrt2 * (k * d + 2.0 * r) / (k + 2.0);
      e = only(v < 0.0, e);
      entry[rank] = larger(e, entry[rank - 1]);  // a lower score never enters before a higher one
    }
  }
  void write(double* out, int rows) const {
    for (int64_t j = 0; j < n; ++j) {
      Eight e = {}, own = load(w[j]);
      for (int64_t rank = 1; rank < n; ++rank) e = pick<double>(load(sorted[rank]) == own, entry[rank], e);
      EightRows of_rows;
      store(of_rows, e);
      for (int r = 0; r < rows; ++r) out[r * n + j] = of_rows[r];
    }
  }
};

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset
