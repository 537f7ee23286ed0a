// Memory of a call, which lies at multiples of 64 bytes and is freed with its owner.
#pragma once
#include <stdint.h>

#include "aligned.hpp"
#include "simd/level.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

template <class T> class Space {
 public:
  Space() = default;
  Space(const Space&) = delete;
  Space& operator=(const Space&) = delete;
  ~Space() { aligned_free(data_); }

  // Room for n things, which nobody has written to; called once. False when memory runs out.
  bool reserve(int64_t n) {
    data_ = static_cast<T*>(aligned_memory(static_cast<size_t>(n > 0 ? n : 1) * sizeof(T)));
    return data_ != nullptr;
  }
  T* data() const { return data_; }
  T& operator[](int64_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
};

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset
