// Rows that were seen before: fingerprints of their bytes under a secret key, and places of equal ones.
#pragma once
#include <cstdint>
#include <cstring>
#include <vector>

#include "poll.hpp"

namespace steadyset {

__extension__ typedef unsigned __int128 Wide;

struct Fingerprint {
  uint64_t first, second;
  bool operator==(const Fingerprint& other) const { return first == other.first && second == other.second; }
};

struct FingerprintKey {  // of one word of a row
  uint64_t first[2], second[2];
};

inline Wide wide(const uint64_t* words) { return static_cast<Wide>(words[1]) << 64 | words[0]; }

// Two multilinear hashes of 64 bits, the upper halves of sums of products of 128 bits. For a random key two rows that
// differ have the same fingerprint with a probability of 2^-128 (Lemire and Kaser, "Strongly universal string hashing is
// fast", 2014). The words of a row are its code, then its bytes, the last ones filled up with zeros.
inline Fingerprint fingerprint(const char* row, int64_t bytes, int64_t code, const FingerprintKey* key) {
  uint64_t word = static_cast<uint64_t>(code);
  Wide first = wide(key[0].first) + wide(key[1].first) * word, second = wide(key[0].second) + wide(key[1].second) * word;
  key += 2;
  for (; bytes > 0; bytes -= 8, row += 8, ++key) {
    word = 0;
    if (bytes >= 8) std::memcpy(&word, row, 8);
    else std::memcpy(&word, row, static_cast<size_t>(bytes));
    first += wide(key->first) * word;
    second += wide(key->second) * word;
  }
  return {static_cast<uint64_t>(first >> 64), static_cast<uint64_t>(second >> 64)};
}

// Where fingerprints stand among known ones. Most tables keep their order, so that those after the last are tried first.
class KnownRows {
 public:
  KnownRows(const Fingerprint* known, int64_t n) : known_(known), n_(n) {}

  // The place of an equal row, -1 where there is none.
  int64_t find(const Fingerprint& row) {
    int64_t place = following_;
    const int64_t last = n_ - following_ > kNear ? following_ + kNear : n_;
    while (place < last && !(known_[place] == row)) ++place;
    if (place == last) place = look_up(row);
    if (place >= 0) following_ = place + 1;
    return place;
  }

 private:
  static constexpr int64_t kNear = 8;

  int64_t look_up(const Fingerprint& row) {
    if (slots_.empty()) fill();
    for (size_t at = row.first & mask_; slots_[at] >= 0; at = (at + 1) & mask_)
      if (known_[slots_[at]] == row) return slots_[at];
    return -1;
  }
  void fill() {
    size_t size = 2;
    while (size < 2 * static_cast<size_t>(n_)) size *= 2;
    slots_.assign(size, -1);
    mask_ = size - 1;
    for (int64_t i = 0; i < n_; ++i) {
      size_t at = known_[i].first & mask_;
      while (slots_[at] >= 0) at = (at + 1) & mask_;
      slots_[at] = static_cast<int32_t>(i);
    }
  }

  const Fingerprint* known_;
  int64_t n_, following_ = 0;
  std::vector<int32_t> slots_;
  size_t mask_ = 0;
};

}  // namespace steadyset
