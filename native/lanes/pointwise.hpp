// Layers that act on each value alone, and the loss.
#pragma once
#include "lanes/vec.hpp"

namespace steadyset::lanes {
namespace STEADYSET_LEVEL {
namespace {

// tanh(x) = 1 - 2 / (e^2x + 1): the absolute error stays near 1e-7, relative to outputs of order one.
LANES_INLINE Vec hyperbolic_tangent(Vec x) { return 1.0f - 2.0f / (exponential(2.0f * x) + 1.0f); }

LANES_INLINE Vec apply(Kind kind, Vec x) {
  if (kind == Kind::relu) return rectified(x);
  if (kind == Kind::tanh) return hyperbolic_tangent(x);
  return x;
}

// Gradient through the same, from its output y.
LANES_INLINE Vec send_through(Kind kind, Vec y, Vec dy) {
  if (kind == Kind::relu) return y > Vec{} ? dy : Vec{};
  if (kind == Kind::tanh) return dy * (1.0f - y * y);
  return dy;
}

LANES_INLINE Words stir(Words h) {
  h = (h ^ (h >> 16)) * 0x7feb352du;
  h = (h ^ (h >> 15)) * 0x846ca68bu;
  return h ^ (h >> 16);
}

// Keeps a feature where a hash of (lane key, feature) is above the rate, and scales it so that its mean is unchanged.
void draw_masks(const uint64_t* keys, int64_t first, int64_t count, float rate, Vec* masks) {
  Words low, high;
  for (int lane = 0; lane < kLanes; ++lane) {
    low[lane] = uint32_t(keys[lane]);
    high[lane] = uint32_t(keys[lane] >> 32);
  }
  const Vec kept = all(1.0f / (1.0f - rate));
  const Ints limit = Ints{} + int32_t(rate * 16777216.0f);
  for (int64_t f = 0; f < count; ++f) {
    Words hash = stir(stir(low + uint32_t(first + f) * 0x9e3779b9u) ^ high);
    masks[f] = (Ints)(hash >> 8) >= limit ? kept : Vec{};
  }
}

// Softmax cross-entropy of one sample vector: logits become shares * (softmax - one-hot); losses are added by lane.
void cross_entropy(int n_classes, const int32_t* labels, const float* shares, Vec* logits, Vec* gradient, float* losses) {
  Ints label;
  Vec share, top = logits[0];
  for (int lane = 0; lane < kLanes; ++lane) {
    label[lane] = labels[lane];
    share[lane] = shares[lane];
  }
  for (int c = 1; c < n_classes; ++c) top = larger(logits[c], top);
  Vec sum = {}, of_label = {};
  for (int c = 0; c < n_classes; ++c) {
    Vec e = exponential(logits[c] - top);
    of_label = label == c ? logits[c] : of_label;
    gradient[c] = e;
    sum += e;
  }
  const Vec factor = share / sum;
  for (int c = 0; c < n_classes; ++c) gradient[c] = gradient[c] * factor - (label == c ? share : Vec{});
  for (int lane = 0; lane < kLanes; ++lane) {
    const float loss = __builtin_logf(sum[lane]) - (of_label[lane] - top[lane]);
    if (share[lane] != 0) losses[lane % kModels] += loss * share[lane];
  }
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::lanes
