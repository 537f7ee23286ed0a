// A convolution as a layer: its rows, in strips that fit a cache, with the pooling that follows.
#pragma once
#include "lanes/run.hpp"

namespace steadyset::lanes {
namespace STEADYSET_LEVEL {
namespace {

void conv_forward(const Run& run, const Op& op, int v) {
  const Tensor& out = run.net.tensors[op.out];
  const ConvShape c = conv_shape(run.net, op);
  const Vec* x = run.whole(run.memory.values, op.in, v);
  Vec* y = run.value(op.out, v);
  const int64_t per_output = int64_t(c.in_channels) * c.kernel_height * c.kernel_width;
  const int strip = op.pool ? op.pool : c.out_height;
  const int rows = op.pool ? out.height * op.pool : c.out_height;
  PoolShape p = pool_shape(op.pool, out, c.out_width);
  p.out_height = 1;
  for (int row = 0; row < rows; row += strip) {
    for (int oc = 0, channels; oc < c.out_channels; oc += channels) {
      channels = forward_channels(c, c.out_channels - oc);
      const float* w = run.parameter(op.weight + oc * per_output);
      Vec* to = op.pool ? vec(run.memory.scratch) : y + oc * plane(out);
      forward_rows(c, w, run.parameter(op.bias + oc), x, to, channels, {row, row + strip}, op.relu && !op.pool);
      if (!op.pool) continue;
      for (int b = 0; b < channels; ++b) {
        const int pooled_row = row / strip;
        max_pool(p, to + b * c.out.channel, y + (oc + b) * plane(out) + pooled_row * pitch(out),
                 run.winners(op, v) + (int64_t(oc + b) * out.height + pooled_row) * out.width, op.relu);
      }
    }
  }
}

// The layer with its outputs densely packed.
ConvShape packed_shape(const Net& net, const Op& op) {
  ConvShape c = conv_shape(net, op);
  c.out = {c.out_width, int64_t(c.out_width) * c.out_height};
  return c;
}

// The gradient that reaches the convolution itself, before pooling and ReLU: rows of one channel, densely packed.
void conv_gradient_rows(const Run& run, const Op& op, const ConvShape& c, int v, int oc, Range rows, Vec* to) {
  const Tensor& out = run.net.tensors[op.out];
  const Vec* y = run.value(op.out, v) + oc * plane(out);
  const Vec* sent = run.gradient(op.out, v) + oc * plane(out);
  if (op.pool) {
    PoolShape p = pool_shape(op.pool, out, c.out_width);
    const int first = rows.first / op.pool;
    const int last = rows.last / op.pool < out.height ? rows.last / op.pool : out.height;
    p.out_height = last - first;
    if (p.out_height * op.pool != rows.last - rows.first || out.width * op.pool != c.out_width)
      for (int64_t i = 0; i < int64_t(rows.last - rows.first) * c.out_width; ++i) to[i] = Vec{};
    max_unpool(p, y + first * pitch(out), sent + first * pitch(out),
               run.winners(op, v) + (int64_t(oc) * out.height + first) * out.width, to, op.relu);
    return;
  }
  for (int row = rows.first; row < rows.last; ++row)
    for (int col = 0; col < c.out_width; ++col) {
      const int64_t at = row * pitch(out) + col;
      *to++ = op.relu ? send_through(Kind::relu, y[at], sent[at]) : sent[at];
    }
}

// Strips of rows and blocks of channels keep the working set of the weight gradient in the first-level cache. Of a layer
// that is not the first one the gradient is left in the scratch, channel by channel.
void conv_weight_gradient(const Run& run, const Op& op, int v, float* weight_gradient, float* bias_gradient) {
  ConvShape c = packed_shape(run.net, op);
  const int height = c.out_height;
  Vec* dy = vec(run.memory.scratch);
  const Vec* x = run.whole(run.memory.values, op.in, v);
  constexpr int block = 4;
  if (op.in != 0) {
    for (int oc = 0; oc < c.out_channels; ++oc)
      conv_gradient_rows(run, op, c, v, oc, {0, height}, dy + oc * c.out.channel);
    for (int oc = 0; oc < c.out_channels; oc += block) {
      const Range outputs{oc, oc + block < c.out_channels ? oc + block : c.out_channels};
      add_weight_gradient(c, outputs, x, dy + oc * c.out.channel, weight_gradient, bias_gradient);
    }
    return;
  }
  const int strip = op.pool > 1 ? op.pool : 2;
  for (int row = 0; row < height; row += strip) {
    const Range rows{row, row + strip < height ? row + strip : height};
    c.out_height = rows.last - rows.first;
    c.out.channel = int64_t(c.out_width) * c.out_height;
    for (int oc = 0; oc < c.out_channels; oc += block) {
      const Range outputs{oc, oc + block < c.out_channels ? oc + block : c.out_channels};
      for (int one = outputs.first; one < outputs.last; ++one)
        conv_gradient_rows(run, op, c, v, one, rows, dy + (one - oc) * c.out.channel);
      add_weight_gradient(c, outputs, x + row * c.in.row, dy, weight_gradient, bias_gradient);
    }
  }
}

void conv_backward(const Run& run, const Op& op, int v) {
  float* gradient = run.memory.parameter_gradient;
  conv_weight_gradient(run, op, v, gradient, gradient + (op.bias - op.weight) * kModels);
  if (op.in == 0) return;
  const Tensor& in = run.net.tensors[op.in];
  Vec* dx = run.whole(run.memory.gradients, op.in, v);
  for (int64_t i = 0; i < in.channels * plane(in); ++i) dx[i] = Vec{};
  add_input_gradient(packed_shape(run.net, op), run.parameter(op.weight), vec(run.memory.scratch), dx);
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::lanes
