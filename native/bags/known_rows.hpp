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

inline Wide wide(const uint64_t* words) { return static_cast<Wide>(words[1]) << 64 | words[0]; }

// The secret of one half of a fingerprint for the last step: a start, and what each half of the sum is multiplied by.
struct LastKey {
  uint64_t start[2], low[2], high[2];
  uint64_t of(Wide sum) const {
    return static_cast<uint64_t>((wide(start) + wide(low) * static_cast<uint64_t>(sum) + wide(high) * static_cast<uint64_t>(sum >> 64)) >> 64);
  }
};
struct PairKey {  // of two words of a row
  uint64_t first[2], second[2];
  static Wide product(const uint64_t* key, uint64_t one, uint64_t other) {
    return static_cast<Wide>(one + key[0]) * static_cast<uint64_t>(other + key[1]);
  }
};
struct FingerprintKey {
  LastKey first, second;
  PairKey pairs[1];  // as many as rows have
};
constexpr int64_t kLastWords = 2 * sizeof(LastKey) / sizeof(uint64_t), kPairWords = sizeof(PairKey) / sizeof(uint64_t);

// Two hashes of 64 bits, each of which is the same for two rows that differ with a probability of at most 2^-63 for a random
// key, so that fingerprints are with 2^-126: sums of products of two words that were shifted by the key (NH of UMAC: Black
// and others, 1999), of which a multilinear hash keeps 64 bits (Lemire and Kaser, "Strongly universal string hashing is
// fast", 2014); each step adds 2^-64. The words of a row are its code, then its bytes, the last ones filled up with zeros.
inline Fingerprint fingerprint(const char* row, int64_t bytes, int64_t code, const FingerprintKey& key) {
  const auto word_at = [&](int64_t at) {
    uint64_t word = 0;
    if (at + 8 <= bytes) std::memcpy(&word, row + at, 8);
    else if (at < bytes) std::memcpy(&word, row + at, static_cast<size_t>(bytes - at));
    return word;
  };
  const PairKey* pair = key.pairs;
  uint64_t one = static_cast<uint64_t>(code), other = word_at(0);
  Wide first = PairKey::product(pair->first, one, other), second = PairKey::product(pair->second, one, other);
  int64_t at = 8;
  for (++pair; at + 16 <= bytes; at += 16, ++pair) {
    std::memcpy(&one, row + at, 8);
    std::memcpy(&other, row + at + 8, 8);
    first += PairKey::product(pair->first, one, other);
    second += PairKey::product(pair->second, one, other);
  }
  if (at < bytes) {
    first += PairKey::product(pair->first, word_at(at), word_at(at + 8));
    second += PairKey::product(pair->second, word_at(at), word_at(at + 8));
  }
  return {key.first.of(first), key.second.of(second)};
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
