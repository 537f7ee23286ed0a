// What the bindings and unit.cpp of the audit share: plain data only.
#pragma once
#include <cstdint>

namespace steadyset {

constexpr int kPatternBags = 16;  // bags in a pattern: BLOCK of bags/_predictions.py, in which means are summed

// Predictions of some columns, (n_bags, stride) float32 or float64.
struct BagValues {
  const void* data;
  bool wide;
  int64_t n_bags, stride;
};

// Which bags stand for each unit, which is what is left out at a time: a row, or a group of rows.
// (ceil(n_bags / 16), n_units) patterns, bit b of block k for bag 16 k + b, and how many bags that is.
struct TakenBags {
  const uint16_t* patterns;
  const double* counts;
  int64_t n_units;
};

// A point's own mean and set, and those with units left out.
struct Comparison {
  const double* mean;     // (points, classes)
  const uint8_t* set;     // (points, classes), or null where nothing is selected
  const double* means;    // (units, points, classes)
  const uint8_t* sets;    // (units, points, classes), or null
  int64_t n_units, n_points, n_classes;
};

// Points to be screened in fixed point, for a rule that keeps to a margin below the largest. Arrays over pairs are
// (points, units).
struct ScreenTask {
  BagValues values;
  TakenBags taken;
  int64_t n_classes;
  double margin;
  const double* mean;    // (points, classes)
  const uint8_t* set;    // (points, classes)
  const uint8_t* leads;  // (points, classes), the maximisers of the mean; null: only `margin` matters
  float* shift;
  double* error;         // of a point's shifts
  uint8_t* conflict;
  uint8_t* unsure;       // pairs that exact arithmetic has to decide
  double* jaccard;       // sums over the other units
};

struct AuditUnit {
  // Means of columns [first, last) over the bags of n units, into out (n, last - first), summed in float64 as sum_bags
  // does, to the bit. False when memory runs out.
  bool (*means)(const BagValues& values, int64_t first, int64_t last, const TakenBags& taken, const int64_t* units,
                int64_t n, double* out);
  bool (*screen)(const ScreenTask& task, int64_t first, int64_t last);
  // For each point: spread = sum_b ||V_b - mean||^2, and whether every mean over at least `least` bags has the leading
  // label ahead of each other one by more than `bound`. False when memory runs out.
  bool (*survey)(const BagValues& values, const double* mean, int64_t n_classes, int64_t first, int64_t last,
                 int64_t least, double bound, double* spread, uint8_t* settled);
  // shift[point * stride + unit] = ||means - mean||. With sets: conflict at the same place where the sets are disjoint,
  // and the Jaccard indices of the pairs added to jaccard[point].
  void (*compare)(const Comparison& c, float* shift, uint8_t* conflict, int64_t stride, double* jaccard);
};

const AuditUnit& audit_unit_baseline();
const AuditUnit& audit_unit_avx2();
const AuditUnit& audit_unit_avx512();

}  // namespace steadyset
