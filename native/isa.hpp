// Instruction-set levels: which of them this CPU runs, and which one the hot source files use.
#pragma once
#include <string>
#include <vector>

namespace steadyset {

enum class Level { baseline, avx2, avx512 };

// The levels that this build holds and this CPU runs, lowest first.
std::vector<std::string> available_levels();

// The level in use. It is the best available one, or what STEADYSET_ISA names, until use_level changes it.
Level level();
std::string level_name();

// Throws std::invalid_argument when the name is unknown or the CPU cannot run it.
void use_level(const std::string& name);

}  // namespace steadyset
