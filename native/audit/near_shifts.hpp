// How far the rows that a point sees move it, rank by rank, and the largest shift of each unit so far.
#pragma once
#include <cstdint>

#include "poll.hpp"

namespace steadyset {

// The rows that each point sees, the models without them, and the unit of each row: -1 for one that is not left out.
struct NearRanks {
  const int32_t* rows;    // (points, stride)
  int64_t stride;
  const int32_t* number;  // (points, near + 1): the place of each row's model, the last for all other rows
  int64_t n_points, near;
  const int32_t* unit_of;
  int64_t n_rows;
  const float* shift;  // of each model
  int64_t n_models;
};

struct NearShifts {
  int64_t first;   // the number of the first point
  float* score;    // of each unit, its largest shift; only grows
  int64_t* point;  // and the first point that has it
  int64_t n_units;
  float* ranked;   // (points, near), infinite where a row is not left out
  float* far;      // of each point, the shift that all other rows share
  int64_t* known;  // of each point, how many of its rows are left out
  int64_t* below;  // and how many of these move it by less than the other rows
};

// Throws where a row, a unit or a model is none.
void rank_shifts(const NearRanks& ranks, const NearShifts& out, Poll poll);

}  // namespace steadyset
