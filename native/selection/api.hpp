// What the bindings and unit.cpp share: plain data only.
#pragma once
#include <cstdint>

#include "dispatch.hpp"
#include "poll.hpp"

namespace steadyset {

enum class Kind : int { f64, f32, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64 };
enum class RuleId : int { argmax, inflated_argmax, fixed_margin, top_k, mass_threshold, ndc, svbop, inflated_top_k, lac, aps };
enum class Problem : int { none, not_finite, negative, off_simplex, no_memory };

// A two-dimensional array of scores; strides are in bytes.
struct Rows {
  const char* data;
  int64_t n_rows, n_classes, row_stride, class_stride;
  Kind kind;
};

struct Rule {
  RuleId id;
  double a;            // epsilon, tau, beta, or alpha of the utility
  double b;            // beta of the utility
  int64_t k;           // labels of top-k and of the inflated top-k
  double sum_slack;    // how far a row of probabilities may sum from 1
  const double* thresholds = nullptr;  // of the conformal rules: one for all labels, or one for each
  int64_t n_thresholds = 0;
};

// The first row that cannot be answered, and why.
struct Outcome {
  int64_t row;
  Problem problem;
};

struct SelectionUnit {
  // Rows [first, last) of the input into the same rows of a contiguous (n_rows, n_classes) output. What the poll stops
  // is left unfinished.
  Outcome (*select)(const Rows& rows, const Rule& rule, uint8_t* out, int64_t first, int64_t last, Poll poll);
  Outcome (*entry_epsilons)(const Rows& rows, double* out, int64_t first, int64_t last, Poll poll);
  // The same for the inflated top-k, of which k - 1 labels are in from 0 on.
  Outcome (*top_entries)(const Rows& rows, int64_t k, double* out, int64_t first, int64_t last, Poll poll);
};

STEADYSET_HOT_UNIT(SelectionUnit, selection_unit)

// Rows of doubles, one after the other.
inline Rows packed_rows(const double* data, int64_t n_rows, int64_t n_classes) {
  return {reinterpret_cast<const char*>(data), n_rows, n_classes, n_classes * 8, 8, Kind::f64};
}

inline bool is_conformal(RuleId id) { return id == RuleId::lac || id == RuleId::aps; }

// Whether the rule takes all labels within some margin of the largest score.
inline bool keeps_to_margin(RuleId id) {
  return id == RuleId::argmax || id == RuleId::fixed_margin || id == RuleId::inflated_argmax;
}

}  // namespace steadyset
