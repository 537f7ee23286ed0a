// A network as unit.cpp wants it: tensors, fused operations, and where each parameter is stored.
#pragma once
#include <string>
#include <vector>

#include "lanes/net.hpp"

namespace steadyset::lanes {

// kind: "conv", "linear", "max_pool", "avg_pool", "relu", "tanh", "dropout", "flatten".
struct LayerSpec {
  std::string kind;
  int size;            // channels or outputs, or the side of pooling windows
  int kernel_height, kernel_width, padding;
  float rate;
};

class Network {
 public:
  // Throws std::invalid_argument when a layer does not fit its input; the last layer must be linear.
  Network(int channels, int height, int width, const std::vector<LayerSpec>& layers);

  Net net() const;
  int64_t n_parameters() const { return static_cast<int64_t>(places_.size()); }
  int64_t row_size() const;
  int n_classes() const;

  // Uniform on +-1/sqrt(fan in), weights and biases, layer by layer in PyTorch's order: its defaults.
  void draw(uint64_t seed, float* parameters) const;
  // Between one model's parameters in PyTorch's order and the stored ones of four models.
  void pack(const float* parameters, int model, float* stored) const;
  void unpack(const float* stored, int model, float* parameters) const;

  int64_t largest_conv() const { return largest_conv_; }  // floats of its gradients, per model

 private:
  int add_tensor(int channels, int height, int width);
  int64_t reserve(int64_t count);
  void add_conv(const LayerSpec& layer, bool relu, int pool);
  void store_conv(Op& op, int64_t in_channels, int64_t out_channels);
  void add_linear(const LayerSpec& layer, bool relu);
  void add_other(const LayerSpec& layer);
  void finish();

  std::vector<Tensor> tensors_;
  std::vector<Op> ops_;
  std::vector<int64_t> places_;   // PyTorch's order -> stored
  std::vector<float> bounds_;     // of the initial values
  int64_t stored_ = 0, arena_ = 0, index_arena_ = 0, scratch_ = 0, n_dropout_ = 0, n_at_points_ = 0, largest_conv_ = 0;
};

}  // namespace steadyset::lanes
