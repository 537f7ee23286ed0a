// Memory at multiples of 64 bytes, for which Windows has functions of its own.
#pragma once
#include <stddef.h>
#include <stdlib.h>
#if defined(_WIN32)
#include <malloc.h>
#endif

namespace steadyset {
namespace {

// A null pointer when memory runs out. The memory goes back by `aligned_free`.
inline void* aligned_memory(size_t bytes) {
#if defined(_WIN32)
  return _aligned_malloc(bytes, 64);
#else
  void* found = nullptr;
  return posix_memalign(&found, 64, bytes) == 0 ? found : nullptr;
#endif
}

inline void aligned_free(void* memory) {
#if defined(_WIN32)
  _aligned_free(memory);
#else
  free(memory);
#endif
}

}  // namespace
}  // namespace steadyset
