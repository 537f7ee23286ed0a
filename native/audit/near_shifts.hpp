// How far the rows that a point sees move it, rank by rank, and the largest shift of each unit so far.
#pragma once
#include <cstdint>
#include <mutex>
#include <vector>

#include "poll.hpp"

namespace steadyset {

// The unit of each row: -1 for one that is not left out.
struct UnitOfRow {
  const int32_t* unit_of;
  int64_t n_rows;
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
};

// Ranks the shifts of some points, one after the other, then raises the scores under the guard. Throws where a row, a unit
// or a level is none.
class ShiftRanking {
 public:
  ShiftRanking(const UnitOfRow& rows, const NearShifts& out, int64_t near, std::mutex& guard);

  // Point i: the rows that it sees and how far the model without each of them lies from its own; shift[near] is for all
  // other rows.
  void rank(int64_t i, const int32_t* rows, const float* shift);
  // Whatever part comes first: of equal scores the earlier point's stays.
  void keep() const;

 private:
  void write_quantiles(float* quantiles);

  const UnitOfRow& rows_;
  const NearShifts& out_;
  const int64_t near_;
  std::mutex& guard_;
  std::vector<float> score_;     // of each unit, with what these points raise
  std::vector<int64_t> point_;   // the first of these points that has it, or -1
  std::vector<int32_t> keys_;    // of a point, the shifts of its units, in any order
  size_t known_ = 0;             // how many they are
  int32_t far_ = 0;              // the shift that all other units share
  int64_t below_ = 0;            // how many of the point's units move it by less than that
};

// The rows that each point sees, and the models without them.
struct NearRanks {
  const int32_t* rows;    // (points, stride)
  int64_t stride;
  const int32_t* number;  // (points, near + 1): the place of each row's model, the last for all other rows
  int64_t near;
  const float* shift;  // of each model
  int64_t n_models;
};

// Ranks points [from, to). Throws where a model is none, too.
void rank_shifts(const NearRanks& ranks, const UnitOfRow& rows, const NearShifts& out, int64_t from, int64_t to,
                 std::mutex& guard, Poll poll);

}  // namespace steadyset
