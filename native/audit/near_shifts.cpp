#include "audit/near_shifts.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace steadyset {
namespace {

// Another thread may write to the arrays: what is read from them is checked when it is used.
int64_t checked(int64_t place, int64_t n) {
  if (place < 0 || place >= n) throw std::invalid_argument("rows, units, models and levels must be places in their arrays");
  return place;
}

// Bits of distances are ordered as these are, and a NaN among them has a place too.
int32_t key_of(float distance) {
  int32_t key;
  std::memcpy(&key, &distance, sizeof key);
  return key;
}

float distance_of(int32_t key) {
  float distance;
  std::memcpy(&distance, &key, sizeof distance);
  return distance;
}

}  // namespace

ShiftRanking::ShiftRanking(const UnitOfRow& rows, const NearShifts& out, int64_t near, std::mutex& guard)
    : rows_(rows), out_(out), near_(near), guard_(guard), score_(out.before, out.before + out.n_units),
      point_(score_.size(), -1), keys_(static_cast<size_t>(near)) {}

void ShiftRanking::rank(int64_t i, const int32_t* rows, const float* shift) {
  known_ = 0;
  far_ = key_of(shift[near_]);
  below_ = 0;
  for (int64_t r = 0; r < near_; ++r) {
    const int64_t unit = rows_.unit_of[checked(rows[r], rows_.n_rows)];
    if (unit < 0) continue;
    const auto u = static_cast<size_t>(checked(unit, out_.n_units));
    const int32_t key = key_of(shift[r]);
    keys_[known_++] = key;
    below_ += key < far_;
    if (shift[r] > score_[u]) {
      score_[u] = shift[r];
      point_[u] = out_.first + i;
    }
  }
  write_quantiles(out_.quantiles + i * out_.n_levels);
}

void ShiftRanking::write_quantiles(float* quantiles) {
  const auto begin = keys_.begin(), end = begin + static_cast<std::ptrdiff_t>(known_);
  const int64_t known = static_cast<int64_t>(known_), others = out_.n_units - known;
  auto from = begin;  // what is before it is in front of all later quantiles
  for (int64_t l = 0; l < out_.n_levels; ++l) {
    const int64_t rank = checked(out_.levels[l], out_.n_units);
    if (rank >= below_ && rank < below_ + others) {
      quantiles[l] = distance_of(far_);
      continue;
    }
    const auto at = begin + checked(rank < below_ ? rank : rank - others, known);
    if (at < from) throw std::invalid_argument("levels must not fall");
    std::nth_element(from, at, end);
    quantiles[l] = distance_of(*at);
    from = at;
  }
}

void ShiftRanking::keep() const {
  std::lock_guard<std::mutex> lock(guard_);
  for (size_t u = 0; u < score_.size(); ++u) {
    if (point_[u] < 0) continue;
    if (score_[u] > out_.score[u] || (score_[u] == out_.score[u] && point_[u] < out_.point[u])) {
      out_.score[u] = score_[u];
      out_.point[u] = point_[u];
    }
  }
}

void rank_shifts(const NearRanks& ranks, const UnitOfRow& rows, const NearShifts& out, int64_t from, int64_t to,
                 std::mutex& guard, Poll poll) {
  Pace pace{poll};
  ShiftRanking ranking(rows, out, ranks.near, guard);
  std::vector<float> shift(static_cast<size_t>(ranks.near + 1));
  for (int64_t i = from; i < to && !pace.stop(8 * ranks.near + 8); ++i) {
    const int32_t* number = ranks.number + i * (ranks.near + 1);
    for (size_t r = 0; r < shift.size(); ++r) shift[r] = ranks.shift[checked(number[r], ranks.n_models)];
    ranking.rank(i, ranks.rows + i * ranks.stride, shift.data());
  }
  ranking.keep();
}

}  // namespace steadyset
