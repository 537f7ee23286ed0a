#include "lanes/peak.hpp"

#include <algorithm>
#include <ctime>

#include "lanes/net.hpp"

namespace steadyset::lanes {
namespace {

double seconds() {
#ifdef CLOCK_THREAD_CPUTIME_ID
  timespec now;
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0)
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
#endif
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

}  // namespace

double peak_flops() {
  constexpr int64_t rounds = 100'000;
  constexpr int spells = 100;
  const HotUnit& unit = hot_unit();
  double best = 0;
  for (int spell = 0; spell < spells; ++spell) {
    const double start = seconds();
    const volatile float kept = unit.multiply_adds(rounds);
    (void)kept;
    const double operations = 2.0 * static_cast<double>(rounds) * kMultiplyAdds * unit.lanes;
    best = std::max(best, operations / std::max(seconds() - start, 1e-9));
  }
  return best;
}

}  // namespace steadyset::lanes
