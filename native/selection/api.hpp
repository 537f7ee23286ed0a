// What the bindings and unit.cpp share: plain data only.
#pragma once
#include <cstdint>

namespace steadyset {

enum class Kind : int { f64, f32, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64 };
enum class RuleId : int { argmax, inflated_argmax, fixed_margin, top_k, mass_threshold, ndc, svbop };
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
  int64_t k;           // labels of top-k
  double sum_slack;    // how far a row of probabilities may sum from 1
  double tie_slack;    // a prefix reaches tau when it is short of it by no more than this
};

// The first row that cannot be answered, and why.
struct Outcome {
  int64_t row;
  Problem problem;
};

struct SelectionUnit {
  // Rows [first, last) of the input into the same rows of a contiguous (n_rows, n_classes) output.
  Outcome (*select)(const Rows& rows, const Rule& rule, uint8_t* out, int64_t first, int64_t last);
  Outcome (*entry_epsilons)(const Rows& rows, double* out, int64_t first, int64_t last);
};

const SelectionUnit& selection_unit_baseline();
const SelectionUnit& selection_unit_avx2();
const SelectionUnit& selection_unit_avx512();

}  // namespace steadyset
