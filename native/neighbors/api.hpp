// What the bindings and unit.cpp of neighbors share: plain data only.
#pragma once
#include <stdint.h>

#include "dispatch.hpp"

namespace steadyset {

enum class Metric { euclidean, cosine, manhattan };
constexpr int kMetrics = 3;

// Training rows, contiguous: all their numbers, or in CSR form the stored ones in ascending order of their columns.
struct NeighborTable {
  const void* values;
  bool wide;  // float64, else float32
  int64_t n_rows, width;
  const int32_t* columns;  // null: all numbers are there
  const int64_t* ends;     // n_rows + 1 places
};

// A point in float64, all its numbers or in CSR form.
struct NeighborPoint {
  const double* values;
  const int32_t* columns;
  int64_t n;
};

// A point's nearest rows and its own model. `whole` are the weights of the ranks for one row less, in units of 2^-62.
struct LeftOutRanks {
  const int64_t* labels;  // depth + 1, the nearest first
  const int64_t* whole;   // depth
  int64_t depth, n_classes;
  const double* own;      // the probabilities of the model on all rows
  int64_t top, second;    // labels
};

// Of some models: by how much `top` leads `second`, at least and at most, and all other labels, at least.
struct Leads {
  double least, most, of_others;
};

// What the models without each of these rows need and give.
struct LeftOutRoom {
  int64_t* votes;  // classes
  double* shares;  // 16 for each class
  float* shift;    // depth + 8: how far the model without each of the depth nearest rows lies from own, then the one
                   // without any other row; what is behind is written too
};

struct NeighborsUnit {
  // The distance of the point to each of the rows which[0..n), or first, first + 1, ... where `which` is null: squared
  // for the Euclidean one. Column f is summed in lane f % 16, in ascending order, then the lanes in their order: the
  // result depends on the point and the row alone, to the bit, at every level, and zeros that are not stored count.
  void (*measure)(const NeighborPoint& point, const NeighborTable& table, Metric metric, const int32_t* which,
                  int64_t first, int64_t n, double* out);
  // Lists the places j < n with base[j] - 2 products[j] <= limit, and that number; returns how many they are. At most
  // 2^31 places.
  int64_t (*sift)(const float* products, const float* base, int64_t n, float limit, int32_t* places, float* low);
  // Fills the shifts; returns the leads in all of these models.
  Leads (*left_out_shifts)(const LeftOutRanks& ranks, const LeftOutRoom& room);
};

STEADYSET_HOT_UNIT(NeighborsUnit, neighbors_unit)

}  // namespace steadyset
