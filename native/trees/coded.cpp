#include "trees/coded.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <type_traits>
#include <utility>

namespace steadyset::trees {
namespace {

constexpr size_t kPairs = 4;  // of nodes, in a line of the cache

template <class Key> bool is_split(const std::vector<Step<Key>>& steps, size_t node) { return steps[node].left != node; }

template <class Key> struct Cuts {
  std::vector<Key> keys;
  std::vector<int64_t> start;

  // The distinct thresholds of each feature, in order. False where one has more than codes can tell apart, and where it
  // was stopped.
  bool find(const std::vector<Step<Key>>& steps, int32_t n_features, Pace& pace) {
    start.assign(static_cast<size_t>(n_features) + 1, 0);
    for (size_t node = 0; node < steps.size() && !pace.stop(1); ++node)
      if (is_split(steps, node)) ++start[feature_of(steps[node]) + 1];
    for (size_t f = 1; f < start.size(); ++f) start[f] += start[f - 1];
    keys.resize(static_cast<size_t>(start.back()));
    std::vector<int64_t> end(start.begin(), start.end() - 1);
    for (size_t node = 0; node < steps.size() && !pace.stop(4); ++node)
      if (is_split(steps, node)) keys[static_cast<size_t>(end[feature_of(steps[node])]++)] = steps[node].key;
    auto kept = keys.begin();
    for (size_t f = 0; f + 1 < start.size(); ++f) {
      const std::vector<Key> cuts = distinct(keys.begin() + start[f], keys.begin() + start[f + 1], pace);
      if (pace.stopped || static_cast<int64_t>(cuts.size()) > kCodedCuts) return false;
      start[f] = kept - keys.begin();
      kept = std::copy(cuts.begin(), cuts.end(), kept);
    }
    start.back() = kept - keys.begin();
    keys.erase(kept, keys.end());
    keys.shrink_to_fit();
    return true;
  }

  uint16_t place(uint32_t feature, Key key) const {
    const auto first = keys.begin() + start[feature], last = keys.begin() + start[feature + 1];
    return static_cast<uint16_t>(std::lower_bound(first, last, key) - first);
  }

  // Comparisons that finding the codes of a row takes.
  double comparisons() const {
    double found = 0;
    for (size_t f = 0; f + 1 < start.size(); ++f) found += std::log2(1.0 + static_cast<double>(start[f + 1] - start[f]));
    return found;
  }

  static uint32_t feature_of(const Step<Key>& step) { return step.feature & ~kMissingLeft; }

 private:
  using At = typename std::vector<Key>::iterator;

  // The distinct ones of [first, last) in order, some thousand at a time; not all of them where they are too many.
  static std::vector<Key> distinct(At first, At last, Pace& pace) {
    constexpr int64_t kSome = 1 << 15;
    std::vector<Key> found, both;
    while (first < last && static_cast<int64_t>(found.size()) <= kCodedCuts && !pace.stop(64 * kSome)) {
      const At until = first + std::min(kSome, static_cast<int64_t>(last - first));
      std::sort(first, until);
      both.clear();
      std::set_union(found.begin(), found.end(), first, std::unique(first, until), std::back_inserter(both));
      found.swap(both);
      first = until;
    }
    return found;
  }
};

// Where each node goes: pairs of children stay together, and near to the pairs below them, so that a line of the cache
// takes a row several levels down.
template <class Key>
std::vector<uint32_t> places_of(const std::vector<Step<Key>>& steps, const std::vector<int64_t>& root, Pace& pace) {
  std::vector<uint32_t> place(steps.size()), waiting, pairs;  // a pair goes by its left node
  for (size_t t = 0; t + 1 < root.size(); ++t) {
    uint32_t next = static_cast<uint32_t>(root[t]);
    place[next] = next;
    if (is_split(steps, next)) waiting.push_back(steps[next].left);
    ++next;
    while (!waiting.empty() && !pace.stop(32)) {
      pairs.assign(1, waiting.back());
      waiting.pop_back();
      for (size_t i = 0; i < pairs.size(); ++i)
        for (const uint32_t node : {pairs[i], pairs[i] + 1}) {
          place[node] = next++;
          if (is_split(steps, node)) (pairs.size() < kPairs ? pairs : waiting).push_back(steps[node].left);
        }
    }
  }
  return place;
}

}  // namespace

template <class Key>
std::optional<CodedForest> coded_forest(const std::vector<Step<Key>>& steps, const std::vector<uint32_t>& leaf,
                                        const std::vector<int64_t>& root, int32_t n_features, int32_t n_classes, Poll poll) {
  Pace pace{poll};
  // A leaf can point to its class where there are few of them beside the features.
  const int64_t classes = n_classes <= 64 + 4 * int64_t{n_features} ? n_classes : 0;
  const int64_t columns = std::max(int64_t{n_features}, classes) + 1;
  Cuts<Key> cuts;
  if (root.size() <= 2) return std::nullopt;  // a single tree
  if (columns > kCodedColumns || !cuts.find(steps, n_features, pace)) return std::nullopt;
  const double trees = static_cast<double>(root.size() - 1);
  // A comparison for a code takes about a third of what a coded step saves.
  if (3 * trees * std::log2(static_cast<double>(steps.size()) / trees) < cuts.comparisons()) return std::nullopt;
  CodedForest found;
  found.columns = columns;
  found.steps.resize(steps.size());
  found.missing_left.resize(steps.size());
  found.leaf.resize(steps.size());
  found.node.resize(steps.size());
  const std::vector<uint32_t> place = places_of(steps, root, pace);
  for (size_t node = 0; node < steps.size() && !pace.stop(64); ++node) {
    const Step<Key>& step = steps[node];
    const uint32_t at = place[node], feature = Cuts<Key>::feature_of(step);
    found.node[at] = static_cast<uint32_t>(node);
    found.leaf[at] = leaf[node];
    found.missing_left[at] = (step.feature & kMissingLeft) != 0;
    if (is_split(steps, node)) {
      found.steps[at] = CodedStep::of(cuts.place(feature, step.key), int64_t{feature} * kFlight, place[step.left]);
    } else {
      const int64_t column = (leaf[node] & kPure) && classes > 0 ? leaf[node] & ~kPure : columns - 1;
      found.steps[at] = CodedStep::of(kCodedMissing, column * kFlight, at);
    }
  }
  if (pace.stopped) return std::nullopt;
  found.cut_start = std::move(cuts.start);
  if constexpr (std::is_same_v<Key, uint64_t>) {
    found.wide_cuts = std::move(cuts.keys);
  } else {
    found.cuts = std::move(cuts.keys);
  }
  return found;
}

template std::optional<CodedForest> coded_forest(const std::vector<Step<uint32_t>>&, const std::vector<uint32_t>&,
                                                 const std::vector<int64_t>&, int32_t, int32_t, Poll);
template std::optional<CodedForest> coded_forest(const std::vector<Step<uint64_t>>&, const std::vector<uint32_t>&,
                                                 const std::vector<int64_t>&, int32_t, int32_t, Poll);

}  // namespace steadyset::trees
