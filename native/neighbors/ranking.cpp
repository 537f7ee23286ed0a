#include "neighbors/ranking.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "neighbors/api.hpp"

namespace steadyset {
namespace {

constexpr size_t kWide = 16;  // numbers for each label, as in LeftOutRoom

// The two largest labels, the first of equal ones; the same one twice where there is no other.
struct TopTwo {
  int64_t top = 0, second = 0;
  double of_others = -std::numeric_limits<double>::infinity();  // the largest entry of another label

  explicit TopTwo(const std::vector<double>& proba) {
    const auto at = [&](int64_t label) { return proba[static_cast<size_t>(label)]; };
    for (int64_t label = 1; label < static_cast<int64_t>(proba.size()); ++label) {
      int64_t last = label;
      if (at(last) > at(top)) std::swap(last, top);
      if (label == 1 || at(last) > at(second)) std::swap(last, second);
      if (label > 1) of_others = std::max(of_others, at(last));
    }
  }
};

bool settles(const SettlingTask& task, const Leads& leads) {
  const bool alone = leads.least > task.wide, both = leads.least >= 0 && leads.most < task.narrow;
  return leads.of_others > task.wide && (alone || both);
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
    const TopTwo two(own);
    const double first = own[static_cast<size_t>(two.top)], lead = first - own[static_cast<size_t>(two.second)];
    const Leads leads = unit.left_out_shifts(
        {labels.data(), task.whole, task.depth, near.n_classes, own.data(), two.top, two.second}, room);
    task.settled[i] = settles(task, {std::min(leads.least, lead), std::max(leads.most, lead),
                                     std::min(leads.of_others, first - two.of_others)});
    ranking.rank(i, near.rows + i * near.stride, shift.data());
  }
  ranking.keep();
}

}  // namespace steadyset
