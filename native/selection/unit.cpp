// Compiled once per instruction set. Everything but the entry point has internal linkage.
#include <stdint.h>

#include "selection/api.hpp"
#include "selection/boundary.hpp"
#include "selection/conformal.hpp"
#include "selection/inflated.hpp"
#include "selection/inflated_top_k.hpp"
#include "selection/path.hpp"
#include "selection/prefix.hpp"
#include "selection/rows.hpp"
#include "selection/scratch.hpp"
#include "selection/short_path.hpp"
#include "selection/short_rows.hpp"
#include "selection/stretches.hpp"

namespace steadyset {
namespace STEADYSET_LEVEL {
namespace {

constexpr Outcome kDone = {-1, Problem::none};

// argmax, fixed margin and inflated argmax: a threshold below the maximum.
template <class T> struct MarginRules {
  const Rule& rule;
  double difference;  // smallest w_j - max inside the margin
  Pace pace;
  Scratch scratch;
  Peaks<T> peaks;

  MarginRules(const Rule& r, Poll poll) : rule(r), pace{poll} {
    difference = r.id == RuleId::argmax || r.a == 0 ? 0 : smallest_difference(-kInvSqrt2 - kOutward, r.a);
  }
  T margin_of(T max) const { return difference == 0 ? max : threshold_at(max, difference); }
  bool may_inflate() const { return rule.id == RuleId::inflated_argmax && difference < 0 && rule.a * 0 == 0; }

  // With one or two labels inside the margin the two rules agree; with more the inflated argmax is solved for.
  template <class Stretches> bool inflate(const InflatedRow<T>& row, const Stretches& stretches, T* threshold) {
    return row.solve(stretches, rule.a, scratch, threshold);
  }
  bool inflate(const T* row, int64_t n, T max, T margin, uint8_t* out) {
    T threshold;
    if (!inflate({row, n, max, margin}, EveryStretch{}, &threshold)) return false;
    write_mask(row, n, threshold, out);
    return true;
  }
  // A call for a long row costs nothing, and keeps its last decisions, one number at a time, out of the loop over rows.
  __attribute__((noinline)) Problem row(const T* row, int64_t n, uint8_t* out) {
    return n > kStretch ? long_row(row, n, out) : short_row(row, n, out);
  }

  Problem short_row(const T* row, int64_t n, uint8_t* out) {
    Extent<T> seen = extent(row, n);
    if (!seen.finite) return Problem::not_finite;
    T margin = margin_of(seen.max);
    write_mask(row, n, margin, out);
    if (may_inflate() && count_ones(out, n) > 2 && !inflate(row, n, seen.max, margin, out)) return Problem::no_memory;
    return Problem::none;
  }
  Problem long_row(const T* row, int64_t n, uint8_t* out) {
    if (!peaks.reserve(n)) return Problem::no_memory;
    Extent<T> seen = peaks.look(row, n);
    if (!seen.finite) return Problem::not_finite;
    T margin = margin_of(seen.max), threshold = margin;
    if (may_inflate() && peaks.more_than_two(row, n, margin) && !inflate({row, n, seen.max, margin}, peaks, &threshold))
      return Problem::no_memory;
    peaks.write_mask_of(row, n, threshold, out);
    return Problem::none;
  }
  Outcome blocks(const T* p, int64_t n, uint8_t* out, int64_t first, int64_t last) {
    T max[kBlock], margin[kBlock];
    int64_t i = first;
    for (; i + kBlock <= last && !pace.stop(4 * kBlock * n); i += kBlock) {
      const T* block = p + i * n;
      uint8_t* mask = out + i * n;
      if (!margin_block(block, n, difference, max, margin, mask)) break;
      if (!may_inflate()) continue;
      for (int r = 0; r < kBlock; ++r)
        if (count_ones(mask + r * n, n) > 2 && !inflate(block + r * n, n, max[r], margin[r], mask + r * n))
          return {i + r, Problem::no_memory};
    }
    for (; i < last && !pace.stop(4 * n); ++i) {
      Problem problem = row(p + i * n, n, out + i * n);
      if (problem != Problem::none) return {i, problem};
    }
    return kDone;
  }
};

// Marks the k largest entries; among entries equal to the k-th, the lower index first, or all of them.
template <class T> inline void mark_prefix(const T* row, int64_t n, double kth, int64_t k, bool split_ties, uint8_t* out) {
  T threshold = static_cast<T>(kth);
  write_mask(row, n, threshold, out);
  if (!split_ties) return;
  int64_t excess = count_ones(out, n) - k;
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
  Pace pace;
  Scratch scratch;

  Problem row(const T* row, int64_t n, uint8_t* out) {
    if (!scratch.reserve(n)) return Problem::no_memory;
    double* v = scratch.values;
    Widened read = widen(row, n, v, pace);
    if (pace.stopped) return Problem::none;
    if (!read.finite) return Problem::not_finite;
    Descending w{v, n, pace};
    if (rule.id == RuleId::top_k) {
      select_largest(v, n, rule.k, pace);
      double kth = v[0];
      for (int64_t i = 1; i < rule.k; ++i) kth = v[i] < kth ? v[i] : kth;
      mark_prefix(row, n, kth, rule.k, true, out);
      return Problem::none;
    }
    Problem problem = read.off_simplex(rule.sum_slack);
    if (problem != Problem::none) return problem;
    int64_t k = rule.id == RuleId::mass_threshold ? mass_prefix(w, rule.a, read.sum)
                : rule.id == RuleId::ndc          ? ndc_prefix(w, rule.a)
                                                  : svbop_prefix(w, rule.a, rule.b);
    mark_prefix(row, n, w[k - 1], k, rule.id == RuleId::svbop, out);
    return Problem::none;
  }
};

template <class T, class Rules>
Outcome each_row(Reader<T>& reader, Rules& rules, uint8_t* out, int64_t first, int64_t last) {
  int64_t n = reader.rows.n_classes;
  for (int64_t i = first; i < last && !rules.pace.stop(4 * n); ++i) {
    Problem problem = rules.row(reader.row(i), n, out + i * n);
    if (problem != Problem::none) return {i, problem};
  }
  return kDone;
}

// A row's entries into the inflated top k: 0 for the k - 1 largest, those of the inflated argmax among the others.
template <class T> Outcome top_entries_as(const Rows& rows, int64_t k, double* out, int64_t first, int64_t last, Poll poll) {
  Reader<T> reader(rows, true);
  Pace pace{poll};
  Scratch scratch;
  Rest<T> rest;
  RankedScratch ranked;
  int64_t n = rows.n_classes;
  if (!reader.ready() || !rest.reserve(n) || !scratch.reserve(n)) return {first, Problem::no_memory};
  for (int64_t i = first; i < last && !pace.stop(4 * n); ++i) {
    const T* row = reader.row(i);
    if (!extent(row, n).finite) return {i, Problem::not_finite};
    T kth = kth_largest(row, n, k, scratch, pace);
    int64_t count = rest.gather(row, n, k, kth);
    if (!path_of_row(rest.values(), count, kth, ranked, scratch.values, pace)) return {i, Problem::no_memory};
    rest.scatter(scratch.values, out + i * n, n);
  }
  return kDone;
}

template <class T>
Outcome select_as(const Rows& rows, const Rule& rule, uint8_t* out, int64_t first, int64_t last, Poll poll) {
  bool on_scores = keeps_to_margin(rule.id) || rule.id == RuleId::top_k || rule.id == RuleId::inflated_top_k;
  Reader<T> reader(rows, on_scores);
  if (!reader.ready()) return {first, Problem::no_memory};
  if (keeps_to_margin(rule.id)) {
    MarginRules<T> rules(rule, poll);
    int64_t n = rows.n_classes;
    bool packed = reader.in_place && rows.row_stride == n * static_cast<int64_t>(sizeof(T));
    if (packed && n <= kShort)
      return rules.blocks(reinterpret_cast<const T*>(rows.data), n, out, first, last);
    return each_row(reader, rules, out, first, last);
  }
  if (rule.id == RuleId::inflated_top_k) {
    InflatedTopK<T> rules(rule, poll);
    if (!rules.reserve(rows.n_classes)) return {first, Problem::no_memory};
    return each_row(reader, rules, out, first, last);
  }
  if (is_conformal(rule.id)) {
    ConformalRules<T> rules{rule, {poll}, {}, {}};
    if (!rules.reserve(rows.n_classes)) return {first, Problem::no_memory};
    return each_row(reader, rules, out, first, last);
  }
  PrefixRules<T> rules{rule, {poll}, {}};
  return each_row(reader, rules, out, first, last);
}

// Rows shorter than kShort go through blocks whatever their layout, so that a row's entries do not depend on it.
template <class T>
Outcome short_paths(Reader<T>& reader, RankedScratch& scratch, double* out, int64_t first, int64_t last, Pace& pace) {
  int64_t n = reader.rows.n_classes;
  constexpr int kRows = PathBlock<T>::rows;
  PathBlock<T> block = {};
  block.n = n;
  for (int64_t i = first; i < last && !pace.stop(16 * kRows * n); i += kRows) {
    int rows = last - i < kRows ? static_cast<int>(last - i) : kRows;
    if (reader.in_place && rows == kRows) {
      block.read_all(reader.row(i), reader.stride());
    } else {
      for (int r = 0; r < rows; ++r) block.read(r, reader.row(i + r));
    }
    unsigned not_finite = block.not_finite() & ((1u << rows) - 1);
    if (not_finite != 0) return {i + __builtin_ctz(not_finite), Problem::not_finite};
    block.sort();
    block.solve(out + i * n, rows);
    for (int r = 0; r < rows; ++r)
      if ((block.own_scale >> r & 1) != 0 &&
          !path_of_row(reader.row(i + r), n, block.sorted[0][r], scratch, out + (i + r) * n, pace))
        return {i + r, Problem::no_memory};
  }
  return kDone;
}

template <class T> Outcome path_as(const Rows& rows, double* out, int64_t first, int64_t last, Poll poll) {
  Reader<T> reader(rows, true);
  Pace pace{poll};
  RankedScratch scratch;
  if (!reader.ready()) return {first, Problem::no_memory};
  int64_t n = rows.n_classes;
  if (n <= kShort) return short_paths(reader, scratch, out, first, last, pace);
  for (int64_t i = first; i < last && !pace.stop(4 * n); ++i) {
    const T* row = reader.row(i);
    Extent<T> seen = extent(row, n);
    if (!seen.finite) return {i, Problem::not_finite};
    if (!path_of_row(row, n, seen.max, scratch, out + i * n, pace)) return {i, Problem::no_memory};
  }
  return kDone;
}

bool reads_as_float(Kind kind) { return kind == Kind::f32 || kind == Kind::f16 || kind == Kind::bf16; }

Outcome select(const Rows& rows, const Rule& asked, uint8_t* out, int64_t first, int64_t last, Poll poll) {
  Rule rule = asked;
  if (rule.id == RuleId::inflated_top_k && rule.k == 1) rule.id = RuleId::inflated_argmax;  // which it is, to the bit
  return reads_as_float(rows.kind) ? select_as<float>(rows, rule, out, first, last, poll)
                                   : select_as<double>(rows, rule, out, first, last, poll);
}

Outcome entry_epsilons(const Rows& rows, double* out, int64_t first, int64_t last, Poll poll) {
  return reads_as_float(rows.kind) ? path_as<float>(rows, out, first, last, poll)
                                   : path_as<double>(rows, out, first, last, poll);
}

Outcome top_entries(const Rows& rows, int64_t k, double* out, int64_t first, int64_t last, Poll poll) {
  return reads_as_float(rows.kind) ? top_entries_as<float>(rows, k, out, first, last, poll)
                                   : top_entries_as<double>(rows, k, out, first, last, poll);
}

constexpr SelectionUnit kUnit = {&select, &entry_epsilons, &top_entries};

}  // namespace
}  // namespace STEADYSET_LEVEL

const SelectionUnit& STEADYSET_ENTRY(selection_unit_)() { return STEADYSET_LEVEL::kUnit; }

}  // namespace steadyset
