// A convolution in tiles of four outputs: at each point, what is left is a convolution down the columns of tiles. They are
// stored on their side, so that it is one along rows, as wide as the kernel is high.
#pragma once
#include "lanes/conv_layer.hpp"
#include "lanes/optimizer.hpp"
#include "lanes/winograd.hpp"

namespace steadyset::lanes {
namespace STEADYSET_LEVEL {
namespace {

struct Tiled {
  ConvShape c;
  int tiles, in_rows;
  int64_t in_plane, in_point;  // positions of a channel, and of all channels

  explicit Tiled(const ConvShape& shape)
      : c(shape), tiles(tiles_of(c.out_width)), in_rows(c.out_height + c.kernel_height - 1),
        in_plane(int64_t(in_rows) * tiles), in_point(c.in_channels * in_plane) {}

  // The last tile ends with the row.
  int column(int tile) const {
    return (tile + 1) * kTileOutputs <= c.out_width ? tile * kTileOutputs : c.out_width - kTileOutputs;
  }

  ConvShape at_point(int rows) const {
    return {c.in_channels, c.out_channels, 1, c.kernel_height, tiles, rows, {in_rows, in_plane}, {rows, int64_t(rows) * tiles}};
  }
};

template <int kTaps>
void take_input(const Tiled& t, const Vec* x, Vec* to) {
  for (int ic = 0; ic < t.c.in_channels; ++ic)
    for (int tile = 0; tile < t.tiles; ++tile)
      for (int row = 0; row < t.in_rows; ++row)
        input_at_points<kTaps>(x + ic * t.c.in.channel + row * t.c.in.row + t.column(tile), to++, t.in_point);
}

// The outputs of two rows of one channel, pooled in windows of two by two.
template <int kTaps>
void pool_outputs(const Tiled& t, const Vec* sums, int64_t stride, int rows, bool relu, int64_t out_row, Vec* y, Ints* winners) {
  const int out_width = t.c.out_width / 2;
  for (int tile = 0; tile < t.tiles; ++tile)
    for (int row = 0; row < rows; row += 2, sums += 2) {
      Vec upper[kTileOutputs], lower[kTileOutputs];
      outputs_from_points<kTaps>(sums, stride, upper);
      outputs_from_points<kTaps>(sums + 1, stride, lower);
#pragma GCC unroll 2
      for (int j = 0; j < kTileOutputs; j += 2) {
        Best best{upper[j], {}};
        best.meet(upper[j + 1], 1);
        best.meet(lower[j], 2);
        best.meet(lower[j + 1], 3);
        const int column = (t.column(tile) + j) / 2;
        y[row / 2 * out_row + column] = relu ? rectified(best.value) : best.value;
        winners[row / 2 * out_width + column] = best.winner;
      }
    }
}

// The outputs of some rows of one channel, row by row.
template <int kTaps>
void store_outputs(const Tiled& t, const Vec* sums, int64_t stride, int rows, bool relu, int64_t out_row, Vec* y) {
  const Vec zero = {};
  for (int tile = 0; tile < t.tiles; ++tile)
    for (int row = 0; row < rows; ++row) {
      Vec four[kTileOutputs];
      outputs_from_points<kTaps>(sums++, stride, four);
      Vec* to = y + row * out_row + t.column(tile);
      for (int j = 0; j < kTileOutputs; ++j) to[j] = relu ? larger(zero, four[j]) : four[j];
    }
}

// Rows of the layer's result in one channel, from the sums at the points; `packed` has room for the rows before they are pooled.
template <int kTaps>
void finish_rows(const Run& run, const Op& op, const Tiled& t, int v, int oc, Range rows, const Vec* sums, int64_t stride,
                 Vec* packed) {
  const Tensor& out = run.net.tensors[op.out];
  const int count = rows.last - rows.first, width = t.c.out_width;
  const int first = op.pool ? rows.first / op.pool : rows.first;
  Vec* y = run.value(op.out, v) + oc * plane(out) + first * pitch(out);
  if (!op.pool) {
    store_outputs<kTaps>(t, sums, stride, count, op.relu, pitch(out), y);
    return;
  }
  Ints* winners = run.winners(op, v) + (int64_t(oc) * out.height + first) * out.width;
  if (op.pool == 2 && width % 2 == 0) {
    pool_outputs<kTaps>(t, sums, stride, count, op.relu, pitch(out), y, winners);
    return;
  }
  store_outputs<kTaps>(t, sums, stride, count, false, width, packed);
  PoolShape p = pool_shape(op.pool, out, width);
  p.out_height = count / op.pool;
  max_pool(p, packed, y, winners, op.relu);
}

template <int kTaps>
void winograd_forward(const Run& run, const Op& op, int v) {
  constexpr int count = Points<kTaps>::kCount;
  alignas(16) static constexpr float no_bias[kConvBlock * kModels] = {};
  const Tiled t(conv_shape(run.net, op));
  const ConvShape& c = t.c;
  const int rows = op.pool ? run.net.tensors[op.out].height * op.pool : c.out_height;
  const int together = rows_of_strip(c.out_width, op.pool);
  Vec* in = vec(run.memory.scratch);
  Vec* sums = in + count * t.in_point;
  Vec* packed = sums + int64_t(count) * kConvBlock * together * t.tiles;
  take_input<kTaps>(t, run.whole(run.memory.values, op.in, v), in);
  for (int oc = 0, channels; oc < c.out_channels; oc += channels) {
    channels = forward_channels(c, c.out_channels - oc);
    for (int row = 0; row < rows; row += together) {
      const Range strip{row, row + together < rows ? row + together : rows};
      const ConvShape at = t.at_point(strip.last - row);
      const int64_t stride = channels * at.out.channel;
      const float* w = run.at_points(op) + int64_t(oc) * c.in_channels * c.kernel_height * kModels;
      for (int p = 0; p < count; ++p, w += op.kernel_rows * kModels) {
        // What is added at the point 1 is added to every output.
        const float* bias = p == 1 ? run.parameter(op.bias + oc) : no_bias;
        forward_rows(at, w, bias, in + p * t.in_point + row, sums + p * stride, channels, {0, t.tiles}, false);
      }
      for (int b = 0; b < channels; ++b)
        finish_rows<kTaps>(run, op, t, v, oc + b, strip, sums + b * at.out.channel, stride, packed);
    }
  }
}

// The gradient of some rows of a channel, densely packed, at the points.
template <int kTaps>
void take_gradient(const Tiled& t, const Vec* rows, int count, Vec* to, int64_t stride) {
  for (int tile = 0; tile < t.tiles; ++tile)
    for (int row = 0; row < count; ++row) {
      const int column = t.column(tile);
      Vec dy[kTileOutputs];
      for (int j = 0; j < kTileOutputs; ++j) {
        const bool sent = column + j < tile * kTileOutputs;  // by the tile before
        dy[j] = sent ? Vec{} : rows[row * t.c.out_width + column + j];
      }
      outputs_at_points<kTaps>(dy, to++, stride);
    }
}

// The gradient of two rows at a time of one channel whose outputs are pooled in windows of two by two, at the points.
template <int kTaps>
void take_pooled_gradient(const Tiled& t, const Vec* y, const Vec* dy, int64_t out_row, const Ints* winners, int rows, bool relu,
                          Vec* to, int64_t stride) {
  const int out_width = t.c.out_width / 2;
  for (int tile = 0; tile < t.tiles; ++tile) {
    const int column = t.column(tile) / 2;
    const int repeated = tile * kTileOutputs / 2 - column;
    for (int row = 0; row < rows; row += 2, to += 2) {
      Vec upper[kTileOutputs], lower[kTileOutputs];
#pragma GCC unroll 2
      for (int j = 0; j < kTileOutputs / 2; ++j) {
        const int64_t at = row / 2 * out_row + column + j;
        Vec sent = dy[at];
        if (relu) sent = y[at] > Vec{} ? sent : Vec{};
        if (j < repeated) sent = Vec{};  // the tile before has sent it
        const Ints winner = winners[row / 2 * out_width + column + j];
        upper[2 * j] = winner == 0 ? sent : Vec{};
        upper[2 * j + 1] = winner == 1 ? sent : Vec{};
        lower[2 * j] = winner == 2 ? sent : Vec{};
        lower[2 * j + 1] = winner == 3 ? sent : Vec{};
      }
      outputs_at_points<kTaps>(upper, to, stride);
      outputs_at_points<kTaps>(lower, to + 1, stride);
    }
  }
}

// The gradient of some rows of one output channel at the points, from that of the layer's result.
template <int kTaps>
void channel_gradient(const Run& run, const Op& op, const Tiled& t, int v, int oc, Range rows, Vec* packed, Vec* to,
                      int64_t stride) {
  const Tensor& out = run.net.tensors[op.out];
  const int count = rows.last - rows.first;
  if (op.pool == 2 && t.c.out_width % 2 == 0 && rows.last <= 2 * out.height) {
    const int first = rows.first / 2;
    const int64_t at = oc * plane(out) + first * pitch(out);
    take_pooled_gradient<kTaps>(t, run.value(op.out, v) + at, run.gradient(op.out, v) + at, pitch(out),
                                run.winners(op, v) + (int64_t(oc) * out.height + first) * out.width, count, op.relu, to, stride);
    return;
  }
  conv_gradient_rows(run, op, t.c, v, oc, rows, packed);
  take_gradient<kTaps>(t, packed, count, to, stride);
}

// Adds the gradients of the kernels and biases of the output channels in the range, over some rows.
template <int kTaps>
void add_gradients_at_points(const Run& run, const Op& op, const Tiled& t, Range outputs, int rows, const Vec* in, const Vec* dy,
                             int64_t dy_stride) {
  const ConvShape at = t.at_point(rows);
  float* gradient = run.memory.parameter_gradient;
  for (int p = 0; p < Points<kTaps>::kCount; ++p, gradient += op.kernel_rows * kModels)
    for (int ic = 0; ic < at.in_channels; ++ic)
      add_kernel_gradients(at, outputs, ic, in + p * t.in_point + ic * at.in.channel, dy + p * dy_stride, gradient);
  // The sum of four gradients is their value at the point 1.
  add_bias_gradient(at, outputs, dy + dy_stride, gradient);
}

// The gradients of the first layer's weights, strip by strip: nobody asks for that of the pixels.
template <int kTaps>
void first_winograd_backward(const Run& run, const Op& op, int v) {
  constexpr int count = Points<kTaps>::kCount, block = kRegisters == 32 ? 4 : 2;
  const Tiled t(conv_shape(run.net, op));
  const ConvShape& c = t.c;
  Vec* in = vec(run.memory.scratch);
  Vec* dy = in + count * t.in_point;
  const int together = rows_of_strip(c.out_width, op.pool);
  Vec* rows = dy + int64_t(count) * kConvBlock * together * t.tiles;
  take_input<kTaps>(t, run.whole(run.memory.values, op.in, v), in);
  for (int oc = 0; oc < c.out_channels; oc += block)
    for (int row = 0; row < c.out_height; row += together) {
      const Range outputs{oc, oc + block < c.out_channels ? oc + block : c.out_channels};
      const int strip = row + together < c.out_height ? together : c.out_height - row;
      const int64_t stride = int64_t(outputs.last - oc) * strip * t.tiles;
      for (int one = oc; one < outputs.last; ++one)
        channel_gradient<kTaps>(run, op, t, v, one, {row, row + strip}, rows, dy + int64_t(one - oc) * strip * t.tiles, stride);
      add_gradients_at_points<kTaps>(run, op, t, outputs, strip, in + row, dy, stride);
    }
}

// The gradient of the input, and those of the weights if they are wanted.
template <int kTaps>
void winograd_backward(const Run& run, const Op& op, int v, bool weights) {
  constexpr int count = Points<kTaps>::kCount;
  const Tiled t(conv_shape(run.net, op));
  const ConvShape& c = t.c;
  Vec* in = vec(run.memory.scratch);
  Vec* dy = in + count * t.in_point;
  const int64_t out_plane = int64_t(c.out_height) * t.tiles, stride = c.out_channels * out_plane;
  Vec* rows = dy + count * stride;
  for (int oc = 0; oc < c.out_channels; ++oc)
    channel_gradient<kTaps>(run, op, t, v, oc, {0, c.out_height}, rows, dy + oc * out_plane, stride);
  if (weights) {
    take_input<kTaps>(t, run.whole(run.memory.values, op.in, v), in);
    add_gradients_at_points<kTaps>(run, op, t, {0, c.out_channels}, c.out_height, in, dy, stride);
  }
  // The input is not needed any more: its gradient takes its place.
  for (int64_t i = 0; i < count * t.in_point; ++i) in[i] = Vec{};
  for (int p = 0; p < count; ++p) {
    const float* w = run.at_points(op) + p * op.kernel_rows * kModels;
    add_input_gradient(t.at_point(c.out_height), w, dy + p * stride, in + p * t.in_point);
  }
  const Tensor& from = run.net.tensors[op.in];
  Vec* dx = run.whole(run.memory.gradients, op.in, v);
  for (int64_t i = 0; i < from.channels * plane(from); ++i) dx[i] = Vec{};
  for (int ic = 0; ic < c.in_channels; ++ic)
    for (int tile = 0; tile < t.tiles; ++tile)
      for (int row = 0; row < t.in_rows; ++row)
        add_input_from_points<kTaps>(in++, t.in_point, dx + ic * c.in.channel + row * c.in.row + t.column(tile));
}

// The gradients of one vector of kernel rows, column by column, from those of all kernels, row after row.
template <int kTaps>
LANES_INLINE void weights_from_rows(const float* gradient, int64_t first, int64_t rows, Vec (&of_columns)[kTaps]) {
  alignas(kMaxLanes * sizeof(float)) float columns[kTaps][kSamples * kModels] = {};
  for (int s = 0; s < kSamples && first + s < rows; ++s)
    for (int k = 0; k < kTaps; ++k)
      for (int m = 0; m < kModels; ++m) columns[k][s * kModels + m] = gradient[((first + s) * kTaps + k) * kModels + m];
  for (int k = 0; k < kTaps; ++k) of_columns[k] = *vec(columns[k]);
}

template <int kTaps, class Rule>
void winograd_step(const Rule& rule, const Run& run, const Op& op) {
  float* gradient = run.memory.parameter_gradient;
  const int64_t count = op.kernel_rows * Points<kTaps>::kCount, channels = run.net.tensors[op.out].channels;
  const int64_t rows = channels * run.net.tensors[op.in].channels * op.kernel_height;
  for (int64_t p = 0; p < count + channels; p += kSamples) vec(gradient)[p / kSamples] = Vec{};
  for (int v = 0; v < run.n_vectors && !run.stopped(); ++v) {
    if constexpr (Rule::kDividesByGradients) conv_weight_gradient(run, op, v, gradient, gradient + count * kModels);
    else if (op.in == 0) first_winograd_backward<kTaps>(run, op, v);
    if (op.in != 0) winograd_backward<kTaps>(run, op, v, !Rule::kDividesByGradients);
  }
  const Rule moved = rule;
  const int64_t stride = op.kernel_rows / kSamples;
  for (int64_t row = 0; row < stride; ++row) {
    Vec of_columns[kTaps];
    if constexpr (Rule::kDividesByGradients) weights_from_rows<kTaps>(gradient, row * kSamples, rows, of_columns);
    else weights_from_points<kTaps>(vec(gradient) + row, stride, of_columns);
    Slots slots = slots_at(run.memory, op.weight + row * kSamples);
    for (int k = 0; k < kTaps; ++k, slots.advance(op.kernel_rows))
      moved(of_columns[k], vec(slots.weights), vec(slots.first), vec(slots.second));
  }
  update_parameters(rule, slots_at(run.memory, op.bias), channels, gradient + count * kModels);
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::lanes
