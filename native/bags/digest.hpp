// The digest of a row's content: BLAKE2b (RFC 7693) with 16 bytes of output, over cells in one canonical form.
#pragma once
#include <stdint.h>

#include "poll.hpp"
#include "simd/level.hpp"

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

inline uint64_t turned(uint64_t x, int by) { return x >> by | x << (64 - by); }

class Digest {
 public:
  Digest() {
    for (int i = 0; i < 8; ++i) state_[i] = kStart[i];
    state_[0] ^= 0x01010000u ^ 16u;  // no key, one leaf, 16 bytes
    state_[6] ^= kUse[0];
    state_[7] ^= kUse[1];
  }

  // `bytes` of the word count, the lower ones first; only the last word may be shorter than eight.
  void add(uint64_t word, int bytes = 8) {
    if (filled_ == 16) {
      compress(0);
      filled_ = 0;
    }
    block_[filled_++] = word;
    length_ += static_cast<uint64_t>(bytes);
  }

  void finish(uint64_t* out) {
    while (filled_ < 16) block_[filled_++] = 0;
    compress(~uint64_t{0});
    out[0] = state_[0];
    out[1] = state_[1];
  }

 private:
  void compress(uint64_t last) {
    uint64_t v[16];
    for (int i = 0; i < 8; ++i) v[i] = state_[i], v[i + 8] = kStart[i];
    v[12] ^= length_;
    v[14] ^= last;
#pragma GCC unroll 12
    for (int round = 0; round < 12; ++round) {
      const uint8_t* at = kOrder[round % 10];
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i) {  // four columns, then four diagonals
        int turn = i / 4, a = i % 4, b = 4 + (i + turn) % 4, c = 8 + (i + 2 * turn) % 4, d = 12 + (i + 3 * turn) % 4;
        v[a] += v[b] + block_[at[2 * i]];
        v[d] = turned(v[d] ^ v[a], 32);
        v[c] += v[d];
        v[b] = turned(v[b] ^ v[c], 24);
        v[a] += v[b] + block_[at[2 * i + 1]];
        v[d] = turned(v[d] ^ v[a], 16);
        v[c] += v[d];
        v[b] = turned(v[b] ^ v[c], 63);
      }
    }
    for (int i = 0; i < 8; ++i) state_[i] ^= v[i] ^ v[i + 8];
  }

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

// One row of n cells. A cell of kind 0 is a number, which counts by its value; any other is a word that counts as it
// stands, with its kind. What form a row takes depends on this row alone.
inline void digest_row(const double* cells, const uint64_t* kinds, int64_t n, uint64_t* out, Pace& pace) {
  Digest digest;
  uint64_t count = static_cast<uint64_t>(n);
  if (!all_numbers(kinds, n, pace)) {
    digest.add(count << 2 | 2);
    for (int64_t i = 0; i < n && !pace.stop(16); ++i) {
      uint64_t word;
      __builtin_memcpy(&word, cells + i, sizeof word);
      digest.add(kinds[i] == 0 ? bits_of_number(cells[i]) : word);
      digest.add(kinds[i]);
    }
  } else if (fit_in_bytes(cells, n, pace)) {  // pictures, mostly: an eighth of the work
    digest.add(count << 2);
    for (int64_t i = 0; i < n && !pace.stop(16); i += 8) {
      uint64_t word = 0;
      int bytes = n - i < 8 ? static_cast<int>(n - i) : 8;
      for (int j = 0; j < bytes; ++j) word |= static_cast<uint64_t>(static_cast<int>(cells[i + j])) << (8 * j);
      digest.add(word, bytes);
    }
  } else {
    digest.add(count << 2 | 1);
    for (int64_t i = 0; i < n && !pace.stop(8); ++i) digest.add(bits_of_number(cells[i]));
  }
  digest.finish(out);
}

void digest_rows(const double* cells, const uint64_t* kinds, const int64_t* ends, int64_t first, int64_t last, uint64_t* out,
                 Poll poll) {
  Pace pace{poll};
  for (int64_t row = first; row < last && !pace.stop(256); ++row) {
    int64_t start = row == 0 ? 0 : ends[row - 1];
    digest_row(cells + start, kinds == nullptr ? nullptr : kinds + start, ends[row] - start, out + 2 * row, pace);
  }
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset
