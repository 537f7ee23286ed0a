// Random numbers of the lanes trainer: a hash of (seed, purpose, place), so no state is shared and any number can be
// recomputed alone. The mixer is splitmix64's finaliser (Steele, Lea and Flood 2014).
#pragma once
#include <cstdint>

namespace steadyset::lanes {

enum class Purpose : uint64_t { weights = 1, shuffle = 2, dropout = 3 };

inline uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

inline uint64_t key(uint64_t seed, Purpose purpose, uint64_t a = 0, uint64_t b = 0) {
  uint64_t k = mix(seed + 0x9e3779b97f4a7c15u * static_cast<uint64_t>(purpose));
  k = mix(k + 0x9e3779b97f4a7c15u * (a + 1));
  return mix(k + 0x9e3779b97f4a7c15u * (b + 1));
}

class Stream {
 public:
  explicit Stream(uint64_t start) : state_(start) {}
  uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15u); }
  float uniform() { return static_cast<float>(next() >> 40) * 0x1p-24f; }  // [0, 1)
  uint64_t below(uint64_t n) {                                             // bias below n / 2^64
    return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * n) >> 64);
  }

 private:
  uint64_t state_;
};

}  // namespace steadyset::lanes
