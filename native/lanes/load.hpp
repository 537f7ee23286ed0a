// Rows of X into lanes: each lane has its own row, so a block of rows is turned in registers.
#pragma once
#include "lanes/vec.hpp"

namespace steadyset::lanes {
namespace STEADYSET_LEVEL {
namespace {

// As many neighbouring features of one row as are turned together.
typedef uint8_t Bytes __attribute__((vector_size(16), may_alias, aligned(1)));
template <class Number> struct Piece;
template <> struct Piece<uint8_t> {
  typedef Bytes Loose;
  typedef uint8_t Kept __attribute__((vector_size(16), may_alias));
  typedef Kept Index;
  static constexpr int size = 16;
};
template <> struct Piece<float> {
  typedef LooseVec Loose;
  typedef Vec Kept;
  typedef Ints Index;
  static constexpr int size = kLanes;
};

// One feature of all lanes. GCC 12 converts bytes piece by piece without the intrinsics.
LANES_INLINE Vec read_lanes(const uint8_t* p) {
#if defined(__AVX512F__)
  const __m128i bytes = _mm_load_si128(reinterpret_cast<const __m128i*>(p));
  return (Vec)_mm512_maskz_cvtepi32_ps(0xffff, _mm512_maskz_cvtepu8_epi32(0xffff, bytes));
#elif defined(__AVX2__)
  return (Vec)_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
#else
  typedef uint8_t Four __attribute__((vector_size(kLanes), may_alias));
  return __builtin_convertvector(*reinterpret_cast<const Four*>(p), Vec);
#endif
}
LANES_INLINE Vec read_lanes(const float* p) { return *vec(p); }

// Turns [lane][feature] into [feature][lane]: interleaving the first half of the rows with the second rotates the bits of
// a place by one, so that log2(kLanes) rounds exchange the two indices.
template <class Number, int... kJ>
LANES_INLINE void turn(typename Piece<Number>::Kept* rows, Places<kJ...>) {
  using Index = typename Piece<Number>::Index;
  constexpr int size = Piece<Number>::size;
  constexpr Places<(kJ % 2 * size + kJ / 2)...> low;
  constexpr Places<(kJ % 2 * size + kJ / 2 + size / 2)...> high;
#pragma GCC unroll 4
  for (int round = 1; round < kLanes; round *= 2) {
    typename Piece<Number>::Kept next[kLanes];
#pragma GCC unroll 8
    for (int i = 0; i < kLanes / 2; ++i) {
      next[2 * i] = pick<Index>(rows[i], rows[i + kLanes / 2], low);
      next[2 * i + 1] = pick<Index>(rows[i], rows[i + kLanes / 2], high);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) rows[i] = next[i];
  }
}

// Features [feature, feature + count) of the lanes' rows, scaled.
template <class Number>
LANES_INLINE void load_features(const Batch& batch, const Number* const* rows, int64_t feature, int count, Vec* out) {
  constexpr int size = Piece<Number>::size;
  alignas(kLanes * 4) Number turned[size * kLanes];
  if (count == size) {
    typename Piece<Number>::Kept block[kLanes];
#pragma GCC unroll 16
    for (int lane = 0; lane < kLanes; ++lane)
      block[lane] = *reinterpret_cast<const typename Piece<Number>::Loose*>(rows[lane] + feature);
    turn<Number>(block, std::make_integer_sequence<int, size>{});
#pragma GCC unroll 16
    for (int lane = 0; lane < kLanes; ++lane)
      reinterpret_cast<typename Piece<Number>::Kept*>(turned)[lane] = block[lane];
  } else {
    for (int f = 0; f < count; ++f)
      for (int lane = 0; lane < kLanes; ++lane) turned[f * kLanes + lane] = rows[lane][feature + f];
  }
  const Vec scale = all(batch.common_scale), shift = all(batch.common_shift);
  for (int f = 0; f < count; ++f) {
    const Vec value = read_lanes(turned + f * kLanes);
    const int64_t at = (feature + f) * kModels;
    if (batch.scale == nullptr) out[f] = value * scale + shift;
    else out[f] = (value - spread(batch.shift + at)) * spread(batch.scale + at);
  }
}

template <class Number>
void load_rows(const Batch& batch, int v, const Tensor& t, Vec* out) {
  constexpr int size = Piece<Number>::size;
  const Number* rows[kLanes];
  for (int lane = 0; lane < kLanes; ++lane)
    rows[lane] = static_cast<const Number*>(batch.x) + batch.rows[v * kMaxLanes + lane] * batch.row_size;
  const int width = t.pad == 0 ? int(batch.row_size) : t.width;  // an unpadded tensor is one long row
  for (int64_t row = 0; row < batch.row_size / width; ++row) {
    Vec* to = t.pad == 0 ? out : out + row / t.height * plane(t) + row % t.height * pitch(t);
    for (int col = 0; col < width; col += size) {
      const int first = width - col < size && width > size ? width - size : col;  // the last piece overlaps the one before
      load_features(batch, rows, row * width + first, width < size ? width : size, to + first);
    }
  }
}

void load(const Batch& batch, int v, const Tensor& t, Vec* out) {
  if (batch.x_is_uint8) load_rows<uint8_t>(batch, v, t, out);
  else load_rows<float>(batch, v, t, out);
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::lanes
