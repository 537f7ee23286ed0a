// Four neighbouring outputs of a kernel of kTaps columns from kTaps + 3 products, where the sums themselves take 4 kTaps
// (Toom and Cook; Winograd 1980). Row and kernel are polynomials: each is taken to its values at kTaps + 3 points, the
// values are multiplied and summed over channels and kernel rows, and four outputs are read off the sums. The points are
// 0, kPairs pairs of opposite numbers, so that the even and the odd powers are summed once for both, and infinity.
//
// With `points` for the maps A, G and B: y = A' sum (G w) (B' x), so the gradients are A dy, G' and B of the sums at the points.
#pragma once
#include "lanes/vec.hpp"

namespace steadyset::lanes {
namespace STEADYSET_LEVEL {
namespace {

template <int kTaps>
struct Points {
  static_assert(kTaps == 3 || kTaps == 5, "with more pairs the sums would lose more than two bits");
  static constexpr int kPairs = (kTaps + 1) / 2;
  static constexpr int kCount = kTaps + 3;
  static constexpr int kInfinity = kCount - 1;  // 0 is the first point, a pair is 2i + 1 and 2i + 2
  static constexpr double kRoots[3] = {1.0, 2.0, 0.5};

  // Coefficients, from the constant one on, of the product of (t - root^2) over all pairs but `left_out`.
  struct Product {
    float at[kPairs + 1];
  };
  static constexpr Product product(int left_out) {
    double c[kPairs + 1] = {1.0};
    int degree = 0;
    for (int i = 0; i < kPairs; ++i) {
      if (i == left_out) continue;
      const double square = kRoots[i] * kRoots[i];
      for (int k = ++degree; k > 0; --k) c[k] = c[k - 1] - square * c[k];
      c[0] *= -square;
    }
    Product p{};
    for (int k = 0; k <= kPairs; ++k) p.at[k] = float(c[k]);
    return p;
  }

  // By which the kernel's value at a point is divided: Lagrange's denominators, at 0 and at a pair.
  static constexpr double at_zero() {
    double all = 1.0;
    for (int i = 0; i < kPairs; ++i) all *= -kRoots[i] * kRoots[i];
    return all;
  }
  static constexpr double at_pair(int pair) {
    const double square = kRoots[pair] * kRoots[pair];
    double all = 2.0 * square;
    for (int i = 0; i < kPairs; ++i)
      if (i != pair) all *= square - kRoots[i] * kRoots[i];
    return all;
  }

  struct Table {
    Product pair[kPairs], all;
    float root[kPairs], square[kPairs], share[kPairs], share_of_zero;
  };
  static constexpr Table table() {
    Table t{};
    for (int i = 0; i < kPairs; ++i) {
      t.pair[i] = product(i);
      t.root[i] = float(kRoots[i]);
      t.square[i] = float(kRoots[i] * kRoots[i]);
      t.share[i] = float(1.0 / at_pair(i));
    }
    t.all = product(-1);
    t.share_of_zero = float(1.0 / at_zero());
    return t;
  }
  static constexpr Table kTable = table();
};

// B' x: kCount neighbouring columns, at the points.
template <int kTaps>
LANES_INLINE void input_at_points(const Vec* x, Vec* to, int64_t stride) {
  using P = Points<kTaps>;
  Vec low = x[P::kCount - 2], high = x[P::kCount - 1];
#pragma GCC unroll 4
  for (int k = 0; k < P::kPairs; ++k) {
    low += P::kTable.all.at[k] * x[2 * k];
    high += P::kTable.all.at[k] * x[2 * k + 1];
  }
  to[0] = low;
  to[P::kInfinity * stride] = high;
#pragma GCC unroll 4
  for (int i = 0; i < P::kPairs; ++i) {
    Vec even = x[2 * P::kPairs], odd = x[2 * P::kPairs - 1];
#pragma GCC unroll 4
    for (int k = 0; k + 1 < P::kPairs; ++k) {
      even += P::kTable.pair[i].at[k] * x[2 * k + 2];
      odd += P::kTable.pair[i].at[k] * x[2 * k + 1];
    }
    to[(2 * i + 1) * stride] = even + P::kTable.root[i] * odd;
    to[(2 * i + 2) * stride] = even - P::kTable.root[i] * odd;
  }
}

// dx += B of the gradient at the points.
template <int kTaps>
LANES_INLINE void add_input_from_points(const Vec* from, int64_t stride, Vec* dx) {
  using P = Points<kTaps>;
  const Vec low = from[0], high = from[P::kInfinity * stride];
  Vec sum[P::kPairs], difference[P::kPairs];
#pragma GCC unroll 4
  for (int i = 0; i < P::kPairs; ++i) {
    const Vec plus = from[(2 * i + 1) * stride], minus = from[(2 * i + 2) * stride];
    sum[i] = plus + minus;
    difference[i] = P::kTable.root[i] * (plus - minus);
  }
#pragma GCC unroll 4
  for (int k = 0; k <= P::kPairs; ++k) {
    Vec even = dx[2 * k] + P::kTable.all.at[k] * low;
    if (k > 0)
#pragma GCC unroll 4
      for (int i = 0; i < P::kPairs; ++i) even += P::kTable.pair[i].at[k - 1] * sum[i];
    dx[2 * k] = even;
    Vec odd = dx[2 * k + 1] + P::kTable.all.at[k] * high;
    if (k < P::kPairs)
#pragma GCC unroll 4
      for (int i = 0; i < P::kPairs; ++i) odd += P::kTable.pair[i].at[k] * difference[i];
    dx[2 * k + 1] = odd;
  }
}

// A' of the sums at the points: four outputs.
template <int kTaps>
LANES_INLINE void outputs_from_points(const Vec* from, int64_t stride, Vec (&y)[kTileOutputs]) {
  using P = Points<kTaps>;
  y[0] = from[0];
  y[3] = from[P::kInfinity * stride];
#pragma GCC unroll 4
  for (int i = 0; i < P::kPairs; ++i) {
    const Vec plus = from[(2 * i + 1) * stride], minus = from[(2 * i + 2) * stride];
    const Vec sum = plus + minus, difference = plus - minus;
    const float root = P::kTable.root[i], square = P::kTable.square[i];
    y[0] += sum;
    y[1] = i ? y[1] + root * difference : root * difference;
    y[2] = i ? y[2] + square * sum : square * sum;
    y[3] += root * square * difference;
  }
}

// A dy: the gradients of four outputs, at the points.
template <int kTaps>
LANES_INLINE void outputs_at_points(const Vec (&dy)[kTileOutputs], Vec* to, int64_t stride) {
  using P = Points<kTaps>;
  to[0] = dy[0];
  to[P::kInfinity * stride] = dy[3];
#pragma GCC unroll 4
  for (int i = 0; i < P::kPairs; ++i) {
    const Vec even = dy[0] + P::kTable.square[i] * dy[2];
    const Vec odd = dy[1] + P::kTable.square[i] * dy[3];
    to[(2 * i + 1) * stride] = even + P::kTable.root[i] * odd;
    to[(2 * i + 2) * stride] = even - P::kTable.root[i] * odd;
  }
}

// G w: `rows` kernel rows, at the points. Both are stored column by column, point by point.
template <int kTaps>
void weights_at_points(const float* weights, float* to, int64_t rows) {
  using P = Points<kTaps>;
  const int64_t stride = rows / kSamples;
  const Vec* w = vec(weights);
  Vec* out = vec(to);
  for (int64_t row = 0; row < stride; ++row, ++w, ++out) {
    out[0] = P::kTable.share_of_zero * w[0];
    out[P::kInfinity * stride] = w[(kTaps - 1) * stride];
#pragma GCC unroll 4
    for (int i = 0; i < P::kPairs; ++i) {
      const float square = P::kTable.square[i];
      Vec even = w[(kTaps - 1) * stride], odd = w[(kTaps - 2) * stride];
#pragma GCC unroll 4
      for (int k = kTaps - 3; k >= 0; k -= 2) even = even * square + w[k * stride];
#pragma GCC unroll 4
      for (int k = kTaps - 4; k >= 0; k -= 2) odd = odd * square + w[k * stride];
      even *= P::kTable.share[i];
      odd *= P::kTable.share[i] * P::kTable.root[i];
      out[(2 * i + 1) * stride] = even + odd;
      out[(2 * i + 2) * stride] = even - odd;
    }
  }
}

// G' of the sums at the points: the gradients of one vector of kernel rows, column by column.
template <int kTaps>
LANES_INLINE void weights_from_points(const Vec* from, int64_t stride, Vec (&gradient)[kTaps]) {
  using P = Points<kTaps>;
  gradient[0] = P::kTable.share_of_zero * from[0];
#pragma GCC unroll 8
  for (int k = 1; k < kTaps - 1; ++k) gradient[k] = Vec{};
  gradient[kTaps - 1] = from[P::kInfinity * stride];
#pragma GCC unroll 4
  for (int i = 0; i < P::kPairs; ++i) {
    const Vec plus = from[(2 * i + 1) * stride], minus = from[(2 * i + 2) * stride];
    Vec even = P::kTable.share[i] * (plus + minus);
    Vec odd = P::kTable.share[i] * P::kTable.root[i] * (plus - minus);
#pragma GCC unroll 8
    for (int k = 0; k < kTaps; k += 2, even *= P::kTable.square[i]) gradient[k] += even;
#pragma GCC unroll 8
    for (int k = 1; k < kTaps; k += 2, odd *= P::kTable.square[i]) gradient[k] += odd;
  }
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::lanes
