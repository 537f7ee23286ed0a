// The audit for Python: check shapes once, release the GIL, split the points over threads.
#include <nanobind/nanobind.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <new>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <vector>

#include "audit/api.hpp"
#include "isa.hpp"
#include "parallel.hpp"
#include "selection/api.hpp"
#include "view.hpp"

namespace nb = nanobind;
using namespace steadyset;

namespace {

constexpr int64_t kTileColumns = 64;
constexpr int64_t kScreenColumns = 80;
constexpr int64_t kTogether = 1024;  // units whose means are held at a time

const AuditUnit& unit() {
#ifdef STEADYSET_X86_LEVELS
  if (level() == Level::avx512) return audit_unit_avx512();
  if (level() == Level::avx2) return audit_unit_avx2();
#endif
  return audit_unit_baseline();
}

const SelectionUnit& selection() {
#ifdef STEADYSET_X86_LEVELS
  if (level() == Level::avx512) return selection_unit_avx512();
  if (level() == Level::avx2) return selection_unit_avx2();
#endif
  return selection_unit_baseline();
}

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

BagValues values_of(const View& in) {
  require(in->ndim == 3 && (in->itemsize == 4 || in->itemsize == 8), "values must be (bags, points, classes) floats");
  return {in->buf, in->itemsize == 8, in->shape[0], in->shape[1] * in->shape[2]};
}

TakenBags taken_of(const View& patterns, const View& counts, int64_t n_bags) {
  require(patterns->ndim == 2 && patterns->itemsize == 2 &&
              patterns->shape[0] == (n_bags + kPatternBags - 1) / kPatternBags,
          "patterns must be (blocks of bags, units) uint16");
  require(counts->itemsize == 8 && counts.count() == patterns->shape[1], "counts must hold a float64 for each unit");
  return {patterns.as<const uint16_t>(), counts.as<const double>(), patterns->shape[1]};
}

Rows rows_of(const double* data, int64_t n_rows, int64_t n_classes) {
  return {reinterpret_cast<const char*>(data), n_rows, n_classes, n_classes * 8, 8, Kind::f64};
}

// The largest epsilon at which two sets of the inflated argmax are disjoint, min_j max(eps_j(v), eps_j(w)).
double last_conflict(const double* v, const double* w, int64_t n) {
  double least = std::numeric_limits<double>::infinity();
  for (int64_t j = 0; j < n; ++j) least = std::min(least, std::max(v[j], w[j]));
  return least;
}

// Everything that is asked of each pair of a point and a unit. Arrays over pairs are (points, units).
struct Task {
  BagValues values;
  TakenBags taken;
  int64_t n_classes;
  const double* mean;
  const uint8_t* set;     // null: shifts only
  const double* entries;  // of the means; null: no last conflicts
  Rule rule;
  float* shift;
  double* error;          // of a point's shifts
  uint8_t* conflict;
  double* last;           // the last conflict of a pair, -1 where it never is one
  double* jaccard;
};

// Pairs of one point with some units, by the definition: means in the fixed order, the rule, the path.
class Solver {
 public:
  explicit Solver(const Task& task) : t(task) {}

  Problem solve(int64_t point, const std::vector<int64_t>& units) {
    int64_t n = t.n_classes, found = static_cast<int64_t>(units.size());
    means.resize(static_cast<size_t>(found * n));
    sets.resize(means.size());
    if (!unit().means(t.values, point * n, (point + 1) * n, t.taken, units.data(), found, means.data()))
      return Problem::no_memory;
    Rows rows = rows_of(means.data(), found, n);
    Outcome outcome = selection().select(rows, t.rule, sets.data(), 0, found);
    if (outcome.problem != Problem::none) return outcome.problem;
    if (t.entries != nullptr) {
      paths.resize(means.size());
      outcome = selection().entry_epsilons(rows, paths.data(), 0, found);
      if (outcome.problem != Problem::none) return outcome.problem;
    }
    for (int64_t i = 0; i < found; ++i) write(point, units[static_cast<size_t>(i)], i);
    return Problem::none;
  }

 private:
  const Task& t;
  std::vector<double> means, paths;
  std::vector<uint8_t> sets;

  void write(int64_t point, int64_t unit, int64_t i) {
    int64_t n = t.n_classes, place = point * t.taken.n_units + unit, both = 0, either = 0;
    const uint8_t *set = t.set + point * n, *without = sets.data() + i * n;
    for (int64_t l = 0; l < n; ++l) {
      both += set[l] & without[l];
      either += set[l] | without[l];
    }
    t.conflict[place] = both == 0;
    t.jaccard[point] += static_cast<double>(both) / static_cast<double>(either);
    if (t.entries == nullptr) return;
    double e = last_conflict(t.entries + point * n, paths.data() + i * n, n);
    // The rule itself, which is rounded outward, decides at its own epsilon.
    if (both == 0) e = std::max(e, t.rule.a);
    else if (e >= t.rule.a) e = std::nextafter(t.rule.a, -1.0);
    t.last[place] = e > 0 || both == 0 ? e : -1;
  }
};

bool keeps_to_margin(RuleId id) {
  return id == RuleId::argmax || id == RuleId::inflated_argmax || id == RuleId::fixed_margin;
}

// Points [first, last), a few at a time: nearly all pairs in fixed point, the others by the definition.
Problem screen_range(const Task& t, int64_t first, int64_t last, uint8_t* unsure) {
  int64_t n = t.n_classes, units = t.taken.n_units, together = std::clamp<int64_t>(kScreenColumns / n, 1, 16);
  std::vector<uint8_t> leads(t.entries == nullptr ? 0 : static_cast<size_t>(last * n));  // in step with the points
  for (size_t i = static_cast<size_t>(first * n); i < leads.size(); ++i) leads[i] = t.entries[i] == 0;
  ScreenTask task = {t.values, t.taken, n, t.rule.a * std::sqrt(0.5), t.mean, t.set, leads.empty() ? nullptr : leads.data(),
                     t.shift, t.error, t.conflict, unsure, t.jaccard};
  if (t.rule.id == RuleId::argmax) task.margin = 0;
  Solver solver(t);
  std::vector<int64_t> open;
  for (int64_t point = first; point < last; point += together) {
    int64_t end = std::min(point + together, last);
    if (!unit().screen(task, point, end)) return Problem::no_memory;
    for (int64_t k = point; k < end; ++k) {
      if (t.last != nullptr) std::fill_n(t.last + k * units, units, -1.0);
      for (int64_t from = 0; from < units; from += kTogether) {
        open.clear();
        for (int64_t i = from; i < std::min(from + kTogether, units); ++i)
          if (unsure[k * units + i]) open.push_back(i);
        if (open.empty()) continue;
        Problem problem = solver.solve(k, open);
        if (problem != Problem::none) return problem;
      }
    }
  }
  return Problem::none;
}

// Points [first, last), a few at a time, against all units, a block at a time, by the definition.
Problem audit_range(const Task& t, int64_t first, int64_t last) {
  const AuditUnit& chosen = unit();
  int64_t n = t.n_classes, together = std::max<int64_t>(1, kTileColumns / n);
  std::vector<double> means(static_cast<size_t>(kTogether * together * n));
  std::vector<uint8_t> sets(t.set != nullptr ? means.size() : 0);
  std::vector<int64_t> numbers(kTogether);
  for (int64_t point = first; point < last; point += together) {
    int64_t points = std::min(together, last - point);
    std::fill_n(t.error + point, points, 0x1p-23);  // shifts are floats
    for (int64_t from = 0; from < t.taken.n_units; from += kTogether) {
      int64_t units = std::min(kTogether, t.taken.n_units - from), pairs = units * points;
      std::iota(numbers.begin(), numbers.end(), from);
      if (!chosen.means(t.values, point * n, (point + points) * n, t.taken, numbers.data(), units, means.data()))
        return Problem::no_memory;
      if (t.set != nullptr) {
        Outcome outcome = selection().select(rows_of(means.data(), pairs, n), t.rule, sets.data(), 0, pairs);
        if (outcome.problem != Problem::none) return outcome.problem;
      }
      Comparison c = {t.mean + point * n, t.set == nullptr ? nullptr : t.set + point * n, means.data(), sets.data(),
                      units, points, n};
      int64_t place = point * t.taken.n_units + from;
      chosen.compare(c, t.shift + place, t.set == nullptr ? nullptr : t.conflict + place, t.taken.n_units,
                     t.jaccard + point);
    }
  }
  return Problem::none;
}

// Runs work(first, last) over n things, a few at a time, without the GIL; throws when it cannot be done. Points differ in
// what they cost, so each thread takes the next few when it is done with the last ones.
template <class Work> void over(int64_t n, int threads, int64_t few, Work work) {
  std::atomic<Problem> worst{Problem::none};
  std::atomic<int64_t> next{0};
  {
    nb::gil_scoped_release released;
    int64_t workers = std::clamp<int64_t>(threads, 1, (n + few - 1) / few + 1);
    split(workers, static_cast<int>(workers), 1, [&](int64_t, int64_t) {
      for (int64_t first; (first = next.fetch_add(few)) < n && worst == Problem::none;) {
        Problem problem = Problem::no_memory;
        try {
          problem = work(first, std::min(first + few, n));
        } catch (const std::bad_alloc&) {
        }
        if (problem != Problem::none) worst = problem;
      }
    });
  }
  if (worst == Problem::no_memory) throw std::bad_alloc();
  if (worst != Problem::none)
    throw std::invalid_argument("rule must apply to the mean of any bags; got a mean that does not sum to 1 within 1e-6.");
}

Problem done(bool enough_memory) { return enough_memory ? Problem::none : Problem::no_memory; }

// values: (bags, points, classes) float32 or float64; mean, entries: (points, classes) float64; set: the same, uint8;
// shift: (points, units) float32; last: the same, float64; conflict: the same, uint8; error, jaccard: points float64. rule < 0: shifts only.
void audit_points(nb::handle values, nb::handle patterns, nb::handle counts, nb::handle mean, nb::handle set, int rule,
                  double a, double b, int64_t k, double sum_slack, double tie_slack, nb::handle entries,
                  nb::handle shift, nb::handle error, nb::handle conflict, nb::handle last, nb::handle jaccard,
                  int threads) {
  View in(values, PyBUF_C_CONTIGUOUS), bits(patterns, PyBUF_C_CONTIGUOUS), how_many(counts, PyBUF_C_CONTIGUOUS),
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
  require(rule <= static_cast<int>(RuleId::svbop), "rule is unknown");
  require(static_cast<RuleId>(rule) != RuleId::top_k || (k >= 1 && k <= classes), "k must lie between 1 and the classes");
  std::optional<View> paths, lasts;
  if (!entries.is_none()) {
    paths.emplace(entries, PyBUF_C_CONTIGUOUS);
    lasts.emplace(last, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
    require((*paths)->itemsize == 8 && paths->count() == points * classes && (*lasts)->itemsize == 8 &&
                lasts->count() == pairs,
            "entries and last must fit");
  }
  Task task = {bag_values,
               taken,
               classes,
               own.as<const double>(),
               rule < 0 ? nullptr : sets.as<const uint8_t>(),
               paths ? paths->as<const double>() : nullptr,
               {static_cast<RuleId>(std::max(rule, 0)), a, b, k, sum_slack, tie_slack},
               moved.as<float>(),
               off.as<double>(),
               apart.as<uint8_t>(),
               lasts ? lasts->as<double>() : nullptr,
               alike.as<double>()};
  if (rule >= 0 && keeps_to_margin(task.rule.id)) {
    std::vector<uint8_t> unsure(static_cast<size_t>(pairs));
    over(points, threads, std::clamp<int64_t>(kScreenColumns / classes, 1, 16),
         [&](int64_t first, int64_t end) { return screen_range(task, first, end, unsure.data()); });
  } else {
    require(!paths, "entries are for the inflated argmax and the argmax");
    over(points, threads, std::max<int64_t>(1, kTileColumns / classes),
         [&](int64_t first, int64_t end) { return audit_range(task, first, end); });
  }
}

// Fill out (units, columns) with the means of the bags that stand for each unit.
void leave_out_means(nb::handle values, nb::handle patterns, nb::handle counts, int64_t from, int64_t to, nb::handle out,
                     int threads) {
  View in(values, PyBUF_C_CONTIGUOUS), bits(patterns, PyBUF_C_CONTIGUOUS), how_many(counts, PyBUF_C_CONTIGUOUS),
      result(out, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
  BagValues bag_values = values_of(in);
  TakenBags taken = taken_of(bits, how_many, bag_values.n_bags);
  int64_t columns = bag_values.stride;
  require(0 <= from && from <= to && to <= taken.n_units, "from and to must be units");
  require(result->itemsize == 8 && result.count() == (to - from) * columns, "out must be (units, columns) float64");
  const AuditUnit& chosen = unit();
  over(columns, threads, kTileColumns, [&](int64_t first, int64_t last) {
    std::vector<double> part(static_cast<size_t>((to - from) * kTileColumns));
    std::vector<int64_t> numbers(static_cast<size_t>(to - from));
    std::iota(numbers.begin(), numbers.end(), from);
    for (int64_t c = first; c < last; c += kTileColumns) {
      int64_t end = std::min(c + kTileColumns, last), width = end - c;
      if (!chosen.means(bag_values, c, end, taken, numbers.data(), to - from, part.data())) return Problem::no_memory;
      for (int64_t i = 0; i < to - from; ++i)
        std::copy_n(part.data() + i * width, width, result.as<double>() + i * columns + c);
    }
    return Problem::none;
  });
}

// Fill spread and settled, one for each point.
void survey_points(nb::handle values, nb::handle mean, int64_t least, double bound, nb::handle spread, nb::handle settled,
                   int threads) {
  View in(values, PyBUF_C_CONTIGUOUS), own(mean, PyBUF_C_CONTIGUOUS), wide(spread, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE),
      calm(settled, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
  BagValues bag_values = values_of(in);
  int64_t points = in->shape[1], classes = in->shape[2];
  require(own->itemsize == 8 && own.count() == points * classes, "mean must have the shape (points, classes)");
  require(wide->itemsize == 8 && wide.count() == points && calm->len == points, "the outputs must have one entry per point");
  require(least >= 1 && least <= bag_values.n_bags && classes >= 1, "least must lie between 1 and the number of bags");
  const AuditUnit& chosen = unit();
  over(points, threads, 16, [&](int64_t first, int64_t last) {
    return done(chosen.survey(bag_values, own.as<const double>(), classes, first, last, least, bound, wide.as<double>(),
                              calm.as<uint8_t>()));
  });
}

}  // namespace

void bind_audit(nb::module_& m) {
  m.def("audit_points", &audit_points, nb::arg("values"), nb::arg("patterns"), nb::arg("counts"), nb::arg("mean"),
        nb::arg("set"), nb::arg("rule"), nb::arg("a"), nb::arg("b"), nb::arg("k"), nb::arg("sum_slack"),
        nb::arg("tie_slack"), nb::arg("entries").none(), nb::arg("shift"), nb::arg("error"), nb::arg("conflict"),
        nb::arg("last").none(),
        nb::arg("jaccard"), nb::arg("threads"), "Compare every point's mean and set with those of every unit left out.");
  m.def("leave_out_means", &leave_out_means, nb::arg("values"), nb::arg("patterns"), nb::arg("counts"), nb::arg("start"),
        nb::arg("stop"), nb::arg("out"), nb::arg("threads"), "Fill `out` with the means of units start to stop - 1.");
  m.def("survey_points", &survey_points, nb::arg("values"), nb::arg("mean"), nb::arg("least"), nb::arg("bound"),
        nb::arg("spread"), nb::arg("settled"), nb::arg("threads"),
        "Fill `spread` with the sum of squares of each point and `settled` with whether its leading label cannot change.");
}
