// Which points no unit can disturb, and how far the bags spread.
// Included inside the anonymous namespace of unit.cpp.

// Whether the mean of the `least` smallest of n differences exceeds the bound. It is the largest over t of
// t - sum (t - d)_+ / least, so that any t proves it; the search for t stops as soon as either answer is certain.
// "No" is always safe.
bool smallest_exceed(const double* d, int64_t n, int64_t least, double bound) {
  double low = d[0], high = d[0], k = static_cast<double>(least);
  for (int64_t b = 1; b < n; ++b) {
    low = d[b] < low ? d[b] : low;
    high = d[b] > high ? d[b] : high;
  }
  if (low > bound) return true;
  for (int i = 0; i < 48; ++i) {
    double t = 0.5 * (low + high);
    Eight sums = {}, counts = {};
    int64_t b = 0;
    for (; b + 8 <= n; b += 8) {
      Eight x;
      __builtin_memcpy(&x, d + b, sizeof x);
      x = t - x;
      auto below = x > 0;
      sums += below ? x : Eight{};
      counts += below ? Eight{} + 1 : Eight{};
    }
    double sum = 0, count = 0;
    for (int l = 0; l < 8; ++l) {
      sum += sums[l];
      count += counts[l];
    }
    for (; b < n; ++b) {
      if (!(t - d[b] > 0)) continue;
      sum += t - d[b];
      count += 1;
    }
    double value = t - sum / k, slope = 1 - count / k;
    if (value > bound) return true;
    if (value + slope * (slope > 0 ? high - t : low - t) <= bound) return false;  // concave: nothing exceeds the tangent
    (slope > 0 ? low : high) = t;
  }
  return false;
}

template <class T>
bool survey_of(const T* values, const BagValues& in, const double* mean, int64_t n_classes, int64_t first, int64_t last,
               int64_t least, double bound, double* spread, uint8_t* settled) {
  int64_t n = in.n_bags;
  Space space;
  if (!space.reserve(n * n_classes * 8)) return false;
  double* votes = static_cast<double*>(space.data);  // (classes, bags)
  for (int64_t k = first; k < last; ++k) {
    const double* p = mean + k * n_classes;
    int64_t lead = 0;
    for (int64_t l = 1; l < n_classes; ++l) lead = p[l] > p[lead] ? l : lead;
    for (int64_t b = 0; b < n; ++b)
      for (int64_t l = 0; l < n_classes; ++l)
        votes[l * n + b] = static_cast<double>(values[b * in.stride + k * n_classes + l]);
    double square = 0;
    for (int64_t l = 0; l < n_classes; ++l) {
      Eight sums = {};
      int64_t b = 0;
      for (; b + 8 <= n; b += 8) {
        Eight x;
        __builtin_memcpy(&x, votes + l * n + b, sizeof x);
        x -= p[l];
        sums += x * x;
      }
      for (int i = 0; i < 8; ++i) square += sums[i];
      for (; b < n; ++b) square += (votes[l * n + b] - p[l]) * (votes[l * n + b] - p[l]);
    }
    spread[k] = square;
    bool calm = true;
    for (int64_t l = 0; l < n_classes && calm; ++l) {
      if (l == lead) continue;
      if (!(p[lead] - p[l] > bound)) calm = false;
      if (!calm) break;
      double* d = votes + l * n;
      for (int64_t b = 0; b < n; ++b) d[b] = votes[lead * n + b] - d[b];
      calm = smallest_exceed(d, n, least, bound);
    }
    settled[k] = calm;
  }
  return true;
}

bool survey(const BagValues& values, const double* mean, int64_t n_classes, int64_t first, int64_t last, int64_t least,
            double bound, double* spread, uint8_t* settled) {
  return values.wide ? survey_of(static_cast<const double*>(values.data), values, mean, n_classes, first, last, least,
                                 bound, spread, settled)
                     : survey_of(static_cast<const float*>(values.data), values, mean, n_classes, first, last, least,
                                 bound, spread, settled);
}
