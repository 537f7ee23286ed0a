// A row in stretches of 256 entries. The first pass keeps the largest entries of each, so that later passes read only the
// stretches that can hold what they look for: a row of many labels is read from memory once.
#pragma once
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "simd/simd.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

constexpr int64_t kStretch = 256;

template <class T> struct Extent {
  T max;
  bool finite;
};

// Running maxima; x * 0 is 0 for finite x alone, and so is their sum.
template <class T> struct Seen {
  Vec<T> best, zeros = {};
  explicit Seen(const Vec<T>& first) : best(first) {}
  void add(const Vec<T>& x) {
    best = larger(x, best);
    zeros = zeros + x * T{0};
  }
};

// The entries of a stretch, read into two sums of maxima that do not wait for each other. Its last vector may overlap
// the one before it: a maximum does not mind.
template <class T> inline void look_at(const T* p, int64_t n, Seen<T>& one, Seen<T>& other) {
  constexpr int lanes = Vec<T>::lanes;
  int64_t j = 0;
  for (; j + 2 * lanes <= n; j += 2 * lanes) {
    one.add(load(p + j));
    other.add(load(p + j + lanes));
  }
  if (j + lanes <= n) {
    one.add(load(p + j));
    j += lanes;
  }
  if (j < n) other.add(load(p + n - lanes));
}

template <class T> inline Extent<T> extent_of_few(const T* row, int64_t n) {
  T max = row[0], zeros = 0;
  for (int64_t j = 0; j < n; ++j) {
    max = row[j] > max ? row[j] : max;
    zeros += row[j] * T{0};
  }
  return {max, zeros == 0};
}

// The largest entry of a contiguous row, and whether all entries are finite.
template <class T> inline Extent<T> extent(const T* row, int64_t n) {
  if (n < Vec<T>::lanes) return extent_of_few(row, n);
  Seen<T> one(load(row)), other(one.best);
  look_at(row, n, one, other);
  return {largest_lane(larger(one.best, other.best)), !any((one.zeros + other.zeros) != T{0})};
}

// out[j] = p[j] >= threshold.
template <class T> inline void write_mask(const T* p, int64_t n, T threshold, uint8_t* out) {
  constexpr int lanes = Vec<T>::lanes;
  if (n < lanes) {
    for (int64_t j = 0; j < n; ++j) out[j] = p[j] >= threshold;
    return;
  }
  Vec<T> least = broadcast(threshold);
  int64_t j = 0;
  for (; j + lanes <= n; j += lanes) store_bytes(out + j, load(p + j) >= least);
  if (j < n) store_bytes(out + n - lanes, load(p + n - lanes) >= least);
}

// Copies the entries that reach the threshold, in their order, and returns how many they are. There is room for one
// vector more.
template <class T> inline int64_t keep_reaching(const T* p, int64_t n, T threshold, T* out) {
  constexpr int lanes = Vec<T>::lanes;
  int64_t kept = 0, j = 0;
  Vec<T> least = broadcast(threshold);
  for (; j + lanes <= n; j += lanes) {
    Vec<T> x = load(p + j);
    kept += compress(out + kept, x >= least, x);
  }
  for (; j < n; ++j) {
    T x = p[j];
    out[kept] = x;
    kept += x >= threshold;
  }
  return kept;
}

// The largest entries of each stretch of a row, lane by lane, in a buffer that a thread keeps while it works.
template <class T> class Peaks {
 public:
  Peaks() = default;
  Peaks(const Peaks&) = delete;
  Peaks& operator=(const Peaks&) = delete;
  ~Peaks() { free(peaks_); }

  bool reserve(int64_t n) {
    int64_t wanted = (n + kStretch - 1) / kStretch;
    if (wanted <= capacity_) return true;
    free(peaks_);
    peaks_ = static_cast<T*>(malloc(static_cast<size_t>(wanted) * kVectorBytes));
    capacity_ = peaks_ != nullptr ? wanted : 0;
    return peaks_ != nullptr;
  }

  // Looks at a row of at least one vector's entries, for which there is room.
  Extent<T> look(const T* row, int64_t n) {
    Vec<T> best = load(row), zeros = {};
    for (int64_t start = 0, s = 0; start < n; start += kStretch, ++s) {
      // The last stretch may be shorter than a vector: it takes in entries before it.
      int64_t end = n - start > kStretch ? start + kStretch : n;
      int64_t first = end - start < Vec<T>::lanes ? end - Vec<T>::lanes : start;
      Seen<T> one(load(row + first)), other(one.best);
      look_at(row + first, end - first, one, other);
      Vec<T> peak = larger(one.best, other.best);
      store(peaks_ + s * Vec<T>::lanes, peak);
      best = larger(peak, best);
      zeros = zeros + (one.zeros + other.zeros);
    }
    return {largest_lane(best), !any(zeros != T{0})};
  }
  // The largest entry of each lane of each stretch, for a row of n entries that was looked at.
  const T* all() const { return peaks_; }
  static int64_t count(int64_t n) { return (n + kStretch - 1) / kStretch * Vec<T>::lanes; }
  // The peaks of whole stretches, which come first: each is another entry of the row.
  static int64_t apart(int64_t n) { return n / kStretch * Vec<T>::lanes; }

  bool reaches(int64_t start, T threshold) const {
    return any(load(peaks_ + start / kStretch * Vec<T>::lanes) >= threshold);
  }

  // Whether more than two entries reach the threshold.
  bool more_than_two(const T* row, int64_t n, T threshold) const {
    constexpr int lanes = Vec<T>::lanes;
    int64_t count = 0;
    for (int64_t start = 0; start < n && count <= 2; start += kStretch) {
      if (!reaches(start, threshold)) continue;
      int64_t end = n - start > kStretch ? start + kStretch : n, j = start;
      for (; j + lanes <= end && count <= 2; j += lanes)
        count += __builtin_popcount(lane_bits(load(row + j) >= threshold));
      for (; j < end; ++j) count += row[j] >= threshold;
    }
    return count > 2;
  }
  void write_mask_of(const T* row, int64_t n, T threshold, uint8_t* out) const {
    for (int64_t start = 0; start < n; start += kStretch) {
      int64_t length = n - start > kStretch ? kStretch : n - start;
      if (reaches(start, threshold)) write_mask(row + start, length, threshold, out + start);
      else if (length == kStretch) memset(out + start, 0, kStretch);
      else memset(out + start, 0, static_cast<size_t>(length));
    }
  }

 private:
  T* peaks_ = nullptr;
  int64_t capacity_ = 0;
};

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset
