// Dense layers. Backward is one pass over the weights: gradient of the input, gradient of the weights, update.
#pragma once
#include "lanes/optimizer.hpp"

namespace steadyset::lanes {
namespace STEADYSET_LEVEL {
namespace {

constexpr int kBlock = kOutputBlock;

struct DenseShape {
  int inputs, outputs;   // outputs are padded to whole blocks in the weights only
  int64_t stride;        // from one sample vector to the next
};

// kOutputs of a block of outputs, of which some are to be written, for kVectors sample vectors.
template <int kOutputs, int kVectors>
LANES_INLINE void dense_block(const DenseShape& d, const float* w, const float* bias, const Vec* x, Vec* y, int outputs,
                              bool relu) {
  Vec sum[kOutputs][kVectors];
#pragma GCC unroll 8
  for (int o = 0; o < kOutputs; ++o)
    for (int v = 0; v < kVectors; ++v) sum[o][v] = spread(bias + o * kModels);
  for (int i = 0; i < d.inputs; ++i, w += kBlock * kModels) {
    Vec value[kVectors];
    for (int v = 0; v < kVectors; ++v) value[v] = once(x[v * d.stride + i]);
    if constexpr (kVectors == 1 && kOutputs == kBlock) {
      Vec weight[kBlock];
      spread_block(w, weight);
#pragma GCC unroll 8
      for (int o = 0; o < kBlock; ++o) sum[o][0] += weight[o] * value[0];
    } else {
#pragma GCC unroll 8
      for (int o = 0; o < kOutputs; ++o) {
        Vec weight = spread(w + o * kModels);
        for (int v = 0; v < kVectors; ++v) sum[o][v] += weight * value[v];
      }
    }
  }
  // A copy: sums that a loop of unknown length reads would be stored at every input.
  Vec done[kOutputs][kVectors];
#pragma GCC unroll 8
  for (int o = 0; o < kOutputs; ++o)
    for (int v = 0; v < kVectors; ++v) done[o][v] = once(sum[o][v]);
  for (int o = 0; o < kOutputs && o < outputs; ++o)
    for (int v = 0; v < kVectors; ++v) y[v * d.stride + o] = relu ? rectified(done[o][v]) : done[o][v];
}

// y = w x + b for all sample vectors. Two vectors share the loads of the weights; three where there are registers for it.
void dense_forward(const DenseShape& d, const float* w, const float* bias, const Vec* x, Vec* y, int n_vectors, bool relu) {
  constexpr int part = kRegisters == 32 ? kBlock : kBlock / 2;  // outputs whose sums fit beside two vectors
  for (int block = 0; block < d.outputs; block += kBlock) {
    const float* weights = w + int64_t(block) * d.inputs * kModels;
    const float* biases = bias + block * kModels;
    int outputs = d.outputs - block < kBlock ? d.outputs - block : kBlock;
    int v = 0;
    if (kRegisters == 32)
      for (; v + 3 <= n_vectors && n_vectors - v != 4; v += 3)
        dense_block<kBlock, 3>(d, weights, biases, x + v * d.stride, y + v * d.stride + block, outputs, relu);
    for (; v + 2 <= n_vectors; v += 2)
      for (int first = 0; first < outputs; first += part)
        dense_block<part, 2>(d, weights + first * kModels, biases + first * kModels, x + v * d.stride,
                             y + v * d.stride + block + first, outputs - first, relu);
    for (; v < n_vectors; ++v)
      dense_block<kBlock, 1>(d, weights, biases, x + v * d.stride, y + v * d.stride + block, outputs, relu);
  }
}

constexpr int kBlockVectors = kBlock / kSamples;                                   // vectors that hold one block of weights
constexpr int kInputs = kLanes == 16 ? 4 : (kLanes == 8 ? 2 : 1);                  // inputs handled together

// dx of kWide inputs and kVectors sample vectors += w^T dy, for one block of outputs.
template <int kWide, int kVectors>
LANES_INLINE void send_back(const float* w, const Vec* dy, int64_t dy_stride, Vec* dx, int64_t stride) {
  Vec sum[kVectors][kWide];
  for (int v = 0; v < kVectors; ++v)
    for (int i = 0; i < kWide; ++i) sum[v][i] = dx[v * stride + i];
  if (kVectors == 1) {
    for (int i = 0; i < kWide; ++i) {
      Vec weight[kBlock];
      spread_block(w + i * kBlock * kModels, weight);
#pragma GCC unroll 8
      for (int o = 0; o < kBlock; ++o) sum[0][i] += weight[o] * dy[o];
    }
  } else {
#pragma GCC unroll 8
    for (int o = 0; o < kBlock; ++o) {
      Vec back[kVectors];
      for (int v = 0; v < kVectors; ++v) back[v] = once(dy[v * dy_stride + o]);
      for (int i = 0; i < kWide; ++i) {
        Vec weight = spread(w + (i * kBlock + o) * kModels);
        for (int v = 0; v < kVectors; ++v) sum[v][i] += weight * back[v];
      }
    }
  }
  for (int v = 0; v < kVectors; ++v)
    for (int i = 0; i < kWide; ++i) dx[v * stride + i] = sum[v][i];
}

// What one block of outputs sends back to kWide inputs of every vector.
template <int kWide>
LANES_INLINE void send_back_all(const float* weights, const Vec* dy, Vec* dx, int64_t stride, int n_vectors) {
  if (dx == nullptr) return;
  int v = 0;
  for (; v + 2 <= n_vectors; v += 2) send_back<kWide, 2>(weights, dy + v * kBlock, kBlock, dx + v * stride, stride);
  for (; v < n_vectors; ++v) send_back<kWide, 1>(weights, dy + v * kBlock, kBlock, dx + v * stride, stride);
}

// The weights between one block of outputs and kWide inputs move. Pointers come by value, because a store through a vector
// may alias anything and would have them read again.
template <int kWide, class Rule>
LANES_INLINE void backward_tile(const Rule rule, Slots slots, const Vec* x, const Vec* turned, int64_t stride, int n_vectors) {
  Vec gradient[kWide][kBlockVectors] = {};
  for (int v = 0; v < n_vectors; ++v) {
    const Vec* in = x + v * stride;
#pragma GCC unroll 4
    for (int s = 0; s < kSamples; ++s) {
      Vec back[kBlockVectors];
      for (int q = 0; q < kBlockVectors; ++q) back[q] = once(turned[(v * kSamples + s) * kBlockVectors + q]);
      for (int i = 0; i < kWide; ++i) {
        Vec value = spread(reinterpret_cast<const float*>(in + i) + s * kModels);
        for (int q = 0; q < kBlockVectors; ++q) gradient[i][q] += value * back[q];
      }
    }
  }
  for (int i = 0; i < kWide; ++i)
    for (int q = 0; q < kBlockVectors; ++q) {
      const int64_t at = (i * kBlock + q * kSamples) * kModels;
      rule(gradient[i][q], vec(slots.weights + at), vec(slots.first + at), vec(slots.second + at));
    }
}

template <class Rule>
void backward_block(const Rule rule, Slots slots, const DenseShape d, const Vec* x, const Vec* dy, const Vec* turned, Vec* dx,
                    int n_vectors) {
  constexpr int wide = 4;
  static_assert(wide % kInputs == 0, "their weights move in whole steps");
  int i = 0;
  for (; i + wide <= d.inputs; i += wide) {
    send_back_all<wide>(slots.weights, dy, dx ? dx + i : nullptr, d.stride, n_vectors);
    for (int j = 0; j < wide; j += kInputs, slots.advance(kInputs * kBlock))
      backward_tile<kInputs>(rule, slots, x + i + j, turned, d.stride, n_vectors);
  }
  for (; i < d.inputs; ++i, slots.advance(kBlock)) {
    send_back_all<1>(slots.weights, dy, dx ? dx + i : nullptr, d.stride, n_vectors);
    backward_tile<1>(rule, slots, x + i, turned, d.stride, n_vectors);
  }
}

// dy holds n_vectors x outputs; scratch room for 2 * n_vectors * kBlock vectors. dx may be null (first layer).
template <class Rule>
void dense_backward(const Rule& rule, const DenseShape& d, const Memory& memory, int64_t weight, int64_t bias, const Vec* x,
                    const Vec* dy, Vec* dx, int n_vectors) {
  Vec* block_dy = vec(memory.scratch);                   // [vector][output of the block]
  Vec* turned = block_dy + n_vectors * kBlock;           // [vector][sample][output of the block][model]
  if (dx != nullptr)
    for (int v = 0; v < n_vectors; ++v)
      for (int i = 0; i < d.inputs; ++i) dx[v * d.stride + i] = Vec{};
  // From the last block on: its weights, which the way forward has read last, are nearest.
  for (int block = (d.outputs - 1) / kBlock * kBlock; block >= 0; block -= kBlock) {
    Vec bias_gradient[kBlock] = {};
    for (int v = 0; v < n_vectors; ++v) {
      for (int o = 0; o < kBlock; ++o) {
        Vec value = block + o < d.outputs ? dy[v * d.stride + block + o] : Vec{};
        block_dy[v * kBlock + o] = value;
        bias_gradient[o] += value;
        const Quad* parts = reinterpret_cast<const Quad*>(block_dy + v * kBlock + o);
        Quad* out = reinterpret_cast<Quad*>(turned + v * kBlock);
        for (int s = 0; s < kSamples; ++s) out[s * kBlock + o] = parts[s];
      }
    }
    backward_block(rule, slots_at(memory, weight + int64_t(block) * d.inputs), d, x, block_dy, turned, dx, n_vectors);
    alignas(kLanes * 4) float summed[kBlock * kModels] = {};
    add_over_samples<kBlock>(bias_gradient, summed);
    update_parameters(rule, slots_at(memory, bias + block), kBlock, summed);
  }
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::lanes
