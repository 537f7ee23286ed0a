// Sums of weights are whole numbers, so that a model without a row, found from its neighbour in rank, has the bits of one
// that was fitted without the row.
#include "neighbors/votes.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace steadyset {
namespace {

constexpr double kUnit = 0x1p-62;

double share(int64_t votes) { return static_cast<double>(votes) * kUnit; }

std::vector<int64_t> room_for(int64_t n) { return std::vector<int64_t>(static_cast<size_t>(n)); }

}  // namespace

void read_labels(const NearLabels& near, int64_t point, std::vector<int64_t>& labels) {
  const int32_t* rows = near.rows + point * near.stride;
  for (size_t r = 0; r < labels.size(); ++r) {
    const int64_t row = rows[r];
    if (row < 0 || row >= near.n_rows) throw std::invalid_argument("rows must be positions of training rows");
    labels[r] = near.codes[row];
    if (labels[r] < 0 || labels[r] >= near.n_classes) throw std::invalid_argument("codes must be columns of labels");
  }
}

void vote(const NearLabels& near, const RankWeights& weights, int64_t first, int64_t last, double* proba, double* spread,
          Poll poll) {
  Pace pace{poll};
  std::vector<int64_t> labels = room_for(weights.depth), votes = room_for(near.n_classes), so_far = votes;
  double squares = 0;
  for (int64_t r = 0; spread != nullptr && r < weights.depth; ++r) squares += weights.square[r];
  for (int64_t i = first; i < last && !pace.stop(4 * (weights.depth + near.n_classes)); ++i) {
    read_labels(near, i, labels);
    std::fill(votes.begin(), votes.end(), 0);
    std::fill(so_far.begin(), so_far.end(), 0);
    double pairs = 0;  // E[c c'] over pairs of rows with one label, by the rank of the farther row
    for (size_t r = 0; r < labels.size(); ++r) {
      const auto label = static_cast<size_t>(labels[r]);
      votes[label] += weights.whole[r];
      if (spread != nullptr) pairs += static_cast<double>(so_far[label]++) * weights.pair[r];
    }
    double square = 0;
    for (size_t l = 0; l < votes.size(); ++l) {
      const double mean = share(votes[l]);
      proba[i * near.n_classes + static_cast<int64_t>(l)] = mean;
      square += mean * mean;
    }
    if (spread == nullptr) continue;
    // sums of `depth` terms below 1, rounded up
    spread[i] = std::max(squares + 2 * pairs - square, 0.0) + static_cast<double>(weights.depth + 8) * 0x1p-52;
  }
}

void count_models(const NearLabels& near, int64_t depth, int64_t first, int64_t last, int64_t* counts, Poll poll) {
  Pace pace{poll};
  std::vector<int64_t> labels = room_for(depth + 1);
  for (int64_t i = first; i < last && !pace.stop(2 * depth); ++i) {
    read_labels(near, i, labels);
    counts[i] = 1;
    for (size_t r = 1; r < labels.size(); ++r) counts[i] += labels[r] != labels[r - 1];
  }
}

// Without the r-th neighbour those before it keep their rank and those behind it move up by one. So the model without
// the next one differs by one weight, which goes from one label to another; rows beyond the depth move nobody.
void fill_models(const NearLabels& near, const RankWeights& weights, int64_t first, int64_t last, const NearModels& out,
                 Poll poll) {
  Pace pace{poll};
  const auto depth = static_cast<size_t>(weights.depth);
  std::vector<int64_t> labels = room_for(weights.depth + 1), votes = room_for(near.n_classes);
  for (int64_t i = first; i < last && !pace.stop(4 * weights.depth); ++i) {
    read_labels(near, i, labels);
    std::fill(votes.begin(), votes.end(), 0);
    for (size_t r = 0; r < depth; ++r) votes[static_cast<size_t>(labels[r + 1])] += weights.whole[r];
    int64_t at = out.starts[i];
    const int64_t end = out.starts[i + 1];
    int32_t* number = out.number + i * (weights.depth + 1);
    if (at >= end) throw std::invalid_argument("starts must leave room for the models of each point");
    double* model = out.models + at * near.n_classes;
    for (size_t l = 0; l < votes.size(); ++l) model[l] = share(votes[l]);
    number[0] = static_cast<int32_t>(at);
    for (size_t r = 0; r < depth; ++r) {
      const auto from = static_cast<size_t>(labels[r + 1]), to = static_cast<size_t>(labels[r]);
      if (from != to) {
        if (++at >= end) throw std::invalid_argument("starts must leave room for the models of each point");
        if (pace.stop(near.n_classes)) return;
        double* next = std::copy_n(model, near.n_classes, model + near.n_classes) - near.n_classes;
        votes[from] -= weights.whole[r];
        votes[to] += weights.whole[r];
        next[from] = share(votes[from]);
        next[to] = share(votes[to]);
        model = next;
      }
      number[r + 1] = static_cast<int32_t>(at);
    }
    if (at + 1 != end) throw std::invalid_argument("starts must leave room for the models of each point");
  }
}

}  // namespace steadyset
