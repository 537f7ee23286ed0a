// The audit for Python: check shapes once, release the GIL, split the points over threads.
#include <nanobind/nanobind.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <new>
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
constexpr int64_t kMeansBytes = 1 << 19;  // leave-one-out means that a thread holds at a time, where points are narrow

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
  int64_t n_points, n_classes;
  const double* mean;
  const uint8_t* set;        // null: shifts only
  const double* entries;     // of the means; null: no last conflicts
  Rule rule;
  double* shift;
  uint8_t* conflict;
  double* last;              // the last conflict of a pair, -1 where it never is one
  double* jaccard;
};

// A conflict at some epsilon needs disjoint maximisers, which few pairs have: only those are solved for.
bool find_last_conflicts(const Task& t, int64_t point, int64_t n_points, int64_t from, int64_t n_units,
                         const double* means, std::vector<double>& rows, std::vector<double>& paths,
                         std::vector<int64_t>& places) {
  rows.clear();
  places.clear();
  int64_t n = t.n_classes, units = t.taken.n_units;
  for (int64_t i = 0; i < n_units; ++i) {
    for (int64_t k = 0; k < n_points; ++k) {
      const double* row = means + (i * n_points + k) * n;
      const double* entry = t.entries + (point + k) * n;
      double leading = -1, other = -1;  // the largest among the maximisers of the mean, and among the rest
      for (int64_t l = 0; l < n; ++l) (entry[l] == 0 ? leading : other) = std::max(entry[l] == 0 ? leading : other, row[l]);
      int64_t place = (point + k) * units + from + i;
      t.last[place] = -1;
      if (!(other > leading)) continue;
      rows.insert(rows.end(), row, row + n);
      places.push_back(place);
    }
  }
  if (places.empty()) return true;
  paths.resize(rows.size());
  int64_t found = static_cast<int64_t>(places.size());
  if (selection().entry_epsilons(rows_of(rows.data(), found, n), paths.data(), 0, found).problem != Problem::none)
    return false;
  for (int64_t i = 0; i < found; ++i) {
    double e = last_conflict(t.entries + places[i] / units * n, paths.data() + i * n, n);
    // The rule itself, which is rounded outward, decides at its own epsilon.
    if (t.rule.id == RuleId::inflated_argmax) {
      if (t.conflict[places[i]]) e = std::max(e, t.rule.a);
      else if (e >= t.rule.a) e = std::nextafter(t.rule.a, -1.0);
    }
    t.last[places[i]] = e;
  }
  return true;
}

// Points [first, last), a few at a time, against all units, a block at a time.
bool audit_range(const Task& t, int64_t first, int64_t last) {
  const AuditUnit& chosen = unit();
  int64_t n = t.n_classes, together = std::max<int64_t>(1, kTileColumns / n);
  int64_t step = std::clamp<int64_t>(8 * kMeansBytes / (8 * together * n), 256, 1024);
  std::vector<double> means(static_cast<size_t>(step * together * n)), rows, paths;
  std::vector<uint8_t> sets(t.set != nullptr ? means.size() : 0);
  std::vector<int64_t> places;
  for (int64_t point = first; point < last; point += together) {
    int64_t points = std::min(together, last - point);
    for (int64_t from = 0; from < t.taken.n_units; from += step) {
      int64_t units = std::min(step, t.taken.n_units - from), pairs = units * points;
      if (!chosen.means(t.values, point * n, (point + points) * n, t.taken, from, from + units, means.data()))
        return false;
      if (t.set != nullptr &&
          selection().select(rows_of(means.data(), pairs, n), t.rule, sets.data(), 0, pairs).problem != Problem::none)
        return false;
      Comparison c = {t.mean + point * n, t.set == nullptr ? nullptr : t.set + point * n, means.data(), sets.data(),
                      units, points, n};
      int64_t place = point * t.taken.n_units + from;
      chosen.compare(c, t.shift + place, t.set == nullptr ? nullptr : t.conflict + place, t.taken.n_units,
                     t.jaccard + point);
      if (t.entries != nullptr &&
          !find_last_conflicts(t, point, points, from, units, means.data(), rows, paths, places))
        return false;
    }
  }
  return true;
}

// Runs work(first, last) over n things in multiples, without the GIL; throws when one runs out of memory.
template <class Work> void over(int64_t n, int threads, int64_t multiple, Work work) {
  std::atomic<bool> enough_memory{true};
  {
    nb::gil_scoped_release released;
    split(n, threads < 1 ? 1 : threads, multiple, [&](int64_t first, int64_t last) {
      try {
        if (!work(first, last)) enough_memory = false;
      } catch (const std::bad_alloc&) {
        enough_memory = false;
      }
    });
  }
  if (!enough_memory) throw std::bad_alloc();
}

// values: (bags, points, classes) float32 or float64; mean, entries: (points, classes) float64; set: the same, uint8;
// shift, last: (points, units) float64; conflict: the same, uint8; jaccard: points float64. rule < 0: shifts only.
void audit_points(nb::handle values, nb::handle patterns, nb::handle counts, nb::handle mean, nb::handle set, int rule,
                  double a, double b, int64_t k, double sum_slack, double tie_slack, nb::handle entries,
                  nb::handle shift, nb::handle conflict, nb::handle last, nb::handle jaccard, int threads) {
  View in(values, PyBUF_C_CONTIGUOUS), bits(patterns, PyBUF_C_CONTIGUOUS), how_many(counts, PyBUF_C_CONTIGUOUS),
      own(mean, PyBUF_C_CONTIGUOUS), sets(set, PyBUF_C_CONTIGUOUS), moved(shift, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE),
      apart(conflict, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE), alike(jaccard, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
  BagValues bag_values = values_of(in);
  TakenBags taken = taken_of(bits, how_many, bag_values.n_bags);
  int64_t points = in->shape[1], classes = in->shape[2], pairs = points * taken.n_units;
  require(own->itemsize == 8 && own.count() == points * classes && sets->len == points * classes,
          "mean and set must have the shape (points, classes)");
  require(moved->itemsize == 8 && moved.count() == pairs && apart->len == pairs && alike->itemsize == 8 &&
              alike.count() == points,
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
               points,
               classes,
               own.as<const double>(),
               rule < 0 ? nullptr : sets.as<const uint8_t>(),
               paths ? paths->as<const double>() : nullptr,
               {static_cast<RuleId>(std::max(rule, 0)), a, b, k, sum_slack, tie_slack},
               moved.as<double>(),
               apart.as<uint8_t>(),
               lasts ? lasts->as<double>() : nullptr,
               alike.as<double>()};
  over(points, threads, std::max<int64_t>(1, kTileColumns / classes),
       [&](int64_t first, int64_t end) { return audit_range(task, first, end); });
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
    for (int64_t c = first; c < last; c += kTileColumns) {
      int64_t end = std::min(c + kTileColumns, last), width = end - c;
      if (!chosen.means(bag_values, c, end, taken, from, to, part.data())) return false;
      for (int64_t i = 0; i < to - from; ++i)
        std::copy_n(part.data() + i * width, width, result.as<double>() + i * columns + c);
    }
    return true;
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
  require(wide->itemsize == 8 && wide.count() == points && calm->len == points, "the outputs must have one entry a point");
  require(least >= 1 && least <= bag_values.n_bags && classes >= 1, "least must lie between 1 and the number of bags");
  const AuditUnit& chosen = unit();
  over(points, threads, 1, [&](int64_t first, int64_t last) {
    return chosen.survey(bag_values, own.as<const double>(), classes, first, last, least, bound, wide.as<double>(),
                         calm.as<uint8_t>());
  });
}

}  // namespace

void bind_audit(nb::module_& m) {
  m.def("audit_points", &audit_points, nb::arg("values"), nb::arg("patterns"), nb::arg("counts"), nb::arg("mean"),
        nb::arg("set"), nb::arg("rule"), nb::arg("a"), nb::arg("b"), nb::arg("k"), nb::arg("sum_slack"),
        nb::arg("tie_slack"), nb::arg("entries").none(), nb::arg("shift"), nb::arg("conflict"), nb::arg("last").none(),
        nb::arg("jaccard"), nb::arg("threads"), "Compare every point's mean and set with those of every unit left out.");
  m.def("leave_out_means", &leave_out_means, nb::arg("values"), nb::arg("patterns"), nb::arg("counts"), nb::arg("start"),
        nb::arg("stop"), nb::arg("out"), nb::arg("threads"), "Fill `out` with the means of units start to stop - 1.");
  m.def("survey_points", &survey_points, nb::arg("values"), nb::arg("mean"), nb::arg("least"), nb::arg("bound"),
        nb::arg("spread"), nb::arg("settled"), nb::arg("threads"),
        "Fill `spread` with the sum of squares of each point and `settled` with whether its leading label cannot change.");
}
