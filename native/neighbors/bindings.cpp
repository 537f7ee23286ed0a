// Neighbours for Python: check lengths once, release the GIL, split the points over threads.
#include <nanobind/nanobind.h>

#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "audit/shift_views.hpp"
#include "neighbors/api.hpp"
#include "neighbors/nearest.hpp"
#include "neighbors/ranking.hpp"
#include "neighbors/votes.hpp"
#include "neighbors/weights.hpp"
#include "parallel.hpp"
#include "require.hpp"
#include "view.hpp"

namespace nb = nanobind;
using namespace steadyset;

namespace {

// The nearest rows of some points, kept between the calls that show it the rows. Rows and points must not change.
class NeighborSearch {
 public:
  // rows: (n, width) float32 or float64, or the stored values with columns (int32) and ends (n + 1, int64); words: n
  // uint64; points: the same in float64.
  NeighborSearch(nb::handle rows, nb::handle columns, nb::handle ends, nb::handle words, nb::handle points,
                 nb::handle point_columns, nb::handle point_ends, int64_t width, int metric, int64_t depth)
      : rows_(rows, PyBUF_C_CONTIGUOUS), words_(words, PyBUF_C_CONTIGUOUS), points_(points, PyBUF_C_CONTIGUOUS) {
    require(metric >= 0 && metric < kMetrics, "metric is unknown");
    require(rows_->itemsize == 4 || rows_->itemsize == 8, "rows must be float32 or float64");
    require(words_->itemsize == 8 && points_->itemsize == 8, "words and points must have 64 bits");
    require(width >= 0 && width <= INT32_MAX, "width must fit into 32 bits");
    const int64_t n = words_.count();
    require(n <= INT32_MAX && depth >= 1 && depth <= n, "depth must lie between 1 and the number of rows");
    order_ = {{rows_.as<const void>(), rows_->itemsize == 8, n, width, nullptr, nullptr},
              static_cast<Metric>(metric),
              words_.as<const uint64_t>()};
    if (columns.is_none()) {
      require(point_columns.is_none(), "rows and points must have one form");
      require(rows_.count() == n * width && points_->ndim == 2 && points_->shape[1] == width, "the arrays do not fit");
      n_points_ = points_->shape[0];
    } else {
      require(!ends.is_none() && !point_columns.is_none() && !point_ends.is_none(), "rows and points must have one form");
      columns_.emplace(columns, PyBUF_C_CONTIGUOUS);
      point_columns_.emplace(point_columns, PyBUF_C_CONTIGUOUS);
      ends_ = checked_ends(ends, *columns_, rows_);
      point_ends_ = checked_ends(point_ends, *point_columns_, points_);
      require(static_cast<int64_t>(ends_.size()) == n + 1, "the arrays do not fit");
      order_.table.columns = columns_->as<const int32_t>();
      order_.table.ends = ends_.data();
      n_points_ = static_cast<int64_t>(point_ends_.size()) - 1;
    }
    depth_ = depth;
    found_.reserve(static_cast<size_t>(n_points_));
    for (int64_t i = 0; i < n_points_; ++i) found_.emplace_back(depth);
  }

  // products: (points from first_point on, rows from first_row on) float32; base and slack: of the rows; own: of the points.
  void offer_products(nb::handle products, nb::handle base, nb::handle slack, nb::handle own, int64_t first_point,
                      int64_t first_row, int threads) {
    View product(products, PyBUF_C_CONTIGUOUS), low(base, PyBUF_C_CONTIGUOUS), more(slack, PyBUF_C_CONTIGUOUS),
        mine(own, PyBUF_C_CONTIGUOUS);
    const int64_t n = low.count(), points = mine.count();
    require(product->itemsize == 4 && low->itemsize == 4 && more->itemsize == 4 && mine->itemsize == 4, "bounds must be float32");
    require(product.count() == n * points && more.count() == n, "the arrays do not fit");
    check_place(first_point, points, first_row, n);
    const NeighborsUnit& chosen = neighbors_unit();
    split(points, threads, 1, [&](int64_t first, int64_t last, Poll poll) {
      Pace pace{poll};
      for (int64_t i = first; i < last && !pace.stop(64); ++i) {
        Candidates::Bounds bounds = {product.as<const float>() + i * n, low.as<const float>(), more.as<const float>(),
                                     first_row, n, mine.as<const float>()[i]};
        at(first_point + i).offer(bounds, point(first_point + i), order_, chosen, pace);
      }
    });
  }

  // distances: (points from first_point on, rows from first_row on) float64.
  void offer_distances(nb::handle distances, int64_t first_point, int64_t first_row, int threads) {
    View given(distances, PyBUF_C_CONTIGUOUS);
    require(given->itemsize == 8 && given->ndim == 2, "distances must be float64");
    const int64_t points = given->shape[0], n = given->shape[1];
    check_place(first_point, points, first_row, n);
    split(points, threads, 1, [&](int64_t first, int64_t last, Poll poll) {
      Pace pace{poll};
      for (int64_t i = first; i < last && !pace.stop(n); ++i)
        at(first_point + i).offer(given.as<const double>() + i * n, first_row, n, order_);
    });
  }

  void measure_all(int threads) {
    const NeighborsUnit& chosen = neighbors_unit();
    split(n_points_, threads, 1, [&](int64_t first, int64_t last, Poll poll) {
      Pace pace{poll};
      for (int64_t i = first; i < last && !pace.stopped; ++i)
        at(i).measure(0, order_.table.n_rows, point(i), order_, chosen, pace);
    });
  }

  // out: (points, depth) int32.
  void finish(nb::handle out, int threads) {
    View to(out, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
    require(to->itemsize == 4 && to.count() == n_points_ * depth_, "out must be int32 of shape (points, depth)");
    const NeighborsUnit& chosen = neighbors_unit();
    split(n_points_, threads, 1, [&](int64_t first, int64_t last, Poll poll) {
      Pace pace{poll};
      for (int64_t i = first; i < last && !pace.stopped; ++i)
        require(at(i).finish(point(i), order_, chosen, pace, to.as<int32_t>() + i * depth_),
                "a search ends when enough rows were offered to each point");
    });
  }

 private:
  static std::vector<int64_t> checked_ends(nb::handle ends, const View& columns, const View& values) {
    View given(ends, PyBUF_C_CONTIGUOUS);
    require(given->itemsize == 8 && given.count() >= 1 && columns->itemsize == 4, "columns must be int32 and ends int64");
    std::vector<int64_t> own(given.as<const int64_t>(), given.as<const int64_t>() + given.count());
    int64_t at = 0;
    for (int64_t next : own) {
      require(next >= at, "ends must not fall");
      at = next;
    }
    require(own.front() == 0 && at <= columns.count() && at <= values.count(), "ends must not pass the last value");
    return own;
  }

  void check_place(int64_t first_point, int64_t points, int64_t first_row, int64_t n) const {
    require(first_point >= 0 && first_point <= n_points_ - points && first_row >= 0 && first_row <= order_.table.n_rows - n,
            "points and rows must be those of the search");
  }

  Candidates& at(int64_t i) { return found_[static_cast<size_t>(i)]; }

  NeighborPoint point(int64_t i) const {
    if (!columns_) return {points_.as<const double>() + i * order_.table.width, nullptr, order_.table.width};
    int64_t start = point_ends_[static_cast<size_t>(i)];
    return {points_.as<const double>() + start, point_columns_->as<const int32_t>() + start,
            point_ends_[static_cast<size_t>(i) + 1] - start};
  }

  View rows_, words_, points_;
  std::optional<View> columns_, point_columns_;
  std::vector<int64_t> ends_, point_ends_;
  NeighborOrder order_{};
  int64_t n_points_ = 0, depth_ = 0;
  std::vector<Candidates> found_;
};

// whole: int64, pair and square: float64, of the same length. The number of neighbours with a weight, or -1.
int64_t weights(int64_t n, int64_t m, int64_t k, bool bootstrap, nb::handle whole, nb::handle pair, nb::handle square) {
  View to(whole, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE), pairs(pair, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE),
      squares(square, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
  require(n >= 1 && k >= 1 && k <= m && (bootstrap || m <= n), "k must be at most m, and m at most n");
  require(to->itemsize == 8 && pairs->len == to->len && squares->len == to->len, "the arrays do not fit");
  int64_t found = -1;
  split(1, 1, 1, [&](int64_t, int64_t, Poll poll) {
    found = neighbor_weights({n, m, k, bootstrap}, to.count(),
                             {to.as<int64_t>(), pairs.as<double>(), squares.as<double>()}, poll);
  });
  return found;
}

// rows: (points, at least depth) int32, the nearest first; codes: int64, the label of each training row.
NearLabels near_labels(const View& rows, const View& codes, int64_t depth, int64_t n_classes) {
  require(rows->ndim == 2 && rows->itemsize == 4 && codes->itemsize == 8, "rows must be (points, ranks) int32, codes int64");
  require(depth >= 1 && depth <= rows->shape[1] && n_classes >= 1, "there must be a row for each rank, and a class");
  return {rows.as<const int32_t>(), rows->shape[1], codes.as<const int64_t>(), codes.count(), n_classes};
}

// whole: int64, pair and square: float64, of the same length; proba: (points, classes) and spread: points, float64.
void votes(nb::handle rows, nb::handle codes, nb::handle whole, nb::handle pair, nb::handle square, nb::handle proba,
           nb::handle spread, int threads) {
  View near(rows, PyBUF_C_CONTIGUOUS), labels(codes, PyBUF_C_CONTIGUOUS), ranks(whole, PyBUF_C_CONTIGUOUS),
      pairs(pair, PyBUF_C_CONTIGUOUS), squares(square, PyBUF_C_CONTIGUOUS),
      means(proba, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE), wide(spread, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
  require(ranks->itemsize == 8 && pairs->len == ranks->len && squares->len == ranks->len && pairs->itemsize == 8 &&
              means->ndim == 2 && means->itemsize == 8 && wide->itemsize == 8,
          "the arrays do not fit");
  NearLabels asked = near_labels(near, labels, ranks.count(), means->shape[1]);
  require(means->shape[0] == near->shape[0] && wide.count() == near->shape[0], "the arrays do not fit");
  RankWeights weights = {ranks.as<const int64_t>(), pairs.as<const double>(), squares.as<const double>(), ranks.count()};
  split(near->shape[0], threads, 1, [&](int64_t first, int64_t last, Poll poll) {
    vote(asked, weights, first, last, means.as<double>(), wide.as<double>(), poll);
  });
}

// counts: int64, one for each point.
void model_counts(nb::handle rows, nb::handle codes, int64_t depth, int64_t n_classes, nb::handle counts, int threads) {
  View near(rows, PyBUF_C_CONTIGUOUS), labels(codes, PyBUF_C_CONTIGUOUS),
      to(counts, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
  NearLabels asked = near_labels(near, labels, depth + 1, n_classes);
  require(to->itemsize == 8 && to.count() == near->shape[0], "counts must hold an int64 for each point");
  split(near->shape[0], threads, 1, [&](int64_t first, int64_t last, Poll poll) {
    count_models(asked, depth, first, last, to.as<int64_t>(), poll);
  });
}

// starts: points + 1 int64; models: (all of them, classes) float64; number: (points, depth + 1) int32.
void models_without(nb::handle rows, nb::handle codes, nb::handle whole, nb::handle starts, nb::handle models,
                    nb::handle number, int threads) {
  View near(rows, PyBUF_C_CONTIGUOUS), labels(codes, PyBUF_C_CONTIGUOUS), ranks(whole, PyBUF_C_CONTIGUOUS),
      places(starts, PyBUF_C_CONTIGUOUS), to(models, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE),
      which(number, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
  require(ranks->itemsize == 8 && to->ndim == 2 && to->itemsize == 8 && which->itemsize == 4 && places->itemsize == 8,
          "the arrays do not fit");
  const int64_t points = near->shape[0], depth = ranks.count();
  NearLabels asked = near_labels(near, labels, depth + 1, to->shape[1]);
  require(places.count() == points + 1 && which.count() == points * (depth + 1) && to->shape[0] <= INT32_MAX,
          "the arrays do not fit");
  std::vector<int64_t> own(places.as<const int64_t>(), places.as<const int64_t>() + points + 1);
  int64_t at = 0;
  for (int64_t next : own) {
    require(next >= at && next <= to->shape[0], "starts must not fall or pass the last model");
    at = next;
  }
  split(points, threads, 1, [&](int64_t first, int64_t last, Poll poll) {
    fill_models(asked, {ranks.as<const int64_t>(), nullptr, nullptr, depth}, first, last,
                {own.data(), to.as<double>(), which.as<int32_t>()}, poll);
  });
}

// whole: int64, the weights of one row less; proba: (points, classes) float64; settled: uint8, one for each point; the
// others as in ShiftViews.
void settle(nb::handle rows, nb::handle codes, nb::handle whole, nb::handle proba, double wide, double narrow,
            nb::handle unit_of, int64_t first, nb::handle score, nb::handle leader, nb::handle levels, nb::handle quantiles, nb::handle settled,
            int threads) {
  View near(rows, PyBUF_C_CONTIGUOUS), labels(codes, PyBUF_C_CONTIGUOUS), ranks(whole, PyBUF_C_CONTIGUOUS),
      means(proba, PyBUF_C_CONTIGUOUS), calm(settled, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
  ShiftViews ranked(unit_of, score, leader, levels, quantiles);
  require(ranks->itemsize == 8 && means->ndim == 2 && means->itemsize == 8, "the arrays do not fit");
  const int64_t points = near->shape[0], depth = ranks.count();
  const NearLabels asked = near_labels(near, labels, depth + 1, means->shape[1]);
  require(means->shape[0] == points && calm->len == points, "proba and settled must have an entry for each point");
  const SettlingTask task = {means.as<const double>(), ranks.as<const int64_t>(), depth, wide, narrow, calm.as<uint8_t>()};
  const UnitOfRow units = ranked.rows();
  const NearShifts out = ranked.out(first, points);
  std::mutex guard;
  split(points, threads, 1, [&](int64_t from, int64_t to, Poll poll) {
    rank_and_settle(asked, task, units, out, from, to, guard, poll);
  });
}

}  // namespace

void bind_neighbors(nb::module_& m) {
  m.def("neighbor_weights", &weights, nb::arg("n"), nb::arg("m"), nb::arg("k"), nb::arg("bootstrap"), nb::arg("whole"),
        nb::arg("pair"), nb::arg("square"), "Fill the weights of the neighbours; their number, or -1 for want of room.");
  m.def("neighbor_votes", &votes, nb::arg("rows"), nb::arg("codes"), nb::arg("whole"), nb::arg("pair"), nb::arg("square"),
        nb::arg("proba"), nb::arg("spread"), nb::arg("threads"), "Fill the mean over all bags, and how far bags lie from it.");
  m.def("neighbor_model_counts", &model_counts, nb::arg("rows"), nb::arg("codes"), nb::arg("depth"), nb::arg("n_classes"),
        nb::arg("counts"), nb::arg("threads"), "Fill how many models without a row differ at each point.");
  m.def("neighbor_models", &models_without, nb::arg("rows"), nb::arg("codes"), nb::arg("whole"), nb::arg("starts"),
        nb::arg("models"), nb::arg("number"), nb::arg("threads"), "Fill the models without each of the nearest rows.");
  m.def("neighbor_settle", &settle, nb::arg("rows"), nb::arg("codes"), nb::arg("whole"), nb::arg("proba"), nb::arg("wide"),
        nb::arg("narrow"), nb::arg("unit_of"), nb::arg("first"), nb::arg("score"), nb::arg("leader"), nb::arg("levels"), nb::arg("quantiles"),
        nb::arg("settled"), nb::arg("threads"),
        "Rank the shifts of all models without a row, and say where each of them has the same set.");
  nb::class_<NeighborSearch>(m, "NeighborSearch")
      .def(nb::init<nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, int64_t, int, int64_t>(),
           nb::arg("rows"), nb::arg("columns").none(), nb::arg("ends").none(), nb::arg("words"), nb::arg("points"),
           nb::arg("point_columns").none(), nb::arg("point_ends").none(), nb::arg("width"), nb::arg("metric"),
           nb::arg("depth"))
      .def("offer_products", &NeighborSearch::offer_products, nb::arg("products"), nb::arg("base"), nb::arg("slack"),
           nb::arg("own"), nb::arg("first_point"), nb::arg("first_row"), nb::arg("threads"))
      .def("offer_distances", &NeighborSearch::offer_distances, nb::arg("distances"), nb::arg("first_point"),
           nb::arg("first_row"), nb::arg("threads"))
      .def("measure_all", &NeighborSearch::measure_all, nb::arg("threads"))
      .def("finish", &NeighborSearch::finish, nb::arg("out"), nb::arg("threads"));
}
