// Selection for Python: check shapes once, release the GIL, split the rows over threads.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

#include "parallel.hpp"
#include "selection/api.hpp"
#include "selection/asked.hpp"
#include "view.hpp"

namespace nb = nanobind;
using namespace steadyset;

namespace {

constexpr int64_t kItemSize[] = {8, 4, 2, 2, 1, 2, 4, 8, 1, 2, 4, 8};
constexpr int kKinds = sizeof kItemSize / sizeof kItemSize[0];

Rows rows_of(const Py_buffer& b, int kind) {
  if (kind < 0 || kind >= kKinds || b.ndim != 2 || b.itemsize != kItemSize[kind] || b.shape[1] < 1)
    throw std::invalid_argument("scores must be a two-dimensional array of the stated kind with at least one column");
  return {static_cast<const char*>(b.buf), b.shape[0], b.shape[1], b.strides[0], b.strides[1], static_cast<Kind>(kind)};
}

using Failure = std::optional<std::pair<int, int64_t>>;

// Runs work(first, last, poll) over all rows without the GIL; the failure at the lowest row, if any.
template <class Work> Failure over_rows(int64_t n_rows, int threads, Work work) {
  Outcome worst = {-1, Problem::none};
  std::mutex guard;
  split(n_rows, threads, 16, [&](int64_t first, int64_t last, Poll poll) {
    Outcome outcome = work(first, last, poll);
    if (outcome.problem == Problem::none) return;
    std::lock_guard<std::mutex> lock(guard);
    if (worst.problem == Problem::none || outcome.row < worst.row) worst = outcome;
  });
  if (worst.problem == Problem::none) return std::nullopt;
  return std::make_pair(static_cast<int>(worst.problem), worst.row);
}

void require_output(const Py_buffer& out, const Rows& rows, int64_t itemsize) {
  if (out.ndim != 2 || out.shape[0] != rows.n_rows || out.shape[1] != rows.n_classes || out.itemsize != itemsize)
    throw std::invalid_argument("out must be a contiguous array of the scores' shape");
}

void require_k(int64_t k, const Rows& rows) {
  if (k < 1 || k > rows.n_classes) throw std::invalid_argument("k must lie between 1 and the number of columns");
}

Failure select_labels(nb::handle scores, int kind, int rule, double a, double b, int64_t k, double sum_slack,
                      nb::handle out, int threads) {
  View in(scores, PyBUF_STRIDED_RO), to(out, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
  Rows rows = rows_of(*in, kind);
  require_output(*to, rows, 1);
  if (rule < 0 || rule > static_cast<int>(RuleId::inflated_top_k)) throw std::invalid_argument("rule is unknown");
  RuleId id = static_cast<RuleId>(rule);
  if (id == RuleId::top_k || id == RuleId::inflated_top_k) require_k(k, rows);
  Rule asked = {id, a, b, k, sum_slack};
  const SelectionUnit& chosen = selection_unit();
  auto* mask = to.as<uint8_t>();
  return over_rows(rows.n_rows, threads, [&](int64_t first, int64_t last, Poll poll) {
    return chosen.select(rows, asked, mask, first, last, poll);
  });
}

Failure select_conformal(nb::handle scores, int kind, int rule, nb::handle thresholds, double sum_slack, nb::handle out,
                         int threads) {
  View in(scores, PyBUF_STRIDED_RO), bounds(thresholds, PyBUF_C_CONTIGUOUS), to(out, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
  Rows rows = rows_of(*in, kind);
  require_output(*to, rows, 1);
  Rule asked = conformal_rule(rule, bounds, rows.n_classes, sum_slack);
  const SelectionUnit& chosen = selection_unit();
  auto* mask = to.as<uint8_t>();
  return over_rows(rows.n_rows, threads, [&](int64_t first, int64_t last, Poll poll) {
    return chosen.select(rows, asked, mask, first, last, poll);
  });
}

Failure entries(nb::handle scores, int kind, int64_t k, nb::handle out, int threads) {
  View in(scores, PyBUF_STRIDED_RO), to(out, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
  Rows rows = rows_of(*in, kind);
  require_output(*to, rows, 8);
  require_k(k, rows);
  const SelectionUnit& chosen = selection_unit();
  auto* entries = to.as<double>();
  return over_rows(rows.n_rows, threads, [&](int64_t first, int64_t last, Poll poll) {
    return k == 1 ? chosen.entry_epsilons(rows, entries, first, last, poll)
                  : chosen.top_entries(rows, k, entries, first, last, poll);
  });
}

}  // namespace

void bind_selection(nb::module_& m) {
  m.def("select", &select_labels, nb::arg("scores"), nb::arg("kind"), nb::arg("rule"), nb::arg("a"), nb::arg("b"),
        nb::arg("k"), nb::arg("sum_slack"), nb::arg("out"), nb::arg("threads"),
        "Fill `out` with the rule's mask; None, or (problem, row) for the first row that cannot be answered.");
  m.def("select_conformal", &select_conformal, nb::arg("scores"), nb::arg("kind"), nb::arg("rule"), nb::arg("thresholds"),
        nb::arg("sum_slack"), nb::arg("out"), nb::arg("threads"),
        "Fill `out` with the labels whose score is at most the threshold; None, or (problem, row) as `select`.");
  m.def("entry_epsilons", &entries, nb::arg("scores"), nb::arg("kind"), nb::arg("k"), nb::arg("out"),
        nb::arg("threads"), "Fill `out` with each label's entry epsilon into the inflated top k; None, or (problem, row).");
}
