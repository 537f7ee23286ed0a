// What the bindings and unit.cpp of bags share: plain data only.
#pragma once
#include <cstdint>

#include "dispatch.hpp"
#include "poll.hpp"

namespace steadyset {

struct BagKey {
  uint64_t first, second;
};

// Columns of a (bags, columns) array, at any address, summed over the bags in `take` (null: all), in float64 and in blocks
// of `block` consecutive bags: within a block in ascending order, then block after block.
struct SumTask {
  const void* values;
  bool wide;  // float64, else float32
  int64_t n_bags, stride;
  const uint8_t* take;
  int64_t block;
};

struct BagsUnit {
  // The m rows with the smallest hash as bits (least significant first, (n + 7) / 8 bytes), and the row with the next
  // smallest hash, which a deletion brings in. ids is null for the ids 0 .. n-1. False when memory runs out. What any of
  // these functions leaves behind when the poll stops it is not finished.
  bool (*smallest)(BagKey key, const uint64_t* ids, int64_t n, int64_t m, uint8_t* bits, int64_t* next, Poll poll);
  // Whether the smallest hash of some new rows is not above that of every row in a bag, whose ids are ids[held].
  bool (*enters)(BagKey key, const uint64_t* ids, const uint32_t* held, int64_t m, const uint64_t* fresh, int64_t n_fresh,
                 Poll poll);
  // m draws with replacement from [0, n), in the order of the draws.
  void (*draw)(BagKey key, int64_t n, int64_t m, uint32_t* out, Poll poll);
  // The sums of columns [first, last).
  void (*sum)(const SumTask& task, int64_t first, int64_t last, double* out, Poll poll);
  // The two words of the digest of each of the rows [first, last). Row i has the cells [ends[i - 1], ends[i]), the
  // first from 0; kinds is null where all cells are numbers.
  void (*digest)(const double* cells, const uint64_t* kinds, const int64_t* ends, int64_t first, int64_t last, uint64_t* out,
                 Poll poll);
};

STEADYSET_HOT_UNIT(BagsUnit, bags_unit)

}  // namespace steadyset
