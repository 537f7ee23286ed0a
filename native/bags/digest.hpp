// The digest of a row's content: BLAKE2b (RFC 7693) with 16 bytes of output, over cells in one canonical form.
#pragma once
#include <stdint.h>

#include "poll.hpp"
#include "simd/simd.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

constexpr uint64_t kStart[8] = {0x6a09e667f3bcc908u, 0xbb67ae8584caa73bu, 0x3c6ef372fe94f82bu, 0xa54ff53a5f1d36f1u,
                                0x510e527fade682d1u, 0x9b05688c2b3e6c1fu, 0x1f83d9abfb41bd6bu, 0x5be0cd19137e2179u};
constexpr uint8_t kOrder[10][16] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                                    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
                                    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
                                    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
                                    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
                                    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
                                    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
                                    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
                                    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
                                    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};
// The last two words of the parameter block, which name the use: "steadyset/rows/1".
constexpr uint64_t kUse[2] = {0x6573796461657473u, 0x312f73776f722f74u};
constexpr uint64_t kOneNaN = 0x7ff8000000000000u;

// W is a word, or a vector of them, one of each of eight rows.
template <class W> inline W turned(const W& x, int by) { return (x >> by) | (x << (64 - by)); }

template <class W> inline W all_lanes(uint64_t x) {
  if constexpr (sizeof(W) == sizeof x) return x;
  else return broadcast<uint64_t>(x);
}

template <class W> inline void begin(W* state) {
  for (int i = 0; i < 8; ++i) state[i] = all_lanes<W>(kStart[i]);
  state[0] = state[0] ^ uint64_t{0x01010000u ^ 16u};  // no key, one leaf, 16 bytes
  state[6] = state[6] ^ kUse[0];
  state[7] = state[7] ^ kUse[1];
}

template <class W> inline void compress(W* state, const W* block, uint64_t length, bool last) {
  W v[16];
  for (int i = 0; i < 8; ++i) v[i] = state[i], v[i + 8] = all_lanes<W>(kStart[i]);
  v[12] = v[12] ^ length;
  v[14] = v[14] ^ (last ? ~uint64_t{0} : uint64_t{0});
#pragma GCC unroll 12
  for (int round = 0; round < 12; ++round) {
    const uint8_t* at = kOrder[round % 10];
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {  // four columns, then four diagonals
      int turn = i / 4, a = i % 4, b = 4 + (i + turn) % 4, c = 8 + (i + 2 * turn) % 4, d = 12 + (i + 3 * turn) % 4;
      v[a] = v[a] + v[b] + block[at[2 * i]];
      v[d] = turned<W>(v[d] ^ v[a], 32);
      v[c] = v[c] + v[d];
      v[b] = turned<W>(v[b] ^ v[c], 24);
      v[a] = v[a] + v[b] + block[at[2 * i + 1]];
      v[d] = turned<W>(v[d] ^ v[a], 16);
      v[c] = v[c] + v[d];
      v[b] = turned<W>(v[b] ^ v[c], 63);
    }
  }
  for (int i = 0; i < 8; ++i) state[i] = state[i] ^ v[i] ^ v[i + 8];
}

class Digest {
 public:
  Digest() { begin(state_); }

  // `bytes` of the word count, the lower ones first; only the last word may be shorter than eight.
  void add(uint64_t word, int bytes = 8) {
    if (filled_ == 16) {
      compress(state_, block_, length_, false);
      filled_ = 0;
    }
    block_[filled_++] = word;
    length_ += static_cast<uint64_t>(bytes);
  }

  void finish(uint64_t* out) {
    while (filled_ < 16) block_[filled_++] = 0;
    compress(state_, block_, length_, true);
    out[0] = state_[0];
    out[1] = state_[1];
  }

 private:
  uint64_t state_[8], block_[16], length_ = 0;
  int filled_ = 0;
};

inline uint64_t bits_of_number(double value) {
  uint64_t bits;
  value += 0.0;  // -0 is 0
  __builtin_memcpy(&bits, &value, sizeof bits);
  return value == value ? bits : kOneNaN;
}

inline bool fit_in_bytes(const double* values, int64_t n, Pace& pace) {
  for (int64_t i = 0; i < n; ++i) {
    if (i % 4096 == 4095 && pace.stop(4096)) return false;
    double value = values[i];
    if (!(value >= 0 && value <= 255 && value == static_cast<double>(static_cast<int>(value)))) return false;
  }
  return true;
}

inline bool all_numbers(const uint64_t* kinds, int64_t n, Pace& pace) {
  for (int64_t i = 0; kinds != nullptr && i < n; ++i) {
    if (kinds[i] != 0) return false;
    if (i % 4096 == 4095 && pace.stop(4096)) return false;
  }
  return true;
}

// How the cells of a row are written down. It depends on this row alone.
enum Form : int {
  kBytes,    // whole numbers from 0 to 255, pictures mostly: an eighth of the work
  kNumbers,  // which count by their value
  kMixed     // every cell with its kind; one of kind 0 is a number, any other a word that counts as it stands
};

struct Row {
  const double* cells;
  const uint64_t* kinds;  // null: all are numbers
  int64_t n;

  Form form(Pace& pace) const {
    if (!all_numbers(kinds, n, pace)) return kMixed;
    return fit_in_bytes(cells, n, pace) ? kBytes : kNumbers;
  }
  uint64_t first_word(Form form) const { return static_cast<uint64_t>(n) << 2 | form; }
  // The i-th word of a form other than bytes; they are eight bytes each.
  uint64_t word(Form form, int64_t i) const {
    if (i == 0) return first_word(form);
    if (form == kNumbers) return bits_of_number(cells[i - 1]);
    int64_t cell = (i - 1) / 2;
    if (i % 2 == 0) return kinds[cell];
    uint64_t word;
    __builtin_memcpy(&word, cells + cell, sizeof word);
    return kinds[cell] == 0 ? bits_of_number(cells[cell]) : word;
  }
  int64_t words(Form form) const { return 1 + n * form; }
};

inline void digest_row(const Row& row, Form form, uint64_t* out, Pace& pace) {
  Digest digest;
  if (form == kBytes) {
    digest.add(row.first_word(form));
    for (int64_t i = 0; i < row.n && !pace.stop(16); i += 8) {
      uint64_t word = 0;
      int bytes = row.n - i < 8 ? static_cast<int>(row.n - i) : 8;
      for (int j = 0; j < bytes; ++j) word |= static_cast<uint64_t>(static_cast<int>(row.cells[i + j])) << (8 * j);
      digest.add(word, bytes);
    }
  } else {
    for (int64_t i = 0; i < row.words(form) && !pace.stop(8); ++i) digest.add(row.word(form, i));
  }
  digest.finish(out);
}

constexpr int kAtOnce = 8;
constexpr bool kDigestVectors = kRegisterBytes >= 32;

// Eight rows of one length and form, other than bytes, side by side.
inline void digest_eight(const Row* rows, Form form, uint64_t* out, Pace& pace) {
  Vec<uint64_t> state[8], block[16];
  begin(state);
  int64_t words = rows[0].words(form);
  for (int64_t first = 0; first < words && !pace.stop(512); first += 16) {
    uint64_t turned_block[16][kAtOnce] = {};
    int64_t filled = words - first < 16 ? words - first : 16;
    for (int64_t i = 0; i < filled; ++i)
      for (int row = 0; row < kAtOnce; ++row) turned_block[i][row] = rows[row].word(form, first + i);
    for (int i = 0; i < 16; ++i) block[i] = load(turned_block[i]);
    compress(state, block, 8 * static_cast<uint64_t>(first + filled), first + filled == words);
  }
  for (int row = 0; row < kAtOnce; ++row) {
    out[2 * row] = state[0].lane(row);
    out[2 * row + 1] = state[1].lane(row);
  }
}

void digest_rows(const double* cells, const uint64_t* kinds, const int64_t* ends, int64_t first, int64_t last, uint64_t* out,
                 Poll poll) {
  Pace pace{poll};
  for (int64_t start = first; start < last && !pace.stop(256); start += kAtOnce) {
    Row rows[kAtOnce];
    Form forms[kAtOnce];
    int count = last - start < kAtOnce ? static_cast<int>(last - start) : kAtOnce;
    bool alike = kDigestVectors && count == kAtOnce;
    for (int i = 0; i < count; ++i) {
      int64_t begin = start + i == 0 ? 0 : ends[start + i - 1];
      rows[i] = {cells + begin, kinds == nullptr ? nullptr : kinds + begin, ends[start + i] - begin};
      forms[i] = rows[i].form(pace);
      alike = alike && forms[i] != kBytes && forms[i] == forms[0] && rows[i].n == rows[0].n;
    }
    if (alike) {
      digest_eight(rows, forms[0], out + 2 * start, pace);
      continue;
    }
    for (int i = 0; i < count && !pace.stop(256); ++i) digest_row(rows[i], forms[i], out + 2 * (start + i), pace);
  }
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset
