// From the labels of the nearest rows to probabilities: of all rows, and without each of them.
#pragma once
#include <cstdint>
#include <vector>

#include "poll.hpp"

namespace steadyset {

// The nearest rows of each point, the nearest first, and the label of every training row.
struct NearLabels {
  const int32_t* rows;  // (points, stride)
  int64_t stride;
  const int64_t* codes;  // of each training row
  int64_t n_rows, n_classes;
};

// Reads the labels of a point's nearest rows, as many as there is room for, checked: another thread may write to the arrays.
void read_labels(const NearLabels& near, int64_t point, std::vector<int64_t>& labels);

// The weights of the ranks: `whole` in units of 2^-62, `pair` and `square` as in neighbors/_weights.py.
struct RankWeights {
  const int64_t* whole;
  const double *pair, *square;  // null where no spread is asked for
  int64_t depth;
};

// Fills proba (points, classes) and, where it is not null, spread (points) at points [first, last).
void vote(const NearLabels& near, const RankWeights& weights, int64_t first, int64_t last, double* proba, double* spread,
          Poll poll);

// Fills how many models without a row differ at points [first, last): without the next row it is another one where that
// has another label. `depth` is that of one row less.
void count_models(const NearLabels& near, int64_t depth, int64_t first, int64_t last, int64_t* counts, Poll poll);

// The models of point i are at places starts[i] to starts[i + 1] of models (.., classes); number (points, depth + 1) is the
// place of the model without each of the nearest rows, and last of the one without any other row.
struct NearModels {
  const int64_t* starts;
  double* models;
  int32_t* number;
};
void fill_models(const NearLabels& near, const RankWeights& weights, int64_t first, int64_t last, const NearModels& out,
                 Poll poll);

}  // namespace steadyset
