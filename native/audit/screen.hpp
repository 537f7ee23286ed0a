// Nearly all pairs of a point and a unit, decided in fixed point. Predictions are rounded to whole multiples of 2^-q and
// summed as integers, so that the order of summing is irrelevant and a mean is off by at most 2^-(q+1). The sum over
// eight bags has only 256 values, which are looked up. Pairs that this error could turn are left to exact arithmetic.
// Included inside the anonymous namespace of unit.cpp.

typedef int32_t Sixteen __attribute__((vector_size(64)));
typedef int32_t EightInts __attribute__((vector_size(32)));
constexpr int kLanes = 16;            // columns summed together
constexpr int64_t kScreenUnits = 2048;
constexpr double kShiftRounding = 0x1p-23;  // of a shift of at most sqrt(2) as a float

struct Lookup {
  Sixteen sums[2][1 << kHalf];

  // bags: 16 vectors of columns
  void fill(const Sixteen* bags) {
    for (int half = 0; half < 2; ++half) {
      sums[half][0] = Sixteen{};
      for (int b = 0; b < kHalf; ++b)
        for (int bits = 0; bits < 1 << b; ++bits)
          sums[half][bits + (1 << b)] = sums[half][bits] + bags[half * kHalf + b];
    }
  }
  void add(const uint16_t* patterns, int64_t n, Sixteen* totals) const {
    for (int64_t i = 0; i < n; ++i)
      totals[i] += sums[0][patterns[i] & ((1 << kHalf) - 1)] + sums[1][patterns[i] >> kHalf];
  }
};

// What decides a point: its own mean and set, and how wide the boundaries are blurred.
struct PointScreen {
  const double* mean;
  const uint8_t* set;
  const uint8_t* leads;  // null: conflicts at other epsilons are not asked for
  int64_t n_classes;
  double size, blur;     // labels in the set; twice the error of a label's mean
};

typedef int64_t EightFlags __attribute__((vector_size(64)));

struct Verdict {
  Eight shift, jaccard;
  EightFlags conflict, unsure;
};

// Eight units at once. At most two labels within the margin of the largest are the set itself, for every rule that keeps
// to a margin; with three or more near it, or one near the boundary, the pair is unsure.
inline Verdict judge(const PointScreen& p, const Eight* means, double margin) {
  Eight first = Eight{} - 1, second = first, third = first, in_first = {}, in_second = {}, lead = first, other = first,
        square = {};
  for (int64_t l = 0; l < p.n_classes; ++l) {
    Eight x = means[l], d = x - p.mean[l];
    double in_set = p.set[l];
    square += d * d;
    if (p.leads != nullptr) {
      Eight& side = p.leads[l] ? lead : other;
      side = x > side ? x : side;
    }
    auto above1 = x > first, above2 = x > second, above3 = x > third;
    third = above2 ? second : above3 ? x : third;
    second = above1 ? first : above2 ? x : second;
    in_second = above1 ? in_first : above2 ? in_set + Eight{} : in_second;
    first = above1 ? x : first;
    in_first = above1 ? in_set + Eight{} : in_first;
  }
  double wide = margin + margin * 0x1p-46 + p.blur, narrow = margin - margin * 0x1p-46 - p.blur;
  auto single = first - second > wide;
  auto pair = (first - second < narrow) & (first - third > wide);
  Eight both = in_first + (single ? Eight{} : in_second);
  Eight either = p.size + (single ? Eight{} + 1 : Eight{} + 2) - both;
  Verdict v;
  v.conflict = both == 0;
  v.unsure = ~(single | pair);
  if (p.leads != nullptr) v.unsure |= other + p.blur >= lead;
  v.jaccard = both / either;
  for (int r = 0; r < 8; ++r) v.shift[r] = __builtin_sqrt(square[r]);
  return v;
}

// Columns [0, width) of all bags as whole multiples of 2^-q, sixteen to a vector: out[tile * padded bags + bag].
template <class T>
void to_fixed(const T* values, const BagValues& in, int64_t width, int64_t n_classes, double scale, int64_t padded,
              Sixteen* out, uint8_t* rounded) {
  int64_t tiles = (width + kLanes - 1) / kLanes;
  for (int64_t i = 0; i < tiles * padded; ++i) out[i] = Sixteen{};
  for (int64_t b = 0; b < in.n_bags; ++b) {
    for (int64_t c = 0; c < width; ++c) {
      double x = static_cast<double>(values[b * in.stride + c]) * scale;
      int32_t whole = static_cast<int32_t>(x + 0.5);
      reinterpret_cast<int32_t*>(out + c / kLanes * padded + b)[c % kLanes] = whole;
      if (static_cast<double>(whole) != x) rounded[c / n_classes] = 1;
    }
  }
}

// Points [first, last) against all units. shift, conflict and unsure are (all points, n_units).
bool screen(const ScreenTask& t, int64_t first, int64_t last) {
  const BagValues& in = t.values;
  int64_t n = t.n_classes, points = last - first, width = points * n, tiles = (width + kLanes - 1) / kLanes;
  int64_t blocks = (in.n_bags + kPatternBags - 1) / kPatternBags, padded = blocks * kPatternBags, units = t.taken.n_units;
  double scale = 0x1p30;  // sums of all bags stay below 2^31
  while (scale * (1.001 * static_cast<double>(in.n_bags) + 1) >= 0x1p31) scale *= 0.5;
  Space fixed_space, table_space, total_space, means_space, flags;
  if (!fixed_space.reserve(tiles * padded * 64) || !table_space.reserve(sizeof(Lookup)) ||
      !total_space.reserve(tiles * kScreenUnits * 64) ||
      !means_space.reserve(n * 64) || !flags.reserve(points))
    return false;
  Sixteen* fixed = static_cast<Sixteen*>(fixed_space.data);
  Sixteen* totals = static_cast<Sixteen*>(total_space.data);
  Lookup& lookup = *static_cast<Lookup*>(table_space.data);
  Eight* means = static_cast<Eight*>(means_space.data);
  uint8_t* rounded = static_cast<uint8_t*>(flags.data);
  for (int64_t k = 0; k < points; ++k) rounded[k] = 0;
  if (in.wide) to_fixed(static_cast<const double*>(in.data) + first * n, in, width, n, scale, padded, fixed, rounded);
  else to_fixed(static_cast<const float*>(in.data) + first * n, in, width, n, scale, padded, fixed, rounded);
  // The summing of B floats in blocks, the rule's own rounding and that of this function are far below this.
  double rounding = static_cast<double>(in.n_bags + 64) * 0x1p-50;
  for (int64_t from = 0; from < units; from += kScreenUnits) {
    int64_t count = units - from < kScreenUnits ? units - from : kScreenUnits;
    for (int64_t i = 0; i < tiles * kScreenUnits; ++i) totals[i] = Sixteen{};
    for (int64_t tile = 0; tile < tiles; ++tile) {
      for (int64_t block = 0; block < blocks; ++block) {
        lookup.fill(fixed + tile * padded + block * kPatternBags);
        lookup.add(t.taken.patterns + block * units + from, count, totals + tile * kScreenUnits);
      }
    }
    const int32_t* sums = reinterpret_cast<const int32_t*>(totals);
    for (int64_t k = 0; k < points; ++k) {
      const uint8_t* set = t.set + (first + k) * n;
      double size = 0;
      for (int64_t l = 0; l < n; ++l) size += set[l];
      PointScreen point = {t.mean + (first + k) * n, set, t.leads == nullptr ? nullptr : t.leads + (first + k) * n, n,
                           size, 2 * ((rounded[k] ? 0.5 / scale : 0) + rounding)};
      t.error[first + k] = __builtin_sqrt(static_cast<double>(n)) * point.blur * 0.5 + kShiftRounding;
      for (int64_t i = 0; i < count; i += 8) {
        int64_t some = count - i < 8 ? count - i : 8;
        Eight weight = {};
        for (int64_t r = 0; r < some; ++r) weight[r] = 1 / (scale * t.taken.counts[from + i + r]);
        for (int64_t l = 0; l < n; ++l) {
          int64_t c = k * n + l;
          const int32_t* column = sums + (c / kLanes * kScreenUnits + i) * kLanes + c % kLanes;
          EightInts x;
          for (int r = 0; r < 8; ++r) x[r] = column[r * kLanes];
          means[l] = __builtin_convertvector(x, Eight) * weight;
        }
        Verdict v = judge(point, means, t.margin);
        int64_t place = (first + k) * units + from + i;
        for (int64_t r = 0; r < some; ++r) {
          t.shift[place + r] = static_cast<float>(v.shift[r]);
          t.conflict[place + r] = static_cast<uint8_t>(v.conflict[r] & ~v.unsure[r] & 1);
          t.unsure[place + r] = static_cast<uint8_t>(v.unsure[r] & 1);
          t.jaccard[first + k] += v.unsure[r] ? 0 : v.jaccard[r];
        }
      }
    }
  }
  return true;
}
