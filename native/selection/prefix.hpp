// Rules that take a prefix of the labels in descending order: top-k, mass threshold, NDC and SVBOP.
#pragma once
#include "poll.hpp"
#include "selection/api.hpp"
#include "selection/scratch.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

// The entries of a row in descending order, sorted piece by piece and only as far as they are asked for.
struct Descending {
  double* v;
  int64_t n;
  Pace& pace;
  int64_t sorted = 0;

  double operator[](int64_t i) {
    if (i >= n) return 0;  // the paper's convention w_[L+1] = 0
    while (i >= sorted) {
      int64_t more = sorted == 0 ? 8 : 3 * sorted;
      if (more > n - sorted) more = n - sorted;
      select_largest(v + sorted, n - sorted, more, pace);
      sort_descending(v + sorted, more, pace);
      sorted += more;
    }
    return v[i];
  }
};

// A sum that keeps what rounding drops (Neumaier).
struct Sum {
  double total = 0, rest = 0;
  void add(double x) {
    double next = total + x;
    rest += __builtin_fabs(total) >= __builtin_fabs(x) ? (total - next) + x : (x - next) + total;
    total = next;
  }
  double value() const { return total + rest; }
};

// What is known of a row once it has been read.
struct Widened {
  bool finite, negative;
  double sum;

  Problem off_simplex(double slack) const {
    if (!finite) return Problem::not_finite;
    if (negative) return Problem::negative;
    return __builtin_fabs(sum - 1) <= slack ? Problem::none : Problem::off_simplex;
  }
};

// Reads a row as doubles; unfinished where the pace stops.
template <class T> Widened widen(const T* row, int64_t n, double* v, Pace& pace) {
  Sum sum;
  Widened read = {true, false, 0};
  for (int64_t j = 0; j < n; ++j) {
    if (j % 4096 == 4095 && pace.stop(4096)) return read;
    v[j] = static_cast<double>(row[j]);
    read.finite &= v[j] - v[j] == 0;
    read.negative |= v[j] < 0;
    sum.add(v[j]);
  }
  read.sum = sum.value();
  return read;
}

// A probability in whole multiples of 2^-100. Only what is below 2^-47 has further bits: they are dropped, or counted up.
__extension__ typedef __int128 Parts;
inline Parts parts(double x, bool up) {
  double scaled = x * 0x1p100;
  Parts whole = static_cast<Parts>(scaled);
  return whole + (up && static_cast<double>(whole) != scaled);
}

// Whether the k largest hold tau and the others at most 1 - tau, without rounding: a set must not be too small.
inline bool mass_is_reached(const Descending& w, int64_t k, double tau) {
  Parts missing = parts(tau, true), room = parts(1, false) - missing;
  for (int64_t i = 0; i < k; ++i) missing -= parts(w.v[i], false);
  for (int64_t i = k; i < w.n; ++i) room -= parts(w.v[i], true);
  return missing <= 0 && room >= 0;
}

// Gamma_tau: the smallest prefix that holds tau and leaves out at most 1 - tau. The two are one for a row that sums to 1.
inline int64_t mass_prefix(Descending& w, double tau, double total) {
  constexpr double kNear = 1e-12;  // far above the rounding of the sums
  double least = total > 1 ? tau + (total - 1) : tau;
  Sum sum;
  for (int64_t k = 1; k < w.n && !w.pace.stopped; ++k) {
    sum.add(w[k - 1]);
    double over = sum.value() - least;
    if (over > kNear || (over >= -kNear && !w.pace.stop(8 * w.n) && mass_is_reached(w, k, tau))) return k;
  }
  return w.n;
}

// NDC for F_beta: the first k with S_k >= (k + beta^2) w_[k+1] maximises (1 + beta^2) S_k / (k + beta^2). It takes ties
// along. The mean of the set has to lead the next entry by beta^2 / (k (L + beta^2)), which for a row that sums to 1 it
// does; compatibility rests on it, so that it is rounded outward.
inline int64_t ndc_prefix(Descending& w, double beta) {
  double q = beta * beta, n = static_cast<double>(w.n);
  Sum sum;
  for (int64_t i = 1; i < w.n; ++i) {
    sum.add(w[i - 1]);
    if (w[i] == w[i - 1]) continue;
    double k = static_cast<double>(i), mass = sum.value();
    if (!(mass >= (k + q) * w[i])) continue;
    if (q == 0 || mass - k * w[i] >= q / (n + q) + (k + 8) * 2.220446049250313e-16) return i;
  }
  return w.n;
}

// Whether the mean of the k largest, of which `mass` is the sum, leads the next entry by the T_k that an optimal set of k
// of n labels has on the simplex, gamma = beta / alpha; for beta > 0. A size that does not occur there never does.
inline bool svbop_leads(double mass, double next_entry, double k, double n, double alpha, double beta) {
  if (!(alpha * (k * (k + 1)) >= beta * (2 * k + 1))) return false;
  double gamma = beta / alpha, rest = 1 - gamma * (2 * k + 1) / (k * (k + 1));
  double least = gamma / (gamma + n * (rest > 0 ? rest : 0));
  return mass - k * next_entry >= least * (1 - 0x1p-40) + (k + 8) * 2.220446049250313e-16;
}

// SVBOP: the smallest prefix that maximises g(k) S_k, g(k) = alpha/k - beta/k^2; 1/g is convex, so that the first
// k whose successor is no better is the optimum. Cross-multiplied by k^2 (k+1)^2, which keeps ties exact. In a row that
// does not sum to 1 the set has to lead as in one that does: compatibility rests on it.
inline int64_t svbop_prefix(Descending& w, double alpha, double beta) {
  Sum sum;
  for (int64_t k = 1; k < w.n; ++k) {
    sum.add(w[k - 1]);
    double now = static_cast<double>(k), next = now + 1, mass = sum.value();
    double here = (alpha * now - beta) * (next * next) * mass;
    Sum ahead = sum;
    ahead.add(w[k]);
    double there = (alpha * next - beta) * (now * now) * ahead.value();
    if (!(there <= here * (1 + 4 * 2.220446049250313e-16))) continue;
    if (beta <= 0 || svbop_leads(mass, w[k], now, static_cast<double>(w.n), alpha, beta)) return k;
  }
  return w.n;
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset
