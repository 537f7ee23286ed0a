// The hot source file of the lanes trainer: one step of four models, forward, backward and update.
#include "lanes/conv.hpp"
#include "lanes/dense.hpp"
#include "lanes/load.hpp"
#include "lanes/pointwise.hpp"
#include "lanes/pool.hpp"

namespace steadyset::lanes {
namespace STEADYSET_LEVEL {
namespace {

struct Run {
  const Net& net;
  const Memory& memory;
  int n_vectors;
  bool training;

  Vec* value(int tensor, int v) const { return vec(memory.values) + v * net.arena + interior(net.tensors[tensor]); }
  Vec* gradient(int tensor, int v) const { return vec(memory.gradients) + v * net.arena + interior(net.tensors[tensor]); }
  Vec* whole(float* arena, int tensor, int v) const { return vec(arena) + v * net.arena + net.tensors[tensor].offset; }
  Ints* winners(const Op& op, int v) const {
    return reinterpret_cast<Ints*>(memory.indices) + v * net.index_arena + op.index;
  }
  bool stopped() const { return __atomic_load_n(memory.stop, __ATOMIC_RELAXED) != 0; }
  const float* parameter(int64_t p) const { return memory.weights + p * kModels; }
};

PoolShape pool_shape(int side, const Tensor& out, int64_t in_row) {
  return {side, out.height, out.width, in_row, pitch(out)};
}

// A convolution whose result is pooled at once works in strips of `pool` rows, and its full result is never stored.
ConvShape conv_shape(const Net& net, const Op& op) {
  const Tensor& in = net.tensors[op.in];
  const Tensor& out = net.tensors[op.out];
  ConvShape c{in.channels, out.channels, op.kernel_height, op.kernel_width, 0, 0, {pitch(in), plane(in)}, {0, 0}};
  c.out_height = in.height + 2 * in.pad - op.kernel_height + 1;
  c.out_width = in.width + 2 * in.pad - op.kernel_width + 1;
  if (op.pool) c.out = {c.out_width, int64_t(c.out_width) * op.pool};
  else c.out = {pitch(out), plane(out)};
  return c;
}

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
      forward_rows(c, w, run.parameter(op.bias + oc), x, to, channels, {row, row + strip}, op.relu);
      if (!op.pool) continue;
      for (int b = 0; b < channels; ++b) {
        const int pooled_row = row / strip;
        max_pool(p, to + b * c.out.channel, y + (oc + b) * plane(out) + pooled_row * pitch(out),
                 run.winners(op, v) + (int64_t(oc + b) * out.height + pooled_row) * out.width);
      }
    }
  }
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

// Strips of rows and blocks of channels keep the working set of the weight gradient in the first-level cache.
void conv_backward(const Run& run, const Op& op, int v) {
  const Tensor& in = run.net.tensors[op.in];
  ConvShape c = conv_shape(run.net, op);
  const int height = c.out_height;
  c.out = {c.out_width, int64_t(c.out_width) * height};
  Vec* dy = vec(run.memory.scratch);
  const Vec* x = run.whole(run.memory.values, op.in, v);
  float* weight_gradient = run.memory.parameter_gradient;
  float* bias_gradient = weight_gradient + (op.bias - op.weight) * kModels;
  constexpr int block = 4;
  if (op.in != 0) {
    for (int oc = 0; oc < c.out_channels; ++oc)
      conv_gradient_rows(run, op, c, v, oc, {0, height}, dy + oc * c.out.channel);
    for (int oc = 0; oc < c.out_channels; oc += block) {
      const Range outputs{oc, oc + block < c.out_channels ? oc + block : c.out_channels};
      add_weight_gradient(c, outputs, x, dy + oc * c.out.channel, weight_gradient, bias_gradient);
    }
    Vec* dx = run.whole(run.memory.gradients, op.in, v);
    for (int64_t i = 0; i < in.channels * plane(in); ++i) dx[i] = Vec{};
    add_input_gradient(c, run.parameter(op.weight), dy, dx);
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

DenseShape dense_shape(const Net& net, const Op& op) {
  const Tensor& in = net.tensors[op.in];
  return {in.channels * in.height * in.width, net.tensors[op.out].channels, net.arena};
}

// Calls work(input channel or row, output channel or row) on matching places of both tensors.
template <class Work>
LANES_INLINE void by_rows(const Tensor& in, const Tensor& out, Work work) {
  for (int ch = 0; ch < in.channels; ++ch)
    for (int row = 0; row < in.height; ++row)
      work(ch * plane(in) + row * pitch(in), ch * plane(out) + row * pitch(out), (int64_t(ch) * in.height + row) * in.width);
}

void forward_one(const Run& run, const Op& op, int v) {
  const Tensor& in = run.net.tensors[op.in];
  const Tensor& out = run.net.tensors[op.out];
  const Vec* x = run.value(op.in, v);
  Vec* y = run.value(op.out, v);
  const PoolShape p = pool_shape(op.pool, out, pitch(in));
  const Vec* masks = vec(run.memory.masks) + v * run.net.n_dropout + op.mask;
  switch (op.kind) {
    case Kind::conv: conv_forward(run, op, v); break;
    case Kind::linear: break;
    case Kind::max_pool:
      for (int ch = 0; ch < in.channels; ++ch)
        max_pool(p, x + ch * plane(in), y + ch * plane(out), run.winners(op, v) + int64_t(ch) * out.height * out.width);
      break;
    case Kind::avg_pool:
      for (int ch = 0; ch < in.channels; ++ch) average_pool(p, x + ch * plane(in), y + ch * plane(out));
      break;
    default:
      by_rows(in, out, [&](int64_t from, int64_t to, int64_t feature) {
        for (int col = 0; col < in.width; ++col)
          y[to + col] = op.kind == Kind::dropout && run.training ? x[from + col] * masks[feature + col]
                                                                  : apply(op.kind, x[from + col]);
      });
  }
}

void forward(const Run& run) {
  for (int o = 0; o < run.net.n_ops; ++o) {
    const Op& op = run.net.ops[o];
    if (op.kind == Kind::linear)
      dense_forward(dense_shape(run.net, op), run.parameter(op.weight), run.parameter(op.bias), run.value(op.in, 0),
                    run.value(op.out, 0), run.n_vectors, op.relu);
    else
      for (int v = 0; v < run.n_vectors && !run.stopped(); ++v) forward_one(run, op, v);
  }
}

void backward_one(const Run& run, const Op& op, int v) {
  if (op.in == 0) return;  // nothing to learn before the first layer with weights
  const Tensor& in = run.net.tensors[op.in];
  const Tensor& out = run.net.tensors[op.out];
  const Vec* y = run.value(op.out, v);
  const Vec* dy = run.gradient(op.out, v);
  Vec* dx = run.gradient(op.in, v);
  const PoolShape p = pool_shape(op.pool, out, pitch(in));
  const Vec* masks = vec(run.memory.masks) + v * run.net.n_dropout + op.mask;
  if (op.kind == Kind::max_pool || op.kind == Kind::avg_pool) {
    for (int ch = 0; ch < in.channels; ++ch) {
      Vec* to = dx + ch * plane(in);
      for (int64_t i = 0; i < int64_t(in.height) * pitch(in) - 2 * in.pad; ++i) to[i] = Vec{};
      if (op.kind == Kind::avg_pool) average_unpool(p, dy + ch * plane(out), to);
      else
        max_unpool(p, y + ch * plane(out), dy + ch * plane(out), run.winners(op, v) + int64_t(ch) * out.height * out.width,
                   to, false);
    }
    return;
  }
  by_rows(in, out, [&](int64_t from, int64_t to, int64_t feature) {
    for (int col = 0; col < in.width; ++col)
      dx[from + col] = op.kind == Kind::dropout ? dy[to + col] * masks[feature + col]
                                                : send_through(op.kind, y[to + col], dy[to + col]);
  });
}

template <class Rule>
void backward(const Run& run, const Rule& rule) {
  for (int o = run.net.n_ops - 1; o >= 0; --o) {
    const Op& op = run.net.ops[o];
    if (op.kind == Kind::linear) {
      const DenseShape d = dense_shape(run.net, op);
      Vec* dy = run.gradient(op.out, 0);
      if (op.relu)
        for (int v = 0; v < run.n_vectors; ++v)
          for (int i = 0; i < d.outputs; ++i) {
            const int64_t at = v * d.stride + i;
            dy[at] = send_through(Kind::relu, run.value(op.out, 0)[at], dy[at]);
          }
      dense_backward(rule, d, run.memory, op.weight, op.bias, run.value(op.in, 0), dy,
                     op.in == 0 ? nullptr : run.gradient(op.in, 0), run.n_vectors);
    } else if (op.kind == Kind::conv) {
      const int64_t count = op.bias - op.weight + run.net.tensors[op.out].channels;  // the bias is stored after the weights
      for (int64_t p = 0; p < count; p += kSamples) vec(run.memory.parameter_gradient)[p / kSamples] = Vec{};
      for (int v = 0; v < run.n_vectors && !run.stopped(); ++v) conv_backward(run, op, v);
      update_parameters(rule, slots_at(run.memory, op.weight), count, run.memory.parameter_gradient);
    } else {
      for (int v = 0; v < run.n_vectors; ++v) backward_one(run, op, v);
    }
  }
}

void load_batch(const Run& run, const Batch& batch) {
  for (int v = 0; v < batch.vectors; ++v) load(batch, v, run.net.tensors[0], run.value(0, v));
}

void step(const Net& net, const Memory& memory, const Batch& batch, const Update& update, float* losses) {
  const FlushTiny flush;
  const Run run{net, memory, batch.vectors, true};
  load_batch(run, batch);
  if (batch.mask_keys != nullptr)
    for (int v = 0; v < batch.vectors; ++v)
      for (int o = 0; o < net.n_ops; ++o) {
        const Op& op = net.ops[o];
        const Tensor& t = net.tensors[op.in];
        if (op.kind == Kind::dropout)
          draw_masks(batch.mask_keys + v * kMaxLanes, op.mask, int64_t(t.channels) * t.height * t.width, op.rate,
                     vec(memory.masks) + v * net.n_dropout + op.mask);
      }
  forward(run);
  const int last = net.ops[net.n_ops - 1].out;
  for (int m = 0; m < kModels; ++m) losses[m] = 0;
  for (int v = 0; v < batch.vectors; ++v)
    cross_entropy(net.n_classes, batch.labels + v * kMaxLanes, batch.shares + v * kMaxLanes, run.value(last, v),
                  run.gradient(last, v), losses);
  if (update.kind == Optimizer::adam) backward(run, Adam(update));
  else if (update.nesterov || update.weight_decay != 0) backward(run, Sgd<false>(update));
  else backward(run, Sgd<true>(update));
}

void logits(const Net& net, const Memory& memory, const Batch& batch, float* out) {
  const FlushTiny flush;
  const Run run{net, memory, batch.vectors, false};
  load_batch(run, batch);
  forward(run);
  const int last = net.ops[net.n_ops - 1].out;
  for (int v = 0; v < batch.vectors; ++v)
    for (int c = 0; c < net.n_classes; ++c) vec(out)[v * net.n_classes + c] = run.value(last, v)[c];
}

float multiply_adds(int64_t rounds) {
  constexpr int chains = kRegisters == 32 ? 24 : 12;  // more than a core has under way at a time
  Vec sum[chains];
  for (Vec& one : sum) one = all(0.5f);
  const Vec factor = once(all(0.999f)), term = once(all(0.001f));
  for (int64_t round = 0; round < rounds; ++round)
#pragma GCC unroll 4
    for (int repeat = 0; repeat < kMultiplyAdds / chains; ++repeat)
#pragma GCC unroll 24
      for (int i = 0; i < chains; ++i) sum[i] = once(sum[i] * factor + term);
  float total = 0;
  for (Vec& one : sum) total += one[0];
  return total;
}

constexpr HotUnit kUnit = {kLanes, step, logits, multiply_adds};

}  // namespace
}  // namespace STEADYSET_LEVEL

const HotUnit& STEADYSET_ENTRY(hot_unit_)() { return STEADYSET_LEVEL::kUnit; }

}  // namespace steadyset::lanes
