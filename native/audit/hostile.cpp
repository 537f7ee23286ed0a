#include "audit/hostile.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cmath>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

namespace steadyset {
namespace {

constexpr int64_t kLabelsTried = 8;  // of a set, in the order of their votes: one that stays is enough

// Puts numbers into descending order. With thousands of them, by the digits of their bits: digits that all have in common,
// as most have where bags vote for labels, cost nothing.
class Descending {
 public:
  void sort(std::vector<double>& values) {
    size_t n = values.size();
    if (n < kFew) {
      std::sort(values.begin(), values.end(), std::greater<double>());
      return;
    }
    keys_.resize(n);
    next_.resize(n);
    uint64_t differ = 0, first = key_of(values[0]);
    for (size_t i = 0; i < n; ++i) {
      keys_[i] = key_of(values[i]);
      differ |= keys_[i] ^ first;
    }
    for (int digit = 0; digit < kDigits; ++digit) {
      if (place(differ, digit) == 0) continue;
      counts_.fill(0);
      for (uint64_t key : keys_) ++counts_[place(key, digit)];
      size_t start = 0;
      for (size_t& count : counts_) start += std::exchange(count, start);
      for (uint64_t key : keys_) next_[counts_[place(key, digit)]++] = key;
      keys_.swap(next_);
    }
    for (size_t i = 0; i < n; ++i) values[i] = value_of(keys_[i]);
  }

 private:
  static constexpr size_t kFew = 1024;
  static constexpr int kBits = 11, kDigits = 6;
  std::vector<uint64_t> keys_, next_;
  std::array<size_t, 1 << kBits> counts_;

  static size_t place(uint64_t key, int digit) { return key >> (kBits * digit) & ((1 << kBits) - 1); }
  // Ascending keys are descending numbers.
  static uint64_t key_of(double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? bits : bits ^ (~uint64_t{0} >> 1);
  }
  static double value_of(uint64_t key) {
    uint64_t bits = key >> 63 ? key : key ^ (~uint64_t{0} >> 1);
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
};

// One label of a point's set against all labels outside, by Theorem C2.
class Corners {
 public:
  Corners(const Comparer& how, double vote, double slack, int64_t n_bags)
      : how_(how), vote_(vote), slack_(slack), bags_(n_bags), margin_(how.margin() * static_cast<double>(n_bags)) {}

  // Whether the test fails for `touched` bags, by a glance at a label that is `behind` (with a minus) over all bags: the
  // largest gains are at least the mean ones.
  bool gives_way(double behind, int64_t touched) const {
    double share = static_cast<double>(touched) / static_cast<double>(bags_);
    return behind * (1 - share) + static_cast<double>(touched) * vote_ > margin_;
  }
  // votes: (classes, bags) of the point.
  void look(const double* votes, const uint8_t* set, int64_t n, int64_t label) {
    behind_.clear();
    gains_.resize(static_cast<size_t>(n * (bags_ + 1)));
    steps_.resize(static_cast<size_t>(bags_));
    alone_.assign(votes + label * bags_, votes + (label + 1) * bags_);
    order_.sort(alone_);
    Gain* gain = gains_.data();
    for (int64_t l = 0; l < n; ++l) {
      if (set[l]) continue;
      behind_.push_back(sorted_steps(votes + label * bags_, votes + l * bags_));
      double any = 0, all = 0;
      *gain++ = {0, 0};
      for (double step : steps_) {
        any += std::max(step, 0.0);
        all += step + vote_;
        *gain++ = {any, all};
      }
    }
  }
  // Whether the label stays, or another of the set with it, whatever `touched` of the bags vote.
  bool stays(int64_t touched, Problem& problem, Poll poll) {
    size_t outside = behind_.size(), stride = static_cast<size_t>(bags_) + 1, place = static_cast<size_t>(touched);
    others_.resize(outside);
    double any = -1e300, all = -1e300;
    for (size_t l = 0; l < outside; ++l) {
      const Gain& gain = gains_[l * stride + place];
      others_[l] = behind_[l] + gain.any + slack_;
      any = std::max(any, others_[l]);
      all = std::max(all, behind_[l] + gain.all + slack_);
    }
    if (how_.id == RuleId::argmax) return all <= 0;
    if (how_.id == RuleId::fixed_margin || outside == 1) return all < margin_;
    double near = how_.epsilon * (std::sqrt(1 + 1 / static_cast<double>(outside)) - std::sqrt(0.5)) * (1 - 1e-9);
    if (std::max(any, all) < near * static_cast<double>(bags_)) return true;
    if (all >= margin_) return false;
    return solve(place, stride, problem, poll);
  }

 private:
  struct Gain {
    double any, all;  // of the bags with the largest steps: where they vote for another label, or all for this one
  };
  Comparer how_;
  double vote_, slack_;
  int64_t bags_;
  double margin_;
  std::vector<double> behind_, steps_, others_;
  std::vector<double> alone_, gone_, come_;  // the label's own votes in order, and what another label takes and puts there
  std::vector<double> merged_;
  std::vector<Gain> gains_;
  Descending order_;

  // Puts the steps from `theirs` to `own` into descending order, and returns how far the label is behind (with a minus).
  // Most bags give most labels nothing: there the step is the label's own vote, and those are in order already.
  double sorted_steps(const double* own, const double* theirs) {
    double behind = 0;
    gone_.clear();
    come_.clear();
    for (int64_t b = 0; b < bags_; ++b) {
      double step = own[b] - theirs[b];
      steps_[static_cast<size_t>(b)] = step;
      behind -= step;
      if (theirs[b] != 0) {
        gone_.push_back(own[b]);
        come_.push_back(step);
      }
    }
    if (4 * gone_.size() > steps_.size() || !merged()) order_.sort(steps_);
    return behind;
  }
  // Whether the votes in order without those that are gone, merged with those that come, are the steps; they are but for
  // values that are not equal to themselves.
  bool merged() {
    order_.sort(gone_);
    order_.sort(come_);
    merged_.clear();
    size_t g = 0, c = 0;
    for (double vote : alone_) {
      if (g < gone_.size() && gone_[g] == vote) {
        ++g;
        continue;
      }
      while (c < come_.size() && come_[c] > vote) merged_.push_back(come_[c++]);
      merged_.push_back(vote);
    }
    merged_.insert(merged_.end(), come_.begin() + static_cast<std::ptrdiff_t>(c), come_.end());
    if (merged_.size() != steps_.size()) return false;
    steps_.swap(merged_);
    return true;
  }

  bool solve(size_t place, size_t stride, Problem& problem, Poll poll) {
    size_t outside = behind_.size();
    double bags = static_cast<double>(bags_);
    Questions corners(how_.shrunk(), static_cast<int64_t>(outside) + 1);
    for (size_t k = 0; k < outside; ++k) {
      double* row = corners.add();
      *row++ = 0;
      for (size_t l = 0; l < outside; ++l) row[l] = others_[l] / bags;
      row[k] = (behind_[k] + gains_[k * stride + place].all + slack_) / bags;
    }
    problem = corners.answer(poll);
    return std::all_of(corners.selected().begin(), corners.selected().end(), [](uint8_t in) { return in != 0; });
  }
};

template <class T> Problem hostile_as(const HostileTask& t, int64_t first, int64_t last, int64_t* out, Poll poll) {
  const T* values = static_cast<const T*>(t.values.data);
  int64_t bags = t.values.n_bags, n = t.n_classes, least = t.least;
  Corners corners(t.how, t.vote, t.slack, bags);
  std::vector<double> votes(static_cast<size_t>(n * bags)), totals(static_cast<size_t>(n));
  std::vector<int64_t> labels;
  Problem problem = Problem::none;
  for (int64_t k = first; k < last && !poll.ask(poll.whom); ++k) {
    const uint8_t* set = t.sets + k * n;
    labels.clear();
    std::fill(totals.begin(), totals.end(), 0.0);
    for (int64_t b = 0; b < bags; ++b)  // a bag's votes lie side by side, and bags far apart
      for (int64_t l = 0; l < n; ++l)
        totals[static_cast<size_t>(l)] += votes[static_cast<size_t>(l * bags + b)] =
            static_cast<double>(values[b * t.values.stride + k * n + l]);
    for (int64_t l = 0; l < n; ++l)
      if (set[l]) labels.push_back(l);
    if (static_cast<int64_t>(labels.size()) == n) {  // nothing is outside
      out[k] = bags;
      continue;
    }
    std::stable_sort(labels.begin(), labels.end(), [&](int64_t i, int64_t j) {
      return totals[static_cast<size_t>(i)] > totals[static_cast<size_t>(j)];
    });
    labels.resize(std::min<size_t>(labels.size(), kLabelsTried));
    int64_t best = 0;
    for (int64_t label : labels) {
      if (poll.ask(poll.whom)) break;
      bool hopeless = false;
      for (int64_t l = 0; l < n && !hopeless; ++l)
        hopeless = !set[l] && corners.gives_way(totals[static_cast<size_t>(l)] - totals[static_cast<size_t>(label)], least);
      if (hopeless) continue;
      corners.look(votes.data(), set, n, label);
      int64_t low = best, high = bags;  // `low` bags are safe
      if (!corners.stays(std::max(low, least), problem, poll)) high = low;
      else low = std::max(low, least);
      while (low < high) {
        int64_t middle = high - (high - low) / 2;
        if (corners.stays(middle, problem, poll)) low = middle;
        else high = middle - 1;
      }
      best = low;
      if (problem != Problem::none) return problem;
    }
    out[k] = best;
  }
  return Problem::none;
}

}  // namespace

Problem hostile_range(const HostileTask& task, int64_t first, int64_t last, int64_t* out, Poll poll) {
  return task.values.wide ? hostile_as<double>(task, first, last, out, poll)
                          : hostile_as<float>(task, first, last, out, poll);
}

}  // namespace steadyset
