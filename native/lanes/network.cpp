#include "lanes/network.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "lanes/random.hpp"

namespace steadyset::lanes {

namespace {

// Beyond these sizes products would leave their types; no network that fits into memory comes near.
constexpr int64_t kLargest = int64_t{1} << 31;
constexpr int kLongest = 1 << 20;

// Whether a convolution is done in tiles: where it has rows and channels enough to pay the way to the points and back, and
// where tiles give at most a third more outputs than there are.
bool in_tiles(const LayerSpec& layer, int64_t in_channels, int64_t width) {
  const bool taps = layer.kernel_width == 3 || layer.kernel_width == 5;
  const bool work = in_channels * layer.kernel_height >= 5 && layer.size >= kConvBlock;
  const int64_t outputs = (width + kTileOutputs - 1) / kTileOutputs * kTileOutputs;
  return taps && work && width >= kTileOutputs && 3 * outputs <= 4 * width;
}

void refuse_large(int64_t channels, int64_t height, int64_t width) {
  if (height >= kLargest || channels * height >= kLargest || channels * height * width >= kLargest)
    throw std::invalid_argument("a layer is too large");
}

}  // namespace

Network::Network(int channels, int height, int width, const std::vector<LayerSpec>& layers) {
  if (channels < 1 || height < 1 || width < 1) throw std::invalid_argument("the input has no features");
  add_tensor(channels, height, width);
  for (size_t i = 0; i < layers.size(); ++i) {
    const LayerSpec& layer = layers[i];
    if (layer.kind != "conv" && layer.kind != "linear") {
      add_other(layer);
      continue;
    }
    const bool relu = i + 1 < layers.size() && layers[i + 1].kind == "relu";
    const size_t after = i + 1 + relu;
    const bool pooled = layer.kind == "conv" && after < layers.size() && layers[after].kind == "max_pool";
    if (layer.kind == "conv") add_conv(layer, relu, pooled ? layers[after].size : 0);
    else add_linear(layer, relu);
    i += relu + pooled;
  }
  if (ops_.empty() || ops_.back().kind != Kind::linear || ops_.back().relu)
    throw std::invalid_argument("the last layer must be linear");
  finish();
}

int Network::add_tensor(int channels, int height, int width) {
  refuse_large(channels, height, width);
  tensors_.push_back({channels, height, width, 0, 0});
  return static_cast<int>(tensors_.size()) - 1;
}

// Whole vectors of the widest level, so that no two layers share one.
int64_t Network::reserve(int64_t count) {
  if (count > kLargest) throw std::invalid_argument("a layer is too large");
  const int64_t first = stored_;
  stored_ += (count + kOutputBlock - 1) / kOutputBlock * kOutputBlock;
  return first;
}

void Network::add_conv(const LayerSpec& layer, bool relu, int pool) {
  const int in = static_cast<int>(tensors_.size()) - 1;
  tensors_[in].pad = layer.padding;
  if (std::max({layer.size, layer.kernel_height, layer.kernel_width, layer.padding}) > kLongest)
    throw std::invalid_argument("a layer is too large");
  const int64_t channels = tensors_[in].channels;
  const int64_t height = tensors_[in].height + 2 * int64_t(layer.padding) - layer.kernel_height + 1;
  const int64_t width = tensors_[in].width + 2 * int64_t(layer.padding) - layer.kernel_width + 1;
  if (layer.size < 1 || layer.kernel_height < 1 || layer.kernel_width < 1 || layer.padding < 0 || height < 1 || width < 1)
    throw std::invalid_argument("a convolution does not fit its input");
  if (pool < 0 || (pool && (height < pool || width < pool)))
    throw std::invalid_argument("a pooling window does not fit its input");
  refuse_large(layer.size, height, width);
  Op op{};
  op.kind = Kind::conv;
  op.in = in;
  op.kernel_height = layer.kernel_height;
  op.kernel_width = layer.kernel_width;
  op.relu = relu;
  op.pool = pool;
  op.points = in_tiles(layer, channels, width) ? layer.kernel_width + kTileOutputs - 1 : 0;
  store_conv(op, channels, layer.size);
  if (op.points) {
    const int64_t together = rows_of_strip(int(width), pool), tiles = tiles_of(int(width));
    const int64_t strip = kConvBlock * together * tiles;
    const int64_t inputs = channels * (tensors_[in].height + 2 * layer.padding) * tiles;
    const int64_t outputs = in ? std::max(strip, int64_t(layer.size) * height * tiles) : strip;
    scratch_ = std::max(scratch_, op.points * (inputs + outputs) + std::max(height, together) * width);
  } else {
    scratch_ = std::max(scratch_, int64_t(layer.size) * height * width);
    scratch_ = std::max(scratch_, int64_t(kConvBlock) * std::max(pool, 1) * width);
  }
  const int windows = std::max(pool, 1);
  op.out = add_tensor(layer.size, int(height) / windows, int(width) / windows);
  if (pool) {
    op.index = index_arena_;
    index_arena_ += int64_t(layer.size) * (height / pool) * (width / pool);
  }
  ops_.push_back(op);
}

// Kernel row after kernel row, or, where tiles are taken, the first column of all kernel rows, then the second one.
void Network::store_conv(Op& op, int64_t in_channels, int64_t out_channels) {
  const int64_t taps = op.kernel_width, fan_in = in_channels * op.kernel_height * taps, count = out_channels * fan_in;
  if (op.points) {
    op.kernel_rows = (count / taps + kOutputBlock - 1) / kOutputBlock * kOutputBlock;
    op.at_points = n_at_points_;
    n_at_points_ += op.kernel_rows * op.points;
  }
  op.weight = reserve(op.points ? op.kernel_rows * taps : count);
  op.bias = reserve(out_channels);
  for (int64_t p = 0; p < count; ++p) places_.push_back(op.weight + (op.points ? p % taps * op.kernel_rows + p / taps : p));
  for (int64_t p = 0; p < out_channels; ++p) places_.push_back(op.bias + p);
  bounds_.resize(places_.size(), 1.0f / std::sqrt(static_cast<float>(fan_in)));
  const int64_t gradient = op.points ? op.kernel_rows * op.points + stored_ - op.bias : stored_ - op.weight;
  largest_conv_ = std::max(largest_conv_, gradient);
}

void Network::add_linear(const LayerSpec& layer, bool relu) {
  const int in = static_cast<int>(tensors_.size()) - 1;
  const int64_t inputs = int64_t(tensors_[in].channels) * tensors_[in].height * tensors_[in].width;
  if (layer.size < 1) throw std::invalid_argument("a linear layer has no outputs");
  if (layer.size > kLongest) throw std::invalid_argument("a layer is too large");
  const int64_t outputs = (int64_t(layer.size) + kOutputBlock - 1) / kOutputBlock * kOutputBlock;
  Op op{};
  op.kind = Kind::linear;
  op.in = in;
  op.relu = relu;
  op.weight = reserve(outputs * inputs);
  op.bias = reserve(outputs);
  op.out = add_tensor(layer.size, 1, 1);
  ops_.push_back(op);
  const float bound = 1.0f / std::sqrt(static_cast<float>(inputs));
  for (int64_t o = 0; o < layer.size; ++o)
    for (int64_t i = 0; i < inputs; ++i)
      places_.push_back(op.weight + (o / kOutputBlock * inputs + i) * kOutputBlock + o % kOutputBlock);
  for (int64_t o = 0; o < layer.size; ++o) places_.push_back(op.bias + o);
  bounds_.resize(places_.size(), bound);
}

void Network::add_other(const LayerSpec& layer) {
  const int in = static_cast<int>(tensors_.size()) - 1;
  const Tensor from = tensors_[in];
  const int64_t features = int64_t(from.channels) * from.height * from.width;
  if (layer.kind == "flatten") return;  // values lie in that order already
  Op op{};
  op.in = in;
  if (layer.kind == "relu") op.kind = Kind::relu;
  else if (layer.kind == "tanh") op.kind = Kind::tanh;
  else if (layer.kind == "dropout") op.kind = Kind::dropout;
  else if (layer.kind == "max_pool") op.kind = Kind::max_pool;
  else if (layer.kind == "avg_pool") op.kind = Kind::avg_pool;
  else throw std::invalid_argument("unknown layer '" + layer.kind + "'");
  int height = from.height, width = from.width;
  if (op.kind == Kind::max_pool || op.kind == Kind::avg_pool) {
    if (layer.size < 1 || layer.size > height || layer.size > width)
      throw std::invalid_argument("a pooling window does not fit its input");
    op.pool = layer.size;
    height /= layer.size;
    width /= layer.size;
    op.index = index_arena_;
    if (op.kind == Kind::max_pool) index_arena_ += int64_t(from.channels) * height * width;
  }
  if (op.kind == Kind::dropout) {
    if (!(layer.rate >= 0 && layer.rate < 1)) throw std::invalid_argument("a dropout rate is outside [0, 1)");
    op.rate = layer.rate;
    op.mask = n_dropout_;
    n_dropout_ += features;
  }
  op.out = add_tensor(from.channels, height, width);
  ops_.push_back(op);
}

void Network::finish() {
  for (Tensor& t : tensors_) {
    t.offset = arena_;
    arena_ += int64_t(t.channels) * (t.height + 2 * t.pad) * (t.width + 2 * t.pad);
  }
}

Net Network::net() const {
  return {tensors_.data(), ops_.data(), static_cast<int>(ops_.size()), n_classes(), stored_,
          arena_,          index_arena_, scratch_, n_dropout_, n_at_points_};
}

int Network::n_classes() const { return tensors_.back().channels; }

int64_t Network::row_size() const { return int64_t(tensors_[0].channels) * tensors_[0].height * tensors_[0].width; }

void Network::draw(uint64_t seed, float* parameters) const {
  Stream stream(key(seed, Purpose::weights));
  for (size_t p = 0; p < places_.size(); ++p) parameters[p] = (2.0f * stream.uniform() - 1.0f) * bounds_[p];
}

void Network::pack(const float* parameters, int model, float* stored) const {
  for (size_t p = 0; p < places_.size(); ++p) stored[places_[p] * kModels + model] = parameters[p];
}

void Network::unpack(const float* stored, int model, float* parameters) const {
  for (size_t p = 0; p < places_.size(); ++p) parameters[p] = stored[places_[p] * kModels + model];
}

}  // namespace steadyset::lanes
