// A walk over the neighbours, the nearest first. Its state is how many votes the bag has seen, t = 0, ..., k - 1; each
// step adds and multiplies what is not negative, so that nothing cancels, whatever n is.
#include "neighbors/weights.hpp"

#include <cmath>
#include <vector>

namespace steadyset {
namespace {

using Real = long double;

constexpr Real kNothing = 1e-30L;

// The votes of one neighbour, given t votes of nearer ones: moments of c, and what becomes of the state.
struct Votes {
  Real mean, square;
};

// Without replacement the row is in the bag with probability (m - t) / left, `left` the rows from this one on.
Votes subbag_step(const NeighborBags& bags, int64_t left, int64_t t, Real seen, std::vector<Real>& next) {
  Real in = static_cast<Real>(bags.m - t) / static_cast<Real>(left);
  Real out = static_cast<Real>(left - bags.m + t) / static_cast<Real>(left);
  next[static_cast<size_t>(t)] += seen * out;
  if (t + 1 < bags.k) next[static_cast<size_t>(t + 1)] += seen * in;
  return {in, in};
}

// With replacement s of the m - t draws that are left fall on the row, s binomial with probability 1 / left; the votes
// are min(s, k - t), and E min(s, r) is the sum of P(s >= i), i = 1, ..., r.
Votes bootstrap_step(const NeighborBags& bags, int64_t left, int64_t t, Real seen, std::vector<Real>& next) {
  const int64_t draws = bags.m - t, wanted = bags.k - t;
  if (left == 1) return {static_cast<Real>(wanted), static_cast<Real>(wanted) * static_cast<Real>(wanted)};
  const Real odds = 1 / static_cast<Real>(left - 1);
  Real log_term = static_cast<Real>(draws) * std::log1p(-1 / static_cast<Real>(left));
  Real term = std::exp(log_term), below = 0;  // P(s = 0), P(s < i)
  Votes votes = {0, 0};
  for (int64_t i = 1; i <= wanted; ++i) {
    below += term;
    next[static_cast<size_t>(t + i - 1)] += seen * term;
    Real reaches = below < 1 ? 1 - below : 0;
    votes.mean += reaches;
    votes.square += static_cast<Real>(2 * i - 1) * reaches;
    Real ratio = static_cast<Real>(draws - i + 1) / static_cast<Real>(i) * odds;
    if (term < kNothing && ratio < 1) break;
    if (term == 0) {  // too small for a number, not for its logarithm
      log_term += std::log(ratio);
      term = std::exp(log_term);
    } else {
      term *= ratio;
    }
    if (ratio == 0) break;
  }
  return votes;
}

}  // namespace

int64_t neighbor_weights(const NeighborBags& bags, int64_t room, const NeighborWeights& out, Poll poll) {
  Pace pace{poll};
  const Real k = static_cast<Real>(bags.k), unit = 0x1p62L;
  std::vector<Real> state(static_cast<size_t>(bags.k), 0), next(state);
  state[0] = 1;
  for (int64_t j = 0; j < bags.n; ++j) {
    if (j == room) return -1;
    const int64_t left = bags.n - j;
    Real mean = 0, square = 0, pairs = 0;
    std::fill(next.begin(), next.end(), Real{0});
    for (int64_t t = 0; t < bags.k; ++t) {
      // With replacement a row may have as many votes as are left: with many draws and few rows it does.
      if (pace.stop(bags.bootstrap ? 16 + bags.k - t : 16)) return -1;
      const Real seen = state[static_cast<size_t>(t)];
      if (seen == 0) continue;
      Votes votes = bags.bootstrap ? bootstrap_step(bags, left, t, seen, next) : subbag_step(bags, left, t, seen, next);
      mean += seen * votes.mean;
      square += seen * votes.square;
      pairs += seen * static_cast<Real>(t) * votes.mean;
    }
    state.swap(next);
    out.whole[j] = static_cast<int64_t>(std::llrint(mean / k * unit));
    out.square[j] = static_cast<double>(square / (k * k));
    // The votes of the j nearer rows go with this one's alike, whichever of them it is: E[t c] is j times E[c c'].
    out.pair[j] = j == 0 ? 0.0 : static_cast<double>(pairs / (k * k) / static_cast<Real>(j));
    Real rest = 0;
    for (int64_t t = 0; t < bags.k; ++t) rest += state[static_cast<size_t>(t)] * static_cast<Real>(bags.k - t);
    if (rest / k * unit < 0.5L) return j + 1;
  }
  return bags.n;
}

}  // namespace steadyset
