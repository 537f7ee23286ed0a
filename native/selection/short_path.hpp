// The epsilon-path for short rows, eight rows at a time.
// Included inside the anonymous namespace of unit.cpp.

constexpr int kPathBlock = 8;
using Eight = Vec<double>::type;

// As c falls, t(c) falls strictly, so that the number of entries above c_j, where t(c_j) = w_j, is the number of sorted
// entries v_k with t(v_k) > w_j. One square root for each t(v_k), one for each label, and no loop that depends on data.
struct PathBlock {
  Eight w[kShort], sorted[kShort], mean[kShort + 1], squares[kShort + 1], t[kShort], entry[kShort];
  int64_t n;

  bool own_scale[kPathBlock];  // a row whose squares would leave the range is solved by itself

  // Reads a row, shifted by its maximum, into lane r.
  template <class T> void read(int r, const T* row, T max) {
    double m = static_cast<double>(max), lowest = 0, least_gap = 0x1p1000;
    for (int64_t j = 0; j < n; ++j) {
      double x = static_cast<double>(row[j]) - m, gap = x < 0 ? -x : 0x1p1000;
      w[j][r] = sorted[j][r] = x;
      lowest = x < lowest ? x : lowest;
      least_gap = gap < least_gap ? gap : least_gap;
    }
    own_scale[r] = lowest < 0 && !(-lowest < 0x1p100 && -lowest > 0x1p-100 && least_gap > kSquareSafe * -lowest);
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
      Eight v = sorted[rank], a = {}, s = {}, k = 1 + Eight{};
      for (int64_t i = 1; i < rank; ++i) {
        auto more = t[i] > v;
        double count = static_cast<double>(i + 1);
        a = more ? mean[i + 1] : a;
        s = more ? squares[i + 1] : s;
        k = more ? count + Eight{} : k;
      }
      // R^2 = k(k+1)/2 d^2 + (k+1)(k+2)/4 times the sum of squares (k Var).
      Eight d = a - v, inside = 0.5 * k * (k + 1) * d * d + 0.25 * (k + 1) * (k + 2) * s, r;
      for (int l = 0; l < kPathBlock; ++l) r[l] = __builtin_sqrt(inside[l]);
      Eight e = rank == 1 ? 2 * kInvSqrt2 * -v : 2 * kInvSqrt2 * (k * d + 2 * r) / (k + 2);
      e = v < 0 ? e : Eight{};
      entry[rank] = e > entry[rank - 1] ? e : entry[rank - 1];  // a lower score never enters before a higher one
    }
  }
  void write(double* out, int rows) const {
    for (int64_t j = 0; j < n; ++j) {
      Eight e = {};
      for (int64_t rank = 1; rank < n; ++rank) e = sorted[rank] == w[j] ? entry[rank] : e;
      for (int r = 0; r < rows; ++r) out[r * n + j] = e[r];
    }
  }
};
