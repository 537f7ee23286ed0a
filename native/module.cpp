// The compiled module: it knows arrays and numbers, nothing of estimators.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>

#include "isa.hpp"

namespace nb = nanobind;

void bind_audit(nb::module_& m);
void bind_bags(nb::module_& m);
void bind_certificates(nb::module_& m);
void bind_lanes(nb::module_& m);
void bind_neighbors(nb::module_& m);
void bind_selection(nb::module_& m);
void bind_trees(nb::module_& m);

NB_MODULE(_native, m) {
  m.doc() = "Kernels of steadyset; use them through the public functions.";

  const char* forced = std::getenv("STEADYSET_ISA");
  steadyset::use_level(forced != nullptr && *forced ? forced : steadyset::available_levels().back());
  m.def("isa_levels", &steadyset::available_levels, "The instruction-set levels this CPU runs, lowest first.");
  m.def("isa", &steadyset::level_name, "The instruction-set level in use.");
  m.def("use_isa", &steadyset::use_level, nb::arg("name"), "Use another level from now on (for tests).");

  bind_audit(m);
  bind_bags(m);
  bind_certificates(m);
  bind_lanes(m);
  bind_neighbors(m);
  bind_selection(m);
  bind_trees(m);
}
