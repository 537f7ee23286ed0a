// The lanes trainer for Python: shapes and indices are checked here once, then the GIL is released.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "lanes/peak.hpp"
#include "lanes/trainer.hpp"
#include "parallel.hpp"
#include "require.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace steadyset::lanes;
using steadyset::require;

namespace {

template <class T, class... Shape>
using In = nb::ndarray<const T, Shape..., nb::c_contig, nb::device::cpu>;
using AnyIn = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using Rows = In<int64_t, nb::ndim<1>>;
using Floats = In<float, nb::ndim<2>>;
using Maybe = std::optional<Floats>;

nb::object to_numpy(std::vector<float>&& values, size_t rows) {
  auto* kept = new std::vector<float>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<float>*>(p); });
  const size_t columns = rows ? kept->size() / rows : 0;
  return nb::cast(nb::ndarray<nb::numpy, float>(kept->data(), {rows, columns}, owner));
}

bool is_uint8(const AnyIn& x, const Network& network) {
  const bool bytes = x.dtype() == nb::dtype<uint8_t>();
  require(bytes || x.dtype() == nb::dtype<float>(), "x must be uint8 or float32");
  require(x.ndim() >= 1 && static_cast<int64_t>(x.size()) == static_cast<int64_t>(x.shape(0)) * network.row_size(),
          "x does not have the network's row size");
  return bytes;
}

Scaling scaling_of(bool standard, float scale, float shift) {
  return {standard ? Scaling::Kind::standard : Scaling::Kind::affine, scale, shift};
}

Recipe recipe_of(const nb::dict& d) {
  Recipe r{};
  r.batch_size = nb::cast<int64_t>(d["batch_size"]);
  r.rates = nb::cast<std::vector<float>>(d["rates"]);
  r.optimizer = nb::cast<std::string>(d["optimizer"]) == "adam" ? Optimizer::adam : Optimizer::sgd;
  r.momentum = nb::cast<float>(d["momentum"]);
  r.weight_decay = nb::cast<float>(d["weight_decay"]);
  r.nesterov = nb::cast<bool>(d["nesterov"]);
  r.beta1 = nb::cast<float>(d["beta1"]);
  r.beta2 = nb::cast<float>(d["beta2"]);
  r.epsilon = nb::cast<float>(d["epsilon"]);
  r.scaling = scaling_of(nb::cast<bool>(d["standard"]), nb::cast<float>(d["scale"]), nb::cast<float>(d["shift"]));
  require(r.batch_size >= 1 && !r.rates.empty(), "batch_size and epochs must be at least 1");
  return r;
}

void check_bag(const Bag& bag, int64_t n, const int32_t* labels, int n_classes) {
  require(bag.n_rows >= 1, "a bag is empty");
  for (int64_t i = 0; i < bag.n_rows; ++i) {
    require(bag.rows[i] >= 0 && bag.rows[i] < n, "a bag names a row outside x");
    require(labels[bag.rows[i]] >= 0 && labels[bag.rows[i]] < n_classes, "a label is outside the classes");
  }
}

// Replaces seeds by what tests inject: starting weights, row orders (epochs x rows), dropout masks.
void inject(std::vector<Bag>& bags, const Network& network, size_t epochs, const Maybe& start, const std::vector<Rows>& orders,
            const std::vector<In<uint8_t, nb::ndim<2>>>& masks) {
  if (start) require(start->shape(0) == bags.size() && static_cast<int64_t>(start->shape(1)) == network.n_parameters(),
                     "start must hold one row of parameters for each bag");
  require(orders.empty() || orders.size() == bags.size(), "orders must be given for each bag");
  require(masks.empty() || masks.size() == bags.size(), "masks must be given for each bag");
  for (size_t b = 0; b < bags.size(); ++b) {
    const size_t seen = epochs * static_cast<size_t>(bags[b].n_rows);
    if (start) bags[b].start = start->data() + b * start->shape(1);
    if (!orders.empty()) {
      require(orders[b].size() == seen, "an order must hold every row of every epoch");
      for (size_t i = 0; i < seen; ++i)
        require(orders[b].data()[i] >= 0 && orders[b].data()[i] < bags[b].n_rows, "an order names a row outside its bag");
      bags[b].order = orders[b].data();
    }
    if (!masks.empty()) {
      require(masks[b].shape(0) == seen && static_cast<int64_t>(masks[b].shape(1)) == network.net().n_dropout,
              "masks must hold one row for every row of every epoch");
      bags[b].masks = masks[b].data();
    }
  }
}

nb::dict train_group(const Network& network, AnyIn x, In<int32_t, nb::ndim<1>> labels, const std::vector<Rows>& rows,
                     const std::vector<uint64_t>& seeds, const nb::dict& recipe, Watch& watch, Maybe start,
                     const std::vector<Rows>& orders, const std::vector<In<uint8_t, nb::ndim<2>>>& masks,
                     std::optional<In<float, nb::ndim<1>>> weights) {
  const Recipe r = recipe_of(recipe);
  const Data data{x.data(), is_uint8(x, network), labels.data(), weights ? weights->data() : nullptr};
  require(!weights || weights->size() == x.shape(0), "weights must have one entry for each row of x");
  require(labels.size() == x.shape(0), "labels must have one entry for each row of x");
  require(!rows.empty() && rows.size() <= kModels && rows.size() == seeds.size(), "a group holds one to four bags");
  std::vector<Bag> bags(rows.size());
  for (size_t b = 0; b < rows.size(); ++b) {
    bags[b].rows = rows[b].data();
    bags[b].n_rows = static_cast<int64_t>(rows[b].size());
    bags[b].seed = seeds[b];
    check_bag(bags[b], static_cast<int64_t>(x.shape(0)), labels.data(), network.n_classes());
  }
  inject(bags, network, r.rates.size(), start, orders, masks);
  Outcome outcome;
  {
    nb::gil_scoped_release released;
    outcome = train(network, data, bags, r, watch);
  }
  nb::dict result;
  result["stopped"] = outcome.stopped;
  result["diverged"] = outcome.diverged_bag < 0 ? nb::object(nb::none())
                                                : nb::object(nb::make_tuple(outcome.diverged_bag, outcome.diverged_step));
  const bool done = !outcome.stopped && outcome.diverged_bag < 0;
  result["parameters"] = to_numpy(std::move(outcome.parameters), done ? bags.size() : 0);
  result["first_moments"] = to_numpy(std::move(outcome.first_moments), done ? bags.size() : 0);
  result["losses"] = to_numpy(std::move(outcome.losses), bags.size());
  result["center"] = to_numpy(std::move(outcome.center), bags.size());
  result["scale"] = to_numpy(std::move(outcome.scale), bags.size());
  return result;
}

void predict_group(const Network& network, AnyIn x, Floats parameters, Maybe center, Maybe deviation, float scale, float shift,
                   nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu> out, int64_t first_row, Watch& watch) {
  const bool bytes = is_uint8(x, network);
  const size_t models = parameters.shape(0), n = x.shape(0);
  require(static_cast<int64_t>(parameters.shape(1)) == network.n_parameters(), "parameters do not fit the network");
  require(center.has_value() == deviation.has_value(), "center and deviation come together");
  for (const Maybe& statistics : {center, deviation})
    if (statistics) require(statistics->shape(0) == models && static_cast<int64_t>(statistics->shape(1)) == network.row_size(),
                            "center and deviation must hold one row for each model");
  require(out.shape(0) == models && first_row >= 0 && first_row + static_cast<int64_t>(n) <= static_cast<int64_t>(out.shape(1)) &&
              static_cast<int64_t>(out.shape(2)) == network.n_classes(),
          "out must have shape (models, rows, classes)");
  const size_t per_model = out.shape(1) * out.shape(2);
  double* start = out.data() + static_cast<size_t>(first_row) * out.shape(2);
  steadyset::Signals signals;
  std::optional<nb::gil_scoped_release> released(std::in_place);
  for (size_t first = 0; first < models && !signals.stopped(); first += kModels) {
    const int count = static_cast<int>(std::min<size_t>(kModels, models - first));
    const size_t at = first * static_cast<size_t>(network.row_size());
    predict(network, parameters.data() + first * parameters.shape(1), count, x.data(), bytes, static_cast<int64_t>(n),
            scaling_of(center.has_value(), scale, shift), center ? center->data() + at : nullptr,
            center ? deviation->data() + at : nullptr, start + first * per_model, static_cast<int64_t>(per_model), watch,
            signals.of_caller());
  }
  released.reset();
  if (signals.stopped()) throw nb::python_error();
}

Network make_network(int channels, int height, int width,
                     const std::vector<std::tuple<std::string, int, int, int, int, float>>& layers) {
  std::vector<LayerSpec> specs;
  for (const auto& [kind, size, kernel_height, kernel_width, padding, rate] : layers)
    specs.push_back({kind, size, kernel_height, kernel_width, padding, rate});
  return Network(channels, height, width, specs);
}

}  // namespace

void bind_lanes(nb::module_& m) {
  m.def("peak_flops", &peak_flops, nb::call_guard<nb::gil_scoped_release>(),
        "Floating-point operations per second of one core that does nothing but multiply-adds, its best of many spells.");
  nb::class_<Watch>(m, "LanesWatch", "Lets another thread stop a run and see its epochs.")
      .def(nb::init<>())
      .def("stop", [](Watch& w) { __atomic_store_n(&w.stop, 1, __ATOMIC_RELAXED); })
      .def_prop_ro("epochs", [](const Watch& w) { return __atomic_load_n(&w.epochs, __ATOMIC_RELAXED); });
  nb::class_<Network>(m, "LanesNetwork", "A network that is trained four models at a time.")
      .def_static("make", &make_network, "channels"_a, "height"_a, "width"_a, "layers"_a)
      .def_prop_ro("n_parameters", &Network::n_parameters)
      .def_prop_ro("n_classes", &Network::n_classes)
      .def_prop_ro("row_size", &Network::row_size)
      .def("initial", [](const Network& network, uint64_t seed) {
        std::vector<float> drawn(static_cast<size_t>(network.n_parameters()));
        network.draw(seed, drawn.data());
        return to_numpy(std::move(drawn), 1);
      }, "seed"_a)
      .def("train", &train_group, "x"_a, "labels"_a, "rows"_a, "seeds"_a, "recipe"_a, "watch"_a, "start"_a.none() = nb::none(),
           "orders"_a = std::vector<Rows>(), "masks"_a = std::vector<In<uint8_t, nb::ndim<2>>>(),
           "weights"_a.none() = nb::none())
      .def("predict", &predict_group, "x"_a, "parameters"_a, "center"_a.none(), "deviation"_a.none(), "scale"_a, "shift"_a,
           "out"_a, "first_row"_a, "watch"_a);
}
