// The epsilon-path for short rows, eight rows at a time.
// Included inside the unit's anonymous namespace.

constexpr int kPathBlock = 8;
using Eight = Vec<double>::type;

// As c falls, t(c) falls strictly, so that the number of entries above c_j, where t(c_j) = w_j, is the number of sorted
// entries v_k with t(v_k) > w_j. One square root for each t(v_k), one for each label, and no loop that depends on data.
struct PathBlock {
  Eight w[kShort], sorted[kShort], mean[kShort + 1], squares[kShort + 1], t[kShort], entry[kShort];
  int64_t n;

  // Reads rows shifted by their maxima; false when a row needs its own scale.
  template <class T> bool read(const T* p, const T* max) {
    Eight m, lowest = {}, least_gap = 0x1p1000 - Eight{};
    for (int r = 0; r < kPathBlock; ++r) m[r] = static_cast<double>(max[r]);
    for (int64_t j = 0; j < n; ++j) {
      Eight x;
      for (int r = 0; r < kPathBlock; ++r) x[r] = static_cast<double>(p[r * n + j]);
      x -= m;
      w[j] = sorted[j] = x;
      lowest = x < lowest ? x : lowest;
      Eight gap = x < 0 ? -x : 0x1p1000 - Eight{};
      least_gap = gap < least_gap ? gap : least_gap;
    }
    bool plain = true;
    for (int r = 0; r < kPathBlock; ++r)
      plain &= lowest[r] == 0 || (-lowest[r] < 0x1p100 && -lowest[r] > 0x1p-100 && least_gap[r] > kSquareSafe * -lowest[r]);
    return plain;
  }
  void sort() {
    for (int64_t i = 1; i < n; ++i) {
      for (int64_t j = i; j > 0; --j) {
        Eight a = sorted[j - 1], b = sorted[j];
        auto ordered = a > b;
        sorted[j - 1] = ordered ? a : b;
        sorted[j] = ordered ? b : a;
      }
    }
  }
  void solve() {
    mean[1] = squares[1] = t[0] = Eight{};
    for (int64_t k = 1; k < n; ++k) {  // t(v) at the next entry v, below the k entries that are summed
      double count = static_cast<double>(k);
      Eight v = sorted[k], x = mean[k] - v, s = count * x;
      Eight f = s * s + squares[k] + count * x * x, root;
      for (int r = 0; r < kPathBlock; ++r) root[r] = __builtin_sqrt(f[r]);
      t[k] = v + kInvSqrt2 * root - s;
      Eight delta = v - mean[k];
      mean[k + 1] = mean[k] + delta * (1 / (count + 1));
      squares[k + 1] = squares[k] + delta * (v - mean[k + 1]);
    }
    entry[0] = Eight{};
    for (int64_t rank = 1; rank < n; ++rank) {
      Eight v = sorted[rank], a = {}, s = {}, c1 = 1 + Eight{}, c2 = 0.5 * 1.5 + Eight{}, c3 = 1.0 / 3 + Eight{}, k = c1;
      for (int64_t i = 1; i < rank; ++i) {
        auto more = t[i] > v;
        double count = static_cast<double>(i + 1);
        a = more ? mean[i + 1] : a;
        s = more ? squares[i + 1] : s;
        k = more ? count + Eight{} : k;
      }
      c1 = 0.5 * k * (k + 1);
      c2 = 0.25 * (k + 1) * (k + 2);
      c3 = 1 / (k + 2);
      Eight d = a - v, inside = c1 * d * d + c2 * s, r;
      for (int l = 0; l < kPathBlock; ++l) r[l] = __builtin_sqrt(inside[l]);
      Eight e = rank == 1 ? 2 * kInvSqrt2 * -v : 2 * kInvSqrt2 * (k * d + 2 * r) * c3;
      e = v < 0 ? e : Eight{};
      entry[rank] = e > entry[rank - 1] ? e : entry[rank - 1];  // a lower score never enters before a higher one
    }
  }
  void write(double* out) const {
    for (int64_t j = 0; j < n; ++j) {
      Eight e = {};
      for (int64_t rank = 1; rank < n; ++rank) e = sorted[rank] == w[j] ? entry[rank] : e;
      for (int r = 0; r < kPathBlock; ++r) out[r * n + j] = e[r];
    }
  }
};
