// The hot source file of the lanes trainer: one step of four models, forward, backward and update.
#include "lanes/dense.hpp"
#include "lanes/load.hpp"
#include "lanes/winograd_layer.hpp"

namespace steadyset::lanes {
namespace STEADYSET_LEVEL {
namespace {

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
    case Kind::conv:
      if (!op.points) conv_forward(run, op, v);
      else if (op.kernel_width == 5) winograd_forward<5>(run, op, v);
      else winograd_forward<3>(run, op, v);
      break;
    case Kind::linear: break;
    case Kind::max_pool:
      for (int ch = 0; ch < in.channels; ++ch)
        max_pool(p, x + ch * plane(in), y + ch * plane(out), run.winners(op, v) + int64_t(ch) * out.height * out.width, false);
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
    if (op.kind == Kind::linear) {
      dense_forward(dense_shape(run.net, op), run.parameter(op.weight), run.parameter(op.bias), run.value(op.in, 0),
                    run.value(op.out, 0), run.n_vectors, op.relu);
      continue;
    }
    if (op.points && op.kernel_width == 5) weights_at_points<5>(run.parameter(op.weight), run.at_points(op), op.kernel_rows);
    else if (op.points) weights_at_points<3>(run.parameter(op.weight), run.at_points(op), op.kernel_rows);
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
    } else if (op.points) {
      if (op.kernel_width == 5) winograd_step<5>(rule, run, op);
      else winograd_step<3>(rule, run, op);
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
