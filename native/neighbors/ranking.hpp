// How far every row moves a point, and where no row can change a label that is alone in its set.
#pragma once
#include <cstdint>
#include <mutex>

#include "audit/near_shifts.hpp"
#include "neighbors/votes.hpp"
#include "poll.hpp"

namespace steadyset {

// The models on all rows, (points, classes), and the weights of one row less. Where one label leads all others by more than
// `lead`, it is alone in its set.
struct SettlingTask {
  const double* proba;
  const int64_t* whole;
  int64_t depth;
  double lead;
  uint8_t* settled;  // of each point, whether one label leads so in every model
};

// Ranks the shifts of points [from, to), and says which of them are settled.
void rank_and_settle(const NearLabels& near, const SettlingTask& task, const UnitOfRow& rows, const NearShifts& out,
                     int64_t from, int64_t to, std::mutex& guard, Poll poll);

}  // namespace steadyset
