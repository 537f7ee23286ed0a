// The audit for Python: check shapes once, release the GIL, split the points over threads.
#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <deque>
#include <mutex>
#include <numeric>
#include <optional>
#include <tuple>
#include <vector>

#include "audit/calls.hpp"
#include "audit/counting.hpp"
#include "audit/pairs.hpp"
#include "audit/shift_views.hpp"
#include "selection/asked.hpp"

namespace nb = nanobind;
using namespace steadyset;

namespace {

constexpr int64_t kTileColumns = 64;

using AskedRule = std::tuple<int, double, double, int64_t, nb::object>;

// The rules of a union, and the views of the thresholds that they point into.
struct AskedRules {
  std::deque<View> thresholds;
  std::vector<Rule> rules;

  AskedRules(const std::vector<AskedRule>& asked, int64_t classes, double sum_slack) {
    for (const auto& [rule, a, b, k, bounds] : asked) {
      require(rule >= 0 && rule <= static_cast<int>(RuleId::aps), "rule is unknown");
      RuleId id = static_cast<RuleId>(rule);
      bool has_k = id == RuleId::top_k || id == RuleId::inflated_top_k;
      require(!has_k || (k >= 1 && k <= classes), "k must lie between 1 and the classes");
      if (is_conformal(id)) {
        thresholds.emplace_back(bounds, PyBUF_C_CONTIGUOUS);
        rules.push_back(conformal_rule(rule, thresholds.back(), classes, sum_slack));
      } else {
        rules.push_back({id, a, b, k, sum_slack});
      }
    }
  }
};

// values: (bags, points, classes) float32 or float64; mean, entries: (points, classes) float64; set: the same, uint8;
// shift: (points, units) float32; last: the same, float64; conflict: the same, uint8; error, jaccard: points float64.
// rules: those whose union selects, tuples (rule, a, b, k, thresholds or None); none: shifts only.
void audit_points(nb::handle values, nb::handle patterns, nb::handle counts, nb::handle mean, nb::handle set,
                  const std::vector<AskedRule>& rules, double sum_slack, nb::handle entries,
                  nb::handle shift, nb::handle error, nb::handle conflict, nb::handle last, nb::handle jaccard,
                  int threads) {
  View in = View::anywhere(values, PyBUF_C_CONTIGUOUS);
  View bits(patterns, PyBUF_C_CONTIGUOUS), how_many(counts, PyBUF_C_CONTIGUOUS),
      own(mean, PyBUF_C_CONTIGUOUS), sets(set, PyBUF_C_CONTIGUOUS), moved(shift, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE),
      off(error, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE), apart(conflict, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE), alike(jaccard, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
  BagValues bag_values = values_of(in);
  TakenBags taken = taken_of(bits, how_many, bag_values.n_bags);
  int64_t points = in->shape[1], classes = in->shape[2], pairs = points * taken.n_units;
  require(own->itemsize == 8 && own.count() == points * classes && sets->len == points * classes,
          "mean and set must have the shape (points, classes)");
  require(moved->itemsize == 4 && moved.count() == pairs && apart->len == pairs && alike->itemsize == 8 &&
              alike.count() == points && off->itemsize == 8 && off.count() == points,
          "the outputs must have the shape (points, units)");
  require(classes >= 1, "there must be a class");
  AskedRules asked(rules, classes, sum_slack);
  std::optional<View> paths, lasts;
  if (!entries.is_none()) {
    paths.emplace(entries, PyBUF_C_CONTIGUOUS);
    lasts.emplace(last, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
    require((*paths)->itemsize == 8 && paths->count() == points * classes && (*lasts)->itemsize == 8 &&
                lasts->count() == pairs,
            "entries and last must fit");
  }
  PairTask task = {bag_values,
               taken,
               classes,
               own.as<const double>(),
               asked.rules.empty() ? nullptr : sets.as<const uint8_t>(),
               paths ? paths->as<const double>() : nullptr,
               asked.rules,
               moved.as<float>(),
               off.as<double>(),
               apart.as<uint8_t>(),
               lasts ? lasts->as<double>() : nullptr,
               alike.as<double>()};
  bool screened = is_screened(task);
  require((task.rules.size() == 1 && keeps_to_margin(task.rules[0].id)) || !paths, "entries are for the inflated argmax and the argmax");
  std::vector<uint8_t> unsure(screened ? static_cast<size_t>(pairs) : 0);
  over(points, threads, points_at_once(task), [&](int64_t first, int64_t end, Poll poll) {
    return compare_pairs(task, first, end, unsure.data(), poll);
  });
}

// Fill out (units, columns) with the means of the bags that stand for each unit.
void leave_out_means(nb::handle values, nb::handle patterns, nb::handle counts, int64_t from, int64_t to, nb::handle out,
                     int threads) {
  View in = View::anywhere(values, PyBUF_C_CONTIGUOUS);
  View bits(patterns, PyBUF_C_CONTIGUOUS), how_many(counts, PyBUF_C_CONTIGUOUS),
      result(out, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
  BagValues bag_values = values_of(in);
  TakenBags taken = taken_of(bits, how_many, bag_values.n_bags);
  int64_t columns = bag_values.stride;
  require(0 <= from && from <= to && to <= taken.n_units, "from and to must be units");
  require(result->itemsize == 8 && result.count() == (to - from) * columns, "out must be (units, columns) float64");
  const AuditUnit& chosen = audit_unit();
  over(columns, threads, kTileColumns, [&](int64_t first, int64_t last, Poll poll) {
    std::vector<double> part(static_cast<size_t>((to - from) * kTileColumns));
    std::vector<int64_t> numbers(static_cast<size_t>(to - from));
    std::iota(numbers.begin(), numbers.end(), from);
    for (int64_t c = first; c < last; c += kTileColumns) {
      int64_t end = std::min(c + kTileColumns, last), width = end - c;
      if (!chosen.means(bag_values, c, end, taken, numbers.data(), to - from, part.data(), poll))
        return Problem::no_memory;
      for (int64_t i = 0; i < to - from; ++i)
        std::copy_n(part.data() + i * width, width, result.as<double>() + i * columns + c);
    }
    return Problem::none;
  });
}

// values: (bags, columns, 1); bounds: units float64; least, most: columns int64.
void count_below(nb::handle values, nb::handle patterns, nb::handle counts, nb::handle bounds, nb::handle least,
                 nb::handle most, int threads) {
  View in = View::anywhere(values, PyBUF_C_CONTIGUOUS);
  View bits(patterns, PyBUF_C_CONTIGUOUS), how_many(counts, PyBUF_C_CONTIGUOUS), below(bounds, PyBUF_C_CONTIGUOUS),
      fewest(least, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE), all(most, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
  BagValues bag_values = values_of(in);
  TakenBags taken = taken_of(bits, how_many, bag_values.n_bags);
  int64_t columns = bag_values.stride;
  require(below->itemsize == 8 && below.count() == taken.n_units, "bounds must hold a float64 for each unit");
  require(fewest->itemsize == 8 && fewest.count() == columns && all->itemsize == 8 && all.count() == columns,
          "least and most must hold an int64 for each column");
  require(taken.n_units < int64_t{1} << 31, "units must number less than 2^31");
  const AuditUnit& chosen = audit_unit();
  double scale = chosen.scale(bag_values.n_bags);
  auto between = [&](bool exact) { return brinks(taken, below.as<const double>(), bag_values.n_bags, scale, exact); };
  std::vector<Brink> exact = between(true), rounded = between(false);
  CountTask task = {bag_values, taken, scale, exact.data(), rounded.data(), fewest.as<int64_t>(), all.as<int64_t>()};
  over(columns, threads, kTileColumns,
       [&](int64_t first, int64_t last, Poll poll) { return done(chosen.count_below(task, first, last, poll)); });
}

// starts: points + 1 int64; mean: (points, classes) float64 and set uint8; models: (n, classes) float64 and sets uint8;
// shift: n float32; conflict, apart: n uint8; jaccard: n float64.
void near_points(nb::handle starts, nb::handle mean, nb::handle set, nb::handle models, nb::handle sets, int64_t n_common,
                 nb::handle shift, nb::handle conflict, nb::handle apart, nb::handle jaccard, int threads) {
  View places(starts, PyBUF_C_CONTIGUOUS), own(mean, PyBUF_C_CONTIGUOUS), own_set(set, PyBUF_C_CONTIGUOUS),
      others(models, PyBUF_C_CONTIGUOUS), other_sets(sets, PyBUF_C_CONTIGUOUS),
      moved(shift, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE), disjoint(conflict, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE),
      lead(apart, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE), alike(jaccard, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
  require(own->ndim == 2 && own->itemsize == 8 && others->ndim == 2 && others->itemsize == 8 &&
              own->shape[1] == others->shape[1] && own->shape[1] >= 1,
          "mean and models must have the shape (.., classes)");
  int64_t points = own->shape[0], n = others->shape[0], classes = own->shape[1];
  require(own_set->len == points * classes && other_sets->len == n * classes, "set and sets must fit mean and models");
  require(moved->itemsize == 4 && moved.count() == n && disjoint->len == n && lead->len == n && alike->itemsize == 8 &&
              alike.count() == n && places->itemsize == 8 && places.count() == points + 1,
          "the outputs must have one entry per model, starts one per point and one more");
  std::vector<int64_t> at(places.as<const int64_t>(), places.as<const int64_t>() + points + 1);
  require(at.front() == 0 && at.back() <= n && std::is_sorted(at.begin(), at.end()), "starts must not fall or pass n");
  NearPairs task = {at.data(), own.as<const double>(), own_set.as<const uint8_t>(), others.as<const double>(),
                    other_sets.as<const uint8_t>(), classes, n_common, moved.as<float>(), disjoint.as<uint8_t>(),
                    lead.as<uint8_t>(), alike.as<double>()};
  const AuditUnit& chosen = audit_unit();
  over(points, threads, 64, [&](int64_t first, int64_t last, Poll poll) {
    chosen.compare_near(task, first, last, poll);
    return Problem::none;
  });
}

// rows: (points, near) int32 of any stride between points; number: (points, near + 1) int32; shift: float32, one for each
// model; the others as in ShiftViews.
void near_shifts(nb::handle rows, nb::handle unit_of, nb::handle number, nb::handle shift, int64_t first, nb::handle score,
                 nb::handle leader, nb::handle levels, nb::handle quantiles, int threads) {
  View near(rows, PyBUF_STRIDED_RO), which(number, PyBUF_C_CONTIGUOUS), moved(shift, PyBUF_C_CONTIGUOUS);
  ShiftViews ranked(unit_of, score, leader, levels, quantiles);
  require(near->ndim == 2 && near->itemsize == 4 && which->itemsize == 4 && moved->itemsize == 4,
          "rows and number must be int32, shifts float32");
  const int64_t points = near->shape[0], n = near->shape[1];
  require(n <= 1 || near->strides[1] == 4, "rows must lie side by side");
  require(near->strides[0] >= 0 && near->strides[0] % 4 == 0 && reinterpret_cast<uintptr_t>(near->buf) % 4 == 0,
          "rows must be aligned");
  require(which.count() == points * (n + 1), "the arrays do not fit");
  NearRanks ranks = {near.as<const int32_t>(), near->strides[0] / 4, which.as<const int32_t>(), n, moved.as<const float>(),
                     moved.count()};
  const UnitOfRow units = ranked.rows();
  const NearShifts out = ranked.out(first, points);
  std::mutex guard;
  split(points, threads, 1,
        [&](int64_t from, int64_t to, Poll poll) { rank_shifts(ranks, units, out, from, to, guard, poll); });
}

// Fill spread and settled, one for each point.
void survey_points(nb::handle values, nb::handle mean, int64_t least, double bound, nb::handle spread, nb::handle settled,
                   int threads) {
  View in = View::anywhere(values, PyBUF_C_CONTIGUOUS);
  View own(mean, PyBUF_C_CONTIGUOUS), wide(spread, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE),
      calm(settled, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
  BagValues bag_values = values_of(in);
  int64_t points = in->shape[1], classes = in->shape[2];
  require(own->itemsize == 8 && own.count() == points * classes, "mean must have the shape (points, classes)");
  require(wide->itemsize == 8 && wide.count() == points && calm->len == points, "the outputs must have one entry per point");
  require(least >= 1 && least <= bag_values.n_bags && classes >= 1, "least must lie between 1 and the number of bags");
  SurveyTask task = {bag_values, own.as<const double>(), classes, least, bound, wide.as<double>(), calm.as<uint8_t>()};
  const AuditUnit& chosen = audit_unit();
  over(points, threads, 16,
       [&](int64_t first, int64_t last, Poll poll) { return done(chosen.survey(task, first, last, poll)); });
}

}  // namespace

void bind_audit(nb::module_& m) {
  m.def("audit_points", &audit_points, nb::arg("values"), nb::arg("patterns"), nb::arg("counts"), nb::arg("mean"),
        nb::arg("set"), nb::arg("rules"), nb::arg("sum_slack"),
        nb::arg("entries").none(), nb::arg("shift"), nb::arg("error"), nb::arg("conflict"),
        nb::arg("last").none(),
        nb::arg("jaccard"), nb::arg("threads"), "Compare every point's mean and set with those of every unit left out.");
  m.def("leave_out_means", &leave_out_means, nb::arg("values"), nb::arg("patterns"), nb::arg("counts"), nb::arg("start"),
        nb::arg("stop"), nb::arg("out"), nb::arg("threads"), "Fill `out` with the means of units start to stop - 1.");
  m.def("count_below", &count_below, nb::arg("values"), nb::arg("patterns"), nb::arg("counts"), nb::arg("bounds"),
        nb::arg("least"), nb::arg("most"), nb::arg("threads"),
        "Fill `least` and `most` with bounds on how many units have a mean below their own bound, for each column.");
  m.def("near_points", &near_points, nb::arg("starts"), nb::arg("mean"), nb::arg("set"), nb::arg("models"),
        nb::arg("sets"), nb::arg("n_common"), nb::arg("shift"), nb::arg("conflict"), nb::arg("apart"), nb::arg("jaccard"), nb::arg("threads"),
        "Compare every point's mean and set with those of the point's own models.");
  m.def("near_shifts", &near_shifts, nb::arg("rows"), nb::arg("unit_of"), nb::arg("number"), nb::arg("shift"),
        nb::arg("first"), nb::arg("score"), nb::arg("leader"), nb::arg("levels"), nb::arg("quantiles"),
        nb::arg("threads"), "Fill the quantiles of all units' shifts at each point, and keep the largest of each unit.");
  m.def("survey_points", &survey_points, nb::arg("values"), nb::arg("mean"), nb::arg("least"), nb::arg("bound"),
        nb::arg("spread"), nb::arg("settled"), nb::arg("threads"),
        "Fill `spread` with the sum of squares of each point and `settled` with whether its leading label cannot change.");
}
