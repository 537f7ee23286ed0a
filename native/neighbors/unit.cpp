// Distances in a fixed order of summation, the sifting of candidates, and shifts. Compiled once per instruction set; internal
// linkage but for the entry.
#include <stdint.h>

#include "neighbors/api.hpp"
#include "neighbors/shifts.hpp"
#include "simd/simd.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

constexpr int kLanes = 16;  // two vectors of doubles

// What a metric adds for one pair of numbers; on vectors and on single numbers.
struct SquaredDifference {
  template <class V> static V of(const V& x, const V& z) { return (x - z) * (x - z); }
};
struct Product {
  template <class V> static V of(const V& x, const V& z) { return x * z; }
};
struct SecondSquare {
  template <class V> static V of(const V&, const V& z) { return z * z; }
};
struct AbsoluteDifference {
  static double of(double x, double z) { return __builtin_fabs(x - z); }
  static Vec<double> of(const Vec<double>& x, const Vec<double>& z) { return larger(x - z, z - x); }
};

// The sums of sixteen lanes.
struct Lanes {
  double sum[kLanes] = {};
  double total() const {
    double all = 0;
    for (int l = 0; l < kLanes; ++l) all += sum[l];
    return all;
  }
};

template <class Term, class T> double dense_sum(const double* x, const T* z, int64_t width) {
  Vec<double> low = zeros<double>(), high = zeros<double>();
  int64_t f = 0;
  for (; f + kLanes <= width; f += kLanes) {
    low = low + Term::of(load(x + f), load_as_doubles(z + f));
    high = high + Term::of(load(x + f + 8), load_as_doubles(z + f + 8));
  }
  Lanes lanes;
  store(lanes.sum, low);
  store(lanes.sum + 8, high);
  for (int l = 0; f < width; ++f, ++l) lanes.sum[l] += Term::of(x[f], static_cast<double>(z[f]));
  return lanes.total();
}

// A row in CSR form.
template <class T> struct SparseRow {
  const T* values;
  const int32_t* columns;
  int64_t n;
};

// Columns that neither stores would add a zero, which changes no sum.
template <class Term, class T> double sparse_sum(const NeighborPoint& x, const SparseRow<T>& z) {
  Lanes lanes;
  int64_t i = 0, j = 0;
  while (i < x.n || j < z.n) {
    int32_t at_x = i < x.n ? x.columns[i] : INT32_MAX, at_z = j < z.n ? z.columns[j] : INT32_MAX;
    int32_t at = at_x < at_z ? at_x : at_z;
    double from_x = i < x.n && at_x == at ? x.values[i] : 0.0;
    double from_z = j < z.n && at_z == at ? static_cast<double>(z.values[j]) : 0.0;
    i += i < x.n && at_x == at;
    j += j < z.n && at_z == at;
    lanes.sum[static_cast<uint32_t>(at) % kLanes] += Term::of(from_x, from_z);
  }
  return lanes.total();
}

template <class T> struct Reader {
  const NeighborPoint& point;
  const NeighborTable& table;
  template <class Term> double sum(int64_t row) const {
    const T* values = static_cast<const T*>(table.values);
    if (table.columns == nullptr) return dense_sum<Term>(point.values, values + row * table.width, table.width);
    int64_t start = table.ends[row], end = table.ends[row + 1];
    return sparse_sum<Term>(point, SparseRow<T>{values + start, table.columns + start, end - start});
  }
};

double own_square(const NeighborPoint& point) {
  Lanes lanes;
  for (int64_t i = 0; i < point.n; ++i) {
    int64_t column = point.columns == nullptr ? i : point.columns[i];
    lanes.sum[column % kLanes] += point.values[i] * point.values[i];
  }
  return lanes.total();
}

template <class T> double distance(const Reader<T>& reader, Metric metric, double own, int64_t row) {
  if (metric == Metric::euclidean) return reader.template sum<SquaredDifference>(row);
  if (metric == Metric::manhattan) return reader.template sum<AbsoluteDifference>(row);
  double square = reader.template sum<SecondSquare>(row), product = reader.template sum<Product>(row);
  if (own == 0 || square == 0) return 1.0;  // a vector without a direction
  return 1.0 - product / (__builtin_sqrt(own) * __builtin_sqrt(square));
}

template <class T>
void measure_as(const NeighborPoint& point, const NeighborTable& table, Metric metric, const int32_t* which, int64_t first,
                int64_t n, double* out) {
  Reader<T> reader = {point, table};
  double own = metric == Metric::cosine ? own_square(point) : 0.0;
  for (int64_t i = 0; i < n; ++i) {
    double found = distance(reader, metric, own, which != nullptr ? which[i] : first + i);
    out[i] = found == found ? found : __builtin_inf();  // numbers too large to have a distance; sorting needs an order
  }
}

void measure(const NeighborPoint& point, const NeighborTable& table, Metric metric, const int32_t* which, int64_t first,
             int64_t n, double* out) {
  if (table.wide) measure_as<double>(point, table, metric, which, first, n, out);
  else measure_as<float>(point, table, metric, which, first, n, out);
}

int64_t sift(const float* products, const float* base, int64_t n, float limit, int32_t* places, float* low) {
  constexpr int kWidth = Vec<float>::lanes;
  int64_t found = 0, j = 0;
  for (; j + kWidth <= n; j += kWidth) {
    Vec<float> bound = load(base + j) - 2.0f * load(products + j);
    unsigned above = lane_bits(bound > limit);  // not "at most": what cannot be compared is a candidate
    if (above == 0xffffu) continue;
    float lanes[kWidth];
    store(lanes, bound);
    for (unsigned in = ~above & 0xffffu; in != 0; in &= in - 1) {
      int l = __builtin_ctz(in);
      places[found] = static_cast<int32_t>(j + l);
      low[found++] = lanes[l];
    }
  }
  for (; j < n; ++j) {
    float bound = base[j] - 2.0f * products[j];
    if (bound > limit) continue;
    places[found] = static_cast<int32_t>(j);
    low[found++] = bound;
  }
  return found;
}

const NeighborsUnit kUnit = {&measure, &sift, &left_out_shifts};

}  // namespace
}  // namespace STEADYSET_LEVEL

const NeighborsUnit& STEADYSET_ENTRY(neighbors_unit_)() { return STEADYSET_LEVEL::kUnit; }

}  // namespace steadyset
