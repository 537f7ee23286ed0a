// One step's tensors, and the shapes that kernels see of them.
#pragma once
#include "lanes/conv.hpp"
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
  float* at_points(const Op& op) const { return memory.at_points + op.at_points * kModels; }
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

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::lanes
