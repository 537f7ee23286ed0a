#include "audit/near_shifts.hpp"

#include <limits>
#include <stdexcept>

namespace steadyset {
namespace {

// Another thread may write to the arrays: what is read from them is checked when it is used.
int64_t checked(int64_t place, int64_t n) {
  if (place < 0 || place >= n) throw std::invalid_argument("rows, units and models must be places in their arrays");
  return place;
}

}  // namespace

void rank_shifts(const NearRanks& ranks, const NearShifts& out, Poll poll) {
  Pace pace{poll};
  for (int64_t i = 0; i < ranks.n_points && !pace.stop(2 * ranks.near + 8); ++i) {
    const int32_t* rows = ranks.rows + i * ranks.stride;
    const int32_t* number = ranks.number + i * (ranks.near + 1);
    float* ranked = out.ranked + i * ranks.near;
    const float far = ranks.shift[checked(number[ranks.near], ranks.n_models)];
    int64_t known = 0, below = 0;
    for (int64_t r = 0; r < ranks.near; ++r) {
      const float shift = ranks.shift[checked(number[r], ranks.n_models)];
      const int64_t unit = ranks.unit_of[checked(rows[r], ranks.n_rows)];
      if (unit < 0) {
        ranked[r] = std::numeric_limits<float>::infinity();
        continue;
      }
      ranked[r] = shift;
      ++known;
      below += shift < far;
      if (shift > out.score[checked(unit, out.n_units)]) {
        out.score[unit] = shift;
        out.point[unit] = out.first + i;
      }
    }
    out.far[i] = far;
    out.known[i] = known;
    out.below[i] = below;
  }
}

}  // namespace steadyset
