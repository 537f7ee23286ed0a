// Vectors of one width for every instruction set, so that every level gives the same bits.
// Included inside the anonymous namespace of unit.cpp.

template <class T> struct Vec;
template <> struct Vec<float> {
  typedef float type __attribute__((vector_size(64), aligned(4), may_alias));
  typedef int32_t ints __attribute__((vector_size(64), aligned(4), may_alias));
  typedef int8_t bytes __attribute__((vector_size(16), aligned(1), may_alias));
  static constexpr int lanes = 16;
  static constexpr int32_t magnitude = 0x7fffffff, infinity = 0x7f800000;
  using Int = int32_t;
};
template <> struct Vec<double> {
  typedef double type __attribute__((vector_size(64), aligned(8), may_alias));
  typedef int64_t ints __attribute__((vector_size(64), aligned(8), may_alias));
  typedef int8_t bytes __attribute__((vector_size(8), aligned(1), may_alias));
  static constexpr int lanes = 8;
  static constexpr int64_t magnitude = 0x7fffffffffffffff, infinity = 0x7ff0000000000000;
  using Int = int64_t;
};

template <class T> inline typename Vec<T>::Int bits_of(T x) {
  typename Vec<T>::Int bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}

template <class T> struct Extent {
  T max;
  bool finite;
};

// The largest entry of a contiguous row, and whether all entries are finite.
template <class T> inline Extent<T> extent(const T* row, int64_t n) {
  using V = Vec<T>;
  using Reals = typename V::type;
  using Ints = typename V::ints;
  constexpr int lanes = V::lanes;
  T max = row[0];
  typename V::Int magnitude = 0;
  int64_t j = 0;
  if (n >= lanes) {
    Reals best0 = *reinterpret_cast<const Reals*>(row), best1 = best0;
    Ints big0 = reinterpret_cast<Ints>(best0) & V::magnitude, big1 = big0;
    for (; j + 2 * lanes <= n; j += 2 * lanes) {
      Reals x0 = *reinterpret_cast<const Reals*>(row + j), x1 = *reinterpret_cast<const Reals*>(row + j + lanes);
      Ints m0 = reinterpret_cast<Ints>(x0) & V::magnitude, m1 = reinterpret_cast<Ints>(x1) & V::magnitude;
      best0 = x0 > best0 ? x0 : best0;
      best1 = x1 > best1 ? x1 : best1;
      big0 = m0 > big0 ? m0 : big0;
      big1 = m1 > big1 ? m1 : big1;
    }
    best0 = best1 > best0 ? best1 : best0;
    big0 = big1 > big0 ? big1 : big0;
    for (int l = 0; l < lanes; ++l) {
      max = best0[l] > max ? best0[l] : max;
      magnitude = big0[l] > magnitude ? big0[l] : magnitude;
    }
  }
  for (; j < n; ++j) {
    typename V::Int m = bits_of(row[j]) & V::magnitude;
    max = row[j] > max ? row[j] : max;
    magnitude = m > magnitude ? m : magnitude;
  }
  return {max, magnitude < V::infinity};
}

// out[j] = row[j] >= threshold; returns how many.
template <class T> inline int64_t write_mask(const T* row, int64_t n, T threshold, uint8_t* out) {
  using V = Vec<T>;
  using Reals = typename V::type;
  using Ints = typename V::ints;
  constexpr int lanes = V::lanes;
  Ints negative_count = {};
  int64_t j = 0;
  for (; j + lanes <= n; j += lanes) {
    Ints in = *reinterpret_cast<const Reals*>(row + j) >= threshold;  // -1 where true
    negative_count += in;
    *reinterpret_cast<typename V::bytes*>(out + j) = __builtin_convertvector(-in, typename V::bytes);
  }
  int64_t count = 0;
  for (int l = 0; l < lanes; ++l) count -= negative_count[l];
  for (; j < n; ++j) {
    out[j] = row[j] >= threshold;
    count += out[j];
  }
  return count;
}

// Whether any of the 64 / sizeof(T) entries at p reaches the threshold.
template <class T> inline bool any_reaches(const T* p, T threshold) {
  using Ints = typename Vec<T>::ints;
  typedef int64_t Words __attribute__((vector_size(64)));
  Ints in = *reinterpret_cast<const typename Vec<T>::type*>(p) >= threshold;
#if defined(__AVX512F__)
  return _mm512_test_epi64_mask(reinterpret_cast<__m512i>(in), reinterpret_cast<__m512i>(in)) != 0;
#else
  Words w = reinterpret_cast<Words>(in);
  return ((w[0] | w[1]) | (w[2] | w[3]) | (w[4] | w[5]) | (w[6] | w[7])) != 0;
#endif
}
