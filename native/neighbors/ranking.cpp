#include "neighbors/ranking.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "neighbors/api.hpp"

namespace steadyset {
namespace {

constexpr size_t kWide = 16;  // numbers for each label, as in LeftOutRoom

double lead_of(const double* proba, int64_t n_classes, int64_t top) {
  double others = -std::numeric_limits<double>::infinity();
  for (int64_t label = 0; label < n_classes; ++label)
    if (label != top) others = std::max(others, proba[label]);
  return proba[top] - others;
}

}  // namespace

void rank_and_settle(const NearLabels& near, const SettlingTask& task, const UnitOfRow& rows, const NearShifts& out,
                     int64_t from, int64_t to, std::mutex& guard, Poll poll) {
  Pace pace{poll};
  const NeighborsUnit& unit = neighbors_unit();
  ShiftRanking ranking(rows, out, task.depth, guard);
  const auto depth = static_cast<size_t>(task.depth), classes = static_cast<size_t>(near.n_classes);
  std::vector<int64_t> labels(depth + 1), votes(classes);
  std::vector<double> shares(kWide * classes), own(classes);
  std::vector<float> shift(depth + 8);
  const LeftOutRoom room = {votes.data(), shares.data(), shift.data()};
  for (int64_t i = from; i < to && !pace.stop(task.depth * (8 + near.n_classes / 4)); ++i) {
    read_labels(near, i, labels);
    std::copy_n(task.proba + i * near.n_classes, classes, own.begin());
    const int64_t top = std::max_element(own.begin(), own.end()) - own.begin();
    const double least = unit.left_out_shifts(
        {labels.data(), task.whole, task.depth, near.n_classes, own.data(), top}, room);
    task.settled[i] = least > task.lead && lead_of(own.data(), near.n_classes, top) > task.lead;
    ranking.rank(i, near.rows + i * near.stride, shift.data());
  }
  ranking.keep();
}

}  // namespace steadyset
