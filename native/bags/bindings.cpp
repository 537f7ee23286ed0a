// Bags for Python: check lengths once, release the GIL, split the bags or the columns over threads.
#include <nanobind/nanobind.h>

#include <atomic>
#include <limits>
#include <new>
#include <optional>
#include <stdexcept>
#include <vector>

#include "bags/api.hpp"
#include "parallel.hpp"
#include "require.hpp"
#include "view.hpp"

namespace nb = nanobind;
using namespace steadyset;

namespace {

constexpr int64_t kMost = int64_t{1} << 53;  // rows

// Whether `count` things are so many for each bag; a product of any two numbers could overflow.
bool each_has(int64_t count, int64_t n_bags, int64_t many) {
  return n_bags == 0 ? count == 0 : many <= count && count / n_bags == many && count % n_bags == 0;
}

// keys: (n_bags, 2) uint64; ids: n uint64 or None; bits: (n_bags, (n + 7) / 8) uint8; next: n_bags int64.
void hash_bags(nb::handle keys, nb::handle ids, int64_t n, int64_t m, nb::handle bits, nb::handle next, int threads) {
  View key(keys, PyBUF_C_CONTIGUOUS), out(bits, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE),
      following(next, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
  require(n >= 1 && n <= kMost && m >= 1 && m <= n, "m must lie between 1 and n");
  int64_t n_bags = key.count() / 2, width = (n + 7) / 8;
  require(key->itemsize == 8 && each_has(out->len, n_bags, width) && following->len == n_bags * 8, "the arrays do not fit");
  std::optional<View> given;
  if (!ids.is_none()) given.emplace(ids, PyBUF_C_CONTIGUOUS);
  require(!given || ((*given)->itemsize == 8 && given->count() == n), "ids must be n 64-bit words");
  const uint64_t* id = given ? given->as<const uint64_t>() : nullptr;
  const BagsUnit& chosen = bags_unit();
  std::atomic<bool> enough_memory{true};
  split(n_bags, threads, 1, [&](int64_t first, int64_t last, Poll poll) {
    for (int64_t b = first; b < last && enough_memory && !poll.ask(poll.whom); ++b) {
      BagKey one = {key.as<const uint64_t>()[2 * b], key.as<const uint64_t>()[2 * b + 1]};
      if (!chosen.smallest(one, id, n, m, out.as<uint8_t>() + b * width, following.as<int64_t>() + b, poll))
        enough_memory = false;
    }
  });
  if (!enough_memory) throw std::bad_alloc();
}

// keys: (n_bags, 2) uint64; out: (n_bags, m) uint32, in the order of the draws.
void bootstrap_bags(nb::handle keys, int64_t n, int64_t m, nb::handle draws, int threads) {
  View key(keys, PyBUF_C_CONTIGUOUS), out(draws, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
  int64_t n_bags = key.count() / 2;
  require(n >= 1 && n <= std::numeric_limits<uint32_t>::max() && m >= 1, "n must fit into 32 bits, m must be positive");
  require(key->itemsize == 8 && out->itemsize == 4 && each_has(out.count(), n_bags, m), "the arrays do not fit");
  const BagsUnit& chosen = bags_unit();
  split(n_bags, threads, 1, [&](int64_t first, int64_t last, Poll poll) {
    for (int64_t b = first; b < last && !poll.ask(poll.whom); ++b)
      chosen.draw({key.as<const uint64_t>()[2 * b], key.as<const uint64_t>()[2 * b + 1]}, n, m, out.as<uint32_t>() + b * m,
                  poll);
  });
}

// values: (n_bags, columns) float32 or float64, contiguous; take: n_bags uint8 or None; out: columns float64.
void sum_bags(nb::handle values, nb::handle take, int64_t block, nb::handle out, int threads) {
  View in = View::anywhere(values, PyBUF_C_CONTIGUOUS);
  View to(out, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
  require(in->ndim == 2 && (in->itemsize == 4 || in->itemsize == 8), "values must be (bags, columns) float32 or float64");
  int64_t n_bags = in->shape[0], columns = in->shape[1];
  require(to->itemsize == 8 && to.count() == columns && block >= 1, "out must hold a float64 for each column");
  std::optional<View> given;
  if (!take.is_none()) given.emplace(take, PyBUF_C_CONTIGUOUS);
  require(!given || (*given)->len == n_bags, "take must hold a byte for each bag");
  const uint8_t* taken = given ? given->as<const uint8_t>() : nullptr;
  const BagsUnit& chosen = bags_unit();
  SumTask task = {in->buf, in->itemsize == 8, n_bags, columns, taken, block};
  split(columns, threads, 64, [&](int64_t first, int64_t last, Poll poll) {
    chosen.sum(task, first, last, to.as<double>(), poll);
  });
}

// cells: float64; kinds: uint64 for each cell, or None where all are numbers; ends: the end of each row, int64; out: (rows, 2) uint64.
void digest_rows(nb::handle cells, nb::handle kinds, nb::handle ends, nb::handle digests, int threads) {
  View cell(cells, PyBUF_C_CONTIGUOUS), end(ends, PyBUF_C_CONTIGUOUS), out(digests, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
  int64_t n = end.count(), at = 0;
  require(cell->itemsize == 8 && end->itemsize == 8 && out->itemsize == 8 && out.count() == 2 * n, "the arrays do not fit");
  std::optional<View> given;
  if (!kinds.is_none()) given.emplace(kinds, PyBUF_C_CONTIGUOUS);
  require(!given || ((*given)->itemsize == 8 && given->count() == cell.count()), "kinds must be a word for each cell");
  std::vector<int64_t> own(end.as<const int64_t>(), end.as<const int64_t>() + n);  // nobody changes it during the call
  for (int64_t next : own) {
    require(next >= at && next <= cell.count(), "ends must not fall and not pass the last cell");
    at = next;
  }
  const uint64_t* kind = given ? given->as<const uint64_t>() : nullptr;
  const BagsUnit& chosen = bags_unit();
  split(n, threads, 64, [&](int64_t first, int64_t last, Poll poll) {
    chosen.digest(cell.as<const double>(), kind, own.data(), first, last, out.as<uint64_t>(), poll);
  });
}

}  // namespace

void bind_bags(nb::module_& m) {
  m.def("hash_bags", &hash_bags, nb::arg("keys"), nb::arg("ids").none(), nb::arg("n"), nb::arg("m"), nb::arg("bits"),
        nb::arg("next"), nb::arg("threads"), "Fill `bits` with the m rows of smallest hash of each bag.");
  m.def("bootstrap_bags", &bootstrap_bags, nb::arg("keys"), nb::arg("n"), nb::arg("m"), nb::arg("draws"),
        nb::arg("threads"), "Fill `draws` with m draws with replacement from [0, n) for each bag.");
  m.def("sum_bags", &sum_bags, nb::arg("values"), nb::arg("take").none(), nb::arg("block"), nb::arg("out"),
        nb::arg("threads"), "Fill `out` with the float64 sum over bags, in a fixed order.");
  m.def("digest_rows", &digest_rows, nb::arg("cells"), nb::arg("kinds").none(), nb::arg("ends"), nb::arg("digests"),
        nb::arg("threads"), "Fill `digests` with the BLAKE2b digest of the cells of each row.");
}
