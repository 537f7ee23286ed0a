// Fresh memory, brought in many pages at a time: a fault for each page takes longer than what is written there.
#pragma once
#include <stddef.h>
#include <stdint.h>
#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace steadyset {
namespace {

// Asks for the whole pages of this memory, which is about to be written. What the kernel does not know or refuses is left
// to faults.
inline void bring_pages([[maybe_unused]] void* memory, [[maybe_unused]] size_t bytes) {
#if defined(__linux__)
  constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, which older headers do not have
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)), start = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t first = (start + page - 1) / page * page, last = (start + bytes) / page * page;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, kPopulateWrite);
#endif
}

}  // namespace
}  // namespace steadyset
