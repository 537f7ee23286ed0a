// The instruction set that a hot source file is compiled for. Its code stands in a namespace of that level, and within it
// in an unnamed one: a symbol that two levels shared could be linked to the wrong one.
#pragma once

#ifndef STEADYSET_LEVEL
#define STEADYSET_LEVEL baseline  // what an editor reads
#endif

#define STEADYSET_JOIN2(a, b) a##b
#define STEADYSET_JOIN(a, b) STEADYSET_JOIN2(a, b)
// The name of this level's entry point: STEADYSET_ENTRY(selection_unit_) is selection_unit_avx2.
#define STEADYSET_ENTRY(name) STEADYSET_JOIN(name, STEADYSET_LEVEL)
