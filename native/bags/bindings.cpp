// Bags for Python: check lengths once, release the GIL, split the bags or the columns over threads.
#include <nanobind/nanobind.h>

#include <atomic>
#include <limits>
#include <new>
#include <optional>
#include <stdexcept>
#include <vector>

#include "bags/api.hpp"
#include "bags/known_rows.hpp"
#include "parallel.hpp"
#include "require.hpp"
#include "view.hpp"

namespace nb = nanobind;
using namespace steadyset;

namespace {

constexpr int64_t kMost = int64_t{1} << 53;  // rows
constexpr uint32_t kGone = std::numeric_limits<uint32_t>::max();

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

// The bits that are set, in order, at most m of them.
void put_rows(const std::vector<uint8_t>& bits, uint32_t* rows, int64_t m) {
  int64_t found = 0;
  for (size_t byte = 0; byte < bits.size(); ++byte)
    for (unsigned left = bits[byte]; left != 0 && found < m; left &= left - 1)
      rows[found++] = static_cast<uint32_t>(8 * byte) + static_cast<uint32_t>(__builtin_ctz(left));
}

// The same as hash_bags for few bags, as rows; ids: n uint64; rows: (n_bags, m) uint32, rising.
void hash_rows(nb::handle keys, nb::handle ids, int64_t m, nb::handle rows, nb::handle next, int threads) {
  View key(keys, PyBUF_C_CONTIGUOUS), id(ids, PyBUF_C_CONTIGUOUS), out(rows, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE),
      following(next, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
  int64_t n_bags = key.count() / 2, n = id.count();
  require(m >= 1 && m <= n && n < kGone, "m must lie between 1 and n, which must fit into 32 bits");
  require(key->itemsize == 8 && id->itemsize == 8 && out->itemsize == 4 && each_has(out.count(), n_bags, m) &&
              following->len == n_bags * 8,
          "the arrays do not fit");
  const BagsUnit& chosen = bags_unit();
  std::atomic<bool> enough_memory{true};
  split(n_bags, threads, 1, [&](int64_t first, int64_t last, Poll poll) {
    std::vector<uint8_t> bits(static_cast<size_t>((n + 7) / 8));
    for (int64_t b = first; b < last && enough_memory && !poll.ask(poll.whom); ++b) {
      BagKey one = {key.as<const uint64_t>()[2 * b], key.as<const uint64_t>()[2 * b + 1]};
      if (!chosen.smallest(one, id.as<const uint64_t>(), n, m, bits.data(), following.as<int64_t>() + b, poll)) enough_memory = false;
      else put_rows(bits, out.as<uint32_t>() + b * m, m);
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

// rows: (n, ...) of any numbers, contiguous; codes: n int64; key: 12 words, and 4 for every two of the words that a row has:
// its code and every eight of its bytes; out: (n, 2) uint64.
void fingerprint_rows(nb::handle rows, nb::handle codes, nb::handle key, nb::handle out, int threads) {
  View row = View::anywhere(rows, PyBUF_C_CONTIGUOUS);
  View code(codes, PyBUF_C_CONTIGUOUS), word(key, PyBUF_C_CONTIGUOUS), to(out, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
  int64_t n = code.count();
  require(code->itemsize == 8 && word->itemsize == 8 && to->itemsize == 8 && to.count() == 2 * n, "the arrays do not fit");
  int64_t bytes = n == 0 ? 0 : row->len / n;
  const int64_t pairs = (1 + (bytes + 7) / 8 + 1) / 2;
  require(bytes * n == row->len && word.count() >= kLastWords + kPairWords * pairs, "the arrays do not fit");
  split(n, threads, 64, [&](int64_t first, int64_t last, Poll poll) {
    Pace pace{poll};
    const char* from = static_cast<const char*>(row->buf);
    const int64_t* of_row = code.as<const int64_t>();
    const FingerprintKey& secret = *word.as<const FingerprintKey>();
    Fingerprint* found = to.as<Fingerprint>();
    for (int64_t start = first; start < last && !pace.stop(64 * (8 + bytes)); start += 64)
      for (int64_t i = start; i < last && i < start + 64; ++i) found[i] = fingerprint(from + i * bytes, bytes, of_row[i], secret);
  });
}

// known: (m, 2) uint64; wanted: (n, 2) uint64; places: n int64, -1 for those that are not known.
void known_places(nb::handle known, nb::handle wanted, nb::handle places) {
  View from(known, PyBUF_C_CONTIGUOUS), asked(wanted, PyBUF_C_CONTIGUOUS), to(places, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
  int64_t m = from.count() / 2, n = to.count();
  require(from->itemsize == 8 && asked->itemsize == 8 && to->itemsize == 8 && asked.count() == 2 * n, "the arrays do not fit");
  require(m <= std::numeric_limits<int32_t>::max(), "known rows must be numbered by 31 bits");
  KnownRows rows(from.as<const Fingerprint>(), m);
  for (int64_t i = 0; i < n; ++i) to.as<int64_t>()[i] = rows.find(asked.as<const Fingerprint>()[i]);
}

// Two lists of rising words. places: where each of the first stands among the second, uint32, or 2^32 - 1; is_new: a byte for
// each of the second, whether it is not among the first.
void match_words(nb::handle before, nb::handle now, nb::handle places, nb::handle is_new) {
  View old(before, PyBUF_C_CONTIGUOUS), fresh(now, PyBUF_C_CONTIGUOUS), to(places, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE),
      flags(is_new, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
  int64_t m = old.count(), n = fresh.count();
  require(old->itemsize == 8 && fresh->itemsize == 8 && to->itemsize == 4 && to.count() == m && flags->len == n,
          "the arrays do not fit");
  require(n < kGone, "rows must be numbered by 32 bits");
  const uint64_t *a = old.as<const uint64_t>(), *b = fresh.as<const uint64_t>();
  for (int64_t i = 0, j = 0; i < m || j < n;) {
    const bool both = i < m && j < n;
    const bool from_first = both ? a[i] <= b[j] : i < m, from_second = both ? b[j] <= a[i] : j < n;
    if (from_first) to.as<uint32_t>()[i] = from_second ? static_cast<uint32_t>(j) : kGone;
    if (from_second) flags.as<uint8_t>()[j] = !from_first;
    i += from_first;
    j += from_second;
  }
}

// held: (n_bags, m) uint32, places in `places`; moved: the same of what stands there, uint32; changed: a byte for each bag,
// whether it held a row that is gone.
void move_rows(nb::handle held, nb::handle places, nb::handle moved, nb::handle changed) {
  View from(held, PyBUF_C_CONTIGUOUS), place(places, PyBUF_C_CONTIGUOUS), to(moved, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE),
      flags(changed, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
  int64_t n_bags = flags->len, n = place.count(), m = n_bags == 0 ? 0 : from.count() / n_bags;
  require(from->itemsize == 4 && place->itemsize == 4 && to->itemsize == 4 && from.count() == n_bags * m && to.count() == n_bags * m,
          "the arrays do not fit");
  const uint32_t* at = place.as<const uint32_t>();
  for (int64_t b = 0; b < n_bags; ++b) {
    const uint32_t* row = from.as<const uint32_t>() + b * m;
    uint32_t *out = to.as<uint32_t>() + b * m, most = 0;
    for (int64_t i = 0; i < m; ++i) {
      const uint32_t here = row[i];  // read once: another thread may change it
      const uint32_t now = here < n ? at[here] : kGone;
      out[i] = now;
      most = now > most ? now : most;
    }
    flags.as<uint8_t>()[b] = most == kGone;
  }
}

// keys: (n_bags, 2) uint64; ids: uint64; held: (n_bags, m) uint32, places in ids; fresh: uint64; entered: a byte for each bag.
void entered_bags(nb::handle keys, nb::handle ids, nb::handle held, nb::handle fresh, nb::handle entered, int threads) {
  View key(keys, PyBUF_C_CONTIGUOUS), id(ids, PyBUF_C_CONTIGUOUS), row(held, PyBUF_C_CONTIGUOUS), added(fresh, PyBUF_C_CONTIGUOUS),
      flags(entered, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
  int64_t n_bags = flags->len, m = n_bags == 0 ? 0 : row.count() / n_bags;
  require(key->itemsize == 8 && key.count() == 2 * n_bags && id->itemsize == 8 && row->itemsize == 4 && added->itemsize == 8 &&
              row.count() == n_bags * m,
          "the arrays do not fit");
  std::vector<uint32_t> own(row.as<const uint32_t>(), row.as<const uint32_t>() + n_bags * m);  // nobody changes it meanwhile
  for (uint32_t at : own) require(at < id.count(), "held must be places in ids");
  const BagsUnit& chosen = bags_unit();
  split(n_bags, threads, 1, [&](int64_t first, int64_t last, Poll poll) {
    for (int64_t b = first; b < last && !poll.ask(poll.whom); ++b) {
      BagKey one = {key.as<const uint64_t>()[2 * b], key.as<const uint64_t>()[2 * b + 1]};
      flags.as<uint8_t>()[b] =
          chosen.enters(one, id.as<const uint64_t>(), own.data() + b * m, m, added.as<const uint64_t>(), added.count(), poll);
    }
  });
}

}  // namespace

void bind_bags(nb::module_& m) {
  m.def("hash_bags", &hash_bags, nb::arg("keys"), nb::arg("ids").none(), nb::arg("n"), nb::arg("m"), nb::arg("bits"),
        nb::arg("next"), nb::arg("threads"), "Fill `bits` with the m rows of smallest hash of each bag.");
  m.def("hash_rows", &hash_rows, nb::arg("keys"), nb::arg("ids"), nb::arg("m"), nb::arg("rows"), nb::arg("next"),
        nb::arg("threads"), "Fill `rows` with the m rows of smallest hash of each bag, and `next` with the one after them.");
  m.def("bootstrap_bags", &bootstrap_bags, nb::arg("keys"), nb::arg("n"), nb::arg("m"), nb::arg("draws"),
        nb::arg("threads"), "Fill `draws` with m draws with replacement from [0, n) for each bag.");
  m.def("sum_bags", &sum_bags, nb::arg("values"), nb::arg("take").none(), nb::arg("block"), nb::arg("out"),
        nb::arg("threads"), "Fill `out` with the float64 sum over bags, in a fixed order.");
  m.def("digest_rows", &digest_rows, nb::arg("cells"), nb::arg("kinds").none(), nb::arg("ends"), nb::arg("digests"),
        nb::arg("threads"), "Fill `digests` with the BLAKE2b digest of the cells of each row.");
  m.def("fingerprint_rows", &fingerprint_rows, nb::arg("rows"), nb::arg("codes"), nb::arg("key"), nb::arg("out"),
        nb::arg("threads"), "Fill `out` with the fingerprint of each row and its code under a secret key.");
  m.def("known_places", &known_places, nb::arg("known"), nb::arg("wanted"), nb::arg("places"),
        "Fill `places` with where each fingerprint stands among known ones.");
  m.def("match_words", &match_words, nb::arg("before"), nb::arg("now"), nb::arg("places"), nb::arg("is_new"),
        "Fill `places` with where each of some rising words stands among others, and `is_new` for these.");
  m.def("move_rows", &move_rows, nb::arg("held"), nb::arg("places"), nb::arg("moved"), nb::arg("changed"),
        "Fill `moved` with the new places of the rows that bags hold, and `changed` where one is gone.");
  m.def("entered_bags", &entered_bags, nb::arg("keys"), nb::arg("ids"), nb::arg("held"), nb::arg("fresh"), nb::arg("entered"),
        nb::arg("threads"), "Fill `entered` with whether a new row enters each bag.");
}
