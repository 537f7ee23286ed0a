// Compiled once per instruction set. Everything but the entry point has internal linkage.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "selection/api.hpp"

namespace steadyset {
namespace {

#include "selection/vectors.hpp"
#include "selection/scratch.hpp"
#include "selection/boundary.hpp"
#include "selection/inflated.hpp"
#include "selection/prefix.hpp"
#include "selection/rows.hpp"
#include "selection/short_rows.hpp"
#include "selection/path.hpp"
#include "selection/short_path.hpp"

constexpr Outcome kDone = {-1, Problem::none};

// argmax, fixed margin and inflated argmax: a threshold below the maximum.
template <class T> struct MarginRules {
  const Rule& rule;
  double difference;  // smallest w_j - max inside the margin
  Scratch scratch;

  explicit MarginRules(const Rule& r) : rule(r) {
    difference = r.id == RuleId::argmax || r.a == 0 ? 0 : smallest_difference(-kInvSqrt2 - kOutward, r.a);
  }
  bool may_inflate() const { return rule.id == RuleId::inflated_argmax && difference < 0 && rule.a * 0 == 0; }

  // With one or two labels inside the margin the two rules agree; with more the inflated argmax is solved for.
  bool inflate(const T* row, int64_t n, T max, T margin, uint8_t* out) {
    T threshold;
    if (!inflated_threshold(row, n, max, margin, rule.a, scratch, &threshold)) return false;
    write_mask(row, n, threshold, out);
    return true;
  }
  Problem row(const T* row, int64_t n, uint8_t* out) {
    Extent<T> seen = extent(row, n);
    if (!seen.finite) return Problem::not_finite;
    T margin = difference == 0 ? seen.max : threshold_at(seen.max, difference);
    int64_t count = write_mask(row, n, margin, out);
    if (count > 2 && may_inflate() && !inflate(row, n, seen.max, margin, out)) return Problem::no_memory;
    return Problem::none;
  }
  Outcome blocks(const T* p, int64_t n, uint8_t* out, int64_t first, int64_t last) {
    T max[kBlock], margin[kBlock];
    int64_t i = first;
    for (; i + kBlock <= last; i += kBlock) {
      const T* block = p + i * n;
      uint8_t* mask = out + i * n;
      if (!margin_block(block, n, difference, max, margin, mask)) break;
      if (!may_inflate()) continue;
      for (int r = 0; r < kBlock; ++r)
        if (count_ones(mask + r * n, n) > 2 && !inflate(block + r * n, n, max[r], margin[r], mask + r * n))
          return {i + r, Problem::no_memory};
    }
    for (; i < last; ++i) {
      Problem problem = row(p + i * n, n, out + i * n);
      if (problem != Problem::none) return {i, problem};
    }
    return kDone;
  }
};

// Marks the k largest entries; among entries equal to the k-th, the lower index first, or all of them.
template <class T> inline void mark_prefix(const T* row, int64_t n, double kth, int64_t k, bool split_ties, uint8_t* out) {
  T threshold = static_cast<T>(kth);
  int64_t excess = write_mask(row, n, threshold, out) - k;
  if (!split_ties) return;
  for (int64_t j = n - 1; j >= 0 && excess > 0; --j) {
    if (row[j] == threshold) {
      out[j] = 0;
      --excess;
    }
  }
}

// top-k, mass threshold, NDC and SVBOP: a prefix of the descending order.
template <class T> struct PrefixRules {
  const Rule& rule;
  Scratch scratch;

  Problem row(const T* row, int64_t n, uint8_t* out) {
    if (!scratch.reserve(n)) return Problem::no_memory;
    double* v = scratch.values;
    Sum sum;
    bool finite = true, negative = false;
    for (int64_t j = 0; j < n; ++j) {
      v[j] = static_cast<double>(row[j]);
      finite &= v[j] - v[j] == 0;
      negative |= v[j] < 0;
      sum.add(v[j]);
    }
    if (!finite) return Problem::not_finite;
    Descending w{v, n};
    if (rule.id == RuleId::top_k) {
      select_largest(v, n, rule.k);
      double kth = v[0];
      for (int64_t i = 1; i < rule.k; ++i) kth = v[i] < kth ? v[i] : kth;
      mark_prefix(row, n, kth, rule.k, true, out);
      return Problem::none;
    }
    if (negative) return Problem::negative;
    if (!(__builtin_fabs(sum.value() - 1) <= rule.sum_slack)) return Problem::off_simplex;
    int64_t k = rule.id == RuleId::mass_threshold ? mass_prefix(w, rule.a, rule.tie_slack)
                : rule.id == RuleId::ndc          ? ndc_prefix(w, rule.a)
                                                  : svbop_prefix(w, rule.a, rule.b);
    mark_prefix(row, n, w[k - 1], k, rule.id == RuleId::svbop, out);
    return Problem::none;
  }
};

template <class T, class Rules>
Outcome each_row(Reader<T>& reader, Rules& rules, uint8_t* out, int64_t first, int64_t last) {
  int64_t n = reader.rows.n_classes;
  for (int64_t i = first; i < last; ++i) {
    Problem problem = rules.row(reader.row(i), n, out + i * n);
    if (problem != Problem::none) return {i, problem};
  }
  return kDone;
}

bool keeps_to_margin(RuleId id) {
  return id == RuleId::argmax || id == RuleId::fixed_margin || id == RuleId::inflated_argmax;
}

template <class T> Outcome select_as(const Rows& rows, const Rule& rule, uint8_t* out, int64_t first, int64_t last) {
  bool on_scores = keeps_to_margin(rule.id) || rule.id == RuleId::top_k;
  Reader<T> reader(rows, on_scores);
  if (!reader.ready()) return {first, Problem::no_memory};
  if (keeps_to_margin(rule.id)) {
    MarginRules<T> rules(rule);
    int64_t n = rows.n_classes;
    bool packed = reader.in_place && rows.row_stride == n * static_cast<int64_t>(sizeof(T));
    if (packed && n <= kShort)
      return rules.blocks(reinterpret_cast<const T*>(rows.data), n, out, first, last);
    return each_row(reader, rules, out, first, last);
  }
  PrefixRules<T> rules{rule, {}};
  return each_row(reader, rules, out, first, last);
}

// Rows shorter than kShort go through blocks whatever their layout, so that a row's entries do not depend on it.
template <class T> Outcome short_paths(Reader<T>& reader, RankedScratch& scratch, double* out, int64_t first, int64_t last) {
  int64_t n = reader.rows.n_classes;
  PathBlock block = {};
  block.n = n;
  for (int64_t i = first; i < last; i += kPathBlock) {
    int rows = last - i < kPathBlock ? static_cast<int>(last - i) : kPathBlock;
    T max[kPathBlock];
    for (int r = 0; r < rows; ++r) {
      const T* row = reader.row(i + r);
      Extent<T> seen = extent(row, n);
      if (!seen.finite) return {i + r, Problem::not_finite};
      max[r] = seen.max;
      block.read(r, row, seen.max);
    }
    block.sort();
    block.solve();
    block.write(out + i * n, rows);
    for (int r = 0; r < rows; ++r)
      if (block.own_scale[r] && !path_of_row(reader.row(i + r), n, max[r], scratch, out + (i + r) * n))
        return {i + r, Problem::no_memory};
  }
  return kDone;
}

template <class T> Outcome path_as(const Rows& rows, double* out, int64_t first, int64_t last) {
  Reader<T> reader(rows, true);
  RankedScratch scratch;
  if (!reader.ready()) return {first, Problem::no_memory};
  int64_t n = rows.n_classes;
  if (n <= kShort) return short_paths(reader, scratch, out, first, last);
  for (int64_t i = first; i < last; ++i) {
    const T* row = reader.row(i);
    Extent<T> seen = extent(row, n);
    if (!seen.finite) return {i, Problem::not_finite};
    if (!path_of_row(row, n, seen.max, scratch, out + i * n)) return {i, Problem::no_memory};
  }
  return kDone;
}

bool reads_as_float(Kind kind) { return kind == Kind::f32 || kind == Kind::f16 || kind == Kind::bf16; }

Outcome select(const Rows& rows, const Rule& rule, uint8_t* out, int64_t first, int64_t last) {
  return reads_as_float(rows.kind) ? select_as<float>(rows, rule, out, first, last)
                                   : select_as<double>(rows, rule, out, first, last);
}

Outcome entry_epsilons(const Rows& rows, double* out, int64_t first, int64_t last) {
  return reads_as_float(rows.kind) ? path_as<float>(rows, out, first, last) : path_as<double>(rows, out, first, last);
}

const SelectionUnit kUnit = {&select, &entry_epsilons};

}  // namespace

#define STEADYSET_JOIN2(a, b) a##b
#define STEADYSET_JOIN(a, b) STEADYSET_JOIN2(a, b)
const SelectionUnit& STEADYSET_JOIN(selection_unit_, STEADYSET_LEVEL)() { return kUnit; }

}  // namespace steadyset
