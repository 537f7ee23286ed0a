// Pooling over square windows that do not overlap; rows and columns beyond the last whole window are dropped.
#pragma once
#include "lanes/vec.hpp"

namespace steadyset::lanes {
namespace STEADYSET_LEVEL {
namespace {

struct PoolShape {
  int side, out_height, out_width;
  int64_t in_row, out_row;
};

// The largest value so far, and its place in the window.
struct Best {
  Vec value;
  Ints winner;

  LANES_INLINE void meet(Vec other, int place) {
    const Ints wins = !(other <= value);  // a NaN wins, as in PyTorch
    value = wins ? other : value;
    winner = wins ? Ints{} + place : winner;
  }
};

// One channel; winners get the place of each maximum in its window, the first one where several are equal. A ReLU before
// the pooling is done after it, where it has less to do and comes to the same.
template <int kSide>
LANES_INLINE void max_pool_plane(const PoolShape& p, const Vec* x, Vec* y, Ints* winners, bool relu) {
  const int side = kSide ? kSide : p.side;
  for (int row = 0; row < p.out_height; ++row) {
    for (int col = 0; col < p.out_width; ++col) {
      const Vec* window = x + int64_t(row) * side * p.in_row + col * side;
      Best best{window[0], {}};
      for (int h = 0; h < side; ++h)
        for (int w = 0; w < side; ++w) best.meet(window[h * p.in_row + w], h * side + w);
      y[row * p.out_row + col] = relu ? rectified(best.value) : best.value;
      winners[row * p.out_width + col] = best.winner;
    }
  }
}

void max_pool(const PoolShape& p, const Vec* x, Vec* y, Ints* winners, bool relu) {
  if (p.side == 2) max_pool_plane<2>(p, x, y, winners, relu);
  else max_pool_plane<0>(p, x, y, winners, relu);
}

// Sends dy back through the windows of one channel; with relu only where the maximum was positive. y and dy share a layout.
template <int kSide>
LANES_INLINE void max_unpool_plane(const PoolShape& p, const Vec* y, const Vec* dy, const Ints* winners, Vec* dx, bool relu) {
  const int side = kSide ? kSide : p.side;
  for (int row = 0; row < p.out_height; ++row) {
    for (int col = 0; col < p.out_width; ++col) {
      Vec sent = dy[row * p.out_row + col];
      if (relu) sent = y[row * p.out_row + col] > Vec{} ? sent : Vec{};
      Ints winner = winners[row * p.out_width + col];
      Vec* window = dx + int64_t(row) * side * p.in_row + col * side;
      for (int h = 0; h < side; ++h)
        for (int w = 0; w < side; ++w) window[h * p.in_row + w] = winner == (h * side + w) ? sent : Vec{};
    }
  }
}

void max_unpool(const PoolShape& p, const Vec* y, const Vec* dy, const Ints* winners, Vec* dx, bool relu) {
  if (p.side == 2) max_unpool_plane<2>(p, y, dy, winners, dx, relu);
  else max_unpool_plane<0>(p, y, dy, winners, dx, relu);
}

void average_pool(const PoolShape& p, const Vec* x, Vec* y) {
  const float share = 1.0f / float(p.side * p.side);
  for (int row = 0; row < p.out_height; ++row)
    for (int col = 0; col < p.out_width; ++col) {
      const Vec* window = x + int64_t(row) * p.side * p.in_row + col * p.side;
      Vec sum = {};
      for (int h = 0; h < p.side; ++h)
        for (int w = 0; w < p.side; ++w) sum += window[h * p.in_row + w];
      y[row * p.out_row + col] = sum * share;
    }
}

void average_unpool(const PoolShape& p, const Vec* dy, Vec* dx) {
  const float share = 1.0f / float(p.side * p.side);
  for (int row = 0; row < p.out_height; ++row)
    for (int col = 0; col < p.out_width; ++col) {
      Vec sent = dy[row * p.out_row + col] * share;
      Vec* window = dx + int64_t(row) * p.side * p.in_row + col * p.side;
      for (int h = 0; h < p.side; ++h)
        for (int w = 0; w < p.side; ++w) window[h * p.in_row + w] = sent;
    }
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::lanes
