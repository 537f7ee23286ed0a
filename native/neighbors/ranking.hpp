// How far every row moves a point, and where no row can change its set.
#pragma once
#include <cstdint>
#include <mutex>

#include "audit/near_shifts.hpp"
#include "neighbors/votes.hpp"
#include "poll.hpp"

namespace steadyset {

// The models on all rows, (points, classes), and the weights of one row less. A label that trails the largest by more than
// `wide` is not in the set; of two labels that lead all others so, both are where they are less than `narrow` apart.
struct SettlingTask {
  const double* proba;
  const int64_t* whole;
  int64_t depth;
  double wide, narrow;
  uint8_t* settled;  // of each point, whether every model has the same set and the same largest label
};

// Ranks the shifts of points [from, to), and says which of them are settled.
void rank_and_settle(const NearLabels& near, const SettlingTask& task, const UnitOfRow& rows, const NearShifts& out,
                     int64_t from, int64_t to, std::mutex& guard, Poll poll);

}  // namespace steadyset
