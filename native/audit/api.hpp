// What the bindings and unit.cpp of the audit share: plain data only.
#pragma once
#include <cstdint>

#include "dispatch.hpp"
#include "poll.hpp"

namespace steadyset {

constexpr int kPatternBags = 16;  // bags in a pattern: BLOCK of bags/_predictions.py, in which means are summed

// Predictions of some columns, (n_bags, stride) float32 or float64, at any address.
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
  int64_t n_common;       // labels that two sets must have in common not to conflict
};

constexpr int64_t kScreenedLabels = 16;  // the largest k of an inflated top k whose pairs are screened

// Points to be screened in fixed point, for a rule that keeps to a margin below the largest, or below the k-th largest.
// Arrays over pairs are (points, units).
struct ScreenTask {
  BagValues values;
  TakenBags taken;
  int64_t n_classes;
  double margin;
  int64_t k;             // the rank of the label that the margin is measured from, at most kScreenedLabels
  const double* mean;    // (points, classes)
  const uint8_t* set;    // (points, classes)
  const uint8_t* leads;  // (points, classes), the maximisers of the mean; null: only `margin` matters
  float* shift;
  double* error;         // of a point's shifts
  uint8_t* conflict;
  uint8_t* unsure;       // pairs that exact arithmetic has to decide
  double* jaccard;       // sums over the other units
};

// What Theorem 6 says of a row at a point; kUnsure: exact arithmetic has to decide.
enum Clearance : uint8_t { kCleared, kNotCleared, kUnsure };

// Points whose rows are to be cleared. `taken` are the bags that do not hold a unit.
struct ClearTask {
  BagValues values;
  TakenBags taken;
  const double* most;    // (units) the votes that the bags which hold the unit may give to one label
  int64_t n_classes;
  const uint8_t* set;    // (points, classes)
  const double* radius;  // (points) times the number of bags, for a rule that only has one; else null
  double margin;         // by which a label outside has to lead, times the number of bags
  bool inflated;         // the inflated argmax: less than the margin may do
  double epsilon;
};

// For each point: spread = sum_b ||V_b - mean||^2, and whether every mean over at least `least` bags has the leading label
// ahead of each other one by more than `bound`.
struct SurveyTask {
  BagValues values;
  const double* mean;  // (points, classes)
  int64_t n_classes, least;
  double bound;
  double* spread;
  uint8_t* settled;
};

// The largest sums in fixed point that are below a unit's bound for certain, and perhaps.
struct Brink {
  int32_t surely, perhaps;
};

// Columns of which it is asked how many units have a mean below a bound: a number of them that is certain, and one that
// includes those which exact arithmetic would have to decide.
struct CountTask {
  BagValues values;
  TakenBags taken;
  double scale;                   // of the fixed point
  const Brink *exact, *rounded;   // (units), for columns that are multiples of 1 / scale, and for all others
  int64_t *least, *most;          // (columns)
};

// Models of which each point has a few: those of point i are at places starts[i] to starts[i + 1] of `models` and `sets`,
// (.., classes).
struct NearPairs {
  const int64_t* starts;
  const double* mean;    // (points, classes)
  const uint8_t* set;    // (points, classes)
  const double* models;
  const uint8_t* sets;
  int64_t n_classes;
  int64_t n_common;      // labels that two sets must have in common not to conflict
  // out, one for each model
  float* shift;
  uint8_t* conflict;
  uint8_t* apart;        // no label is a largest one of both
  double* jaccard;
};

// Each function is given a poll; what that stops is left unfinished. False when memory runs out.
struct AuditUnit {
  // Means of columns [first, last) over the bags of n units, into out (n, last - first), summed in float64 as sum_bags
  // does, to the bit.
  bool (*means)(const BagValues& values, int64_t first, int64_t last, const TakenBags& taken, const int64_t* units,
                int64_t n, double* out, Poll poll);
  bool (*screen)(const ScreenTask& task, int64_t first, int64_t last, Poll poll);
  // The clearances of points [first, last), (last - first, units).
  bool (*clear)(const ClearTask& task, int64_t first, int64_t last, uint8_t* verdict, Poll poll);
  // The spread of points [first, last), and which of them are settled.
  bool (*survey)(const SurveyTask& task, int64_t first, int64_t last, Poll poll);
  // shift[point * stride + unit] = ||means - mean||. With sets: conflict at the same place where the sets have fewer
  // than n_common labels in common, and the Jaccard indices of the pairs added to jaccard[point].
  void (*compare)(const Comparison& c, float* shift, uint8_t* conflict, int64_t stride, double* jaccard);
  // The models of points [first, last) beside the points' own means and sets.
  void (*compare_near)(const NearPairs& t, int64_t first, int64_t last, Poll poll);
  // The scale of the fixed point for that many bags.
  double (*scale)(int64_t n_bags);
  // The counts of columns [first, last).
  bool (*count_below)(const CountTask& task, int64_t first, int64_t last, Poll poll);
};

STEADYSET_HOT_UNIT(AuditUnit, audit_unit)

}  // namespace steadyset
