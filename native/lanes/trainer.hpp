// Trains and runs four models at a time with unit.cpp; knows arrays and seeds, nothing of Python.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lanes/network.hpp"
#include "poll.hpp"

namespace steadyset::lanes {

// Training rows, shared by all models and never copied.
struct Data {
  const void* x;
  bool x_is_uint8;
  const int32_t* labels;
  const float* weights = nullptr;  // of the rows in the loss; null: all 1
};

struct Scaling {
  enum class Kind { affine, standard } kind;
  float scale, shift;          // affine: x * scale + shift
};

struct Recipe {
  int64_t batch_size;
  std::vector<float> rates;    // learning rate of each epoch
  Optimizer optimizer;
  float momentum, weight_decay;
  bool nesterov;
  float beta1, beta2, epsilon;
  Scaling scaling;
};

// One bag. The optional parts replace what the seed would give: weights to start from, the order of the rows
// (positions in the bag, epoch after epoch), dropout masks (one byte per row seen and dropout feature).
struct Bag {
  const int64_t* rows;
  int64_t n_rows;
  uint64_t seed;
  const float* start = nullptr;
  const int64_t* order = nullptr;
  const uint8_t* masks = nullptr;
};

// Shared with the thread that waits: it may stop the run and see how many epochs are done.
struct Watch {
  int stop = 0;
  int epochs = 0;
};

struct Outcome {
  std::vector<float> parameters, first_moments;  // [bag][parameter]
  std::vector<float> center, scale;              // [bag][channel or feature], standard scaling only
  std::vector<float> losses;                     // [bag][epoch]: mean loss of the epoch's rows
  int diverged_bag = -1;                         // position in the group, or -1
  int64_t diverged_step = 0;
  bool stopped = false;
};

Outcome train(const Network& network, const Data& data, const std::vector<Bag>& bags, const Recipe& recipe, Watch& watch);

// Class probabilities of up to four models on rows [0, n): out[model][row][class], NaN where a logit is not finite. center and
// scale may be null. The watch or the poll may stop it.
void predict(const Network& network, const float* parameters, int n_models, const void* x, bool x_is_uint8, int64_t n,
             const Scaling& scaling, const float* center, const float* scale, double* out, int64_t model_stride, Watch& watch,
             Poll poll);

}  // namespace steadyset::lanes
