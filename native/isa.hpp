// Instruction-set levels: which of them this CPU runs, and which one the hot source files use.
#pragma once
#include <string>
#include <vector>

#include "dispatch.hpp"

namespace steadyset {

// The levels that this build holds and this CPU runs, lowest first.
std::vector<std::string> available_levels();

std::string level_name();  // of the level in use

// Throws std::invalid_argument when the name is unknown or the CPU cannot run it.
void use_level(const std::string& name);

}  // namespace steadyset
