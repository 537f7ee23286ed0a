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

// The quantiles of a point: its rows' shifts, in any order, and the one that all other units share.
class Quantiles {
 public:
  explicit Quantiles(int64_t near) { keys_.reserve(static_cast<size_t>(near)); }

  void start(float far) {
    keys_.clear();
    far_ = far;
    below_ = 0;
  }
  void add(float shift) {
    keys_.push_back(key_of(shift));
    below_ += key_of(shift) < key_of(far_);
  }
  int64_t known() const { return static_cast<int64_t>(keys_.size()); }

  void write(const NearShifts& out, float* quantiles) {
    const int64_t others = out.n_units - known();
    auto from = keys_.begin();  // what is before it is in front of all later quantiles
    for (int64_t l = 0; l < out.n_levels; ++l) {
      const int64_t rank = checked(out.levels[l], out.n_units);
      if (rank >= below_ && rank < below_ + others) {
        quantiles[l] = far_;
        continue;
      }
      const auto at = keys_.begin() + checked(rank < below_ ? rank : rank - others, known());
      if (at < from) throw std::invalid_argument("levels must not fall");
      std::nth_element(from, at, keys_.end());
      quantiles[l] = distance_of(*at);
      from = at;
    }
  }

 private:
  std::vector<int32_t> keys_;
  float far_ = 0;
  int64_t below_ = 0;  // how many of the point's rows move it by less than the other units
};

// The scores that some points raise: the largest shift of a unit, and the first of these points that has it.
class Raised {
 public:
  Raised(const NearShifts& out, std::mutex& guard)
      : out_(out), guard_(guard), score_(out.before, out.before + out.n_units), point_(score_.size(), -1) {}

  void see(int64_t unit, float shift, int64_t point) {
    const auto u = static_cast<size_t>(checked(unit, out_.n_units));
    if (shift > score_[u]) {
      score_[u] = shift;
      point_[u] = point;
    }
  }

  // Whatever part comes first: of equal scores the earlier point's stays.
  void keep() const {
    std::lock_guard<std::mutex> lock(guard_);
    for (size_t u = 0; u < score_.size(); ++u) {
      if (point_[u] < 0) continue;
      if (score_[u] > out_.score[u] || (score_[u] == out_.score[u] && point_[u] < out_.point[u])) {
        out_.score[u] = score_[u];
        out_.point[u] = point_[u];
      }
    }
  }

 private:
  const NearShifts& out_;
  std::mutex& guard_;
  std::vector<float> score_;
  std::vector<int64_t> point_;
};

}  // namespace

void rank_shifts(const NearRanks& ranks, const NearShifts& out, int64_t from, int64_t to, std::mutex& guard, Poll poll) {
  Pace pace{poll};
  Quantiles quantiles(ranks.near);
  Raised raised(out, guard);
  for (int64_t i = from; i < to && !pace.stop(8 * ranks.near + 8); ++i) {
    const int32_t* rows = ranks.rows + i * ranks.stride;
    const int32_t* number = ranks.number + i * (ranks.near + 1);
    quantiles.start(ranks.shift[checked(number[ranks.near], ranks.n_models)]);
    for (int64_t r = 0; r < ranks.near; ++r) {
      const float shift = ranks.shift[checked(number[r], ranks.n_models)];
      const int64_t unit = ranks.unit_of[checked(rows[r], ranks.n_rows)];
      if (unit < 0) continue;
      quantiles.add(shift);
      raised.see(unit, shift, out.first + i);
    }
    quantiles.write(out, out.quantiles + i * out.n_levels);
    out.known[i] = quantiles.known();
  }
  raised.keep();
}

}  // namespace steadyset
