// Leave-one-out means of bags and what they are compared for. Compiled once per instruction set; internal linkage but
// for the entry.
#include "audit/api.hpp"
#include "audit/clear.hpp"
#include "audit/compare.hpp"
#include "audit/count_below.hpp"
#include "audit/means.hpp"
#include "audit/near.hpp"
#include "audit/screen.hpp"
#include "audit/survey.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

constexpr AuditUnit kUnit = {&means, &screen, &clear, &survey, &compare, &compare_near, &scale_of, &count_below};

}  // namespace
}  // namespace STEADYSET_LEVEL

const AuditUnit& STEADYSET_ENTRY(audit_unit_)() { return STEADYSET_LEVEL::kUnit; }

}  // namespace steadyset
