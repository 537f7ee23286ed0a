// What the cold side of the lanes trainer hands to its hot source file, unit.cpp: plain data, and the table of entry
// points.
//
// Four models train together. A vector holds kModels models times as many samples as the register has room for,
// lane = sample * kModels + model; weights hold kModels floats each and are broadcast over the samples.
#pragma once
#include <cstdint>

#include "dispatch.hpp"

namespace steadyset::lanes {

constexpr int kModels = 4;
constexpr int kMaxLanes = 16;
constexpr int kOutputBlock = 8;  // dense weights are stored [output / 8][input][8][model], so that a block is one stream

constexpr int kConvBlock = 4;    // output channels of a convolution that are computed together, at most

// A convolution may be done in tiles of this many outputs of a row, each from values at `taps + 3` points (winograd.hpp).
constexpr int kTileOutputs = 4;
constexpr int tiles_of(int width) { return width / kTileOutputs + (width % kTileOutputs > 0); }
// Rows of outputs that are in work together: whole pooling windows, whole tiles of registers, and enough to amortise a call.
constexpr int rows_of_strip(int width, int pool) {
  constexpr int enough = 48;
  const int unit = pool > 1 ? 4 * pool : 8;
  const int64_t tiles = int64_t(tiles_of(width)) * unit;
  return static_cast<int>((enough + tiles - 1) / tiles) * unit;
}

enum class Kind : int { conv, linear, max_pool, avg_pool, relu, tanh, dropout };

// One image tensor, or a flat one with height = width = 1. `pad` zero rows and columns surround each channel.
struct Tensor {
  int channels, height, width, pad;
  int64_t offset;  // in vectors, inside one sample's arena
};

// One layer. A convolution or dense layer may carry the ReLU that follows it, a convolution also the max pooling.
struct Op {
  Kind kind;
  int in, out;                 // tensors
  int kernel_height, kernel_width;
  int relu, pool;              // pool: side of the fused pooling windows, or 0
  int points;                  // of a convolution in tiles, or 0
  int64_t weight, bias;        // first parameter of each, in parameters
  int64_t kernel_rows;         // of a convolution in tiles, padded: its weights are stored column by column
  int64_t at_points;           // where its weights at the points are kept
  int64_t index;               // max pooling: where its winners are kept, in vectors of one sample's index arena
  int64_t mask;                // dropout: first feature, over all dropout layers
  float rate;
};

struct Net {
  const Tensor* tensors;
  const Op* ops;
  int n_ops, n_classes;
  int64_t n_parameters;        // padded, as stored
  int64_t arena, index_arena;  // vectors of one sample
  int64_t scratch;             // vectors
  int64_t n_dropout;           // features of all dropout layers
  int64_t n_at_points;         // weights at the points, of all convolutions in tiles
};

enum class Optimizer : int { sgd, adam };

struct Update {
  Optimizer kind;
  alignas(16) float rate[kModels];         // learning rate of each model in this step; 0 freezes a model that is done
  float momentum, weight_decay;
  int nesterov;
  float beta1, beta2, epsilon;
  alignas(16) float correction1[kModels];  // Adam: 1 - beta1^t
  alignas(16) float correction2[kModels];  // Adam: sqrt(1 - beta2^t)
};

// All memory of one group of four models. Vectors are 64-byte aligned.
struct Memory {
  float* weights;
  float* first;                // momentum, or Adam's first moment
  float* second;               // Adam's second moment
  float* at_points;            // weights of convolutions in tiles: [point][kernel row][model]
  float* values;               // [sample vector][arena]
  float* gradients;
  float* scratch;
  float* parameter_gradient;   // of one convolution at a time: its kernels, in tiles at the points, then its biases
  int32_t* indices;
  float* masks;                // [sample vector][dropout feature]
  const int* stop;             // set to 1 by another thread: leave as soon as possible
};

// The rows of one step, lane by lane: `vectors` sample vectors of kMaxLanes entries each, of which `lanes` are used.
struct Batch {
  const void* x;
  int x_is_uint8;
  int64_t row_size;
  const float* scale;          // [feature][model], or null: then one scale and shift for all
  const float* shift;
  float common_scale, common_shift;
  int vectors;
  const int64_t* rows;
  const int32_t* labels;
  const float* shares;         // 1 / rows of the model's batch, or 0 where a lane holds no sample
  const uint64_t* mask_keys;   // dropout, one key per lane; null: the masks in memory stand as they are
};

constexpr int kMultiplyAdds = 48;

struct HotUnit {
  int lanes;
  // Loads the batch, runs forward and backward and updates the weights; losses gets one sum of weighted losses per model.
  void (*step)(const Net&, const Memory&, const Batch&, const Update&, float* losses);
  // Loads the batch and runs forward without dropout; logits[vector][class][lane].
  void (*logits)(const Net&, const Memory&, const Batch&, float* logits);
  // Runs `rounds` times kMultiplyAdds multiply-adds on vectors in registers, of which none waits for another: what the core
  // can do at most.
  float (*multiply_adds)(int64_t rounds);
};

STEADYSET_HOT_UNIT(HotUnit, hot_unit)

}  // namespace steadyset::lanes
