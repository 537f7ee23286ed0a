// Certificates for Python: what any votes in some of the bags can do to a point's set (Theorem 6 and Theorem C2).
#include <algorithm>
#include <optional>

#include "audit/calls.hpp"
#include "audit/clearing.hpp"
#include "audit/hostile.hpp"

namespace nb = nanobind;
using namespace steadyset;

namespace {

constexpr int64_t kColumns = 160;  // of points that are looked at together
constexpr int64_t kVerdictBytes = 64 << 20;

Comparer comparer(int rule, double epsilon) {
  require(rule == static_cast<int>(RuleId::argmax) || rule == static_cast<int>(RuleId::inflated_argmax) ||
              rule == static_cast<int>(RuleId::fixed_margin),
          "rule must be one that compares labels");
  return {static_cast<RuleId>(rule), epsilon};
}

// values: (bags, points, classes); patterns: of the bags that do not hold a unit; most, ones: float64, times: int64, one
// for each unit; set: (points, classes) uint8; radius: (points) float64 for a rule that has nothing else; uncleared: int64.
void clear_points(nb::handle values, nb::handle patterns, nb::handle ones, nb::handle most, nb::handle times, nb::handle set,
                  nb::handle radius, int rule, double epsilon, nb::handle uncleared, int threads) {
  View in = View::anywhere(values, PyBUF_C_CONTIGUOUS);
  View bits(patterns, PyBUF_C_CONTIGUOUS), one(ones, PyBUF_C_CONTIGUOUS),
      votes(most, PyBUF_C_CONTIGUOUS), equal(times, PyBUF_C_CONTIGUOUS), own(set, PyBUF_C_CONTIGUOUS),
      result(uncleared, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
  BagValues bag_values = values_of(in);
  TakenBags taken = taken_of(bits, one, bag_values.n_bags);
  int64_t points = in->shape[1], classes = in->shape[2];
  require(votes->itemsize == 8 && votes.count() == taken.n_units && equal->itemsize == 8 && equal.count() == taken.n_units,
          "most and times must hold one number for each unit");
  require(classes >= 1 && own->len == points * classes, "set must have the shape (points, classes)");
  require(result->itemsize == 8 && result.count() == points, "uncleared must hold one number for each point");
  std::optional<View> reach;
  if (!radius.is_none()) {
    reach.emplace(radius, PyBUF_C_CONTIGUOUS);
    require((*reach)->itemsize == 8 && reach->count() == points, "radius must hold one number for each point");
  }
  Comparer how = reach ? Comparer{RuleId::argmax, 0} : comparer(rule, epsilon);
  ClearTask task = {bag_values, taken, votes.as<const double>(), classes, own.as<const uint8_t>(),
                    reach ? reach->as<const double>() : nullptr,
                    how.margin() * static_cast<double>(bag_values.n_bags), how.inflated(), epsilon};
  int64_t few = std::min(kColumns / classes, kVerdictBytes / std::max<int64_t>(taken.n_units, 1));
  over(points, threads, std::clamp<int64_t>(few, 1, 16), [&](int64_t first, int64_t last, Poll poll) {
    return clear_range(task, how, equal.as<const int64_t>(), first, last, result.as<int64_t>(), poll);
  });
}

// values: (bags, points, classes); set: (points, classes) uint8; vote: the largest sum of a vote; least: fewer bags than
// these are of no use; bags: (points) int64.
void hostile_bags(nb::handle values, nb::handle set, int rule, double epsilon, double vote, double slack, int64_t least,
                  nb::handle bags, int threads) {
  View in(values, PyBUF_C_CONTIGUOUS), own(set, PyBUF_C_CONTIGUOUS), result(bags, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
  BagValues v = values_of(in);
  int64_t points = in->shape[1], classes = in->shape[2];
  require(classes >= 1 && own->len == points * classes, "set must have the shape (points, classes)");
  require(result->itemsize == 8 && result.count() == points, "bags must hold one number for each point");
  require(least >= 0 && least <= v.n_bags, "least must lie between 0 and the number of bags");
  v.data = in.as<const void>();
  HostileTask task = {v, own.as<const uint8_t>(), classes, comparer(rule, epsilon), vote, slack, least};
  over(points, threads, 16, [&](int64_t first, int64_t last, Poll poll) {
    return hostile_range(task, first, last, result.as<int64_t>(), poll);
  });
}

}  // namespace

void bind_certificates(nb::module_& m) {
  m.def("clear_points", &clear_points, nb::arg("values"), nb::arg("patterns"), nb::arg("ones"), nb::arg("most"),
        nb::arg("times"), nb::arg("set"), nb::arg("radius").none(), nb::arg("rule"), nb::arg("epsilon"), nb::arg("uncleared"),
        nb::arg("threads"), "Fill `uncleared` with how many rows Theorem 6 does not clear, point by point.");
  m.def("hostile_bags", &hostile_bags, nb::arg("values"), nb::arg("set"), nb::arg("rule"), nb::arg("epsilon"), nb::arg("vote"),
        nb::arg("slack"), nb::arg("least"), nb::arg("bags"), nb::arg("threads"),
        "Fill `bags` with how many bags may vote anything, point by point; 0 where it is below `least`.");
}
