// The nearest rows of each point, found in passes over the rows: candidates by bounds, the order by exact distances.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "neighbors/api.hpp"
#include "poll.hpp"

namespace steadyset {
namespace {

// Who decides: what the rows and the points hold, and the words that order rows at the same distance.
struct NeighborOrder {
  NeighborTable table;
  Metric metric;
  const uint64_t* words;  // of each row
};

constexpr int64_t kStretch = 256;  // rows that are looked at between two looks at the room
const double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr float kFar = std::numeric_limits<float>::infinity();

// Two rows at the same distance come in the order of their words: nothing but the two rows decides.
template <class C> auto nearer(const NeighborOrder& order) {
  return [&order](const C& a, const C& b) {
    if (a.distance != b.distance) return a.distance < b.distance;
    uint64_t first = order.words[a.row], second = order.words[b.row];
    return first != second ? first < second : a.row < b.row;
  };
}

// The candidates of one point. A row has bounds on its distance, in units that the caller chooses for the point, or the
// distance itself, which is found once.
class Candidates {
 public:
  explicit Candidates(int64_t depth);

  // Rows first, first + 1, ... with low[j] = base[j] - 2 products[j] and high[j] = low[j] + slack[j]. Where every
  // distance D has |D - v| <= w_row + w_point for a number v with low = v - w_row and high = v + w_row, a row whose low
  // exceeds by `own` = 2 w_point the depth-th smallest high is none of the nearest.
  struct Bounds {
    const float *products, *base, *slack;
    int64_t first, n;
    float own;
  };
  void offer(const Bounds& bounds, const NeighborPoint& point, const NeighborOrder& order, const NeighborsUnit& unit,
             Pace& pace);
  // Rows first, first + 1, ... whose distances are known; those without one come last.
  void offer(const double* distances, int64_t first, int64_t n, const NeighborOrder& order);
  // Rows first, ..., first + n - 1, measured here.
  void measure(int64_t first, int64_t n, const NeighborPoint& point, const NeighborOrder& order, const NeighborsUnit& unit,
               Pace& pace);
  // The nearest rows, the nearest first; false where fewer rows were offered, and then nothing is written.
  bool finish(const NeighborPoint& point, const NeighborOrder& order, const NeighborsUnit& unit, Pace& pace, int32_t* out);

 private:
  struct Candidate {
    double distance;  // NaN: not yet known
    float low, high;
    int32_t row;
  };

  void narrow_by_bounds(float own);
  void narrow_exactly(const NeighborPoint& point, const NeighborOrder& order, const NeighborsUnit& unit, Pace& pace);
  void find_distances(const NeighborPoint& point, const NeighborOrder& order, const NeighborsUnit& unit, Pace& pace);
  void keep_nearest(const NeighborOrder& order);

  size_t depth_, room_;
  float limit_;       // of low
  double farthest_;   // of distances: a row beyond it is none of the nearest
  std::vector<Candidate> found_;
};

inline Candidates::Candidates(int64_t depth)
    : depth_(static_cast<size_t>(depth)),
      room_(4 * depth_ + 4 * kStretch),
      limit_(kFar),
      farthest_(std::numeric_limits<double>::infinity()) {
  found_.reserve(room_);
}

inline void Candidates::offer(const Bounds& bounds, const NeighborPoint& point, const NeighborOrder& order,
                       const NeighborsUnit& unit, Pace& pace) {
  int32_t places[kStretch];
  float low[kStretch];
  for (int64_t start = 0; start < bounds.n && !pace.stop(kStretch / 4); start += kStretch) {
    if (found_.size() + kStretch > room_) {
      narrow_by_bounds(bounds.own);
      if (found_.size() > room_ - room_ / 4) narrow_exactly(point, order, unit, pace);
    }
    int64_t n = std::min(kStretch, bounds.n - start);
    int64_t some = unit.sift(bounds.products + start, bounds.base + start, n, limit_, places, low);
    for (int64_t i = 0; i < some; ++i) {
      int64_t at = start + places[i];
      float high = low[i] + bounds.slack[at];
      found_.push_back({kUnknown, low[i], std::isnan(high) ? kFar : high, static_cast<int32_t>(bounds.first + at)});
    }
  }
  narrow_by_bounds(bounds.own);
}

inline void Candidates::offer(const double* distances, int64_t first, int64_t n, const NeighborOrder& order) {
  for (int64_t i = 0; i < n; ++i) {
    const double distance = std::isnan(distances[i]) ? std::numeric_limits<double>::infinity() : distances[i];
    if (distance > farthest_) continue;
    if (found_.size() == room_) keep_nearest(order);
    found_.push_back({distance, 0, 0, static_cast<int32_t>(first + i)});
  }
}

inline void Candidates::measure(int64_t first, int64_t n, const NeighborPoint& point, const NeighborOrder& order,
                         const NeighborsUnit& unit, Pace& pace) {
  double distances[kStretch];
  int64_t cost = order.table.columns == nullptr ? order.table.width : 64;
  for (int64_t start = 0; start < n && !pace.stop(kStretch * (cost / 4 + 4)); start += kStretch) {
    int64_t some = std::min(kStretch, n - start);
    unit.measure(point, order.table, order.metric, nullptr, first + start, some, distances);
    offer(distances, first + start, some, order);
  }
}

inline bool Candidates::finish(const NeighborPoint& point, const NeighborOrder& order, const NeighborsUnit& unit, Pace& pace,
                        int32_t* out) {
  if (found_.size() < depth_) return false;
  find_distances(point, order, unit, pace);
  if (pace.stopped) return true;
  std::sort(found_.begin(), found_.end(), nearer<Candidate>(order));
  for (size_t i = 0; i < depth_; ++i) out[i] = found_[i].row;
  return true;
}

inline void Candidates::narrow_by_bounds(float own) {
  if (found_.size() < depth_) return;
  auto last = found_.begin() + static_cast<std::ptrdiff_t>(depth_ - 1);
  std::nth_element(found_.begin(), last, found_.end(), [](const Candidate& a, const Candidate& b) { return a.high < b.high; });
  limit_ = std::min(limit_, std::nextafter(last->high + own, kFar));
  found_.erase(std::remove_if(found_.begin() + static_cast<std::ptrdiff_t>(depth_), found_.end(),
                              [this](const Candidate& one) { return one.low > limit_; }),
               found_.end());
}

// Where bounds cannot tell rows apart, as with equal rows, the distances are found at once.
inline void Candidates::narrow_exactly(const NeighborPoint& point, const NeighborOrder& order, const NeighborsUnit& unit,
                                Pace& pace) {
  find_distances(point, order, unit, pace);
  if (!pace.stopped) keep_nearest(order);
}

inline void Candidates::find_distances(const NeighborPoint& point, const NeighborOrder& order, const NeighborsUnit& unit,
                                Pace& pace) {
  for (Candidate& one : found_) {
    if (!std::isnan(one.distance)) continue;
    if (pace.stop(order.table.columns == nullptr ? order.table.width / 2 + 16 : 256)) return;
    unit.measure(point, order.table, order.metric, &one.row, 0, 1, &one.distance);
  }
}

inline void Candidates::keep_nearest(const NeighborOrder& order) {
  if (found_.size() <= depth_) return;
  auto last = found_.begin() + static_cast<std::ptrdiff_t>(depth_ - 1);
  std::nth_element(found_.begin(), last, found_.end(), nearer<Candidate>(order));
  farthest_ = last->distance;
  found_.resize(depth_);
}

}  // namespace
}  // namespace steadyset
