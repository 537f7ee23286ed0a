// Codes of rows: how many of a feature's cuts lie below its value, so that a comparison with a threshold of the forest
// is one of two small numbers.
#pragma once
#include <stdint.h>

#include "simd/level.hpp"
#include "trees/api.hpp"

namespace steadyset::trees {
namespace STEADYSET_LEVEL {
namespace {

// How many of these rows, of this many bytes each, stay in the second-level cache beside a tree: whole flights.
inline int64_t rows_at_once(int64_t row_bytes, int64_t rows) {
  constexpr int64_t kBytes = 1 << 19, kLeast = 64, kMost = 4096;
  const int64_t fit = kBytes / (row_bytes > 0 ? row_bytes : 1) / kFlight * kFlight;
  const int64_t most = fit < kLeast ? kLeast : fit > kMost ? kMost : fit;
  const int64_t all = (rows + kFlight - 1) / kFlight * kFlight;
  return all < most ? all : most;
}

template <class Key> inline bool any_missing(const Key* keys, int64_t n) {
  bool found = false;
  for (int64_t i = 0; i < n; ++i) found |= keys[i] == static_cast<Key>(-1);
  return found;
}

// How many of n > 0 cuts lie below each of kFlight keys: kSearches of them side by side, as many as registers hold.
template <class Key> inline void count_below(const Key* cuts, int64_t n, const Key* keys, uint16_t* out) {
  constexpr int kSearches = 8;
  for (int first = 0; first < kFlight; first += kSearches) {
    const Key* from[kSearches];
    for (int j = 0; j < kSearches; ++j) from[j] = cuts;
    for (int64_t left = n; left > 1; left -= left / 2) {
      const int64_t half = left / 2;
      for (int j = 0; j < kSearches; ++j) {
        const Key* after = from[j] + half;
        from[j] = after[-1] < keys[first + j] ? after : from[j];  // no branch
      }
    }
    for (int j = 0; j < kSearches; ++j) out[first + j] = static_cast<uint16_t>(from[j] - cuts + (*from[j] < keys[first + j]));
  }
}

// The codes of rows, (rows / kFlight, columns, kFlight): those of the last flight that are no rows repeat the last row.
// Returns whether a value is missing of which the forest asks.
template <class Key> inline bool encode(const Forest& forest, const Key* keys, int64_t rows, uint16_t* out) {
  const int64_t features = forest.n_features;
  bool missing = false;
  for (int64_t f = 0; f < features; ++f) {
    const Key* cuts = static_cast<const Key*>(forest.cuts) + forest.cut_start[f];
    const int64_t n = forest.cut_start[f + 1] - forest.cut_start[f];
    for (int64_t i = 0; n > 0 && i < rows; i += kFlight) {
      Key flight[kFlight];
      uint16_t* codes = out + (i * forest.coded_columns + f * kFlight);
      for (int j = 0; j < kFlight; ++j) flight[j] = keys[(i + j < rows ? i + j : rows - 1) * features + f];
      count_below(cuts, n, flight, codes);
      for (int j = 0; j < kFlight; ++j) {
        const bool is_missing = flight[j] == static_cast<Key>(-1);
        missing |= is_missing;
        codes[j] = is_missing ? kCodedMissing : codes[j];
      }
    }
  }
  return missing;
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::trees
