// Means over the bags of each unit, in the order of sum_bags: within a block of 16 bags ascending, then block after
// block. The sum over the first eight bags of a block has only 256 values, so that it is looked up.
// Included inside the anonymous namespace of unit.cpp.

typedef double Eight __attribute__((vector_size(64)));
constexpr int kHalf = kPatternBags / 2;

// Columns that are summed together, eight to a vector.
template <int Vectors> struct Tile {
  Eight v[Vectors];
};

// The columns of one block of bags, and the sums of its first eight bags by their bits.
template <int Vectors> struct Block {
  Tile<Vectors> bags[kPatternBags];
  Tile<Vectors> first_half[1 << kHalf];

  template <class T> void read(const T* values, int64_t stride, int64_t n_bags, int64_t width) {
    for (int b = 0; b < kPatternBags; ++b) {
      double* to = reinterpret_cast<double*>(&bags[b]);
      for (int64_t c = 0; c < 8 * Vectors; ++c)
        to[c] = b < n_bags && c < width ? static_cast<double>(values[b * stride + c]) : 0;
    }
    first_half[0] = Tile<Vectors>{};
    for (int b = 0; b < kHalf; ++b)
      for (int bits = 0; bits < 1 << b; ++bits)
        for (int v = 0; v < Vectors; ++v) first_half[bits + (1 << b)].v[v] = first_half[bits].v[v] + bags[b].v[v];
  }
  void add(uint32_t pattern, Tile<Vectors>& total) const {
    Tile<Vectors> part = first_half[pattern & ((1 << kHalf) - 1)];
    for (uint32_t rest = pattern >> kHalf; rest != 0; rest &= rest - 1) {
      const Tile<Vectors>& bag = bags[kHalf + __builtin_ctz(rest)];
      for (int v = 0; v < Vectors; ++v) part.v[v] += bag.v[v];
    }
    for (int v = 0; v < Vectors; ++v) total.v[v] += part.v[v];
  }
};

struct Space {
  void* data = nullptr;
  ~Space() { free(data); }
  bool reserve(int64_t bytes) { return posix_memalign(&data, 64, static_cast<size_t>(bytes)) == 0; }
};

template <int Vectors, class T>
bool tiled_means(const T* values, const BagValues& in, int64_t first, int64_t last, const TakenBags& taken,
                 const int64_t* units, int64_t n, double* out) {
  constexpr int64_t tile = 8 * Vectors;
  int64_t width = last - first;
  Space sums, table;
  if (!sums.reserve(n * static_cast<int64_t>(sizeof(Tile<Vectors>))) || !table.reserve(sizeof(Block<Vectors>))) return false;
  auto* totals = static_cast<Tile<Vectors>*>(sums.data);
  auto& block = *static_cast<Block<Vectors>*>(table.data);
  for (int64_t start = 0; start < width; start += tile) {
    int64_t columns = width - start < tile ? width - start : tile;
    for (int64_t i = 0; i < n; ++i) totals[i] = Tile<Vectors>{};
    for (int64_t b = 0; b < in.n_bags; b += kPatternBags) {
      block.read(values + b * in.stride + first + start, in.stride, in.n_bags - b, columns);
      const uint16_t* patterns = taken.patterns + b / kPatternBags * taken.n_units;
      for (int64_t i = 0; i < n; ++i) block.add(patterns[units[i]], totals[i]);
    }
    for (int64_t i = 0; i < n; ++i) {
      const double* sum = reinterpret_cast<const double*>(totals + i);
      for (int64_t c = 0; c < columns; ++c) out[i * width + start + c] = sum[c] / taken.counts[units[i]];
    }
  }
  return true;
}

template <class T>
bool means_of(const T* values, const BagValues& in, int64_t first, int64_t last, const TakenBags& taken,
              const int64_t* units, int64_t n, double* out) {
  return last - first <= 16 ? tiled_means<2>(values, in, first, last, taken, units, n, out)
                            : tiled_means<8>(values, in, first, last, taken, units, n, out);
}

bool means(const BagValues& values, int64_t first, int64_t last, const TakenBags& taken, const int64_t* units, int64_t n,
           double* out) {
  return values.wide ? means_of(static_cast<const double*>(values.data), values, first, last, taken, units, n, out)
                     : means_of(static_cast<const float*>(values.data), values, first, last, taken, units, n, out);
}
