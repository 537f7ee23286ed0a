// Rows of X into lanes: each lane has its own row, so a block of rows is turned in registers.
#pragma once
#include "lanes/vec.hpp"

namespace steadyset::lanes {
namespace {

typedef uint8_t Bytes __attribute__((vector_size(kLanes), may_alias, aligned(1)));
typedef float LooseVec __attribute__((vector_size(kLanes * 4), may_alias, aligned(4)));

LANES_INLINE Vec read_lanes(const uint8_t* p) { return __builtin_convertvector(*reinterpret_cast<const Bytes*>(p), Vec); }
LANES_INLINE Vec read_lanes(const float* p) { return *reinterpret_cast<const LooseVec*>(p); }

// Transposes kLanes vectors by swapping ever smaller blocks.
template <int kHalf>
LANES_INLINE void swap_blocks(Vec* block) {
  Ints low, high;
  for (int j = 0; j < kLanes; ++j) {
    low[j] = (j & kHalf) ? kLanes + j - kHalf : j;
    high[j] = (j & kHalf) ? kLanes + j : j + kHalf;
  }
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) {
    if (i & kHalf) continue;
    Vec a = block[i], b = block[i + kHalf];
    block[i] = __builtin_shuffle(a, b, low);
    block[i + kHalf] = __builtin_shuffle(a, b, high);
  }
}

LANES_INLINE void transpose(Vec* block) {
  if (kLanes == 16) swap_blocks<kLanes == 16 ? 8 : 1>(block);
  if (kLanes >= 8) swap_blocks<kLanes >= 8 ? 4 : 1>(block);
  swap_blocks<2>(block);
  swap_blocks<1>(block);
}

template <class Number>
LANES_INLINE void load_features(const Number* const* rows, int64_t feature, int count, Vec* block) {
  if (count == kLanes) {
#pragma GCC unroll 16
    for (int lane = 0; lane < kLanes; ++lane) block[lane] = read_lanes(rows[lane] + feature);
    transpose(block);
  } else {
    for (int f = 0; f < count; ++f)
      for (int lane = 0; lane < kLanes; ++lane) reinterpret_cast<float*>(block + f)[lane] = float(rows[lane][feature + f]);
  }
}

template <class Number>
void load_rows(const Batch& batch, int v, const Tensor& t, Vec* out) {
  const Number* rows[kLanes];
  for (int lane = 0; lane < kLanes; ++lane)
    rows[lane] = static_cast<const Number*>(batch.x) + batch.rows[v * kMaxLanes + lane] * batch.row_size;
  const Vec scale = all(batch.common_scale), shift = all(batch.common_shift);
  const int width = t.width * t.height * t.channels == batch.row_size && t.pad == 0 ? int(batch.row_size) : t.width;
  const int64_t n_rows = batch.row_size / width;  // unpadded tensors are one long row
  for (int64_t row = 0; row < n_rows; ++row) {
    Vec* to = out + (row / t.height) * plane(t) * (t.pad != 0) + (t.pad != 0 ? (row % t.height) * pitch(t) : 0);
    for (int col = 0; col < width; col += kLanes) {
      const int count = width - col < kLanes ? width - col : kLanes;
      const int64_t feature = row * width + col;
      Vec block[kLanes];
      load_features(rows, feature, count, block);
      for (int f = 0; f < count; ++f) {
        if (batch.scale == nullptr) to[col + f] = block[f] * scale + shift;
        else
          to[col + f] = (block[f] - spread(batch.shift + (feature + f) * kModels)) * spread(batch.scale + (feature + f) * kModels);
      }
    }
  }
}

void load(const Batch& batch, int v, const Tensor& t, Vec* out) {
  if (batch.x_is_uint8) load_rows<uint8_t>(batch, v, t, out);
  else load_rows<float>(batch, v, t, out);
}

}  // namespace
}  // namespace steadyset::lanes
