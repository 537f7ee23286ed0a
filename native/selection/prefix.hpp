// Rules that take a prefix of the labels in descending order: top-k, mass threshold, NDC and SVBOP.
// Included inside the anonymous namespace of unit.cpp.

// The entries of a row in descending order, sorted piece by piece and only as far as they are asked for.
struct Descending {
  double* v;
  int64_t n;
  int64_t sorted = 0;

  double operator[](int64_t i) {
    if (i >= n) return 0;  // the paper's convention w_[L+1] = 0
    while (i >= sorted) {
      int64_t more = sorted == 0 ? 8 : 3 * sorted;
      if (more > n - sorted) more = n - sorted;
      select_largest(v + sorted, n - sorted, more);
      sort_descending(v + sorted, more);
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

// Gamma_tau: the smallest prefix whose sum reaches tau.
inline int64_t mass_prefix(Descending& w, double tau, double tie_slack) {
  Sum sum;
  for (int64_t k = 1; k < w.n; ++k) {
    sum.add(w[k - 1]);
    if (sum.value() + tie_slack + static_cast<double>(k) * 2.220446049250313e-16 >= tau) return k;
  }
  return w.n;
}

// NDC for F_beta: the first k with S_k >= (k + beta^2) w_[k+1] maximises (1 + beta^2) S_k / (k + beta^2).
inline int64_t ndc_prefix(Descending& w, double beta) {
  Sum sum;
  for (int64_t k = 1; k < w.n; ++k) {
    sum.add(w[k - 1]);
    if (sum.value() >= (static_cast<double>(k) + beta * beta) * w[k]) return k;
  }
  return w.n;
}

// SVBOP: the smallest prefix that maximises g(k) S_k, g(k) = alpha/k - beta/k^2; 1/g is convex, so that the first
// k whose successor is no better is the optimum. Cross-multiplied by k^2 (k+1)^2, which keeps ties exact.
inline int64_t svbop_prefix(Descending& w, double alpha, double beta) {
  Sum sum;
  for (int64_t k = 1; k < w.n; ++k) {
    sum.add(w[k - 1]);
    double now = static_cast<double>(k), next = now + 1;
    double here = (alpha * now - beta) * (next * next) * sum.value();
    Sum ahead = sum;
    ahead.add(w[k]);
    double there = (alpha * next - beta) * (now * now) * ahead.value();
    if (there <= here * (1 + 4 * 2.220446049250313e-16)) return k;
  }
  return w.n;
}
