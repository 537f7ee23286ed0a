// The library's guarantees for one dropped row: the same formulas, the same numbers. docs/theory/guarantees.md has the
// theorems. Written by hand: no JavaScript library has them, nor a binomial tail that keeps its digits for many bags.
const Guarantees = (() => {
  "use strict";
  const LARGEST = 2 ** 53;
  const MOST_BAGS = 1e9; // the tail is summed term by term
  const SMALLEST = 2 ** -1022;
  const VACUOUS = 0.995; // from here on a bound says nothing to a person

  // ---- the setting, in the paper's symbols

  function wholeNumber(value, name, least, most, upTo = String(most)) {
    if (!Number.isInteger(value) || value < least || value > most) {
      throw new RangeError(`${name} must be a whole number from ${least} to ${upTo}; got ${value}.`);
    }
    return value;
  }

  // Rows per bag, from that number or from a share of n; 0.29 of 100 rows are 29 rows.
  function bagSize(size, isShare, n, resampling) {
    const sub = resampling === "subbagging";
    const most = sub ? n - 1 : LARGEST;
    const allowed = sub
      ? `a whole number from 1 to n - 1 = ${n - 1} or a share below 1`
      : "a whole number that is at least 1 or a share of at most 1";
    const good = isShare ? size > 0 && (size < 1 || (size === 1 && !sub)) : Number.isInteger(size) && size >= 1 && size <= most;
    if (!good) throw new RangeError(`The bag size must be ${allowed} for ${resampling}; got ${size}.`);
    return isShare ? Math.min(Math.max(1, onGrid(size * n, sub ? n - size * n : Infinity)), most) : size;
  }

  // A share of the rows on the grid of bag sizes, which a dropped row seldom moves; spare is what a bag leaves out.
  function onGrid(size, spare) {
    const nearest = (x, step) => step * Math.ceil(x / step - 0.5 - 2 ** -40);
    let finer = 0;
    let step = 1;
    for (let i = 1; ; i += 1) {
      const coarser = [1, 2, 5][i % 3] * 10 ** Math.floor(i / 3);
      if (16 * coarser > Math.min(size, spare)) break;
      finer = step;
      step = coarser;
    }
    if (finer === 0) return nearest(size, step);
    const first = size * ((16 * step) / Math.min(size, spare));
    return Math.max(nearest(size, step), nearest(first, finer));
  }

  function checked({ n, epsilon, size, isShare, labels, bags, resampling, coupling, theorem }) {
    wholeNumber(n, "The number of training rows", 2, LARGEST, "2^53");
    if (!(epsilon > 0 && epsilon < Infinity)) throw new RangeError(`epsilon must be a finite number above 0; got ${epsilon}.`);
    const m = bagSize(size, isShare, n, resampling);
    if (labels !== null) wholeNumber(labels, "The number of labels", 1, LARGEST, "2^53");
    if (bags !== null) wholeNumber(bags, "The number of bags", 1, MOST_BAGS, "1,000,000,000");
    coupling ??= resampling === "subbagging" ? "hash" : "any";
    if (coupling === "hash" && resampling === "bootstrap") {
      throw new RangeError("Hash coupling is for subbagging only: bootstrap bags have none.");
    }
    if (theorem === "exact-second-moment" && bags !== null && coupling !== "hash") {
      throw new RangeError(`The exact second-moment theorem with a number of bags needs hash coupling; got ${coupling}.`);
    }
    if (theorem === "exponential" && bags === null) throw new RangeError("The exponential theorem needs a number of bags.");
    if (theorem === "two-labels" && (labels !== 2 || bags !== null || resampling !== "subbagging")) {
      throw new RangeError("The two-label theorem needs two labels, infinitely many bags and subbagging.");
    }
    return { n, m, eps: epsilon, L: labels, B: bags, resampling, coupling };
  }

  // P(a bag holds the dropped row), the paper's p_{n,m}.
  function hit(s) {
    return s.resampling === "bootstrap" ? -Math.expm1(s.m * Math.log1p(-1 / s.n)) : s.m / s.n;
  }

  // sigma^2 <= 1 - 1/L on the simplex.
  const spread = (s) => (s.L === null ? 1 : (s.L - 1) / s.L);

  // p/(1-p)
  function odds(s) {
    if (s.resampling === "subbagging") return s.m / (s.n - s.m);
    const logMiss = s.m * Math.log1p(-1 / s.n);
    return logMiss > -700 ? Math.expm1(-logMiss) : Number.MAX_VALUE;
  }

  // K of Lemma 1
  function influence(s) {
    if (s.resampling === "subbagging") return s.m / ((s.n - 1) * (s.n - s.m));
    const pairs = s.n === 2 ? 1 : -Math.expm1(s.m * Math.log1p(-1 / (s.n - 1) ** 2)); // q/(1-p)^2
    return (odds(s) + pairs) / s.n;
  }

  // sigma^2 without the dropped row
  const spreadWithout = (s) => Math.min(spread(s) * (1 + odds(s)), spread(s));
  const chebyshev = (s, meanSquareShift) => (meanSquareShift * (1 + 2 ** -49)) / s.eps / s.eps;

  // ---- the theorems

  // The paper's theorem: eps^-2 (1 - 1/L) (p/(1-p)/(n-1) + 16 e^2/B).
  function paper(s) {
    const noise = s.B === null ? 0 : (16 * (Math.E * Math.E)) / s.B;
    return chebyshev(s, spread(s) * (odds(s) / (s.n - 1) + noise));
  }

  // Theorem 2: eps^-2 sigma^2 (K + c/B), c by the coupling of the bags.
  function secondMoment(s) {
    const sigma2 = spread(s); // the largest there is, so that it bounds the spread without a row too
    let noise = 0;
    if (s.B !== null && s.coupling === "hash") noise = (2 * (hit(s) + s.m / s.n / (s.n - s.m)) * sigma2) / s.B;
    else if (s.B !== null) noise = ((s.coupling === "independent" ? 1 : 2) * (sigma2 + sigma2)) / s.B;
    return chebyshev(s, sigma2 * influence(s) + noise);
  }

  // The exact second moment of hash bags: a maximum where Theorem 2 has a sum; null for other bags.
  function exactSecondMoment(s) {
    const K = influence(s);
    if (s.B === null) return chebyshev(s, spread(s) * K);
    if (s.coupling !== "hash") return null;
    const shared = 1 - 1 / s.B;
    const first = K * shared + 2 / (s.n - s.m) / s.B;
    const higher = (2 * hit(s) * (1 + 1 / Math.max(s.m, s.n - s.m))) / s.B;
    const atMost = spread(s) * K * shared + (2 * hit(s)) / s.B;
    return chebyshev(s, Math.min(spread(s) * Math.max(first, higher), atMost));
  }

  // The small-bag theorem, for every row; null where it does not apply.
  function smallBags(s) {
    if (leastHeld(s.eps, 1) > 1) return 0; // eps > sqrt(2): no two probability vectors are that far apart
    if (s.B === null) {
      const labels = s.L === null ? Infinity : Math.max(s.L, 2);
      const gap = Math.sqrt(labels === Infinity ? 1 : labels / (labels - 1)) - Math.SQRT1_2;
      const limit = (s.eps * (gap + Math.SQRT1_2)) / (1 + gap * s.eps);
      return hit(s) * (1 + 4 * Number.EPSILON) < limit * (1 - 8 * Number.EPSILON) ? 0 : null;
    }
    if (s.coupling !== "hash") return exponentialForEveryRow(s);
    const tail = binomialTail(s.B, leastHeld(s.eps, s.B), Math.min(hit(s) * (1 + 2 ** -52), 1));
    return Math.min(Math.max(tail * (1 + 2 ** -37), SMALLEST), 1);
  }

  // Two labels and infinitely many bags: how many rows can conflict, as a share; null where it does not apply.
  function twoLabels(s) {
    if (s.L !== 2 || s.B !== null || s.resampling !== "subbagging") return null;
    const h = s.eps / Math.SQRT2;
    const out = 1 - s.m / s.n;
    const tooMany = (k) => meanExcess(s.n, k, s.m) * (1 + 2 ** -36) < h * k * out;
    let [low, high] = [0, s.n]; // up to low rows can conflict, beyond high none more
    while (low < high) {
      const middle = low + Math.ceil((high - low) / 2);
      if (tooMany(middle)) high = middle - 1;
      else low = middle;
    }
    return low / s.n;
  }

  // E(J - pk)_+ for the number J of k marked rows among m of n, p = m/n.
  function meanExcess(n, k, m) {
    const p = m / n;
    const first = Number((BigInt(k) * BigInt(m)) / BigInt(n)) + 1;
    if (first > k || first > m || m - first > n - k) return 0;
    const chance = (binomialTerm(k, first, p) * binomialTerm(n - k, m - first, p)) / binomialTerm(n, m, p);
    return first * ((n - k - m + first) / n) * chance;
  }

  // ---- the exponential theorem; xi = |d_i|/sqrt(2), and the tails are bounds on the chance of a move by eps

  // 2 exp(-B w H((h - xi)/w))
  function bennettTail(B, w, h) {
    const steep = (xi) => Math.log1p((h - xi) / w);
    return {
      reach: h,
      log: (xi) => Math.LN2 - B * w * devianceOf((h - xi) / w) * (1 - 2 ** -48),
      slope: (xi) => B * steep(xi),
      bend: (xi) => B * steep(xi) - 1 / ((w + h - xi) * steep(xi)),
      bendFall: (xi) => B / (w + h - xi) + (steep(xi) + 1) / ((w + h - xi) * steep(xi)) ** 2,
    };
  }

  // exp(-B (reach - xi)^2)
  function gaussTail(B, reach) {
    return {
      reach,
      log: (xi) => -B * (reach - xi) ** 2 * (1 - 2 ** -48),
      slope: (xi) => 2 * B * (reach - xi),
      bend: (xi) => 2 * B * (reach - xi) - 1 / (reach - xi),
      bendFall: (xi) => 2 * B + 1 / (reach - xi) ** 2,
    };
  }

  const tailAt = (tail, xi) => (xi >= tail.reach ? 1 : Math.exp(Math.min(tail.log(xi), 0)));

  // Where a function changes its sign between low and high.
  function root(f, low, high) {
    const positive = f(low) > 0;
    if (positive === f(high) > 0) return Math.abs(f(high)) < Math.abs(f(low)) ? high : low;
    for (let step = 0; step < 2000; ++step) {
      const middle = low + (high - low) / 2;
      if (middle === low || middle === high) break;
      if (f(middle) > 0 === positive) low = middle;
      else high = middle;
    }
    return high;
  }

  // Where a steepness that falls from last to end is zero, or the end where it stays positive.
  function touchingPoint(steepness, last, end) {
    if (last >= end || steepness(end) >= 0) return end;
    return steepness(last) <= 0 ? last : root(steepness, last, end);
  }

  // Where xi bend(xi) is above 1, cut off at the end; null where it nowhere is.
  function convexPart(tail, end) {
    if (tail.bend(0) <= 0) return null;
    const near = tail.reach * (1 - 2 ** -40);
    const peak = root((xi) => tail.bend(xi) - xi * tail.bendFall(xi), 0, near);
    const excess = (xi) => xi * tail.bend(xi) - 1;
    if (excess(peak) <= 0) return null;
    const first = root(excess, 0, peak);
    if (first >= end) return null;
    return [first, end <= peak || excess(Math.min(end, near)) >= 0 ? end : root(excess, peak, Math.min(end, near))];
  }

  // At z, the least concave majorant of min(1, F(sqrt(z))) on [0, largest]: psi but for one chord.
  function envelope(tail, z, largest) {
    if (tail.reach <= 0 || tail.log(0) >= 0) return 1;
    const most = Math.sqrt(largest);
    const end = most < tail.reach && tail.log(most) <= 0 ? most : root(tail.log, 0, Math.min(most, tail.reach));
    const here = Math.sqrt(z);
    const convex = here >= end ? null : convexPart(tail, end);
    if (convex === null) return tailAt(tail, here);
    const [first, last] = convex;
    if (tail.log(first) < -600) {
      const right = touchingPoint((xi) => tail.slope(xi) * xi - 2, last, end);
      return Math.exp(-600) + tailAt(tail, right) * (z / right ** 2);
    }
    const logDerivative = (xi) => (tail.slope(xi) > 0 ? tail.log(xi) + Math.log(tail.slope(xi) / (2 * xi)) : -Infinity);
    const touching = (xi) => touchingPoint((r) => logDerivative(r) - logDerivative(xi), last, end);
    const above = (logXi) => {
      const xi = Math.exp(logXi);
      const right = touching(xi);
      return tail.log(xi) + Math.log1p((tail.slope(xi) * (right ** 2 - xi ** 2)) / (2 * xi)) - Math.min(tail.log(right), 0);
    };
    const left = Math.exp(root(above, tail.log(0) + 2 * Math.log(first) - 3, Math.log(first)));
    const right = touching(left);
    if (!(left < here && here < right)) return tailAt(tail, here);
    const low = tailAt(tail, left);
    return low + (tailAt(tail, right) - low) * ((z - left ** 2) / (right ** 2 - left ** 2));
  }

  // Bennett's inequality and McDiarmid's for 2B votes whose spread is `noise` on average.
  function independentTails(B, h, noise) {
    noise = Math.max(noise, SMALLEST);
    return [bennettTail(B, noise, h), gaussTail(B, h - Math.sqrt(noise / B) * (1 + 2 ** -50))];
  }

  function tails(s) {
    const h = (s.eps / Math.SQRT2) * (1 - 2 ** -51);
    const noise = ((spread(s) + spreadWithout(s)) / 2) * (1 + 2 ** -50);
    if (s.coupling === "independent") return independentTails(s.B, h, noise);
    const any = independentTails(s.B / 2, h, noise); // any coupling is as good as independent bags, half as many
    if (s.coupling !== "hash") return any;
    const moved = Math.min(hit(s), spread(s) * Math.max(1, odds(s))) * (1 + 2 ** -50);
    const own = bennettTail(s.B, Math.max(moved, SMALLEST), h);
    return hit(s) <= 0.5 ? [own] : [own, ...any];
  }

  function largestShift(s) {
    const h = s.eps / Math.SQRT2;
    const p = hit(s);
    return Math.min(h * h, p * p, (spread(s) * odds(s)) / 2) * (1 + 2 ** -50);
  }

  const roundedUp = (bound) => (bound === 1 ? null : Math.min(1, Math.max(bound * (1 + 2 ** -40), SMALLEST)));

  // On average over the rows; null where it says nothing.
  function exponential(s) {
    if (s.B === null) return null;
    const largest = largestShift(s);
    const z = Math.min(((influence(s) * spread(s)) / 2) * (1 + 2 ** -50), largest);
    return roundedUp(Math.min(...tails(s).map((tail) => envelope(tail, z, largest))));
  }

  // For each single row; null where it says nothing.
  function exponentialForEveryRow(s) {
    const shift = Math.sqrt(largestShift(s));
    return roundedUp(Math.min(...tails(s).map((tail) => tailAt(tail, shift))));
  }

  // ceil(h B), h = eps/sqrt(2), exactly.
  function leastHeld(eps, B) {
    const [a, b] = integerRatio(eps);
    const count = BigInt(B);
    const top = a * a * count * count;
    const bottom = 2n * b * b;
    return Number(squareRoot((top + bottom - 1n) / bottom - 1n) + 1n);
  }

  // A positive number as a fraction of whole numbers.
  function integerRatio(x) {
    let power = 0n;
    while (!Number.isInteger(x)) {
      x *= 2; // exact
      power += 1n;
    }
    return [BigInt(x), 2n ** power];
  }

  // The whole part of the square root of a whole number of at least 0.
  function squareRoot(x) {
    if (x < 2n) return x;
    let root = 1n << BigInt((x.toString(2).length + 1) >> 1); // from above, Newton's steps fall to the answer
    for (;;) {
      const next = (root + x / root) >> 1n;
      if (next >= root) return root;
      root = next;
    }
  }

  // ---- P(Bin(B, p) >= k)

  function binomialTail(B, k, p) {
    const odds = p / (1 - p);
    if (k > B) return 0;
    let sum = 0;
    if (k > B * p) {
      // upwards from k, where each term is smaller than the one before
      for (let j = k, term = binomialTerm(B, k, p); j <= B && term > sum * 1e-18; ++j) {
        sum += term;
        term *= ((B - j) / (j + 1)) * odds;
      }
      return sum;
    }
    for (let j = k - 1, term = binomialTerm(B, k - 1, p); j >= 0 && term > sum * 1e-18; --j) {
      sum += term;
      term *= j / (B - j + 1) / odds;
    }
    return 1 - sum;
  }

  // P(Bin(B, p) = k) by its deviance: exp of lgamma's would lose a digit for each digit of B.
  function binomialTerm(B, k, p) {
    if (k < 0) return 0;
    if (k === 0) return Math.exp(B * Math.log1p(-p));
    if (k === B) return Math.exp(B * Math.log(p));
    const mean = B * p;
    const away = k - mean - productError(B, p, mean); // k - B p
    const rest = B - mean;
    const deviance = mean * devianceOf(away / mean) + rest * devianceOf(-away / rest);
    const correction = stirlingError(B) - stirlingError(k) - stirlingError(B - k);
    return Math.exp(correction - deviance) * Math.sqrt(B / (2 * Math.PI * k * (B - k)));
  }

  // (1 + y) log(1 + y) - y, without cancellation next to 0.
  function devianceOf(y) {
    if (Math.abs(y) > 0.1) return (1 + y) * Math.log1p(y) - y;
    // sum over j >= 2 of (-y)^j / (j (j - 1))
    let sum = 0;
    for (let j = 2, power = y * y; j < 40; ++j, power *= -y) {
      const next = sum + power / (j * (j - 1));
      if (next === sum) break;
      sum = next;
    }
    return sum;
  }

  // log(k!) - log(sqrt(2 pi k) (k/e)^k)
  function stirlingError(k) {
    if (k > 15) {
      const x = 1 / (k * k);
      return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - (1 / 1188 - (691 / 360360) * x) * x) * x) * x) * x) / k;
    }
    let factorial = 1;
    for (let j = 2; j <= k; ++j) factorial *= j;
    return Math.log(factorial) - (0.5 * Math.log(2 * Math.PI * k) + k * Math.log(k) - k);
  }

  // a b - product, exactly (Dekker).
  function productError(a, b, product) {
    const halves = (x) => {
      const c = 134217729 * x;
      const high = c - (c - x);
      return [high, x - high];
    };
    const [ah, al] = halves(a);
    const [bh, bl] = halves(b);
    return al * bl - (product - ah * bh - al * bh - ah * bl);
  }

  // ---- the guarantee

  // The first of those that say most is the one that is named.
  const THEOREMS = {
    paper,
    "second-moment": secondMoment,
    "small-bags": smallBags,
    "exact-second-moment": exactSecondMoment,
    exponential,
    "two-labels": twoLabels,
  };

  // Of "best", the smallest bound that applies, at most 1.
  function sharpest(s, theorem) {
    if (theorem !== "best") return { delta: THEOREMS[theorem](s) ?? 1, theorem };
    let best = { delta: Infinity, theorem: "second-moment" };
    for (const [name, formula] of Object.entries(THEOREMS)) {
      const delta = formula(s);
      if (delta !== null && delta < best.delta) best = { delta, theorem: name };
      if (best.delta === 0) break;
    }
    return { ...best, delta: Math.min(best.delta, 1) };
  }

  function selectionStability(setting) {
    const s = checked(setting);
    const { delta, theorem } = sharpest(s, setting.theorem);
    const found = { ...s, delta, theorem, vacuous: delta >= VACUOUS, everyRow: theorem === "small-bags" };
    return { ...found, sentence: sentence(found) };
  }

  // What each theorem says by itself; null where it does not apply.
  function everyTheorem(setting) {
    const s = checked({ ...setting, theorem: "best" });
    return Object.fromEntries(Object.entries(THEOREMS).map(([name, formula]) => [name, formula(s)]));
  }

  // ---- the sentence, as the library prints it

  const TITLES = {
    paper: "the theorem of the paper",
    "second-moment": "the second-moment theorem",
    "exact-second-moment": "the exact second-moment theorem",
    exponential: "the exponential theorem",
    "small-bags": "the small-bag theorem",
    "two-labels": "the two-label theorem",
  };
  const SAME_SETTING = "both fits have the same bag size, label space and learner";
  const COUPLINGS = {
    hash:
      "both fits have hash bags whose learner sees rows in id order, and the same row ids, bag size, label space, " +
      "seed and learner, with independent randomness per bag",
    independent: `${SAME_SETTING}, and bags that are drawn independently`,
    any: `${SAME_SETTING}, and bags that are drawn independently of the data, however the two sets are coupled`,
  };

  const grouped = (x) => String(x).replace(/\B(?=(\d{3})+$)/g, ",");
  const counted = (x, noun) => `${grouped(x)} ${noun}${x === 1 ? "" : "s"}`;

  // A number to that many digits, without the zeros at its end; very large and very small ones with an exponent.
  function general(x, digits) {
    if (x === 0) return "0";
    x = evenTie(x, digits);
    const [mantissa, exponent] = x.toExponential(digits - 1).split("e");
    if (exponent < -4 || exponent >= digits) {
      const sign = exponent < 0 ? "-" : "+";
      return `${mantissa.replace(/\.?0+$/, "")}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
    }
    const text = x.toFixed(digits - 1 - exponent);
    return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  }

  // x, moved down where it lies halfway between two numbers of that many digits and the lower one ends in an even digit:
  // JavaScript rounds halves up, Python to even.
  function evenTie(x, digits) {
    const [mantissa, exponent] = x.toExponential(60).split("e");
    const kept = mantissa.slice(0, digits + 1);
    return /[02468]$/.test(kept) && /^50*$/.test(mantissa.slice(digits + 1)) ? Number(`${kept}e${exponent}`) : x;
  }

  function probability(delta) {
    const rounded = general(delta, 3);
    return delta < 1 && Number(rounded) >= 1 ? "1 (to three digits)" : rounded;
  }

  function assumptions(g) {
    const smallLimit = (g.theorem === "small-bags" || g.theorem === "two-labels") && g.B === null;
    const found = [
      "everything learned is inside the bag",
      "the learner returns probability vectors",
      smallLimit ? "the rule is the inflated argmax or the fixed margin" : "the rule is epsilon-compatible",
    ];
    if (g.B !== null) {
      found.push(COUPLINGS[g.theorem === "paper" ? "any" : g.coupling]);
      found.push("epsilon and the number of bags were chosen before looking at the predictions");
    } else {
      found.push(SAME_SETTING);
    }
    return found;
  }

  function sentence(g) {
    const start = g.vacuous ? `Vacuous, since the bound ${general(g.delta, 3)} is not below ${VACUOUS}: ` : "";
    const event = `dropping ${g.everyRow ? "any one" : "one"} of ${grouped(g.n)} training rows gives a disjoint label set at a point`;
    const over = [...(g.everyRow ? [] : ["over the rows dropped"]), ...(g.B === null ? [] : ["over the draw of bags"])];
    const average = over.length ? `on average ${over.join(" and ")}, ` : "";
    const bags = g.B === null ? "in the limit of infinitely many bags" : `with ${counted(g.B, "bag")}`;
    const text =
      `${start}${event} with probability at most ${probability(g.delta)} at epsilon = ${general(g.eps, 6)}, ` +
      `${average}${bags} of ${counted(g.m, "row")} (${g.resampling}), by ${TITLES[g.theorem]}; ` +
      `it assumes that ${assumptions(g).join("; that ")}.`;
    return text[0].toUpperCase() + text.slice(1);
  }

  return { selectionStability, everyTheorem, TITLES, VACUOUS, general, grouped, assumptions, binomialTail };
})();
