// What the bindings and unit.cpp of bags share: plain data only.
#pragma once
#include <cstdint>

namespace steadyset {

struct BagKey {
  uint64_t first, second;
};

struct BagsUnit {
  // The m rows with the smallest hash as bits (least significant first, (n + 7) / 8 bytes), and the row with the next
  // smallest hash, which a deletion brings in. ids is null for the ids 0 .. n-1. False when memory runs out.
  bool (*smallest)(BagKey key, const uint64_t* ids, int64_t n, int64_t m, uint8_t* bits, int64_t* next);
  // m draws with replacement from [0, n), in the order of the draws.
  void (*draw)(BagKey key, int64_t n, int64_t m, uint32_t* out);
  // Sums of columns [first, last) of a (bags, columns) array over the bags in `take` (null: all), in float64 and in
  // blocks of `block` consecutive bags: within a block in ascending order, then block after block.
  void (*sum)(const void* values, bool wide, int64_t n_bags, int64_t stride, const uint8_t* take, int64_t block,
              int64_t first, int64_t last, double* out);
};

const BagsUnit& bags_unit_baseline();
const BagsUnit& bags_unit_avx2();
const BagsUnit& bags_unit_avx512();

}  // namespace steadyset
