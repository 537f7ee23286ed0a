// Trees for Python: shapes and indices are checked here once, then the GIL is released.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include "parallel.hpp"
#include "require.hpp"
#include "trees/api.hpp"
#include "trees/forest.hpp"
#include "view.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace steadyset;
using namespace steadyset::trees;

namespace {

template <class T, class... Shape>
using In = nb::ndarray<const T, Shape..., nb::c_contig, nb::device::cpu>;
template <class T> using Line = In<T, nb::ndim<1>>;
using Keys = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T> nb::object to_numpy(std::vector<T> values) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
}

// Set by another thread to end a call.
struct Stop {
  std::atomic<bool> asked{false};
  Poll poll() {
    return {[](void* self) { return static_cast<Stop*>(self)->asked.load(std::memory_order_relaxed); }, this};
  }
};

template <class... Arrays> void require_aligned(const Arrays&... arrays) {
  require((... && (reinterpret_cast<uintptr_t>(arrays.data()) % arrays.itemsize() == 0)), "arrays must be aligned");
}

bool is_wide(const Keys& keys) {
  require_aligned(keys);
  const bool wide = keys.dtype() == nb::dtype<uint64_t>();
  require(wide || keys.dtype() == nb::dtype<uint32_t>(), "keys must be uint32 or uint64");
  return wide;
}

ValueType type_of(const Py_buffer& values) {
  const char* format = values.format == nullptr ? "B" : values.format;
  const char letter = format[0] == '<' || format[0] == '=' || format[0] == '@' ? format[1] : format[0];
  const auto whole = [&](bool is_signed) {
    switch (values.itemsize) {
      case 1: return is_signed ? kFromInt8 : kFromUint8;
      case 2: return is_signed ? kFromInt16 : kFromUint16;
      case 4: return is_signed ? kFromInt32 : kFromUint32;
      default: return is_signed ? kFromInt64 : kFromUint64;
    }
  };
  switch (letter) {
    case 'f': return kFromFloat32;
    case 'd': return kFromFloat64;
    case 'b': case 'h': case 'i': case 'l': case 'q': return whole(true);
    case 'B': case 'H': case 'I': case 'L': case 'Q': case '?': return whole(false);
    default: throw std::invalid_argument("values must be numbers of up to 64 bits");
  }
}

// Writes the keys of an (n, features) array into `out` of the same shape; returns the first infinite value's place or -1.
int64_t keys_of(nb::handle values, nb::handle out, int threads) {
  View from = View::anywhere(values, PyBUF_STRIDES | PyBUF_FORMAT), to(out, PyBUF_STRIDES | PyBUF_WRITABLE);
  require(from->ndim == 2 && to->ndim == 2 && from->shape[0] == to->shape[0] && from->shape[1] == to->shape[1],
          "values and keys must have the same two dimensions");
  const ValueType type = type_of(*from);
  const bool wide = to->itemsize == 8;
  require(wide || to->itemsize == 4, "keys must be uint32 or uint64");
  require(wide || type == kFromFloat32 || type == kFromInt32 || from->itemsize <= 2, "these values need keys of 64 bits");
  const int64_t features = from->shape[1], item = to->itemsize;
  const bool aligned = reinterpret_cast<uintptr_t>(to->buf) % static_cast<uintptr_t>(item) == 0;
  require(aligned && to->strides[0] % item == 0 && to->strides[1] % item == 0, "keys must be aligned");
  std::atomic<int64_t> found{-1};
  const TreesUnit& chosen = trees_unit();
  split(from->shape[0], threads, 64, [&](int64_t first, int64_t last, Poll poll) {
    const int64_t place = chosen.keys(static_cast<const char*>(from->buf) + first * from->strides[0], type, last - first, features,
                                      from->strides[0], from->strides[1], static_cast<char*>(to->buf) + first * to->strides[0],
                                      wide, to->strides[0] / item, to->strides[1] / item, poll);
    if (place >= 0) found = place + first * features;
  });
  return found;
}

class Table {
 public:
  // keys: (features, n); kinds: one byte per feature.
  Table(const Keys& keys, const Line<uint8_t>& kinds, int threads) : n_(keys.shape(1)), features_(keys.shape(0)) {
    const bool wide = is_wide(keys);
    require(n_ >= 1 && features_ >= 1 && n_ < (int64_t{1} << 31) && features_ < (int64_t{1} << 31), "a table has rows and columns");
    require(kinds.size() == keys.shape(0), "kinds must name every column");
    kinds_.assign(kinds.data(), kinds.data() + kinds.size());
    for (uint8_t kind : kinds_) require(kind <= kCategory, "kinds must be known");
    top_ = wide ? UINT64_MAX - 1 : UINT32_MAX - 1;
    ranks_.reset(static_cast<uint32_t*>(std::malloc(sizeof(uint32_t) * static_cast<size_t>(n_ * features_))));
    if (!ranks_) throw std::bad_alloc();
    std::vector<std::vector<uint64_t>> columns(static_cast<size_t>(features_));
    std::atomic<bool> memory{true};
    const TreesUnit& chosen = trees_unit();
    const char* data = static_cast<const char*>(keys.data());
    split(features_, threads, 1, [&](int64_t first, int64_t last, Poll poll) {
      try {
        const std::unique_ptr<uint64_t[]> distinct(new uint64_t[static_cast<size_t>(n_)]);
        for (int64_t f = first; f < last && memory && !poll.ask(poll.whom); ++f) {
          const int64_t count = chosen.rank(data + f * n_ * (wide ? 8 : 4), wide, n_, ranks_.get() + f * n_, distinct.get(), poll);
          if (count < 0) throw std::bad_alloc();
          columns[static_cast<size_t>(f)].assign(distinct.get(), distinct.get() + count);
        }
      } catch (const std::bad_alloc&) {
        memory = false;
      }
    });
    if (!memory) throw std::bad_alloc();
    start_.push_back(0);
    for (const auto& column : columns) start_.push_back(start_.back() + static_cast<int64_t>(column.size()));
    for (size_t f = 0; f < columns.size(); ++f)
      missing_.push_back(kinds_[f] != kWhole && columns[f].back() == (wide ? UINT64_MAX : UINT32_MAX));
    distinct_.reset(static_cast<uint64_t*>(std::malloc(sizeof(uint64_t) * static_cast<size_t>(start_.back()))));
    if (!distinct_) throw std::bad_alloc();
    split(features_, threads, 1, [&](int64_t first, int64_t last, Poll) {
      for (int64_t f = first; f < last; ++f) {
        std::vector<uint64_t>& column = columns[static_cast<size_t>(f)];
        std::copy(column.begin(), column.end(), distinct_.get() + start_[static_cast<size_t>(f)]);
        column = {};
      }
    });
    wide_ = wide;
  }

  Ranked view() const {
    return {n_, static_cast<int32_t>(features_), ranks_.get(), distinct_.get(), start_.data(), missing_.data(), kinds_.data(), top_};
  }
  int64_t n() const { return n_; }
  bool wide() const { return wide_; }
  std::vector<uint8_t> missing() const { return missing_; }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  int64_t n_, features_;
  bool wide_ = false;
  uint64_t top_ = 0;
  std::unique_ptr<uint32_t[], Free> ranks_;
  std::unique_ptr<uint64_t[], Free> distinct_;
  std::vector<int64_t> start_;
  std::vector<uint8_t> missing_, kinds_;
};

// nanobind's own error for a value of another kind is a RuntimeError.
template <class T> T setting(const nb::dict& d, const char* name) {
  try {
    return nb::cast<T>(d[name]);
  } catch (const std::bad_cast&) {
    throw nb::type_error("settings must be numbers and truth values");
  }
}

Settings settings_of(const nb::dict& d, int64_t features) {
  Settings s{};
  s.entropy = setting<bool>(d, "entropy");
  s.random = setting<bool>(d, "random");
  s.max_features = setting<int32_t>(d, "max_features");
  s.max_depth = setting<int64_t>(d, "max_depth");
  s.max_leaf_nodes = setting<int64_t>(d, "max_leaf_nodes");
  s.min_split = setting<double>(d, "min_split");
  s.min_leaf = setting<double>(d, "min_leaf");
  s.split_is_share = setting<bool>(d, "split_is_share");
  s.leaf_is_share = setting<bool>(d, "leaf_is_share");
  s.min_decrease = setting<double>(d, "min_decrease");
  require(s.max_features >= 1 && s.max_features <= features, "max_features must lie between 1 and the features");
  require(s.max_depth >= 0 && s.max_leaf_nodes >= 0, "max_depth and max_leaf_nodes must be limits, or 0");
  for (double rows : {s.min_split, s.min_leaf})
    require(rows >= 0 && rows <= 0x1p53, "min_split and min_leaf must be rows or shares of them");
  return s;
}

struct GrownArrays : Grown {
  GrownArrays() : Grown{} {}
  GrownArrays(const GrownArrays&) = delete;
  ~GrownArrays() {
    for (void* array : {static_cast<void*>(tree_nodes), static_cast<void*>(feature), static_cast<void*>(key),
                        static_cast<void*>(missing_left), static_cast<void*>(leaf_rows), static_cast<void*>(leaf_entries),
                        static_cast<void*>(entry_class), static_cast<void*>(entry_weight), static_cast<void*>(importances)})
      std::free(array);
  }
  ForestArrays view() const {
    return {n_trees, n_nodes, n_leaves, n_entries, tree_nodes, feature, key, missing_left, leaf_rows, leaf_entries, entry_class,
            entry_weight, importances};
  }
};

// One tree per bag; None where the call was stopped.
std::optional<OwnedForest> grow(const Table& table, Line<uint16_t> labels, int32_t n_classes, const std::vector<Line<int64_t>>& rows,
                                const std::optional<std::vector<Line<int64_t>>>& weights, const std::vector<int>& scales,
                                const std::vector<uint64_t>& seeds, const nb::dict& settings, Stop& stop) {
  const Ranked ranked = table.view();
  const Settings chosen = settings_of(settings, ranked.n_features);
  require(static_cast<int64_t>(labels.size()) == ranked.n && n_classes >= 1 && n_classes <= 65535, "labels must fit the table");
  require(!rows.empty() && rows.size() == seeds.size(), "every bag has rows and a seed");
  require_aligned(labels);
  require(!weights || (weights->size() == rows.size() && scales.size() == rows.size()), "every bag has weights and their scale");
  std::vector<BagRows> bags;
  for (size_t b = 0; b < rows.size(); ++b) {
    bags.push_back({rows[b].data(), static_cast<int64_t>(rows[b].size()), weights ? (*weights)[b].data() : nullptr,
                    weights ? scales[b] : 0, seeds[b]});
    require(!weights || (*weights)[b].size() == rows[b].size(), "every row of a bag has a weight");
    require_aligned(rows[b]);
    if (weights) require_aligned((*weights)[b]);
    require(rows[b].size() >= 1 && rows[b].size() < (size_t{1} << 31), "a bag holds at least one row");
  }
  GrownArrays grown;
  Outcome outcome = kDone;
  bool fits = true;
  std::optional<OwnedForest> forest;
  {
    nb::gil_scoped_release released;
    for (size_t i = 0; i < labels.size(); ++i) fits &= labels.data()[i] < n_classes;
    for (const BagRows& bag : bags) {
      int64_t total = 0;
      for (int64_t i = 0; i < bag.n_rows; ++i) {
        fits &= bag.rows[i] >= 0 && bag.rows[i] < ranked.n;
        if (bag.weights == nullptr) continue;
        fits &= bag.weights[i] >= 0 && bag.weights[i] <= (int64_t{1} << 62) - total;
        if (fits) total += bag.weights[i];
      }
      fits &= bag.weights == nullptr || total > 0;
    }
    if (fits) outcome = trees_unit().grow(ranked, labels.data(), n_classes, bags.data(), static_cast<int64_t>(bags.size()), chosen, &grown, stop.poll());
    if (fits && outcome == kDone) forest.emplace(grown.view(), ranked.n_features, n_classes, table.wide());
  }
  require(fits, "rows, labels and weights must fit the table");
  if (outcome == kNoMemory) throw std::bad_alloc();
  return forest;
}

OwnedForest make_forest(Line<int64_t> tree_nodes, Line<int32_t> feature, Line<uint64_t> key, Line<uint8_t> missing_left,
                        Line<int64_t> leaf_rows, Line<int64_t> leaf_entries, Line<int32_t> entry_class, Line<double> entry_weight,
                        Line<double> importances, int32_t n_features, int32_t n_classes, bool wide) {
  require_aligned(tree_nodes, feature, key, missing_left, leaf_rows, leaf_entries, entry_class, entry_weight, importances);
  const size_t nodes = feature.size(), leaves = leaf_rows.size(), entries = entry_class.size();
  require(n_features >= 1 && key.size() == nodes && missing_left.size() == nodes, "every node has a feature, a key and a side");
  require(leaf_entries.size() == leaves && entry_weight.size() == entries, "every leaf has rows and classes");
  require(importances.size() == tree_nodes.size() * static_cast<size_t>(n_features), "every tree has an importance per feature");
  const ForestArrays arrays{static_cast<int64_t>(tree_nodes.size()), static_cast<int64_t>(nodes), static_cast<int64_t>(leaves),
                            static_cast<int64_t>(entries), tree_nodes.data(), feature.data(), key.data(), missing_left.data(),
                            leaf_rows.data(), leaf_entries.data(), entry_class.data(), entry_weight.data(), importances.data()};
  return OwnedForest(arrays, n_features, n_classes, wide);
}

nb::dict arrays_of(const OwnedForest& forest) {
  nb::dict d;
  d["tree_nodes"] = to_numpy(forest.tree_nodes());
  d["feature"] = to_numpy(forest.feature());
  d["key"] = to_numpy(forest.key());
  d["missing_left"] = to_numpy(forest.missing_left());
  d["leaf_rows"] = to_numpy(forest.leaf_rows());
  d["leaf_entries"] = to_numpy(forest.leaf_entries());
  d["entry_class"] = to_numpy(forest.entry_class());
  d["entry_weight"] = to_numpy(forest.entry_weight());
  d["importances"] = to_numpy(forest.importances());
  return d;
}

OwnedForest joined(const std::vector<const OwnedForest*>& parts) {
  std::vector<OwnedForest::Run> runs;
  for (const OwnedForest* part : parts) runs.push_back({part, 0, part == nullptr ? 0 : part->n_trees()});
  nb::gil_scoped_release released;
  return OwnedForest::joined(runs);
}

OwnedForest joined_runs(const std::vector<std::tuple<const OwnedForest*, int64_t, int64_t>>& parts) {
  std::vector<OwnedForest::Run> runs;
  for (const auto& [part, first, last] : parts) runs.push_back({part, first, last});
  nb::gil_scoped_release released;
  return OwnedForest::joined(runs);
}

constexpr std::chrono::milliseconds kLook{5};  // a timed lock would need a newer C library, and is not seen by sanitizers

// A forest as prediction reads it. The first call may take seconds, in which signals are answered; a thread that finds
// another one at it waits.
Forest ready(OwnedForest& forest) {
  if (forest.is_decided()) return forest.view();
  std::unique_lock<std::mutex> coding(forest.coding(), std::defer_lock);
  std::optional<CodedForest> coded;
  split(1, 1, 1, [&](int64_t, int64_t, Poll poll) {
    for (; !coding.try_lock(); std::this_thread::sleep_for(kLook))
      if (poll.ask(poll.whom)) return;
    if (!forest.is_decided()) coded = forest.code(poll);
  });
  if (!forest.is_decided()) forest.decide(std::move(coded));
  return forest.view();
}

using Sums = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using PerTree = nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

void check_keys(const OwnedForest& forest, const Keys& keys) {
  require(is_wide(keys) == forest.wide() && static_cast<int32_t>(keys.shape(1)) == forest.n_features(), "keys must fit the forest");
}

// Adds the shares of each block of trees to sums, (rows, classes).
void add_shares(OwnedForest& forest, const Keys& keys, int64_t block, Sums sums, int threads) {
  check_keys(forest, keys);
  require_aligned(sums);
  require(block >= 1 && block <= 255, "a block holds 1 to 255 trees");
  require(sums.shape(0) == keys.shape(0) && static_cast<int32_t>(sums.shape(1)) == forest.n_classes(), "sums must fit");
  const Forest view = ready(forest);
  const TreesUnit& chosen = trees_unit();
  split(static_cast<int64_t>(keys.shape(0)), threads, 64, [&](int64_t first, int64_t last, Poll poll) {
    if (!chosen.add_shares(view, keys.data(), first, last, block, sums.data(), poll)) throw std::bad_alloc();
  });
}

// Writes the shares of each tree to out, (trees, rows, classes), which holds zeros.
void put_shares(OwnedForest& forest, const Keys& keys, PerTree out, int threads) {
  check_keys(forest, keys);
  require_aligned(out);
  require(static_cast<int64_t>(out.shape(0)) == forest.n_trees() && out.shape(1) == keys.shape(0) &&
              static_cast<int32_t>(out.shape(2)) == forest.n_classes(), "out must fit");
  const Forest view = ready(forest);
  const TreesUnit& chosen = trees_unit();
  split(static_cast<int64_t>(keys.shape(0)), threads, 64, [&](int64_t first, int64_t last, Poll poll) {
    if (!chosen.put_shares(view, keys.data(), first, last, out.data(), static_cast<int64_t>(out.shape(1)), poll)) throw std::bad_alloc();
  });
}

void leaves_of(OwnedForest& forest, const Keys& keys, nb::ndarray<int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu> out, int threads) {
  check_keys(forest, keys);
  require_aligned(out);
  require(out.shape(0) == keys.shape(0) && static_cast<int64_t>(out.shape(1)) == forest.n_trees(), "out must fit");
  const Forest view = ready(forest);
  const TreesUnit& chosen = trees_unit();
  split(static_cast<int64_t>(keys.shape(0)), threads, 64, [&](int64_t first, int64_t last, Poll poll) {
    if (!chosen.apply(view, keys.data(), first, last, out.data(), poll)) throw std::bad_alloc();
  });
}

}  // namespace

void bind_trees(nb::module_& m) {
  m.def("tree_keys", &keys_of, "values"_a, "out"_a, "threads"_a, "Fill `out` with the keys of the values; the first infinite one's place or -1.");
  nb::class_<Stop>(m, "TreesStop", "Lets another thread end a call.").def(nb::init<>()).def("stop", [](Stop& s) { s.asked = true; });
  nb::class_<OwnedForest>(m, "TreesForest", "Trees in flat arrays.")
      .def_static("make", &make_forest, "tree_nodes"_a, "feature"_a, "key"_a, "missing_left"_a, "leaf_rows"_a, "leaf_entries"_a,
                  "entry_class"_a, "entry_weight"_a, "importances"_a, "n_features"_a, "n_classes"_a, "wide"_a)
      .def_static("joined", &joined, "parts"_a)
      .def_static("joined_runs", &joined_runs, "parts"_a)
      .def_prop_ro("is_coded", &OwnedForest::is_coded)
      .def("arrays", &arrays_of)
      .def_prop_ro("n_trees", &OwnedForest::n_trees)
      .def_prop_ro("n_nodes", &OwnedForest::n_nodes)
      .def_prop_ro("n_features", &OwnedForest::n_features)
      .def_prop_ro("n_classes", &OwnedForest::n_classes)
      .def_prop_ro("wide", &OwnedForest::wide)
      .def("add_shares", &add_shares, "keys"_a, "block"_a, "sums"_a, "threads"_a)
      .def("put_shares", &put_shares, "keys"_a, "out"_a, "threads"_a)
      .def("leaves", &leaves_of, "keys"_a, "out"_a, "threads"_a);
  nb::class_<Table>(m, "TreesTable", "A table whose columns are ranked.")
      .def(nb::init<const Keys&, const Line<uint8_t>&, int>(), "keys"_a, "kinds"_a, "threads"_a)
      .def_prop_ro("n", &Table::n)
      .def_prop_ro("missing", &Table::missing)
      .def("grow", &grow, "labels"_a, "n_classes"_a, "rows"_a, "weights"_a.none(), "scales"_a, "seeds"_a, "settings"_a, "stop"_a);
}
