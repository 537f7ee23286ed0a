// Rows split over threads that live for one call: nothing survives to be broken by fork.
#pragma once
#include <cstdint>
#include <thread>
#include <vector>

namespace steadyset {

// Calls work(first, last) on consecutive ranges that cover [0, n); the caller's thread takes the last one.
template <class Work>
void split(int64_t n, int threads, int64_t multiple, Work work) {
  int64_t share = (n + threads - 1) / threads;
  share = (share + multiple - 1) / multiple * multiple;
  std::vector<std::thread> helpers;
  int64_t first = 0;
  while (n - first > share) {
    try {
      helpers.emplace_back(work, first, first + share);
    } catch (...) {  // no further thread can be started: the caller does the rest
      break;
    }
    first += share;
  }
  if (first < n) work(first, n);
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace steadyset
