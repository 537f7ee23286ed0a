// Every operation of simd/simd.hpp against a loop over single numbers, on random bits and on the numbers that are easily
// got wrong. Prints how many results were compared; the first difference ends it with 1.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "simd/simd.hpp"

using namespace steadyset::STEADYSET_LEVEL;

namespace {

long compared = 0;

template <class T> void same(const char* what, const T& got, const T& wanted) {
  ++compared;
  if (std::memcmp(&got, &wanted, sizeof(T)) == 0) return;
  if (got != got && wanted != wanted) return;  // any NaN will do
  std::printf("%s differs\n", what);
  std::exit(1);
}

std::mt19937_64 draw(20240517);

template <class T> T number() {
  static const double special[] = {0.0, -0.0, 1.0, -1.0, 0.5, INFINITY, -INFINITY, NAN, 1e-310, 3e38, -3e38, 1e-45, 7.0};
  switch (draw() % 4) {
    case 0: return static_cast<T>(special[draw() % 13]);
    case 1: return static_cast<T>(static_cast<double>(draw() % 1000) / 999 - 0.5);
    case 2: return static_cast<T>(static_cast<double>(draw() % 5));  // ties
  }
  T x;
  unsigned long long bits = draw();
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

template <class T> T pick_of(bool where, T yes, T no) { return where ? yes : no; }

template <class T> struct Round {
  static constexpr int n = Vec<T>::lanes;
  using Int = typename IntOf<T>::type;
  alignas(64) unsigned char room[2 * 64 * 3 + 3];
  T x[n], y[n], z[n];

  void fill() {
    for (int l = 0; l < n; ++l) x[l] = number<T>(), y[l] = draw() % 3 ? number<T>() : x[l], z[l] = number<T>();
  }
  void lanes(const char* what, const Vec<T>& got, T (*wanted)(T, T, T)) {
    for (int l = 0; l < n; ++l) same(what, got.lane(l), wanted(x[l], y[l], z[l]));
  }
  void holds(const char* what, const Mask<T>& got, bool (*wanted)(T, T)) {
    bool some = false;
    unsigned bits = 0;
    uint8_t bytes[n], by_loop[n];
    for (int l = 0; l < n; ++l) {
      bool is = wanted(x[l], y[l]);
      some |= is;
      bits |= static_cast<unsigned>(is) << l;
      by_loop[l] = is;
      same(what, got.lane(l), static_cast<Int>(is ? -1 : 0));
    }
    same("any", any(got), some);
    same("lane_bits", lane_bits(got), bits);
    store_bytes(bytes, got);
    for (int l = 0; l < n; ++l) same("store_bytes", bytes[l], by_loop[l]);
  }

  void run() {
    fill();
    // Loads and stores at any address.
    T* odd = reinterpret_cast<T*>(room + 1 + draw() % 3);
    Vec<T> a = load(x), b = load(y), c = load(z);
    store(odd, a);
    Vec<T> again = load(odd);
    for (int l = 0; l < n; ++l) same("load and store", again.lane(l), x[l]);
    Vec<T> alike = broadcast(x[0]), changed = a;
    changed.set_lane(n - 1, y[0]);
    same("set_lane", changed.lane(n - 1), y[0]);
    for (int l = 0; l < n; ++l) same("broadcast", alike.lane(l), x[0]);

    lanes("+", a + b, [](T p, T q, T) -> T { return p + q; });
    lanes("-", a - b, [](T p, T q, T) -> T { return p - q; });
    lanes("*", a * b, [](T p, T q, T) -> T { return p * q; });
    lanes("/", a / b, [](T p, T q, T) -> T { return p / q; });
    lanes("a * b + c", a * b + c, [](T p, T q, T r) -> T { volatile T product = p * q; return product + r; });
    lanes("larger", larger(a, b), [](T p, T q, T) -> T { return p > q ? p : q; });
    lanes("smaller", smaller(a, b), [](T p, T q, T) -> T { return p < q ? p : q; });
    lanes("pick", pick<T>(a > b, b, c), [](T p, T q, T r) -> T { return pick_of(p > q, q, r); });
    lanes("only", only<T>(a >= b, c), [](T p, T q, T r) -> T { return pick_of<T>(p >= q, r, 0); });
    holds(">", a > b, [](T p, T q) { return p > q; });
    holds(">=", a >= b, [](T p, T q) { return p >= q; });
    holds("<", a < b, [](T p, T q) { return p < q; });
    holds("<=", a <= b, [](T p, T q) { return p <= q; });
    holds("==", a == b, [](T p, T q) { return p == q; });
    holds("!=", a != b, [](T p, T q) { return p != q; });
    holds("none", Mask<T>{}, [](T, T) { return false; });

    T total = 0, most = 0;
    for (int l = 0; l < n; ++l) total += x[l];
    same("sum_in_order", sum_in_order(a), total);
    Vec<T> ordered = only<T>(a == a, a);  // the largest is stated for numbers
    for (int l = 0; l < n; ++l) most = l == 0 || ordered.lane(l) > most ? ordered.lane(l) : most;
    same("largest_lane", largest_lane(ordered) + T{0}, most + T{0});
    T kept[2 * n], by_loop[n];
    int64_t count = 0;
    for (int l = 0; l < n; ++l)
      if (x[l] > y[l]) by_loop[count++] = x[l];
    same("compress", compress(kept, a > b, a), count);
    for (int l = 0; l < count; ++l) same("compress", kept[l], by_loop[l]);
    Mask<T> bits = bits_of(a);
    for (int l = 0; l < n; ++l) {
      Int wanted;
      std::memcpy(&wanted, &x[l], sizeof wanted);
      same("bits_of", bits.lane(l), wanted);
      same("&", (bits & Int{0xff}).lane(l), static_cast<Int>(wanted & 0xff));
      same("|", (bits | Int{0xff}).lane(l), static_cast<Int>(wanted | 0xff));
      same("^", (bits ^ Int{0xff}).lane(l), static_cast<Int>(wanted ^ 0xff));
    }
  }
};

void doubles_alone(Round<double>& of) {
  of.fill();
  Vec<double> a = load(of.x), b = load(of.y), c = load(of.z);
  of.lanes("root", root(a), [](double p, double, double) { return std::sqrt(p); });
  of.lanes("fused", fused(a, b, c), [](double p, double q, double r) { return std::fma(p, q, r); });
  float narrow[8];
  for (int l = 0; l < 8; ++l) narrow[l] = number<float>();
  Vec<double> wide = load_as_doubles(narrow), plain = load_as_doubles(of.x);
  for (int l = 0; l < 8; ++l) {
    same("load_as_doubles", wide.lane(l), static_cast<double>(narrow[l]));
    same("load_as_doubles", plain.lane(l), of.x[l]);
  }
  float rounded[8];
  store_as_floats(rounded, a);
  for (int l = 0; l < 8; ++l) same("store_as_floats", rounded[l], static_cast<float>(of.x[l]));
}

// Whole numbers: 16 of 32 bits, 8 of 64, and eight rows of sixteen that are turned.
void integers() {
  int32_t x[16], y[16], rows[8 * 16], turned[16 * 9];
  for (int l = 0; l < 16; ++l) x[l] = static_cast<int32_t>(draw()), y[l] = draw() % 3 ? static_cast<int32_t>(draw()) : x[l];
  Vec<int32_t> a = load(x), b = load(y), sum = a + b, more = larger(a, b), less = smaller(a, b), at_least = a >= b;
  uint8_t bytes[16];
  store_bytes(bytes, at_least);
  for (int l = 0; l < 16; ++l) {
    same("+ of integers", sum.lane(l), static_cast<int32_t>(static_cast<uint32_t>(x[l]) + static_cast<uint32_t>(y[l])));
    int32_t difference = static_cast<int32_t>(static_cast<uint32_t>(x[l]) - static_cast<uint32_t>(y[l]));
    same("- of integers", (a - b).lane(l), difference);
    same("larger integer", more.lane(l), x[l] > y[l] ? x[l] : y[l]);
    same("smaller integer", less.lane(l), x[l] < y[l] ? x[l] : y[l]);
    same("store_bytes of integers", bytes[l], static_cast<uint8_t>(x[l] >= y[l]));
  }
  Vec<double> wide = load_as_doubles(x + 3);
  for (int l = 0; l < 8; ++l) same("integers as doubles", wide.lane(l), static_cast<double>(x[l + 3]));
  for (int32_t& entry : rows) entry = static_cast<int32_t>(draw());
  int64_t stride = 8 + static_cast<int64_t>(draw() % 2);
  turn_columns(rows, turned, stride);
  for (int r = 0; r < 8; ++r)
    for (int c = 0; c < 16; ++c) same("turn_columns", turned[c * stride + r], rows[16 * r + c]);
  int64_t from = 4 + static_cast<int64_t>(draw() % 20);
  turn_four(rows + 1, from, turned + 1, stride);
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < 4; ++c) same("turn_four", turned[1 + c * stride + r], rows[1 + from * r + c]);

  uint64_t u[8], v[8];
  for (int l = 0; l < 8; ++l) u[l] = draw(), v[l] = draw() % 3 ? draw() : u[l];
  Vec<uint64_t> p = load(u), q = load(v), product = p * q, shifted = p >> 33, either = p ^ q;
  uint32_t low[8];
  unsigned below = 0, up_to = 0;
  store_low_halves(low, p);
  for (int l = 0; l < 8; ++l) {
    same("* of words", product.lane(l), u[l] * v[l]);
    same(">> of words", shifted.lane(l), u[l] >> 33);
    same("<< of words", (p << 21).lane(l), u[l] << 21);
    same("+ of words", (p + q).lane(l), u[l] + v[l]);
    same("- of words", (p - q).lane(l), u[l] - v[l]);
    same("^ of words", either.lane(l), u[l] ^ v[l]);
    same("store_low_halves", low[l], static_cast<uint32_t>(u[l]));
    below |= static_cast<unsigned>(u[l] < v[l]) << l;
    up_to |= static_cast<unsigned>(u[l] <= v[l]) << l;
  }
  uint64_t total = 0;
  for (int l = 0; l < 8; ++l) total += u[l];
  same("sum_in_order of words", sum_in_order(p), total);
  same("zeros", any(zeros<uint64_t>() != uint64_t{0}), false);
  same("< of words", lane_bits(p < q), below);
  same("<= of words", lane_bits(p <= q), up_to);
}

// Stated for rows of numbers; zeros of either sign are equal.
template <class T> void four_rows() {
  T rows[4 * 50], got[4];
  int64_t n = 4 + static_cast<int64_t>(draw() % 45);
  for (T& entry : rows) {
    T x = number<T>();
    entry = x == x ? x : T{1};
  }
  largest_of_four_rows(rows + 1, n, got);
  for (int r = 0; r < 4; ++r) {
    const T* row = rows + 1 + r * n;
    T most = row[0];
    for (int64_t j = 1; j < n; ++j) most = row[j] > most ? row[j] : most;
    same("largest_of_four_rows", got[r] + T{0}, most + T{0});
  }
}

}  // namespace

int main() {
  Round<float> floats;
  Round<double> doubles;
  for (int i = 0; i < 20000; ++i) {
    floats.run();
    doubles.run();
    doubles_alone(doubles);
    integers();
    four_rows<float>();
    four_rows<double>();
  }
  std::printf("%ld compared\n", compared);
}
