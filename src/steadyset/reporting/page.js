"use strict";
// The slider: every number, set and curve of the page at any epsilon, from the steps that the library computed.
// For tests and readers of the console: steadyset.at(epsilon) returns the numbers, steadyset.show(epsilon) moves the page.
const steadyset = (() => {
  const data = JSON.parse(document.getElementById("steadyset-data").textContent);
  const steps = data.steps;
  const DASH = "–";

  // --- reading the steps -------------------------------------------------------------------------------------------
  function unpacked(text, Kind) {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    return new Kind(bytes.buffer);
  }
  function startsOf(counts) {
    const starts = new Uint32Array(counts.length + 1);
    for (let i = 0; i < counts.length; i++) starts[i + 1] = starts[i] + counts[i];
    return starts;
  }
  const Key = steps.step === null ? Float64Array : Uint16Array;
  const labels = unpacked(steps.labels, Uint32Array);
  const labelStarts = startsOf(unpacked(steps.labelCounts, Uint32Array));
  const keys = { inflated: unpacked(steps.inflated, Key), margin: unpacked(steps.margin, Key) };
  const conflictStarts = startsOf(unpacked(steps.conflictCounts, Uint32Array));
  const conflictKeys = unpacked(steps.conflicts, Key);
  const multiplicities = steps.step === null ? null : unpacked(steps.multiplicities, Uint32Array);
  const truth = data.truth === null ? null : unpacked(data.truth, Uint32Array);
  const N = data.points;

  // --- where the slider stands ---------------------------------------------------------------------------------------
  function allowed(epsilon) {
    const inside = Math.min(Math.max(epsilon, steps.bottom), steps.top);
    return steps.step === null ? inside : Number((Math.round(inside / steps.step) * steps.step).toFixed(6));
  }
  // Keys are epsilons, or numbers of grid points.
  const place = (epsilon) => (steps.step === null ? epsilon : Math.round(epsilon / steps.step));
  const isIn = (key, here) => (steps.step === null ? key < here || key === 0 : key <= here);

  // --- numbers -----------------------------------------------------------------------------------------------------
  function sum(values) {
    let total = 0;
    for (const value of values) total += value;
    return total;
  }
  function ratio(a, d) {
    const total = sum(d);
    if (total === 0) return [NaN, NaN];
    const r = sum(a) / total;
    let squares = 0, counted = 0;
    for (let i = 0; i < N; i++) {
      squares += (a[i] - r * d[i]) ** 2;
      if (Math.abs(a[i]) + d[i] > 0) counted++;
    }
    return [r, counted > 1 ? Math.sqrt(squares) / total : NaN];
  }
  const ones = new Float64Array(N).fill(1);
  const mean = (values) => ratio(values, ones);

  function sizesAt(rule, here) {
    const sizes = new Float64Array(N);
    for (let i = 0; i < N; i++) {
      for (let s = labelStarts[i]; s < labelStarts[i + 1]; s++) if (isIn(keys[rule][s], here)) sizes[i]++;
    }
    return sizes;
  }
  const topRight = new Uint8Array(N); // whether the true label is a maximiser
  if (truth !== null) {
    for (let i = 0; i < N; i++) {
      for (let s = labelStarts[i]; s < labelStarts[i + 1]; s++) {
        if (keys.inflated[s] === 0 && labels[s] === truth[i]) topRight[i] = 1;
      }
    }
  }
  function scores(rule, here, sizes) {
    const found = { size: mean(sizes) };
    if (truth === null) return found;
    const covered = new Float64Array(N), single = new Float64Array(N);
    const larger = new Float64Array(N), right = new Float64Array(N), u65 = new Float64Array(N), u80 = new Float64Array(N);
    for (let i = 0; i < N; i++) {
      for (let s = labelStarts[i]; s < labelStarts[i + 1]; s++) {
        if (labels[s] === truth[i] && isIn(keys[rule][s], here)) covered[i] = 1;
      }
      const k = sizes[i];
      if (covered[i]) {
        single[i] = k === 1 ? 1 : 0;
        u65[i] = 1.6 / k - 0.6 / k ** 2;
        u80[i] = 2.2 / k - 1.2 / k ** 2;
      }
      if (k >= 2) {
        larger[i] = covered[i];
        right[i] = topRight[i];
      }
    }
    return {
      ...found,
      correct_single: mean(single),
      coverage: mean(covered),
      u65: mean(u65),
      u80: mean(u80),
      superfluous_inflation: ratio(right, larger),
    };
  }
  function conflictsAt(here) {
    const counts = new Uint32Array(N);
    for (let i = 0; i < N; i++) {
      for (let s = conflictStarts[i]; s < conflictStarts[i + 1]; s++) {
        if (conflictKeys[s] >= here) counts[i] += multiplicities === null ? 1 : multiplicities[s];
      }
    }
    return counts;
  }
  function pairsAt(here, sizes) {
    const found = new Map();
    for (let i = 0; i < N; i++) {
      if (sizes[i] < 2) continue;
      const inside = [];
      for (let s = labelStarts[i]; s < labelStarts[i + 1]; s++) if (isIn(keys.inflated[s], here)) inside.push(labels[s]);
      inside.sort((a, b) => a - b);
      for (let a = 0; a < inside.length; a++) {
        for (let b = a + 1; b < inside.length; b++) {
          const name = inside[a] * data.classes.length + inside[b];
          const line = found.get(name) || { pair: [inside[a], inside[b]], n: 0, first: 0, second: 0 };
          line.n++;
          if (truth !== null && truth[i] === inside[a]) line.first++;
          if (truth !== null && truth[i] === inside[b]) line.second++;
          found.set(name, line);
        }
      }
    }
    return [...found.values()].sort((p, q) => q.n - p.n || p.pair[0] - q.pair[0] || p.pair[1] - q.pair[1]);
  }

  // --- guarantee and certificates ------------------------------------------------------------------------------------
  function boundAt(epsilon) {
    if (data.bound === null || epsilon <= data.bound.rounding) return null;
    const setting = { ...data.bound, epsilon: epsilon - data.bound.rounding, theorem: "best" };
    const { delta, theorem } = Guarantees.selectionStability(setting);
    const limit = Guarantees.selectionStability({ ...setting, bags: null });
    return { delta, theorem, limit: limit.delta };
  }
  const proved = data.certificates && {
    ...data.certificates,
    points: unpacked(data.certificates.points, Uint32Array),
    gaps: unpacked(data.certificates.gaps, Float64Array),
    spread: unpacked(data.certificates.spread, Float64Array),
    distance: unpacked(data.certificates.distance, Float64Array),
  };
  // Lemma 3: how far the i-th certified point may move before its set, of `size` labels, can turn disjoint.
  function radiusAt(i, size, epsilon) {
    const n = data.classes.length, gaps = proved.gaps.subarray(i * proved.width, (i + 1) * proved.width);
    if (size === n) return Infinity;
    let best = -Infinity, sum = 0;
    for (let a = 1; a <= size; a++) {
      sum += gaps[a - 1];
      const lead = gaps[size] - sum / a - epsilon * Math.SQRT1_2;
      const turn = ((epsilon * (1 - 1 / a)) / lead) ** 2 - 1;
      const s2 = lead >= 0 ? 1 : Math.min(Math.max(turn, 1 / (n - size)), 1);
      best = Math.max(best, (lead + epsilon * Math.sqrt(1 + s2)) / Math.sqrt(1 / a + s2));
    }
    return Math.max(epsilon, best * (1 - (n + 16) * 2 ** -51));
  }
  function certifiedAt(epsilon, sizes) {
    if (!proved) return null;
    const n = proved.rows, bounds = new Float64Array(proved.points.length);
    for (let i = 0; i < bounds.length; i++) {
      const radius = radiusAt(i, sizes[proved.points[i]], epsilon);
      const room = radius * (1 - 1e-12) - proved.distance[i];
      const share = room > 0 ? (proved.influence * proved.spread[i]) / Math.max(room, 1e-300) ** 2 : Infinity; // Theorem 4
      bounds[i] = Math.min(Math.floor(Math.min(share, 1) * n * (1 + 1e-12)) / n, 1);
    }
    bounds.sort();
    const half = bounds.length >> 1;
    return {
      none: bounds.filter((x) => x === 0).length / bounds.length,
      vacuous: bounds.filter((x) => x >= 1).length / bounds.length,
      median: bounds.length % 2 ? bounds[half] : (bounds[half - 1] + bounds[half]) / 2,
    };
  }

  // What was worked out at the largest epsilon up to this one; zeros below the smallest: nothing is certain there.
  function certainAt(epsilon) {
    if (!proved || !proved.certain.length) return null;
    const below = proved.certain.filter((line) => line[0] <= epsilon * (1 + 1e-12));
    return below.length ? below[below.length - 1] : [0, 0, 1, 0, 0, 0, 0];
  }

  function at(wanted) {
    const epsilon = allowed(wanted), here = place(epsilon);
    const sizes = sizesAt("inflated", here), counts = conflictsAt(here);
    let most = 0, total = 0, ever = 0;
    for (const count of counts) {
      most = Math.max(most, count);
      total += count;
      if (count > 0) ever++;
    }
    return {
      epsilon, sizes, counts,
      inflated: scores("inflated", here, sizes),
      margin: scores("margin", here, sizesAt("margin", here)),
      conflicts: total,
      conflictShare: total / (N * data.units),
      pointsInConflict: ever,
      maxRows: most,
      maxInstability: most / data.units,
      ambiguous: sizes.filter((k) => k > 1).length,
      pairs: pairsAt(here, sizes),
      rows: data.rows.map((row) => sum(row.map(([key, number]) => (key >= here ? number : 0)))),
      bound: boundAt(epsilon),
      certified: certifiedAt(epsilon, sizes),
      certain: certainAt(epsilon),
    };
  }

  // --- formats, as in _formats.py --------------------------------------------------------------------------------------
  const count = (number) => number.toLocaleString("en-US");
  const fixed = (value, digits = 3) => (Number.isNaN(value) ? DASH : value.toFixed(digits));
  function share(value) {
    if (Number.isNaN(value)) return DASH;
    if (value === 0) return "0";
    if (value < 1e-6) return "below 0.000001";
    return value >= 0.001 ? value.toFixed(4) : value.toPrecision(2);
  }
  function percent(value) {
    const hundredfold = 100 * value;
    if (hundredfold === 0) return "0%";
    if (hundredfold < 1e-4) return "below 0.0001%";
    return (hundredfold >= 0.1 ? hundredfold.toFixed(1) : hundredfold.toPrecision(1)) + "%";
  }
  function bounded(value) {
    if (value === 0) return "0";
    if (value < 1e-6) return "below 0.000001";
    const text = value.toPrecision(3);
    return value < 1 && text === "1.00" ? "just below 1" : text;
  }
  const shortest = (epsilon) => epsilon.toFixed(6).replace(/0+$/, "").replace(/\.$/, "");
  const estimate = ([value, error]) => (Number.isNaN(value) ? DASH : `${fixed(value)} (${fixed(error)})`);

  // A bound as people say it, per hundred: two digits, rounded up from the shortest decimals, as in words.py.
  function hundredths(share) {
    const [mantissa, exponent] = share.toExponential().split("e");
    const digits = mantissa.replace(".", ""), power = Number(exponent) + 2; // of the first digit, of the hundredfold
    const kept = Math.max(2, power + 1); // whole numbers stay whole
    let head = BigInt(digits.slice(0, kept).padEnd(kept, "0"));
    if (/[1-9]/.test(digits.slice(kept))) head += 1n;
    const places = kept - 1 - power;
    const text = head.toString().padStart(places + 1, "0");
    const whole = text.slice(0, text.length - places), rest = text.slice(text.length - places).replace(/0+$/, "");
    return places === 0 ? text : rest ? `${whole}.${rest}` : whole;
  }

  // A guarantee as parts of a sentence, as in _numbers.py; null at epsilon 0, where the rule is the argmax.
  function boundTexts(b) {
    const vacuous = b !== null && b.delta >= data.vacuous;
    const found = {
      "bound-event": [`${vacuous ? "Nothing: the bound on the" : "The"} probability of a contradiction at a point (label sets that share no label) is`],
    };
    if (b === null) {
      const none = "not bounded: at epsilon 0 the rule is the argmax, which no theorem covers";
      return { ...found, "bound": [none], "bound-words": [""], "bound-rows": [""], "bound-theorem": ["no theorem"], "bound-limit": ["none"] };
    }
    const scope = b.theorem === "small-bags" && !vacuous ? `for every ${data.unit}, on average` : `on average over the ${data.unit}s and`;
    return {
      ...found,
      "bound": [vacuous ? `${bounded(b.delta)} (vacuous)` : `at most ${bounded(b.delta)}`, b.delta],
      "bound-words": [vacuous ? "" : `, ${hundredths(b.delta)} in 100`],
      "bound-rows": [`, ${data.bound.bags === null ? scope.replace(/, on average$| and$/, "") : `${scope} over the draw of bags`}`],
      "bound-theorem": [vacuous ? "every theorem" : `the ${data.titles[b.theorem]}`],
      "bound-limit": [bounded(b.limit) + (b.limit >= data.vacuous ? " (vacuous)" : ""), b.limit],
    };
  }
  function texts(now) {
    const found = {
      "epsilon": [shortest(now.epsilon), now.epsilon],
      "set-size": [fixed(now.inflated.size[0]), now.inflated.size[0]],
      "conflicts": [count(now.conflicts), now.conflicts],
      "conflict-share": [percent(now.conflictShare), now.conflictShare],
      "points-in-conflict": [count(now.pointsInConflict), now.pointsInConflict],
      "max-instability": [share(now.maxInstability), now.maxInstability],
      "max-rows": [count(now.maxRows), now.maxRows],
      "ambiguous": [count(now.ambiguous), now.ambiguous],
      "margin-instability": [`≤ ${share(now.maxInstability)}`],
    };
    for (const rule of ["inflated", "margin"]) {
      for (const [column, value] of Object.entries(now[rule])) found[`${rule}-${column}`] = [estimate(value), value[0]];
    }
    if (data.bound !== null) Object.assign(found, boundTexts(now.bound));
    if (now.certified) {
      found["cert-none"] = [percent(now.certified.none), now.certified.none];
      found["cert-vacuous"] = [percent(now.certified.vacuous), now.certified.vacuous];
      found["cert-median"] = [share(now.certified.median), now.certified.median];
    }
    if (now.certain) {
      const [from, none, vacuous, cleared, rows, median, most] = now.certain;
      found["cert-from"] = [shortest(from), from];
      found["cert-once-none"] = [percent(none), none];
      found["cert-once-vacuous"] = [percent(vacuous), vacuous];
      found["cert-cleared"] = [percent(cleared), cleared];
      found["cert-rows"] = [percent(rows), rows];
      found["cert-poisoning"] = [count(median), median];
      found["cert-most"] = [count(most), most];
    }
    return found;
  }

  // --- the page ------------------------------------------------------------------------------------------------------
  const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
  function setTexts(now) {
    const found = texts(now);
    for (const element of all("[data-value]")) {
      const [text, exact] = found[element.dataset.value];
      element.textContent = text;
      if (exact === undefined) delete element.dataset.exact;
      else element.dataset.exact = String(exact);
    }
    const own = allowed(data.epsilon);
    for (const element of all("[data-moved]")) element.hidden = now.epsilon === own;
    for (const element of all("[data-below]")) element.hidden = !(now.epsilon < (now.certain ? proved.certain[0][0] : own));
    for (const element of all("[data-flips]")) element.textContent = count(now.rows[Number(element.dataset.flips)]);
  }
  function setExamples(now) {
    const here = place(now.epsilon), cards = all("[data-example]");
    let shown = 0;
    for (const card of cards) {
      const point = Number(card.dataset.example);
      card.hidden = now.sizes[point] < 2;
      if (!card.hidden) shown++;
      for (const item of all("[data-key]", card)) {
        const inside = isIn(Number(item.dataset.key), here);
        item.classList.toggle("in", inside);
        item.querySelector("[data-in]").textContent = inside ? " in the set" : " not in the set";
      }
      card.querySelector("[data-instability]").textContent = share(now.counts[point] / data.units);
    }
    const note = document.getElementById("examples-shown");
    if (note) note.textContent = now.ambiguous === 0 ? "None has a second label at this epsilon." : `${count(shown)} of ${count(now.ambiguous)} are shown.`;
  }
  function setPairs(now) {
    const table = document.getElementById("pairs-table"), body = table.querySelector("tbody");
    document.getElementById("no-pairs").hidden = now.pairs.length > 0;
    table.hidden = now.pairs.length === 0;
    body.replaceChildren(...now.pairs.slice(0, 12).map((line) => {
      const row = document.createElement("tr"), head = document.createElement("th");
      head.scope = "row";
      line.pair.forEach((column, k) => {
        const name = document.createElement("span");
        name.className = "user";
        name.textContent = data.classes[column];
        head.append(...(k ? [" · ", name] : [name]));
      });
      const neither = line.n - line.first - line.second;
      const cells = [count(line.n), ...(truth === null ? [] : [line.first, line.second, neither].map((x) => percent(x / line.n)))];
      row.append(head, ...cells.map((text) => Object.assign(document.createElement("td"), { textContent: text })));
      return row;
    }));
    document.getElementById("pairs-more").textContent = now.pairs.length > 12 ? `and ${count(now.pairs.length - 12)} more pairs` : "";
  }

  // --- figures; their inks come from the style sheet, so that they follow light, dark and print ---------------------------
  const BLUE = "#2f7fc1", ORANGE = "#c2601c";
  const axis = (more) => ({ automargin: true, zeroline: false, showline: true, fixedrange: true, ...more });
  function layout(height, more) {
    return {
      height, autosize: true, margin: { l: 56, r: 12, t: 28, b: 48 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 13 },
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom" }, hovermode: "closest", dragmode: false, ...more,
    };
  }
  const CONFIG = { displayModeBar: false, responsive: true };
  function survival(counts) {
    const values = [...counts].map((c) => c / data.units).sort((a, b) => a - b);
    const x = [0, ...new Set(values.filter((v) => v > 0))], y = [];
    let passed = 0;
    for (const t of x) {
      while (passed < N && values[passed] <= t) passed++;
      y.push((N - passed) / N);
    }
    while (y.length && y[y.length - 1] === 0) {
      y.pop();
      if (y.length) x.splice(y.length + 1);
    }
    // A step ends where the next begins; a share of 0 has no logarithm.
    return { x: y.length ? x.slice(0, y.length + 1) : [], y: y.length ? [...y, y[y.length - 1]] : [] };
  }
  const argmax = steps.bottom === 0 ? conflictsAt(0) : null;
  function drawSurvival(now) {
    const line = { mode: "lines", type: "scatter", hovertemplate: "instability above %{x:.4f}: %{y:.4f} of points<extra></extra>" };
    const curves = [{ ...line, ...survival(now.counts), name: `inflated argmax, ε = ${shortest(now.epsilon)}`, line: { shape: "hv", color: BLUE, width: 2.5 } }];
    if (argmax) curves.unshift({ ...line, ...survival(argmax), name: "argmax", line: { shape: "hv", color: ORANGE, width: 2, dash: "dash" } });
    const empty = now.pointsInConflict === 0;
    const floor = Math.log10(0.5 / N);
    const notes = empty ? [{ text: `At ε = ${shortest(now.epsilon)} no point is ever contradicted.`, xref: "paper", yref: "paper", x: 0.5, y: 0.5, showarrow: false }] : [];
    const farthest = Math.max(now.maxInstability, argmax ? Math.max(0, ...argmax) / data.units : 0, 0.001);
    const element = document.getElementById("plot-survival");
    Plotly.react(element, curves, layout(320, {
      showlegend: true, annotations: notes,
      xaxis: axis({ title: { text: "instability δ" }, range: [-0.01 * farthest, 1.04 * farthest] }),
      yaxis: axis({ title: { text: "share of points above δ" }, type: "log", range: [floor, 0.1], tickformat: "~g", dtick: 1 }),
    }), CONFIG);
    element.setAttribute("aria-label", `Survival curve of instability at epsilon ${shortest(now.epsilon)}: ${count(now.pointsInConflict)} of ${count(N)} points are ever contradicted, the worst by a share of ${share(now.maxInstability)} of the ${data.unit}s.`);
  }
  const grid = Array.from({ length: 101 }, (_, k) => allowed(steps.bottom + ((steps.top - steps.bottom) * k) / 100)).filter((x, k, xs) => !k || x > xs[k - 1]);
  const sizeCurve = grid.map((e) => sum(sizesAt("inflated", place(e))) / N);
  const worstCurve = grid.map((e) => conflictsAt(place(e)).reduce((a, b) => Math.max(a, b), 0) / data.units);
  function drawTradeoff(now) {
    const line = { mode: "lines", type: "scatter", showlegend: false };
    const mark = { type: "line", x0: now.epsilon, x1: now.epsilon, xref: "x", yref: "paper", y0: 0, y1: 1, line: { color: "#888888", width: 1.5, dash: "dot" } };
    const dot = { mode: "markers", type: "scatter", showlegend: false, hoverinfo: "skip" };
    const element = document.getElementById("plot-tradeoff");
    Plotly.react(element, [
      { ...line, x: grid, y: sizeCurve, line: { color: BLUE, width: 2.5 }, hovertemplate: "ε = %{x:.3f}: %{y:.3f} labels<extra></extra>" },
      { ...line, x: grid, y: worstCurve, yaxis: "y2", line: { color: ORANGE, width: 2.5 }, hovertemplate: "ε = %{x:.3f}: %{y:.4f}<extra></extra>" },
      { ...dot, x: [now.epsilon], y: [now.inflated.size[0]], marker: { color: BLUE, size: 10 } },
      { ...dot, x: [now.epsilon], y: [now.maxInstability], yaxis: "y2", marker: { color: ORANGE, size: 10 } },
    ], layout(380, {
      shapes: [mark],
      xaxis: axis({ title: { text: "epsilon" }, anchor: "y2", range: [steps.bottom, steps.top] }),
      yaxis: axis({ domain: [0.56, 1], title: { text: "mean set size" } }),
      yaxis2: axis({ domain: [0, 0.44], title: { text: "largest instability" }, rangemode: "tozero" }),
    }), CONFIG);
    element.setAttribute("aria-label", `At epsilon ${shortest(now.epsilon)} sets have ${fixed(now.inflated.size[0])} labels on average and the largest instability is ${share(now.maxInstability)}; over the slider they go from ${fixed(sizeCurve[0])} to ${fixed(sizeCurve[sizeCurve.length - 1])} labels and from ${share(worstCurve[0])} to ${share(worstCurve[worstCurve.length - 1])}.`);
  }
  const widest = sizesAt("inflated", place(steps.top)).reduce((a, b) => Math.max(a, b), 1);
  function drawSizes(now) {
    const tally = new Array(widest).fill(0);
    for (const size of now.sizes) tally[size - 1]++;
    const names = tally.map((_, k) => String(k + 1));
    const element = document.getElementById("plot-sizes");
    Plotly.react(element, [{
      type: "bar", x: names, y: tally.map((n) => n / N), marker: { color: BLUE }, text: tally.map((n) => (n && widest <= 12 ? count(n) : "")),
      textposition: "outside", cliponaxis: false, hovertemplate: "%{x} labels: %{y:.3f} of points<extra></extra>",
    }], layout(260, {
      xaxis: axis({ title: { text: "labels in the set" }, type: "category" }),
      yaxis: axis({ title: { text: "share of points" }, range: [0, 1.12], tickvals: [0, 0.25, 0.5, 0.75, 1] }),
    }), CONFIG);
    element.setAttribute("aria-label", "Set sizes: " + tally.map((n, k) => (n ? `${count(n)} points with ${k + 1} label${k ? "s" : ""}` : "")).filter(Boolean).join(", ") + ".");
  }

  // --- moving --------------------------------------------------------------------------------------------------------
  const slider = document.getElementById("epsilon"), number = document.getElementById("epsilon-number");
  let spoken = 0;
  function show(epsilon, from) {
    const now = at(epsilon);
    if (from !== slider) slider.value = String(now.epsilon);
    if (from !== number) number.value = shortest(now.epsilon);
    slider.setAttribute("aria-valuetext", `epsilon ${shortest(now.epsilon)}`);
    setTexts(now);
    setExamples(now);
    setPairs(now);
    drawSurvival(now);
    drawTradeoff(now);
    drawSizes(now);
    document.body.dataset.epsilon = String(now.epsilon);
    clearTimeout(spoken);
    spoken = setTimeout(() => {
      document.getElementById("status").textContent = `Epsilon ${shortest(now.epsilon)}: mean set size ${fixed(now.inflated.size[0])}, largest instability ${share(now.maxInstability)}, ${count(now.conflicts)} conflicts.`;
    }, 400);
    return now;
  }
  // A hand or a key moves in round steps; a value set exactly is taken exactly.
  const round = steps.step === null ? Math.max(0.001, Number((10 ** Math.floor(Math.log10(steps.top / 200))).toFixed(6))) : steps.step;
  const rounded = (value) => Number((Math.round(value / round) * round).toFixed(6));
  let held = false;
  slider.addEventListener("pointerdown", () => { held = true; });
  window.addEventListener("pointerup", () => { held = false; });
  slider.addEventListener("input", () => show(held ? rounded(Number(slider.value)) : Number(slider.value), held ? null : slider));
  slider.addEventListener("keydown", (event) => {
    const moves = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 };
    const now = Number(document.body.dataset.epsilon);
    let wanted = null;
    if (event.key in moves) wanted = rounded(now) + moves[event.key] * round;
    if (event.key === "Home") wanted = steps.bottom;
    if (event.key === "End") wanted = steps.top;
    if (wanted === null) return;
    event.preventDefault();
    show(Number(wanted.toFixed(6)));
  });
  number.addEventListener("input", () => {
    const wanted = number.valueAsNumber;
    const fits = wanted >= steps.bottom && wanted <= steps.top;
    number.setAttribute("aria-invalid", String(!fits));
    if (fits) show(wanted, number);
  });
  number.addEventListener("change", () => {
    number.setAttribute("aria-invalid", "false");
    number.value = shortest(Number(document.body.dataset.epsilon));
  });
  document.getElementById("epsilon-reset").addEventListener("click", () => show(data.epsilon));

  const plots = () => all(".plot");
  window.addEventListener("beforeprint", () => plots().forEach((plot) => Plotly.relayout(plot, { width: 640, autosize: false })));
  window.addEventListener("afterprint", () => plots().forEach((plot) => Plotly.relayout(plot, { width: null, autosize: true })));
  show(data.epsilon);
  return { at, show };
})();
