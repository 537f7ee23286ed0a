// SGD and Adam as torch.optim defines them, on vectors of kSamples weights by kModels models.
#pragma once
#include "lanes/vec.hpp"

namespace steadyset::lanes {
namespace STEADYSET_LEVEL {
namespace {

// A parameter and its moments, from one place on.
struct Slots {
  float *weights, *first, *second;

  LANES_INLINE void advance(int64_t parameters) {
    weights += parameters * kModels;
    first += parameters * kModels;
    second += parameters * kModels;
  }
};

LANES_INLINE Slots slots_at(const Memory& memory, int64_t parameter) {
  Slots slots{memory.weights, memory.first, memory.second};
  slots.advance(parameter);
  return slots;
}

// Plain leaves out what a zero weight decay and no Nesterov momentum would multiply by zero.
template <bool kPlain>
struct Sgd {
  static constexpr bool kDividesByGradients = false;
  Vec rate, momentum, decay, from_gradient, from_velocity;

  explicit Sgd(const Update& u)
      : rate(spread(u.rate)), momentum(all(u.momentum)), decay(all(u.weight_decay)),
        from_gradient(all(u.nesterov ? 1.0f : 0.0f)), from_velocity(all(u.nesterov ? u.momentum : 1.0f)) {}

  LANES_INLINE void operator()(Vec gradient, Vec* weight, Vec* velocity, Vec*) const {
    Vec w = *weight;
    if (!kPlain) gradient += decay * w;
    Vec v = momentum * *velocity + gradient;
    *velocity = v;
    if (kPlain) *weight = w - rate * v;
    else *weight = w - rate * (from_gradient * gradient + from_velocity * v);
  }
};

struct Adam {
  // However small a gradient is, the weight moves by about the rate: one that is zero must not be rounding.
  static constexpr bool kDividesByGradients = true;
  Vec rate, decay, beta1, beta2, epsilon, root_correction;

  explicit Adam(const Update& u)
      : rate(spread(u.rate) / spread(u.correction1)), decay(all(u.weight_decay)), beta1(all(u.beta1)), beta2(all(u.beta2)),
        epsilon(all(u.epsilon)), root_correction(spread(u.correction2)) {}

  LANES_INLINE void operator()(Vec gradient, Vec* weight, Vec* first, Vec* second) const {
    Vec w = *weight;
    gradient += decay * w;
    Vec m = *first + (1.0f - beta1) * (gradient - *first);
    Vec v = beta2 * *second + (1.0f - beta2) * gradient * gradient;
    *first = m;
    *second = v;
    *weight = w - rate * m / (square_root(v) / root_correction + epsilon);
  }
};

// `count` parameters whose gradients are summed over the samples (convolutions, biases): [parameter][model].
template <class Rule>
void update_parameters(const Rule rule, Slots slots, int64_t count, const float* gradient) {
  for (int64_t p = 0; p < count; p += kSamples, slots.advance(kSamples))
    rule(vec(gradient)[p / kSamples], vec(slots.weights), vec(slots.first), vec(slots.second));
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::lanes
