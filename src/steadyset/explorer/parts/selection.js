// The selection rules in float64, operation for operation as the library's kernels, so that the sets are the same to
// the last bit. Written by hand: no JavaScript library has these rules.
const Selection = (() => {
  "use strict";
  const INV_SQRT2 = Math.SQRT1_2;
  const UNIT = Number.EPSILON;
  const OUTWARD = 8 * UNIT; // sets are rounded outward: any superset keeps compatibility
  const UTILITIES = { u65: [1.6, 0.6], u80: [2.2, 1.2] };
  const SUM_SLACK = 1e-6;

  const number = new Float64Array(1);
  const bits = new BigInt64Array(number.buffer);

  // The neighbouring number of a finite x.
  function step(x, up) {
    if (x === 0) return up ? Number.MIN_VALUE : -Number.MIN_VALUE;
    number[0] = x;
    bits[0] += (x > 0) === up ? 1n : -1n;
    return number[0];
  }

  // ---- thresholds below the maximum: argmax, fixed margin, inflated argmax

  // The smallest difference d = w_j - max(w) that counts as d / epsilon > bound.
  function smallestDifference(bound, epsilon) {
    let d = bound * epsilon;
    if (!Number.isFinite(d)) return d; // an infinite epsilon takes every label
    for (let i = 0; i < 4 && d / epsilon > bound; ++i) d = step(d, false);
    for (let i = 0; i < 4 && !(d / epsilon > bound); ++i) d = step(d, true);
    return d > 0 ? 0 : d;
  }

  // The smallest score w with w - max >= difference.
  function thresholdAt(max, difference) {
    const t = max + difference;
    if (!(t - max >= difference)) return step(t, true);
    const below = step(t, false);
    return below - max >= difference ? below : t;
  }

  const largest = (w) => w.reduce((a, b) => (b > a ? b : a));
  const reaching = (w, threshold) => w.map((x) => x >= threshold);

  function argmaxSet(w) {
    return reaching(w, largest(w));
  }

  function fixedMargin(w, epsilon) {
    const max = largest(w);
    if (epsilon === 0) return reaching(w, max);
    return reaching(w, thresholdAt(max, smallestDifference(-INV_SQRT2 - OUTWARD, epsilon)));
  }

  function inflatedArgmax(w, epsilon) {
    const within = fixedMargin(w, epsilon);
    // With one or two labels inside the margin the two rules agree.
    if (within.filter(Boolean).length <= 2 || epsilon === 0 || epsilon === Infinity) return within;
    const max = largest(w);
    const bound = inflatedBound(w, max, epsilon);
    return reaching(w, thresholdAt(max, smallestDifference(bound - OUTWARD, epsilon)));
  }

  // ---- the bound t of the inflated argmax, on u = (w - max) / epsilon

  const LANES = 8; // sums run in eight lanes and are folded every 1,024 entries, as in the kernels
  const FOLD = 1024;
  const SORTABLE = 64;
  const COLLECT = 256;

  // Adds term(u_j) over all j in the kernels' order.
  function foldedSum(u, term) {
    let total = 0;
    for (let start = 0; start < u.length; start += FOLD) {
      const end = Math.min(u.length, start + FOLD);
      const lanes = new Float64Array(LANES);
      let j = start;
      for (; j + LANES <= end; j += LANES) for (let l = 0; l < LANES; ++l) lanes[l] += term(u[j + l]);
      let part = 0;
      for (let l = 0; l < LANES; ++l) part += lanes[l];
      for (; j < end; ++j) part += term(u[j]);
      total += part;
    }
    return total;
  }

  function sumsAbove(u, c) {
    return {
      s1: foldedSum(u, (x) => (x - c > 0 ? x - c : 0)),
      s2: foldedSum(u, (x) => (x - c > 0 ? (x - c) * (x - c) : 0)),
      count: u.reduce((n, x) => n + (x - c > 0 ? 1 : 0), 0),
    };
  }

  // One Newton step on sqrt(f(c)) = 1, f(c) = (sum (u-c)_+)^2 + sum (u-c)_+^2: from the left, steps never pass the root.
  function newton(s, c) {
    const root = Math.sqrt(s.s1 * s.s1 + s.s2);
    const next = c + ((root - 1) * root) / ((s.count + 1) * s.s1);
    return next > c ? next : c; // c for NaN too
  }

  // t = 1/sqrt(2) + A - sqrt((k+1)(1/k - Var)) over the k entries above `cut`.
  function boundFromActive(u, cut) {
    const first = sumsAbove(u, cut);
    const k = first.count;
    const mean = cut + first.s1 / k;
    const squares = foldedSum(u, (x) => (x > cut ? (x - mean) * (x - mean) : 0));
    const rest = (k + 1) * (1 / k - squares / k);
    const t = INV_SQRT2 + mean - Math.sqrt(rest > 0 ? rest : 0);
    return t > -INV_SQRT2 ? t : -INV_SQRT2;
  }

  // Few candidates: sort, and stop at the first k with f_k > 1.
  function boundBySorting(u) {
    u.sort((a, b) => b - a);
    let k = 1;
    for (let s1 = 0, s2 = 0; k < u.length; ++k) {
      const drop = u[k - 1] - u[k];
      s2 += 2 * drop * s1 + k * drop * drop;
      s1 += k * drop;
      if (s1 * s1 + s2 > 1) break;
    }
    return boundFromActive(u.slice(0, k), -1);
  }

  // Entries above a lower bound c of the root, which rises as they are met.
  function candidates(w, max, epsilon) {
    const inverse = 1 / epsilon;
    const scaled = Number.isFinite(inverse) ? (x) => (x - max) * inverse : (x) => (x - max) / epsilon;
    let c = -INV_SQRT2;
    let u = [];
    let limit = COLLECT;
    let floor = thresholdAt(max, smallestDifference(-INV_SQRT2 - OUTWARD, epsilon));
    let j = 0;
    for (; j + LANES <= w.length; j += LANES) {
      const block = w.slice(j, j + LANES);
      if (!block.some((x) => x >= floor)) continue;
      u.push(...block.map(scaled).filter((x) => x > c));
      if (u.length < limit) continue;
      for (let i = 0; i < 8; ++i) {
        c = newton(sumsAbove(u, c), c);
        const kept = u.filter((x) => x > c);
        const settled = 8 * kept.length > 7 * u.length;
        u = kept;
        if (settled) break;
      }
      limit = u.length + Math.max(u.length, COLLECT);
      const raised = thresholdAt(max, c * epsilon);
      if (raised > floor) floor = step(raised, false);
    }
    u.push(...w.slice(j).map(scaled).filter((x) => x > c));
    return { u, c };
  }

  function inflatedBound(w, max, epsilon) {
    let { u, c } = candidates(w, max, epsilon);
    u = u.filter((x) => x > c);
    for (let i = 0, previous = -1; i < 100 && u.length > SORTABLE; ++i) {
      const s = sumsAbove(u, c);
      if (s.count < 0.5 * u.length) {
        const low = c;
        u = u.filter((x) => x > low);
      }
      const next = newton(s, c);
      if (s.count === previous && !(next - c > 4e-16)) break;
      previous = s.count;
      c = next;
    }
    return u.length > SORTABLE ? boundFromActive(u, c) : boundBySorting(u);
  }

  // ---- prefixes of the descending order: top-k, mass threshold, NDC, SVBOP

  // A sum that keeps what rounding drops (Neumaier).
  class Sum {
    total = 0;
    rest = 0;
    add(x) {
      const next = this.total + x;
      this.rest += Math.abs(this.total) >= Math.abs(x) ? this.total - next + x : x - next + this.total;
      this.total = next;
      return this;
    }
    get value() {
      return this.total + this.rest;
    }
    copy() {
      return Object.assign(new Sum(), this);
    }
  }

  const descending = (w) => [...w].sort((a, b) => b - a);

  // The k largest; of entries equal to the k-th all of them, or the lower index first.
  function markPrefix(w, kth, k, splitTies) {
    const mask = reaching(w, kth);
    let excess = splitTies ? mask.filter(Boolean).length - k : 0;
    for (let j = w.length - 1; excess > 0; --j) {
      if (w[j] !== kth) continue;
      mask[j] = false;
      --excess;
    }
    return mask;
  }

  // The first k from 1 for which stop(sum of the k largest, k, descending order) holds; all labels where none does.
  function prefix(w, splitTies, stop) {
    const v = descending(w);
    const sum = new Sum();
    let k = 1;
    for (; k < v.length; ++k) {
      sum.add(v[k - 1]);
      if (stop(sum, k, v)) break;
    }
    return markPrefix(w, v[k - 1], k, splitTies);
  }

  function topK(w, k) {
    return markPrefix(w, descending(w)[k - 1], k, true);
  }

  // A probability in whole multiples of 2^-100; smaller bits are dropped, or counted up.
  const parts = (x, up) => BigInt((up ? Math.ceil : Math.floor)(x * 2 ** 100));
  const sumOfParts = (w, up) => w.reduce((sum, x) => sum + parts(x, up), 0n);

  // Whether the k largest hold tau and the others at most 1 - tau, without rounding.
  function massIsReached(v, k, tau) {
    const least = parts(tau, true);
    return sumOfParts(v.slice(0, k), false) >= least && sumOfParts(v.slice(k), true) <= parts(1, false) - least;
  }

  // The smallest prefix that holds tau and leaves out at most 1 - tau, with the ties of its last entry.
  function massThreshold(w, tau) {
    const NEAR = 1e-12; // far above the rounding of the sums
    const total = w.reduce((s, x) => s.add(x), new Sum()).value;
    const least = total > 1 ? tau + (total - 1) : tau;
    return prefix(w, false, (sum, k, v) => {
      const over = sum.value - least;
      return over > NEAR || (over >= -NEAR && massIsReached(v, k, tau));
    });
  }

  // The first k with S_k >= (k + beta^2) w_[k+1] maximises the expected F_beta. It takes ties along, and its mean leads
  // the next entry as it does in a row that sums to 1.
  function ndc(w, beta) {
    const q = beta * beta;
    const leads = (mass, k, next) => mass - k * next >= q / (w.length + q) + (k + 8) * UNIT;
    return prefix(w, false, ({ value }, k, v) =>
      v[k] !== v[k - 1] && value >= (k + q) * v[k] && (q === 0 || leads(value, k, v[k])));
  }

  // k times the least lead T_k of an optimal set of k labels on the simplex (Theorem S14); infinite for a size that does not
  // occur.
  function svbopLead(k, nLabels, [alpha, beta]) {
    if (!(alpha * (k * (k + 1)) >= beta * (2 * k + 1))) return Infinity;
    const gamma = beta / alpha;
    return gamma / (gamma + nLabels * Math.max(1 - (gamma * (2 * k + 1)) / (k * (k + 1)), 0));
  }

  // The smallest prefix that maximises g(k) S_k, g(k) = alpha/k - beta/k^2, cross-multiplied to keep ties exact. It leads as
  // it does in a row that sums to 1.
  function svbop(w, utility) {
    const [alpha, beta] = UTILITIES[utility];
    return prefix(w, true, (sum, k, v) => {
      const next = k + 1;
      const here = (alpha * k - beta) * (next * next) * sum.value;
      const there = (alpha * next - beta) * (k * k) * sum.copy().add(v[k]).value;
      const least = svbopLead(k, w.length, [alpha, beta]) * (1 - 2 ** -40) + (k + 8) * UNIT;
      return there <= here * (1 + 4 * UNIT) && sum.value - k * v[k] >= least;
    });
  }

  // ---- the epsilon-path

  // With k other labels above c (mean A, sum of squares Q about it) and d = A - w_j:
  // R = sqrt((k+1)(k d^2 + (k+2) Q/2)/2), c = A - 2((k+1) d + R)/((k+1)(k+2)), entry = sqrt(2)(k d + 2R)/(k+2).
  // k only grows as w_j falls: one sweep over scores that are sorted, shifted by the maximum and at least -1.
  class Path {
    k = 1;
    mean = 0;
    squares = 0;
    entry(sorted, rank) {
      for (;;) {
        const k = this.k;
        const d = this.mean - sorted[rank];
        const r = Math.sqrt((k + 1) * (k * d * d + 0.5 * (k + 2) * this.squares) * 0.5);
        const c = this.mean - (2 * ((k + 1) * d + r)) / ((k + 1) * (k + 2));
        if (!(k < rank && sorted[k] > c)) return (2 * INV_SQRT2 * (k * d + 2 * r)) / (k + 2);
        const delta = sorted[k] - this.mean;
        this.mean += delta / ++this.k;
        this.squares += delta * (sorted[k] - this.mean);
      }
    }
  }

  // The epsilon beyond which the inflated argmax selects each label.
  function entryEpsilons(w) {
    const max = largest(w);
    const quarter = w.every((x) => Number.isFinite(x - max)) && Math.abs(max) <= 2 ** 1000 ? 1 : 0.25;
    const order = w.map((_, j) => j).sort((a, b) => w[b] - w[a] || a - b);
    const gaps = order.map((j) => w[j] * quarter - max * quarter);
    const scale = -gaps[gaps.length - 1] || 1;
    const tiny = gaps.some((x) => x !== 0 && -x < 1e-120 * scale); // squares that vanish: each label on its own scale
    const unit = tiny ? 1 : scale;
    const sorted = gaps.map((x) => x / unit);
    const path = new Path();
    const entries = new Array(w.length).fill(0);
    let before = 0; // a lower score never enters before a higher one
    sorted.forEach((x, rank) => {
      if (x === 0) return;
      let entry = 2 * INV_SQRT2 * -x; // the runner-up
      if (rank > 1 && tiny) entry = new Path().entry(sorted.map((y) => y / -x), rank) * -x;
      else if (rank > 1) entry = path.entry(sorted, rank);
      before = Math.max(before, entry);
      entries[order[rank]] = (before * unit) / quarter;
    });
    return entries;
  }

  // ---- how far the probabilities may move before the set can turn disjoint (Lemma 3); null where no theorem says

  // The gaps of a set's scores below the largest, in ascending order, and that of the best label outside; null for a set of
  // all labels.
  function tops(w, selected) {
    const v = descending(w), size = selected.filter(Boolean).length;
    return size === v.length ? null : { inside: v.slice(0, size).map((x) => v[0] - x), outside: v[0] - v[size], n: v.length };
  }
  const roundedDown = (radius, n) => radius * (1 - (n + 16) * 2 ** -51);

  // The distance to the nearest vector in which a label outside the set leads it by the margin: exact.
  function marginRadius(w, selected, margin) {
    const found = tops(w, selected);
    if (found === null || found.outside === Infinity) return Infinity;
    const reach = margin + found.outside, d = found.inside.map((x) => x / reach);
    let level = Infinity, sum = 0;
    d.forEach((x, i) => {
      sum += x;
      level = Math.min(level, (1 + sum) / (2 + i));
    });
    const down = d.map((x) => Math.max(level - x, 0));
    const total = down.reduce((a, b) => a + b, 0), squares = down.reduce((a, b) => a + b * b, 0);
    return roundedDown(reach * Math.sqrt(total * total + squares), found.n);
  }

  // The largest over a of the smallest over s of (M_a - w_k + eps (sqrt(1 + s^2) - 1/sqrt(2))) / sqrt(1/a + s^2), M_a the mean
  // of the set's a largest scores.
  function inflatedRadius(w, selected, epsilon) {
    const found = tops(w, selected);
    if (found === null || found.outside === Infinity) return Infinity;
    let best = epsilon, sum = 0;
    found.inside.forEach((x, i) => {
      sum += x;
      const a = i + 1, lead = found.outside - sum / a - epsilon * INV_SQRT2;
      const turn = ((epsilon * (1 - 1 / a)) / lead) ** 2 - 1;
      const s2 = lead >= 0 ? 1 : Math.min(Math.max(turn, 1 / (found.n - found.inside.length)), 1);
      const radius = (lead + epsilon * Math.sqrt(1 + s2)) / Math.sqrt(1 / a + s2);
      best = Math.max(best, roundedDown(radius, found.n));
    });
    return best;
  }

  function topKRadius(w, k) {
    if (2 * k > w.length) return Infinity;
    const v = descending(w);
    const sum = (part) => part.reduce((a, b) => a + b, 0);
    return Math.max(0, sum(v.slice(0, k)) - sum(v.slice(k, 2 * k))) / Math.sqrt(2 * k);
  }

  // sqrt(1/a + 1/b) of the two halves of the labels, the least of two sets side by side.
  function halves(nLabels) {
    const half = Math.floor(nLabels / 2);
    return nLabels === 1 ? Infinity : Math.sqrt(1 / half + 1 / (nLabels - half));
  }

  // A compatible rule's epsilon; a set of all labels meets every other.
  const constantRadius = (selected, epsilon) => (epsilon !== null && selected.every(Boolean) ? Infinity : epsilon);

  const massEpsilon = (nLabels, tau) => (tau > 0.5 ? (2 * tau - 1) * halves(nLabels) : null);

  const ndcEpsilon = (nLabels, beta) => (beta * beta > 0 ? ((beta * beta) / (nLabels + beta * beta)) * halves(nLabels) : null);

  // The least of (T_a + T_b) / sqrt(1/a + 1/b) over the sizes that occur, side by side.
  function svbopEpsilon(nLabels, utility) {
    const leads = Array.from({ length: nLabels }, (_, k) => (k ? svbopLead(k, nLabels, UTILITIES[utility]) / k : Infinity));
    let least = Infinity;
    for (let a = 1; 2 * a <= nLabels; ++a)
      for (let b = a; a + b <= nLabels; ++b) least = Math.min(least, (leads[a] + leads[b]) / Math.sqrt(1 / a + 1 / b));
    return least * (1 - 2 ** -39);
  }

  // ---- every rule at once

  // Why a vector is not one of probabilities, as a sentence; null where it is one.
  function offSimplex(w) {
    const least = w.reduce((a, b) => Math.min(a, b));
    if (least < 0) return `needs probabilities, none negative; got ${least}`;
    const sum = w.reduce((s, x) => s.add(x), new Sum()).value;
    return Math.abs(sum - 1) <= SUM_SLACK ? null : `needs probabilities that sum to 1; got a sum of ${+sum.toPrecision(6)}`;
  }

  // The rules in the order of the library's documentation; `probabilities` marks those that need them.
  const RULES = [
    { id: "argmax", name: "argmax", set: (w) => argmaxSet(w), radius: (w) => marginRadius(w, argmaxSet(w), 0) },
    {
      id: "inflated",
      name: "inflated argmax",
      set: (w, o) => inflatedArgmax(w, o.epsilon),
      radius: (w, o) => inflatedRadius(w, inflatedArgmax(w, o.epsilon), o.epsilon),
    },
    {
      id: "margin",
      name: "fixed margin",
      set: (w, o) => fixedMargin(w, o.epsilon),
      radius: (w, o) => marginRadius(w, fixedMargin(w, o.epsilon), o.epsilon * INV_SQRT2),
    },
    { id: "topk", name: "top-k", set: (w, o) => topK(w, o.k), radius: (w, o) => topKRadius(w, o.k) },
    {
      id: "mass",
      name: "mass threshold",
      probabilities: true,
      set: (w, o) => massThreshold(w, o.tau),
      radius: (w, o) => constantRadius(massThreshold(w, o.tau), massEpsilon(w.length, o.tau)),
    },
    {
      id: "ndc",
      name: "NDC",
      probabilities: true,
      set: (w, o) => ndc(w, o.beta),
      radius: (w, o) => constantRadius(ndc(w, o.beta), ndcEpsilon(w.length, o.beta)),
    },
    ...["u65", "u80"].map((utility) => ({
      id: utility,
      name: `SVBOP ${utility}`,
      probabilities: true,
      set: (w) => svbop(w, utility),
      radius: (w) => constantRadius(svbop(w, utility), svbopEpsilon(w.length, utility)),
    })),
  ];

  return {
    RULES, argmaxSet, fixedMargin, inflatedArgmax, topK, massThreshold, ndc, svbop, entryEpsilons, offSimplex,
  };
})();
