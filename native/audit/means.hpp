// Means over the bags of each unit, in the order of sum_bags: within a block of 16 bags ascending, then block after
// block. The sum over the first eight bags of a block has only 256 values, so that it is looked up.
// Included inside the unit's anonymous namespace.

typedef double Eight __attribute__((vector_size(64)));
constexpr int kTile = 64;              // columns summed together
constexpr int kVectors = kTile / 8;
constexpr int kHalf = kPatternBags / 2;

struct Tile {
  Eight v[kVectors];
};

// The columns of one block of bags, and the sums of its first eight bags by their bits.
struct Block {
  Tile bags[kPatternBags];
  Tile first_half[1 << kHalf];

  template <class T> void read(const T* values, int64_t stride, int64_t n_bags, int64_t width) {
    for (int b = 0; b < kPatternBags; ++b) {
      double* to = reinterpret_cast<double*>(&bags[b]);
      for (int64_t c = 0; c < kTile; ++c)
        to[c] = b < n_bags && c < width ? static_cast<double>(values[b * stride + c]) : 0;
    }
    first_half[0] = Tile{};
    for (int b = 0; b < kHalf; ++b)
      for (int bits = 0; bits < 1 << b; ++bits)
        for (int v = 0; v < kVectors; ++v) first_half[bits + (1 << b)].v[v] = first_half[bits].v[v] + bags[b].v[v];
  }
  void add(const uint16_t* patterns, int64_t n, Tile* totals) const {
    for (int64_t i = 0; i < n; ++i) {
      uint32_t pattern = patterns[i];
      Tile part = first_half[pattern & ((1 << kHalf) - 1)];
      for (uint32_t rest = pattern >> kHalf; rest != 0; rest &= rest - 1) {
        const Tile& bag = bags[kHalf + __builtin_ctz(rest)];
        for (int v = 0; v < kVectors; ++v) part.v[v] += bag.v[v];
      }
      for (int v = 0; v < kVectors; ++v) totals[i].v[v] += part.v[v];
    }
  }
};

struct Tiles {
  void* data = nullptr;
  ~Tiles() { free(data); }
  bool reserve(size_t bytes) { return posix_memalign(&data, 64, bytes) == 0; }
};

template <class T>
bool means_of(const T* values, const BagValues& in, int64_t first, int64_t last, const TakenBags& taken, int64_t from,
              int64_t to, double* out) {
  int64_t n = to - from, width = last - first;
  Tiles space, table;
  if (!space.reserve(static_cast<size_t>(n) * sizeof(Tile)) || !table.reserve(sizeof(Block))) return false;
  Tile* totals = static_cast<Tile*>(space.data);
  Block& block = *static_cast<Block*>(table.data);
  for (int64_t start = 0; start < width; start += kTile) {
    int64_t columns = width - start < kTile ? width - start : kTile;
    for (int64_t i = 0; i < n; ++i) totals[i] = Tile{};
    for (int64_t b = 0; b < in.n_bags; b += kPatternBags) {
      block.read(values + b * in.stride + first + start, in.stride, in.n_bags - b, columns);
      block.add(taken.patterns + b / kPatternBags * taken.n_units + from, n, totals);
    }
    for (int64_t i = 0; i < n; ++i) {
      const double* sum = reinterpret_cast<const double*>(totals + i);
      for (int64_t c = 0; c < columns; ++c) out[i * width + start + c] = sum[c] / taken.counts[from + i];
    }
  }
  return true;
}

bool means(const BagValues& values, int64_t first, int64_t last, const TakenBags& taken, int64_t from, int64_t to,
           double* out) {
  return values.wide ? means_of(static_cast<const double*>(values.data), values, first, last, taken, from, to, out)
                     : means_of(static_cast<const float*>(values.data), values, first, last, taken, from, to, out);
}

// The same for a few units and columns: no table pays.
template <class T>
bool some_means(const T* values, const BagValues& in, int64_t first, int64_t last, const TakenBags& taken,
                const int64_t* units, int64_t n_units, double* out) {
  int64_t width = last - first, vectors = (width + 7) / 8;
  Tiles space;
  if (!space.reserve(static_cast<size_t>(vectors * (in.n_bags + 2)) * sizeof(Eight))) return false;
  Eight* bags = static_cast<Eight*>(space.data);
  Eight *total = bags + vectors * in.n_bags, *part = total + vectors;
  for (int64_t b = 0; b < in.n_bags; ++b)
    for (int64_t c = 0; c < 8 * vectors; ++c)
      reinterpret_cast<double*>(bags + b * vectors)[c] =
          c < width ? static_cast<double>(values[b * in.stride + first + c]) : 0;
  for (int64_t i = 0; i < n_units; ++i) {
    for (int64_t v = 0; v < vectors; ++v) total[v] = Eight{};
    for (int64_t b = 0; b < in.n_bags; b += kPatternBags) {
      uint32_t pattern = taken.patterns[b / kPatternBags * taken.n_units + units[i]];
      for (int64_t v = 0; v < vectors; ++v) part[v] = Eight{};
      for (; pattern != 0; pattern &= pattern - 1) {
        const Eight* bag = bags + (b + __builtin_ctz(pattern)) * vectors;
        for (int64_t v = 0; v < vectors; ++v) part[v] += bag[v];
      }
      for (int64_t v = 0; v < vectors; ++v) total[v] += part[v];
    }
    for (int64_t c = 0; c < width; ++c)
      out[i * width + c] = reinterpret_cast<const double*>(total)[c] / taken.counts[units[i]];
  }
  return true;
}

bool means_of_some(const BagValues& values, int64_t first, int64_t last, const TakenBags& taken, const int64_t* units,
                   int64_t n_units, double* out) {
  return values.wide
             ? some_means(static_cast<const double*>(values.data), values, first, last, taken, units, n_units, out)
             : some_means(static_cast<const float*>(values.data), values, first, last, taken, units, n_units, out);
}
