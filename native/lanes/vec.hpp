// Vectors of the native width, four models by as many samples as fit. Included by unit.cpp alone.
#pragma once
#include <cstdint>
#include <utility>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "lanes/net.hpp"
#include "simd/level.hpp"

namespace steadyset::lanes {
namespace STEADYSET_LEVEL {
namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int kRegisters = 32;
#else
constexpr int kRegisters = 16;
#endif
constexpr int kSamples = kLanes / kModels;

typedef float Vec __attribute__((vector_size(kLanes * 4), may_alias));
typedef int32_t Ints __attribute__((vector_size(kLanes * 4), may_alias));
typedef uint32_t Words __attribute__((vector_size(kLanes * 4), may_alias));
typedef float LooseVec __attribute__((vector_size(kLanes * 4), may_alias, aligned(4)));
typedef float Quad __attribute__((vector_size(kModels * 4), may_alias));

#define LANES_INLINE inline __attribute__((always_inline))

LANES_INLINE Vec all(float value) { return Vec{} + value; }

// One weight of each model, the same for every sample. GCC 12 takes a detour over the stack without the intrinsic.
LANES_INLINE Vec spread(const float* four) {
#if defined(__AVX512F__)
  return (Vec)_mm512_maskz_broadcast_f32x4(0xffff, _mm_load_ps(four));
#elif defined(__AVX__)
  return (Vec)_mm256_broadcast_ps(reinterpret_cast<const __m128*>(four));
#else
  return *reinterpret_cast<const Vec*>(four);
#endif
}

// A block of weights, each broadcast to all samples. Broadcasts keep the load ports busy and shuffles the arithmetic ones;
// where a weight is used only once, loads are the limit, so half of the block is made in each way.
LANES_INLINE void spread_block(const float* weights, Vec (&out)[kOutputBlock]) {
#if defined(__AVX512F__)
  for (int o = 0; o < 4; ++o) out[o] = spread(weights + o * kModels);
  const __m512 half = _mm512_load_ps(weights + 4 * kModels);
  out[4] = (Vec)_mm512_maskz_shuffle_f32x4(0xffff, half, half, 0x00);
  out[5] = (Vec)_mm512_maskz_shuffle_f32x4(0xffff, half, half, 0x55);
  out[6] = (Vec)_mm512_maskz_shuffle_f32x4(0xffff, half, half, 0xaa);
  out[7] = (Vec)_mm512_maskz_shuffle_f32x4(0xffff, half, half, 0xff);
#else
  for (int o = 0; o < kOutputBlock; ++o) out[o] = spread(weights + o * kModels);
#endif
}

// A value that is used more than once is loaded once: GCC would fold the load into every use and starve the load ports.
LANES_INLINE Vec once(Vec value) {
#if defined(__SSE2__)
  asm("" : "+v"(value));
#elif defined(__aarch64__)
  asm("" : "+w"(value));
#endif
  return value;
}

// The same address, of which the compiler knows nothing: it reads there again, and holds no registers for what it read.
LANES_INLINE const Vec* again(const Vec* at) {
  asm("" : "+r"(at));
  return at;
}

// A zero that is made where it stands: GCC would make it before a loop and hold a register for it all the way through.
LANES_INLINE Vec zero_here() {
  Vec zero = {};
#if defined(__SSE2__)
  asm volatile("" : "+v"(zero));
#elif defined(__aarch64__)
  asm volatile("" : "+w"(zero));
#endif
  return zero;
}

LANES_INLINE Vec larger(Vec a, Vec b) { return a > b ? a : b; }

// A NaN stays one, as in PyTorch: an overflow must not pass for a silent unit.
LANES_INLINE Vec rectified(Vec x) { return larger(Vec{}, x); }

// Sum over the samples of a vector: one value per model.
LANES_INLINE Quad over_samples(const Vec* value) {
  const Quad* part = reinterpret_cast<const Quad*>(value);
  Quad sum = part[0];
  for (int s = 1; s < kSamples; ++s) sum += part[s];
  return sum;
}

template <int... kAt>
using Places = std::integer_sequence<int, kAt...>;

// The values at these places of a and then b.
template <class Index, class Values, int... kAt>
LANES_INLINE Values pick(Values a, Values b, Places<kAt...>) {
#if defined(__clang__)
  return __builtin_shufflevector(a, b, kAt...);
#else
  return __builtin_shuffle(a, b, Index{kAt...});
#endif
}

// Adds every second block of kModels lanes to the block before it; the sums of a fill the lower half, those of b the upper.
template <int... kJ>
LANES_INLINE Vec fold(Vec a, Vec b, Places<kJ...>) {
  return pick<Ints>(a, b, Places<(kJ / kModels * 2 * kModels + kJ % kModels)...>{}) +
         pick<Ints>(a, b, Places<(kJ / kModels * 2 * kModels + kJ % kModels + kModels)...>{});
}

// Sums over the samples of kSamples vectors: one vector of as many parameters by models, as the weights are stored.
LANES_INLINE Vec fold_samples(const Vec* values) {
  constexpr std::make_integer_sequence<int, kLanes> lanes;
  if (kSamples == 4) return fold(fold(values[0], values[1], lanes), fold(values[2], values[3], lanes), lanes);
  if (kSamples == 2) return fold(values[0], values[1], lanes);
  return values[0];
}

// to[parameter][model] += the sums over the samples of kCount vectors.
template <int kCount>
LANES_INLINE void add_over_samples(const Vec* sums, float* to) {
#pragma GCC unroll 32
  for (int i = 0; i + kSamples <= kCount; i += kSamples)
    *reinterpret_cast<LooseVec*>(to + i * kModels) += fold_samples(sums + i);
#pragma GCC unroll 4
  for (int i = kCount / kSamples * kSamples; i < kCount; ++i)
    *reinterpret_cast<Quad*>(to + i * kModels) += over_samples(sums + i);
}

LANES_INLINE Vec square_root(Vec x) {
  Vec root;
  for (int lane = 0; lane < kLanes; ++lane) root[lane] = __builtin_sqrtf(x[lane]);
  return root;
}

// exp by 2^n e^r with |r| <= ln(2)/2 and Taylor's polynomial of degree 7 (error below 1e-8 there); saturates, keeps NaN.
LANES_INLINE Vec exponential(Vec x) {
  Vec held = x < all(-87.0f) ? all(-87.0f) : (x > all(88.0f) ? all(88.0f) : x);
  Vec shifted = held * 1.44269504f + 12582912.0f;  // adding 1.5 * 2^23 rounds to an integer in the low bits
  Vec n = shifted - 12582912.0f;
  Vec r = held - n * 0.693145752f - n * 1.42860677e-6f;  // ln 2 in two parts
  Vec p = all(1.0f / 5040) * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  Ints exponent = (Ints)shifted << 23;
  return (Vec)((Ints)p + exponent);
}

// While it lives, results too small for a normal float are zero. The velocity of a weight that gets no gradient any more
// (a dead ReLU) decays into that range and stays there, where each operation costs a hundred cycles.
class FlushTiny {
 public:
#if defined(__SSE2__)
  FlushTiny() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }
  ~FlushTiny() { _mm_setcsr(before_); }

 private:
  unsigned before_;
#elif defined(__aarch64__)
  FlushTiny() {
    asm volatile("mrs %0, fpcr" : "=r"(before_));
    asm volatile("msr fpcr, %0" : : "r"(before_ | (uint64_t{1} << 24)));
  }
  ~FlushTiny() { asm volatile("msr fpcr, %0" : : "r"(before_)); }

 private:
  uint64_t before_;
#endif
};

LANES_INLINE Vec* vec(float* p) { return reinterpret_cast<Vec*>(p); }
LANES_INLINE const Vec* vec(const float* p) { return reinterpret_cast<const Vec*>(p); }

LANES_INLINE int64_t pitch(const Tensor& t) { return t.width + 2 * t.pad; }
LANES_INLINE int64_t plane(const Tensor& t) { return pitch(t) * (t.height + 2 * t.pad); }
LANES_INLINE int64_t interior(const Tensor& t) { return t.offset + t.pad * pitch(t) + t.pad; }

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::lanes
