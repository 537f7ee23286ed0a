// The one place that chooses between the copies of a hot source file.
#pragma once

namespace steadyset {

enum class Level { baseline, avx2, avx512 };

// The level in use. It is the best available one, or what STEADYSET_ISA names, until use_level changes it.
Level level();

}  // namespace steadyset

// Declares a hot source file's entry points, one for each level of the build, and `name()`, the unit of the level in use.
#ifdef STEADYSET_X86_LEVELS
#define STEADYSET_HOT_UNIT(Unit, name)                                                   \
  const Unit& name##_baseline();                                                         \
  const Unit& name##_avx2();                                                             \
  const Unit& name##_avx512();                                                           \
  inline const Unit& name() {                                                            \
    constexpr const Unit& (*entry[])() = {name##_baseline, name##_avx2, name##_avx512};  \
    return entry[static_cast<int>(level())]();                                           \
  }
// The same for a file that is compiled for AVX2 at most.
#define STEADYSET_HOT_UNIT_UP_TO_AVX2(Unit, name)                                            \
  const Unit& name##_baseline();                                                             \
  const Unit& name##_avx2();                                                                 \
  inline const Unit& name() { return level() == Level::baseline ? name##_baseline() : name##_avx2(); }
#else
#define STEADYSET_HOT_UNIT(Unit, name) \
  const Unit& name##_baseline();       \
  inline const Unit& name() { return name##_baseline(); }
#define STEADYSET_HOT_UNIT_UP_TO_AVX2 STEADYSET_HOT_UNIT
#endif
