// Arrays from malloc that grow: hot units use no templates of the standard library.
#pragma once
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "simd/level.hpp"

namespace steadyset::trees {
namespace STEADYSET_LEVEL {
namespace {

template <class T> class Array {
 public:
  Array() = default;
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { free(data_); }

  // Room for n entries, those before kept; false when memory runs out.
  bool reserve(int64_t n) {
    if (n <= capacity_) return true;
    const int64_t wanted = n > 2 * capacity_ ? n : 2 * capacity_;
    void* grown = realloc(static_cast<void*>(data_), static_cast<size_t>(wanted) * sizeof(T));
    if (grown == nullptr) return false;
    data_ = static_cast<T*>(grown);
    capacity_ = wanted;
    return true;
  }
  // Room for n entries, all of them zero.
  bool zeros(int64_t n) {
    if (!reserve(n)) return false;
    memset(static_cast<void*>(data_), 0, static_cast<size_t>(n) * sizeof(T));
    return true;
  }
  bool add(T value) {
    if (!reserve(size + 1)) return false;
    data_[size++] = value;
    return true;
  }
  // The memory, which goes to whoever calls, to be freed there.
  T* release() {
    T* const given = data_;
    data_ = nullptr;
    capacity_ = size = 0;
    return given;
  }
  T* get() { return data_; }
  const T* get() const { return data_; }
  T& operator[](int64_t i) { return data_[i]; }
  const T& operator[](int64_t i) const { return data_[i]; }

  int64_t size = 0;  // of what `add` has put in

 private:
  T* data_ = nullptr;
  int64_t capacity_ = 0;
};

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::trees
