// What a call from Python ranks shifts into: arrays whose lengths are checked, and copies of what must not change meanwhile.
#pragma once
#include <nanobind/nanobind.h>

#include <mutex>
#include <vector>

#include "audit/near_shifts.hpp"
#include "require.hpp"
#include "view.hpp"

namespace steadyset {

// unit_of: int32, one for each row; score: float32 and leader: int64, one for each unit; levels: int64; quantiles: (points,
// levels) float32.
class ShiftViews {
 public:
  ShiftViews(nanobind::handle unit_of, nanobind::handle score, nanobind::handle leader, nanobind::handle levels,
             nanobind::handle quantiles)
      : units_(unit_of, PyBUF_C_CONTIGUOUS),
        score_(score, kWrite),
        leader_(leader, kWrite),
        levels_(levels, PyBUF_C_CONTIGUOUS),
        quantiles_(quantiles, kWrite) {
    require(units_->itemsize == 4 && score_->itemsize == 4 && quantiles_->itemsize == 4,
            "unit_of must be int32, scores and quantiles float32");
    require(leader_->itemsize == 8 && levels_->itemsize == 8 && leader_.count() == score_.count(), "the arrays do not fit");
    rising_.assign(levels_.as<const int64_t>(), levels_.as<const int64_t>() + levels_.count());
    before_.assign(score_.as<float>(), score_.as<float>() + score_.count());
  }

  UnitOfRow rows() const { return {units_.as<const int32_t>(), units_.count()}; }
  NearShifts out(int64_t first, int64_t points) const {
    require(quantiles_.count() == points * levels_.count(), "the arrays do not fit");
    return {first,          before_.data(),  score_.as<float>(), leader_.as<int64_t>(), score_.count(),
            rising_.data(), levels_.count(), quantiles_.as<float>()};
  }

 private:
  static constexpr int kWrite = PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE;
  View units_, score_, leader_, levels_, quantiles_;
  std::vector<int64_t> rising_;
  std::vector<float> before_;
};

}  // namespace steadyset
