// What a core can do at most, to measure the trainer by.
#pragma once

namespace steadyset::lanes {

// Floating-point operations per second of multiply-adds alone at the level in use. The best of many spells of about a
// millisecond, in the thread's own time: a busy machine takes the core away between some of them, not in all.
double peak_flops();

}  // namespace steadyset::lanes
