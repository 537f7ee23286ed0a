// Selection for Python: check shapes once, release the GIL, split the rows over threads.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

#include "isa.hpp"
#include "parallel.hpp"
#include "selection/api.hpp"
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

const SelectionUnit& unit() {
#ifdef STEADYSET_X86_LEVELS
  if (level() == Level::avx512) return selection_unit_avx512();
  if (level() == Level::avx2) return selection_unit_avx2();
#endif
  return selection_unit_baseline();
}

using Failure = std::optional<std::pair<int, int64_t>>;

// Runs work(first, last) over all rows without the GIL; the failure at the lowest row, if any.
template <class Work> Failure over_rows(int64_t n_rows, int threads, Work work) {
  Outcome worst = {-1, Problem::none};
  std::mutex guard;
  {
    nb::gil_scoped_release released;
    split(n_rows, threads < 1 ? 1 : threads, 16, [&](int64_t first, int64_t last) {
      Outcome outcome = work(first, last);
      if (outcome.problem == Problem::none) return;
      std::lock_guard<std::mutex> lock(guard);
      if (worst.problem == Problem::none || outcome.row < worst.row) worst = outcome;
    });
  }
  if (worst.problem == Problem::none) return std::nullopt;
  return std::make_pair(static_cast<int>(worst.problem), worst.row);
}

void require_output(const Py_buffer& out, const Rows& rows, int64_t itemsize) {
  if (out.ndim != 2 || out.shape[0] != rows.n_rows || out.shape[1] != rows.n_classes || out.itemsize != itemsize)
    throw std::invalid_argument("out must be a contiguous array of the scores' shape");
}

Failure select_labels(nb::handle scores, int kind, int rule, double a, double b, int64_t k, double sum_slack,
               double tie_slack, nb::handle out, int threads) {
  View in(scores, PyBUF_STRIDED_RO), to(out, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
  Rows rows = rows_of(*in, kind);
  require_output(*to, rows, 1);
  if (rule < 0 || rule > static_cast<int>(RuleId::svbop)) throw std::invalid_argument("rule is unknown");
  if (static_cast<RuleId>(rule) == RuleId::top_k && (k < 1 || k > rows.n_classes))
    throw std::invalid_argument("k must lie between 1 and the number of columns");
  Rule asked = {static_cast<RuleId>(rule), a, b, k, sum_slack, tie_slack};
  const SelectionUnit& chosen = unit();
  auto* mask = to.as<uint8_t>();
  return over_rows(rows.n_rows, threads, [&](int64_t first, int64_t last) {
    return chosen.select(rows, asked, mask, first, last);
  });
}

Failure entries(nb::handle scores, int kind, nb::handle out, int threads) {
  View in(scores, PyBUF_STRIDED_RO), to(out, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
  Rows rows = rows_of(*in, kind);
  require_output(*to, rows, 8);
  const SelectionUnit& chosen = unit();
  auto* entries = to.as<double>();
  return over_rows(rows.n_rows, threads, [&](int64_t first, int64_t last) {
    return chosen.entry_epsilons(rows, entries, first, last);
  });
}

}  // namespace

void bind_selection(nb::module_& m) {
  m.def("select", &select_labels, nb::arg("scores"), nb::arg("kind"), nb::arg("rule"), nb::arg("a"), nb::arg("b"),
        nb::arg("k"), nb::arg("sum_slack"), nb::arg("tie_slack"), nb::arg("out"), nb::arg("threads"),
        "Fill `out` with the rule's mask; None, or (problem, row) for the first row that cannot be answered.");
  m.def("entry_epsilons", &entries, nb::arg("scores"), nb::arg("kind"), nb::arg("out"), nb::arg("threads"),
        "Fill `out` with each label's entry epsilon; None, or (problem, row).");
}
