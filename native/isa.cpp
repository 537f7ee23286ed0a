#include "isa.hpp"

#include <atomic>
#include <stdexcept>

namespace steadyset {
namespace {

constexpr const char* kNames[] = {"baseline", "avx2", "avx512"};
std::atomic<Level> current{Level::baseline};

bool runs(Level wanted) {
  if (wanted == Level::baseline) return true;
#ifdef STEADYSET_X86_LEVELS
  __builtin_cpu_init();
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
              __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
  if (wanted == Level::avx2) return avx2;
  return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#else
  return false;
#endif
}

}  // namespace

std::vector<std::string> available_levels() {
  std::vector<std::string> names;
  for (Level candidate : {Level::baseline, Level::avx2, Level::avx512})
    if (runs(candidate)) names.emplace_back(kNames[static_cast<int>(candidate)]);
  return names;
}

Level level() { return current.load(std::memory_order_relaxed); }

std::string level_name() { return kNames[static_cast<int>(level())]; }

void use_level(const std::string& name) {
  for (Level candidate : {Level::baseline, Level::avx2, Level::avx512}) {
    if (name == kNames[static_cast<int>(candidate)] && runs(candidate)) {
      current.store(candidate, std::memory_order_relaxed);
      return;
    }
  }
  std::string allowed;
  for (const std::string& one : available_levels()) allowed += (allowed.empty() ? "" : ", ") + one;
  throw std::invalid_argument("STEADYSET_ISA must be one of " + allowed + " on this CPU; got '" + name + "'.");
}

}  // namespace steadyset
