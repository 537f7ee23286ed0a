// A vector of 64 bytes at every level, made of the machine's own registers: one of 64 bytes, two of 32 or four of 16.
// The width and the order of sums are the same everywhere, and so are the bits. A vector type wider than the machine's
// registers is never handed to the compiler: GCC turns its comparisons into scalar code.
#pragma once
#include <stdint.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "simd/level.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

constexpr int kVectorBytes = 64;
#if defined(__AVX512F__)
constexpr int kRegisterBytes = 64;
#elif defined(__AVX2__)
constexpr int kRegisterBytes = 32;
#else
constexpr int kRegisterBytes = 16;  // SSE2, NEON
#endif
constexpr int kParts = kVectorBytes / kRegisterBytes;

#define STEADYSET_EACH_PART _Pragma("GCC unroll 4") for (int i = 0; i < kParts; ++i)

template <class T> struct IntOf;
template <> struct IntOf<float> { using type = int32_t; };
template <> struct IntOf<double> { using type = int64_t; };
template <> struct IntOf<int32_t> { using type = int32_t; };
template <> struct IntOf<int64_t> { using type = int64_t; };
template <> struct IntOf<uint64_t> { using type = int64_t; };

template <class T> struct Vec {
  typedef T Register __attribute__((vector_size(kRegisterBytes), may_alias));
  typedef T Loose __attribute__((vector_size(kRegisterBytes), aligned(1), may_alias));  // at any address
  using Scalar = T;
  static constexpr int lanes = kVectorBytes / static_cast<int>(sizeof(T));
  static constexpr int register_lanes = kRegisterBytes / static_cast<int>(sizeof(T));

  Register part[kParts];

  T lane(int l) const { return part[l / register_lanes][l % register_lanes]; }
  void set_lane(int l, T value) { part[l / register_lanes][l % register_lanes] = value; }
};

// What a comparison gives: all bits of a lane are set where it holds.
template <class T> using Mask = Vec<typename IntOf<T>::type>;

template <class T> inline Vec<T> load(const T* p) {
  using Loose = typename Vec<T>::Loose;
  Vec<T> v;
  STEADYSET_EACH_PART v.part[i] = reinterpret_cast<const Loose*>(p)[i];
  return v;
}
template <class T> inline void store(T* p, const Vec<T>& v) {
  using Loose = typename Vec<T>::Loose;
  STEADYSET_EACH_PART reinterpret_cast<Loose*>(p)[i] = v.part[i];
}
template <class T> inline Vec<T> broadcast(T x) {
  Vec<T> v;
  STEADYSET_EACH_PART v.part[i] = x - typename Vec<T>::Register{};  // x - 0 is x, -0 included
  return v;
}
template <class T> inline Vec<T> zeros() { return Vec<T>{}; }

// Eight numbers at p, widened.
inline Vec<double> load_as_doubles(const double* p) { return load(p); }
inline Vec<double> load_as_doubles(const float* p) {
  Vec<double> v;
#if defined(__AVX512F__)
  v.part[0] = _mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(p));
#elif defined(__AVX2__)
  v.part[0] = _mm256_cvtps_pd(_mm_loadu_ps(p));
  v.part[1] = _mm256_cvtps_pd(_mm_loadu_ps(p + 4));
#elif defined(__SSE2__)
  STEADYSET_EACH_PART v.part[i] = _mm_cvtps_pd(_mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p + 2 * i))));
#else
  float lane[8];
  __builtin_memcpy(lane, p, sizeof lane);
  STEADYSET_EACH_PART v.part[i] = Vec<double>::Register{lane[2 * i], lane[2 * i + 1]};
#endif
  return v;
}

// Eight integers as doubles.
#if defined(__AVX2__)
inline Vec<double> as_doubles(__m256i x) {
  Vec<double> v;
#if defined(__AVX512F__)
  v.part[0] = _mm512_maskz_cvtepi32_pd(0xff, x);
#else
  v.part[0] = _mm256_cvtepi32_pd(_mm256_castsi256_si128(x));
  v.part[1] = _mm256_cvtepi32_pd(_mm256_extracti128_si256(x, 1));
#endif
  return v;
}
inline Vec<double> load_as_doubles(const int32_t* p) { return as_doubles(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))); }
#else
inline Vec<double> load_as_doubles(const int32_t* p) {
  Vec<double> v;
#if defined(__SSE2__)
  STEADYSET_EACH_PART v.part[i] = _mm_cvtepi32_pd(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p + 2 * i)));
#else
  STEADYSET_EACH_PART v.part[i] = Vec<double>::Register{static_cast<double>(p[2 * i]), static_cast<double>(p[2 * i + 1])};
#endif
  return v;
}
#endif

// The lower halves of eight words, to p.
inline void store_low_halves(uint32_t* p, const Vec<uint64_t>& v) {
#if defined(__AVX512F__)
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_maskz_cvtepi64_epi32(0xff, reinterpret_cast<__m512i>(v.part[0])));
#elif defined(__AVX2__)
  __m256 even = _mm256_shuffle_ps(reinterpret_cast<__m256>(v.part[0]), reinterpret_cast<__m256>(v.part[1]), 0x88);
  __m256i in_order = _mm256_permute4x64_epi64(reinterpret_cast<__m256i>(even), 0xd8);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), in_order);
#else
  for (int l = 0; l < 8; ++l) p[l] = static_cast<uint32_t>(v.lane(l));
#endif
}

// Eight doubles rounded to floats, to p.
inline void store_as_floats(float* p, const Vec<double>& v) {
#if defined(__AVX512F__)
  _mm256_storeu_ps(p, _mm512_maskz_cvtpd_ps(0xff, v.part[0]));
#elif defined(__AVX2__)
  STEADYSET_EACH_PART _mm_storeu_ps(p + 4 * i, _mm256_cvtpd_ps(v.part[i]));
#else
  for (int l = 0; l < 8; ++l) p[l] = static_cast<float>(v.lane(l));
#endif
}

#define STEADYSET_ARITHMETIC(op)                                                        \
  template <class T> inline Vec<T> operator op(const Vec<T>& a, const Vec<T>& b) {      \
    Vec<T> v;                                                                           \
    STEADYSET_EACH_PART v.part[i] = a.part[i] op b.part[i];                             \
    return v;                                                                           \
  }                                                                                     \
  template <class T> inline Vec<T> operator op(const Vec<T>& a, typename Vec<T>::Scalar b) { \
    return a op broadcast<T>(b);                                                        \
  }                                                                                     \
  template <class T> inline Vec<T> operator op(typename Vec<T>::Scalar a, const Vec<T>& b) { \
    return broadcast<T>(a) op b;                                                        \
  }
STEADYSET_ARITHMETIC(+)
STEADYSET_ARITHMETIC(-)
STEADYSET_ARITHMETIC(*)
STEADYSET_ARITHMETIC(/)
STEADYSET_ARITHMETIC(&)
STEADYSET_ARITHMETIC(|)
STEADYSET_ARITHMETIC(^)
#undef STEADYSET_ARITHMETIC

template <class T> inline Vec<T> operator>>(const Vec<T>& a, int by) {
  Vec<T> v;
  STEADYSET_EACH_PART v.part[i] = a.part[i] >> by;
  return v;
}

template <class T> inline Vec<T> operator<<(const Vec<T>& a, int by) {
  Vec<T> v;
  STEADYSET_EACH_PART v.part[i] = a.part[i] << by;
  return v;
}

#define STEADYSET_COMPARISON(op)                                                            \
  template <class T> inline Mask<T> operator op(const Vec<T>& a, const Vec<T>& b) {         \
    Mask<T> m;                                                                              \
    STEADYSET_EACH_PART m.part[i] = a.part[i] op b.part[i];                                 \
    return m;                                                                               \
  }                                                                                         \
  template <class T> inline Mask<T> operator op(const Vec<T>& a, typename Vec<T>::Scalar b) { \
    return a op broadcast<T>(b);                                                            \
  }
STEADYSET_COMPARISON(>)
STEADYSET_COMPARISON(>=)
STEADYSET_COMPARISON(<)
STEADYSET_COMPARISON(<=)
STEADYSET_COMPARISON(==)
STEADYSET_COMPARISON(!=)
#undef STEADYSET_COMPARISON

template <class T> inline Vec<T> pick(const Mask<T>& where, const Vec<T>& yes, const Vec<T>& no) {
  Vec<T> v;
  STEADYSET_EACH_PART v.part[i] = where.part[i] ? yes.part[i] : no.part[i];
  return v;
}
// The lanes where the comparison holds, and 0 elsewhere.
template <class T> inline Vec<T> only(const Mask<T>& where, const Vec<T>& v) {
  using Register = typename Vec<T>::Register;
  using Bits = typename Mask<T>::Register;
  Vec<T> kept;
  STEADYSET_EACH_PART kept.part[i] = reinterpret_cast<Register>(where.part[i] & reinterpret_cast<Bits>(v.part[i]));
  return kept;
}
// a > b ? a : b: b where either is NaN.
template <class T> inline Vec<T> larger(const Vec<T>& a, const Vec<T>& b) { return pick<T>(a > b, a, b); }
template <class T> inline Vec<T> smaller(const Vec<T>& a, const Vec<T>& b) { return pick<T>(a < b, a, b); }

#if defined(__SSE2__)  // the machine's maximum and minimum give just that
#if defined(__AVX512F__)
#define STEADYSET_EXTREME(name, what) \
  inline Vec<float> name(const Vec<float>& a, const Vec<float>& b) { return {{_mm512_maskz_##what##_ps(0xffff, a.part[0], b.part[0])}}; } \
  inline Vec<double> name(const Vec<double>& a, const Vec<double>& b) { return {{_mm512_maskz_##what##_pd(0xff, a.part[0], b.part[0])}}; }
#else
#if defined(__AVX2__)
#define STEADYSET_MACHINE(what) _mm256_##what
#else
#define STEADYSET_MACHINE(what) _mm_##what
#endif
#define STEADYSET_EXTREME(name, what)                                               \
  inline Vec<float> name(const Vec<float>& a, const Vec<float>& b) {                \
    Vec<float> v;                                                                   \
    STEADYSET_EACH_PART v.part[i] = STEADYSET_MACHINE(what##_ps)(a.part[i], b.part[i]); \
    return v;                                                                       \
  }                                                                                 \
  inline Vec<double> name(const Vec<double>& a, const Vec<double>& b) {             \
    Vec<double> v;                                                                  \
    STEADYSET_EACH_PART v.part[i] = STEADYSET_MACHINE(what##_pd)(a.part[i], b.part[i]); \
    return v;                                                                       \
  }
#endif
STEADYSET_EXTREME(larger, max)
STEADYSET_EXTREME(smaller, min)
#undef STEADYSET_EXTREME
#undef STEADYSET_MACHINE
#endif

// The bits of the lanes as integers.
template <class T> inline Mask<T> bits_of(const Vec<T>& v) {
  Mask<T> m;
  STEADYSET_EACH_PART m.part[i] = reinterpret_cast<typename Mask<T>::Register>(v.part[i]);
  return m;
}

inline Vec<double> root(const Vec<double>& v) {
  Vec<double> r;
#if defined(__AVX512F__)
  r.part[0] = _mm512_maskz_sqrt_pd(0xff, v.part[0]);
#elif defined(__AVX2__)
  STEADYSET_EACH_PART r.part[i] = _mm256_sqrt_pd(v.part[i]);
#elif defined(__SSE2__)
  STEADYSET_EACH_PART r.part[i] = _mm_sqrt_pd(v.part[i]);
#else
  for (int l = 0; l < Vec<double>::lanes; ++l) r.set_lane(l, __builtin_sqrt(v.lane(l)));
#endif
  return r;
}

// a * b + c with one rounding. Without such an instruction it is slow, and the same to the bit.
inline Vec<double> fused(const Vec<double>& a, const Vec<double>& b, const Vec<double>& c) {
  Vec<double> r;
#if defined(__AVX512F__)
  r.part[0] = _mm512_fmadd_pd(a.part[0], b.part[0], c.part[0]);
#elif defined(__FMA__)
  STEADYSET_EACH_PART r.part[i] = _mm256_fmadd_pd(a.part[i], b.part[i], c.part[i]);
#else
  for (int l = 0; l < Vec<double>::lanes; ++l) r.set_lane(l, __builtin_fma(a.lane(l), b.lane(l), c.lane(l)));
#endif
  return r;
}

template <class Int> inline bool any(const Vec<Int>& m) {
#if defined(__AVX512F__)
  __m512i x = reinterpret_cast<__m512i>(m.part[0]);
  return _mm512_test_epi64_mask(x, x) != 0;
#elif defined(__AVX2__)
  __m256i x = reinterpret_cast<__m256i>(m.part[0] | m.part[1]);
  return !_mm256_testz_si256(x, x);
#else
  typedef int64_t Words __attribute__((vector_size(16)));
  Words w = reinterpret_cast<Words>((m.part[0] | m.part[1]) | (m.part[2] | m.part[3]));
  return (w[0] | w[1]) != 0;
#endif
}

// One bit per lane of a comparison, the lowest for lane 0.
inline unsigned lane_bits(const Mask<float>& m) {
#if defined(__AVX512F__)
  return _mm512_movepi32_mask(reinterpret_cast<__m512i>(m.part[0]));
#elif defined(__AVX2__)
  return static_cast<unsigned>(_mm256_movemask_ps(reinterpret_cast<__m256>(m.part[0])) |
                               _mm256_movemask_ps(reinterpret_cast<__m256>(m.part[1])) << 8);
#elif defined(__SSE2__)
  unsigned bits = 0;
  STEADYSET_EACH_PART bits |= static_cast<unsigned>(_mm_movemask_ps(reinterpret_cast<__m128>(m.part[i]))) << (4 * i);
  return bits;
#else
  unsigned bits = 0;
  for (int l = 0; l < 16; ++l) bits |= static_cast<unsigned>(m.lane(l) & 1) << l;
  return bits;
#endif
}
inline unsigned lane_bits(const Mask<double>& m) {
#if defined(__AVX512F__)
  return _mm512_movepi64_mask(reinterpret_cast<__m512i>(m.part[0]));
#elif defined(__AVX2__)
  return static_cast<unsigned>(_mm256_movemask_pd(reinterpret_cast<__m256d>(m.part[0])) |
                               _mm256_movemask_pd(reinterpret_cast<__m256d>(m.part[1])) << 4);
#elif defined(__SSE2__)
  unsigned bits = 0;
  STEADYSET_EACH_PART bits |= static_cast<unsigned>(_mm_movemask_pd(reinterpret_cast<__m128d>(m.part[i]))) << (2 * i);
  return bits;
#else
  unsigned bits = 0;
  for (int l = 0; l < 8; ++l) bits |= static_cast<unsigned>(m.lane(l) & 1) << l;
  return bits;
#endif
}

// The lanes added one after the other, from lane 0 on.
template <class T> inline T sum_in_order(const Vec<T>& v) {
  T total = 0;
  for (int l = 0; l < Vec<T>::lanes; ++l) total += v.lane(l);
  return total;
}

template <class T> inline T largest_lane(const Vec<T>& v) {
  T lane[Vec<T>::lanes];
  store(lane, v);
  for (int half = Vec<T>::lanes / 2; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) lane[l] = lane[l + half] > lane[l] ? lane[l + half] : lane[l];
  return lane[0];
}

// A byte per lane, 1 where the comparison holds and 0 elsewhere: 16 bytes for floats, 8 for doubles.
inline void store_bytes(uint8_t* out, const Mask<float>& m) {
#if defined(__AVX512F__)
  __mmask16 in = _mm512_movepi32_mask(reinterpret_cast<__m512i>(m.part[0]));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_maskz_set1_epi8(in, 1));
#elif defined(__AVX2__)
  __m256i a = reinterpret_cast<__m256i>(m.part[0]), b = reinterpret_cast<__m256i>(m.part[1]);
  __m128i low = _mm_packs_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
  __m128i high = _mm_packs_epi32(_mm256_castsi256_si128(b), _mm256_extracti128_si256(b, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_abs_epi8(_mm_packs_epi16(low, high)));
#elif defined(__SSE2__)
  __m128i low = _mm_packs_epi32(reinterpret_cast<__m128i>(m.part[0]), reinterpret_cast<__m128i>(m.part[1]));
  __m128i high = _mm_packs_epi32(reinterpret_cast<__m128i>(m.part[2]), reinterpret_cast<__m128i>(m.part[3]));
  __m128i in = _mm_and_si128(_mm_packs_epi16(low, high), _mm_set1_epi8(1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), in);
#else
  typedef int16_t Shorts __attribute__((vector_size(8)));
  typedef int8_t Bytes __attribute__((vector_size(4)));
  STEADYSET_EACH_PART {
    Shorts in = __builtin_convertvector(m.part[i], Shorts);
    Bytes ones = __builtin_convertvector(-in, Bytes);
    __builtin_memcpy(out + 4 * i, &ones, 4);
  }
#endif
}
inline void store_bytes(uint8_t* out, const Mask<double>& m) {
#if defined(__AVX512F__)
  __mmask8 in = _mm512_movepi64_mask(reinterpret_cast<__m512i>(m.part[0]));
  __m128i ones = _mm_maskz_set1_epi8(in, 1);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out), ones);
#elif defined(__AVX2__)
  __m256i a = reinterpret_cast<__m256i>(m.part[0]), b = reinterpret_cast<__m256i>(m.part[1]);
  __m128i low = _mm_packs_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
  __m128i high = _mm_packs_epi32(_mm256_castsi256_si128(b), _mm256_extracti128_si256(b, 1));
  // Each lane is two words of 16 bits by now: pack, then keep one byte of two.
  __m128i words = _mm_packs_epi32(low, high);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm_abs_epi8(_mm_packs_epi16(words, words)));
#else
  for (int l = 0; l < 8; ++l) out[l] = static_cast<uint8_t>(m.lane(l) & 1);
#endif
}

// Numbers at any address, as many as a register holds on every CPU.
typedef int32_t Four __attribute__((vector_size(16), aligned(4), may_alias));
typedef float FourFloats __attribute__((vector_size(16), aligned(4), may_alias));
typedef int64_t Pair __attribute__((vector_size(16), aligned(4), may_alias));
typedef double TwoDoubles __attribute__((vector_size(16), aligned(8), may_alias));

#if defined(__clang__)
#define STEADYSET_SHUFFLE(type, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define STEADYSET_SHUFFLE(type, a, b, ...) __builtin_shuffle(a, b, type{__VA_ARGS__})
#endif
template <class Of> inline Of lower_by_turns(Of a, Of b) { return STEADYSET_SHUFFLE(Four, a, b, 0, 4, 1, 5); }
template <class Of> inline Of upper_by_turns(Of a, Of b) { return STEADYSET_SHUFFLE(Four, a, b, 2, 6, 3, 7); }
template <class To, class Of> inline To lower_halves(Of a, Of b) {
  return reinterpret_cast<To>(STEADYSET_SHUFFLE(Pair, reinterpret_cast<Pair>(a), reinterpret_cast<Pair>(b), 0, 2));
}
template <class To, class Of> inline To upper_halves(Of a, Of b) {
  return reinterpret_cast<To>(STEADYSET_SHUFFLE(Pair, reinterpret_cast<Pair>(a), reinterpret_cast<Pair>(b), 1, 3));
}
#undef STEADYSET_SHUFFLE

// Turns four rows of four numbers of 32 bits, `from` apart, into four columns, `to` apart.
template <class T> inline void turn_four(const T* rows, int64_t from, T* out, int64_t to) {
  static_assert(sizeof(T) == 4);
  Four x[4];
  for (int i = 0; i < 4; ++i) x[i] = *reinterpret_cast<const Four*>(rows + from * i);
  Four low01 = lower_by_turns(x[0], x[1]), low23 = lower_by_turns(x[2], x[3]);
  Four high01 = upper_by_turns(x[0], x[1]), high23 = upper_by_turns(x[2], x[3]);
  *reinterpret_cast<Four*>(out) = lower_halves<Four>(low01, low23);
  *reinterpret_cast<Four*>(out + to) = upper_halves<Four>(low01, low23);
  *reinterpret_cast<Four*>(out + 2 * to) = lower_halves<Four>(high01, high23);
  *reinterpret_cast<Four*>(out + 3 * to) = upper_halves<Four>(high01, high23);
}

#if defined(__SSE2__)
inline FourFloats larger(FourFloats a, FourFloats b) { return _mm_max_ps(a, b); }
inline TwoDoubles larger(TwoDoubles a, TwoDoubles b) { return _mm_max_pd(a, b); }
#else
inline FourFloats larger(FourFloats a, FourFloats b) { return a > b ? a : b; }
inline TwoDoubles larger(TwoDoubles a, TwoDoubles b) { return a > b ? a : b; }
#endif
inline FourFloats load_few(const float* p) { return *reinterpret_cast<const FourFloats*>(p); }
inline TwoDoubles load_few(const double* p) { return *reinterpret_cast<const TwoDoubles*>(p); }

// The largest entries, lane by lane, of a row of at least as many as a register of 16 bytes holds.
template <class T> inline auto largest_by_lanes(const T* row, int64_t n) {
  constexpr int64_t lanes = 16 / sizeof(T);
  auto most = load_few(row + n - lanes);  // meets the one before it, which changes no maximum
  for (int64_t j = 0; j + lanes < n; j += lanes) most = larger(most, load_few(row + j));
  return most;
}

// The largest of each of four rows of n >= 4 numbers, one row after the other; any of a row's entries if one is NaN.
inline void largest_of_four_rows(const float* rows, int64_t n, float* out) {
  FourFloats x[4];
  for (int i = 0; i < 4; ++i) x[i] = largest_by_lanes(rows + n * i, n);
  FourFloats a = larger(lower_by_turns(x[0], x[1]), upper_by_turns(x[0], x[1]));
  FourFloats b = larger(lower_by_turns(x[2], x[3]), upper_by_turns(x[2], x[3]));
  *reinterpret_cast<FourFloats*>(out) = larger(lower_halves<FourFloats>(a, b), upper_halves<FourFloats>(a, b));
}
inline void largest_of_four_rows(const double* rows, int64_t n, double* out) {
  for (int i = 0; i < 4; i += 2) {
    TwoDoubles a = largest_by_lanes(rows + n * i, n), b = largest_by_lanes(rows + n * (i + 1), n);
    *reinterpret_cast<TwoDoubles*>(out + i) = larger(lower_halves<TwoDoubles>(a, b), upper_halves<TwoDoubles>(a, b));
  }
}

// Turns eight rows of sixteen integers, one after the other, into sixteen columns of eight, `stride` apart.
#if defined(__AVX2__)
inline void turn_half(const int32_t* rows, int32_t* out, int64_t stride) {  // eight of the columns
  const auto row = [rows](int r) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows + 16 * r)); };
  __m256i pair[8], four[8];
#pragma GCC unroll 4
  for (int r = 0; r < 8; r += 2) {
    pair[r] = _mm256_unpacklo_epi32(row(r), row(r + 1));
    pair[r + 1] = _mm256_unpackhi_epi32(row(r), row(r + 1));
  }
#pragma GCC unroll 2
  for (int r = 0; r < 8; r += 4) {
    four[r] = _mm256_unpacklo_epi64(pair[r], pair[r + 2]);
    four[r + 1] = _mm256_unpackhi_epi64(pair[r], pair[r + 2]);
    four[r + 2] = _mm256_unpacklo_epi64(pair[r + 1], pair[r + 3]);
    four[r + 3] = _mm256_unpackhi_epi64(pair[r + 1], pair[r + 3]);
  }
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    __m256i low = _mm256_permute2x128_si256(four[c], four[c + 4], 0x20);
    __m256i high = _mm256_permute2x128_si256(four[c], four[c + 4], 0x31);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + stride * c), low);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + stride * (c + 4)), high);
  }
}
inline void turn_columns(const int32_t* rows, int32_t* out, int64_t stride) {
  turn_half(rows, out, stride);
  turn_half(rows + 8, out + 8 * stride, stride);
}
#else
inline void turn_columns(const int32_t* rows, int32_t* out, int64_t stride) {
  for (int r = 0; r < 8; r += 4)
    for (int c = 0; c < 16; c += 4) turn_four(rows + 16 * r + c, 16, out + stride * c + r, stride);
}
#endif

#if defined(__AVX2__) && !defined(__AVX512F__)
// For each choice of four doubles, the 32-bit lanes that bring the chosen ones to the front.
alignas(32) constexpr int32_t kToFront[16][8] = {
    {0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}, {2, 3, 0, 1, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7},
    {4, 5, 0, 1, 2, 3, 6, 7}, {0, 1, 4, 5, 2, 3, 6, 7}, {2, 3, 4, 5, 0, 1, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7},
    {6, 7, 0, 1, 2, 3, 4, 5}, {0, 1, 6, 7, 2, 3, 4, 5}, {2, 3, 6, 7, 0, 1, 4, 5}, {0, 1, 2, 3, 6, 7, 4, 5},
    {4, 5, 6, 7, 0, 1, 2, 3}, {0, 1, 4, 5, 6, 7, 2, 3}, {2, 3, 4, 5, 6, 7, 0, 1}, {0, 1, 2, 3, 4, 5, 6, 7}};
#endif

#if defined(__AVX2__) && !defined(__AVX512F__)
// The same for each choice of eight floats: a byte for each lane.
struct FloatsToFront {
  uint64_t lanes[256];
  constexpr FloatsToFront() : lanes() {
    for (int bits = 0; bits < 256; ++bits) {
      int to = 0;
      for (int l = 0; l < 8; ++l)
        if (bits >> l & 1) lanes[bits] |= static_cast<uint64_t>(l) << (8 * to++);
    }
  }
};
constexpr FloatsToFront kFloatsToFront;
#endif

// Writes the chosen lanes to out, in their order, and returns how many they are. All of out[0..8) may be overwritten.
inline int64_t compress(double* out, const Mask<double>& chosen, const Vec<double>& v) {
#if defined(__AVX512F__)
  __mmask8 bits = static_cast<__mmask8>(lane_bits(chosen));
  _mm512_storeu_pd(out, _mm512_maskz_compress_pd(bits, v.part[0]));
  return __builtin_popcount(bits);
#elif defined(__AVX2__)
  int64_t n = 0;
  STEADYSET_EACH_PART {
    int bits = _mm256_movemask_pd(reinterpret_cast<__m256d>(chosen.part[i]));
    __m256i at = _mm256_load_si256(reinterpret_cast<const __m256i*>(kToFront[bits]));
    __m256 moved = _mm256_permutevar8x32_ps(reinterpret_cast<__m256>(v.part[i]), at);
    _mm256_storeu_ps(reinterpret_cast<float*>(out + n), moved);
    n += __builtin_popcount(static_cast<unsigned>(bits));
  }
  return n;
#else
  int64_t n = 0;
  for (int l = 0; l < 8; ++l) {
    double x = v.lane(l);
    out[n] = x;
    n += chosen.lane(l) & 1;
  }
  return n;
#endif
}
// The same for floats: all of out[0..16) may be overwritten.
inline int64_t compress(float* out, const Mask<float>& chosen, const Vec<float>& v) {
#if defined(__AVX512F__)
  __mmask16 bits = static_cast<__mmask16>(lane_bits(chosen));
  _mm512_storeu_ps(out, _mm512_maskz_compress_ps(bits, v.part[0]));
  return __builtin_popcount(bits);
#elif defined(__AVX2__)
  int64_t n = 0;
  STEADYSET_EACH_PART {
    int bits = _mm256_movemask_ps(reinterpret_cast<__m256>(chosen.part[i]));
    __m256i at = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(kFloatsToFront.lanes[bits])));
    _mm256_storeu_ps(out + n, _mm256_permutevar8x32_ps(v.part[i], at));
    n += __builtin_popcount(static_cast<unsigned>(bits));
  }
  return n;
#else
  int64_t n = 0;
  for (int l = 0; l < 16; ++l) {
    float x = v.lane(l);
    out[n] = x;
    n += chosen.lane(l) & 1;
  }
  return n;
#endif
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset
