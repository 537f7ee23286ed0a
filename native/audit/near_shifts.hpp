// How far the rows that a point sees move it, rank by rank, and the largest shift of each unit so far.
#pragma once
#include <cstdint>
#include <mutex>

#include "poll.hpp"

namespace steadyset {

// The rows that each point sees, the models without them, and the unit of each row: -1 for one that is not left out.
struct NearRanks {
  const int32_t* rows;    // (points, stride)
  int64_t stride;
  const int32_t* number;  // (points, near + 1): the place of each row's model, the last for all other rows
  int64_t near;
  const int32_t* unit_of;
  int64_t n_rows;
  const float* shift;  // of each model
  int64_t n_models;
};

struct NearShifts {
  int64_t first;          // the number of the first point
  const float* before;    // of each unit, its score before this call
  float* score;           // its largest shift; only grows
  int64_t* point;         // and the first point that has it
  int64_t n_units;
  const int64_t* levels;  // the places of the quantiles among the shifts of all units, rising
  int64_t n_levels;
  float* quantiles;       // (points, levels)
  int64_t* known;         // of each point, how many of its rows are left out
};

// Fills quantiles and known of points [from, to), on their own, and raises the scores under the guard. Throws where a row,
// a unit, a model or a level is none.
void rank_shifts(const NearRanks& ranks, const NearShifts& out, int64_t from, int64_t to, std::mutex& guard, Poll poll);

}  // namespace steadyset
