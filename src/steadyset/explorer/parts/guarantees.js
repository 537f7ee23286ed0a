// The library's guarantees for one dropped row: the same formulas, the same numbers. docs/theory/guarantees.md has the
// theorems. Written by hand: no JavaScript library has them, nor a binomial tail that keeps its digits for many bags.
const Guarantees = (() => {
  "use strict";
  const LARGEST = 2 ** 53;
  const MOST_BAGS = 1e9; // the tail is summed term by term
  const SMALLEST = 2 ** -1022;

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
    return isShare ? Math.min(Math.max(1, Math.floor(size * n * (1 + 2 ** -50))), most) : size;
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
    if (theorem === "small-bags" && bags !== null && coupling !== "hash") {
      throw new RangeError(`The small-bag theorem with a number of bags needs hash coupling; got ${coupling}.`);
    }
    return { n, m, eps: epsilon, L: labels, B: bags, resampling, coupling };
  }

  // P(a bag holds the dropped row), the paper's p_{n,m}.
  function hit(s) {
    return s.resampling === "bootstrap" ? -Math.expm1(s.m * Math.log1p(-1 / s.n)) : s.m / s.n;
  }

  // sigma^2 <= 1 - 1/L on the simplex.
  const spread = (s) => (s.L === null ? 1 : (s.L - 1) / s.L);
  const subbaggingInfluence = (s) => s.m / ((s.n - 1) * (s.n - s.m));
  const bootstrapOdds = (s) => Math.min(Math.expm1(-s.m * Math.log1p(-1 / s.n)), Number.MAX_VALUE);
  const chebyshev = (s, meanSquareShift) => meanSquareShift / s.eps / s.eps;

  // ---- the theorems

  // The paper's theorem: eps^-2 (1 - 1/L) (K + 16 e^2/B).
  function paper(s) {
    const influence = s.resampling === "subbagging" ? subbaggingInfluence(s) : bootstrapOdds(s) / (s.n - 1);
    const noise = s.B === null ? 0 : (16 * (Math.E * Math.E)) / s.B;
    return chebyshev(s, spread(s) * (influence + noise));
  }

  // Theorem 2: eps^-2 sigma^2 (K + c/B), c by the coupling of the bags.
  function secondMoment(s) {
    const sigma2 = spread(s);
    let influence = subbaggingInfluence(s);
    let without = sigma2;
    if (s.resampling === "bootstrap") {
      const odds = bootstrapOdds(s);
      const pairs = s.n === 2 ? 1 : -Math.expm1(s.m * Math.log1p(-1 / (s.n - 1) ** 2)); // q/(1-p)^2
      influence = (odds + pairs) / s.n;
      without = Math.min(sigma2 * (1 + odds) * (1 - 1 / s.n), sigma2);
    }
    let noise = 0;
    if (s.B !== null && s.coupling === "hash") noise = (2 * (hit(s) + s.m / s.n / (s.n - s.m)) * sigma2) / s.B;
    else if (s.B !== null) noise = ((s.coupling === "independent" ? 1 : 2) * (sigma2 + without)) / s.B;
    return chebyshev(s, sigma2 * influence + noise);
  }

  // The small-bag theorem, for every row; null where it does not apply.
  function smallBags(s) {
    if (leastHeld(s.eps, 1) > 1) return 0; // eps > sqrt(2): no two probability vectors are that far apart
    if (s.B === null) {
      const limit = Math.sqrt(2 / (3 / s.eps / s.eps + 0.5)); // eps sqrt(2/(3 + eps^2/2))
      return hit(s) * (1 + 4 * Number.EPSILON) < limit ? 0 : null;
    }
    if (s.coupling !== "hash") return null;
    return Math.max(binomialTail(s.B, leastHeld(s.eps, s.B), hit(s)), SMALLEST);
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

  // Of "best", the smallest bound that applies; the paper's first among equals.
  function sharpest(s, theorem) {
    if (theorem === "paper") return { delta: paper(s), theorem };
    if (theorem === "second-moment") return { delta: secondMoment(s), theorem };
    const small = smallBags(s);
    if (theorem === "small-bags") return { delta: small ?? 1, theorem };
    const bounds = [
      { delta: paper(s), theorem: "paper" },
      { delta: secondMoment(s), theorem: "second-moment" },
    ];
    if (small !== null && small < 1) bounds.push({ delta: small, theorem: "small-bags" });
    return bounds.reduce((a, b) => (b.delta < a.delta ? b : a));
  }

  function selectionStability(setting) {
    const s = checked(setting);
    const { delta, theorem } = sharpest(s, setting.theorem);
    const found = { ...s, delta, theorem, vacuous: delta >= 1, everyRow: theorem === "small-bags" };
    return { ...found, sentence: sentence(found) };
  }

  // What each theorem says by itself; null where it does not apply.
  function everyTheorem(setting) {
    const s = checked({ ...setting, theorem: "best" });
    return { paper: paper(s), "second-moment": secondMoment(s), "small-bags": smallBags(s) };
  }

  // ---- the sentence, as the library prints it

  const TITLES = {
    paper: "the theorem of the paper",
    "second-moment": "the second-moment theorem",
    "small-bags": "the small-bag theorem",
  };
  const COUPLINGS = {
    hash: "the bags are hash bags, whose learner sees rows in id order and takes its seed from the bag number",
    independent: "the bags with and without the rows are drawn independently",
    any: "each set of bags is drawn independently of the data, however the two sets are coupled",
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
    const smallLimit = g.theorem === "small-bags" && g.B === null;
    const found = [
      "everything learned is inside the bag",
      "the learner returns probability vectors",
      smallLimit ? "the rule is the inflated argmax or the fixed margin" : "the rule is epsilon-compatible",
    ];
    if (g.B !== null) {
      found.push(COUPLINGS[g.theorem === "paper" ? "any" : g.coupling]);
      found.push("epsilon and the number of bags were chosen before looking at the predictions");
    }
    return found;
  }

  function sentence(g) {
    const start = g.vacuous ? `Vacuous, since the bound ${general(g.delta, 3)} is not below 1: ` : "";
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

  return { selectionStability, everyTheorem, TITLES, general, grouped, assumptions, binomialTail };
})();
