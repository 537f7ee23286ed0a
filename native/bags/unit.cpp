// Drawing bags, summing their predictions and digests of rows. Compiled once per instruction set; internal linkage but
// for the entry.
#include "bags/api.hpp"
#include "bags/digest.hpp"
#include "bags/drawing.hpp"
#include "bags/sums.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

constexpr BagsUnit kUnit = {&smallest, &enters, &draw, &sum, &digest_rows};

}  // namespace
}  // namespace STEADYSET_LEVEL

const BagsUnit& STEADYSET_ENTRY(bags_unit_)() { return STEADYSET_LEVEL::kUnit; }

}  // namespace steadyset
