// Checks of arguments at the border to Python.
#pragma once
#include <stdexcept>

namespace steadyset {

inline void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

}  // namespace steadyset
