// The weight of each neighbour in the mean over all bags, for k-nearest neighbours on bags of m of n rows.
#pragma once
#include <cstdint>

#include "poll.hpp"

namespace steadyset {

struct NeighborBags {
  int64_t n, m, k;  // k <= m
  bool bootstrap;
};

// What is known of the j-th neighbour, c its number of votes among the k of a bag.
struct NeighborWeights {
  int64_t* whole;   // E[c] / k in units of 2^-62, rounded to the nearest
  double* pair;     // E[c c'] / k^2 for the j-th and any one nearer neighbour
  double* square;   // E[c^2] / k^2
};

// Fills the weights of the nearest `room` neighbours at most and returns how many there are: the weight of all others
// together is below 2^-63. -1 where there is not enough room, or the poll said stop.
int64_t neighbor_weights(const NeighborBags& bags, int64_t room, const NeighborWeights& out, Poll poll);

}  // namespace steadyset
