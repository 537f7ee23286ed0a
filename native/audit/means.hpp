// Means over the bags of each unit, in the order of sum_bags: within a block of 16 bags ascending, then block after
// block. The sum over the first eight bags of a block has only 256 values, so that it is looked up.
#pragma once
#include <stdint.h>

#include "audit/api.hpp"
#include "simd/loose.hpp"
#include "simd/simd.hpp"
#include "simd/space.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

constexpr int kHalf = kPatternBags / 2;

// Columns that are summed together, eight to a vector.
template <int Vectors> struct Tile {
  Vec<double> v[Vectors];

  void add(const Tile& other) {
#pragma GCC unroll 8
    for (int i = 0; i < Vectors; ++i) v[i] = v[i] + other.v[i];
  }
};

// The columns of one block of bags, and the sums of its first eight bags by their bits.
template <int Vectors> struct Block {
  Tile<Vectors> bags[kPatternBags];
  Tile<Vectors> first_half[1 << kHalf];

  template <class T> void read(const Loose<T>* values, int64_t stride, int64_t n_bags, int64_t width) {
    for (int b = 0; b < kPatternBags; ++b) {
      double* to = reinterpret_cast<double*>(&bags[b]);
      for (int64_t c = 0; c < 8 * Vectors; ++c)
        to[c] = b < n_bags && c < width ? static_cast<double>(values[b * stride + c]) : 0;
    }
    first_half[0] = Tile<Vectors>{};
    for (int b = 0; b < kHalf; ++b) {
      for (int bits = 0; bits < 1 << b; ++bits) {
        first_half[bits + (1 << b)] = first_half[bits];
        first_half[bits + (1 << b)].add(bags[b]);
      }
    }
  }
  void add(uint32_t pattern, Tile<Vectors>& total) const {
    Tile<Vectors> part = first_half[pattern & ((1 << kHalf) - 1)];
    for (uint32_t rest = pattern >> kHalf; rest != 0; rest &= rest - 1) part.add(bags[kHalf + __builtin_ctz(rest)]);
    total.add(part);
  }
};

template <int Vectors, class T>
bool tiled_means(const Loose<T>* values, const BagValues& in, int64_t first, int64_t last, const TakenBags& taken,
                 const int64_t* units, int64_t n, double* out, Pace& pace) {
  constexpr int64_t tile = 8 * Vectors;
  int64_t width = last - first;
  Space<Tile<Vectors>> totals;
  Space<Block<Vectors>> table;
  if (!totals.reserve(n) || !table.reserve(1)) return false;
  Block<Vectors>& block = table[0];
  for (int64_t start = 0; start < width && !pace.stopped; start += tile) {
    int64_t columns = width - start < tile ? width - start : tile;
    for (int64_t i = 0; i < n; ++i) totals[i] = Tile<Vectors>{};
    for (int64_t b = 0; b < in.n_bags && !pace.stop((8 * n + 256) * Vectors); b += kPatternBags) {
      block.read(values + b * in.stride + first + start, in.stride, in.n_bags - b, columns);
      const uint16_t* patterns = taken.patterns + b / kPatternBags * taken.n_units;
      for (int64_t i = 0; i < n; ++i) block.add(patterns[units[i]], totals[i]);
    }
    for (int64_t i = 0; i < n; ++i) {
      const double* sum = reinterpret_cast<const double*>(&totals[i]);
      for (int64_t c = 0; c < columns; ++c) out[i * width + start + c] = sum[c] / taken.counts[units[i]];
    }
  }
  return true;
}

template <class T>
bool means_of(const BagValues& in, int64_t first, int64_t last, const TakenBags& taken, const int64_t* units, int64_t n,
              double* out, Pace& pace) {
  const auto* values = static_cast<const Loose<T>*>(in.data);
  return last - first <= 16 ? tiled_means<2>(values, in, first, last, taken, units, n, out, pace)
                            : tiled_means<8>(values, in, first, last, taken, units, n, out, pace);
}

bool means(const BagValues& values, int64_t first, int64_t last, const TakenBags& taken, const int64_t* units, int64_t n,
           double* out, Poll poll) {
  Pace pace{poll};
  return values.wide ? means_of<double>(values, first, last, taken, units, n, out, pace)
                     : means_of<float>(values, first, last, taken, units, n, out, pace);
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset
