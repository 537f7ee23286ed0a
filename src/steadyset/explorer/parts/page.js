// The page: state in, picture and tables out. Plain DOM: three panels need no framework.
(() => {
  "use strict";
  const SCALE = 400; // one unit of distance, in the picture's own units
  const ORIGIN = [320, 368]; // the centre of the triangle
  const NAMES = ["1", "2", "3"];
  const $ = (id) => document.getElementById(id);
  const { general, grouped } = Guarantees;

  const state = { point: [0.46, 0.4, 0.14], epsilon: 0.3, rule: "inflated", outline: false, vector: [], k: 2, tau: 0.8, beta: 1 };
  const CALCULATOR = { "g-n": "60000", "g-eps": "0.05", "g-m": "0.5", "g-labels": "10", "g-bags": "10000" };
  const CHOICES = { "g-resampling": "subbagging", "g-coupling": "", "g-theorem": "best" };
  const VECTOR = "0.34, 0.27, 0.16, 0.09, 0.06, 0.04, 0.03, 0.01";

  // ---- small tools

  function node(name, attributes = {}, ...children) {
    const svg = ["path", "circle", "line", "text"].includes(name);
    const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  function set(element, attributes) {
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  }

  const place = (w) => {
    const [x, y] = Simplex.flat(w);
    return [ORIGIN[0] + SCALE * x, ORIGIN[1] - SCALE * y];
  };
  const unplace = ([x, y]) => Simplex.unflat([(x - ORIGIN[0]) / SCALE, (ORIGIN[1] - y) / SCALE]);

  const labelsOf = (mask) => mask.flatMap((inside, j) => (inside ? [j] : []));
  const braces = (labels) => `{${labels.map((j) => j + 1).join(", ")}}`;
  const three = (x) => x.toFixed(3);
  const shown = (x) => (x === null ? "–" : x === Infinity ? "∞" : x !== 0 && (x < 0.001 || x >= 1e5) ? general(x, 3) : three(x));

  // A decimal number as typed, or NaN.
  function decimal(text) {
    const trimmed = text.trim();
    return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(trimmed) ? Number(trimmed) : NaN;
  }

  function complain(input, where, sentence) {
    input.setAttribute("aria-invalid", sentence ? "true" : "false");
    where.textContent = sentence;
  }

  // ---- the triangle

  const RULE_SETS = {
    inflated: (w) => Selection.inflatedArgmax(w, state.epsilon),
    margin: (w) => Selection.fixedMargin(w, state.epsilon),
    argmax: (w) => Selection.argmaxSet(w),
  };
  const RULE_NAMES = { inflated: "inflated argmax", margin: "fixed margin", argmax: "argmax" };
  const NEEDS = { inflated: "distance to a lead of ε/\u2060√2", margin: "gap to the largest", argmax: "gap to the largest" };
  const NOTES = {
    inflated:
      "The circle holds everything less than ε away. A label is in the set when some point in the circle gives it a lead of at least ε/\u2060√2: " +
      "the lines go to the nearest such points. No rule with this promise that treats all labels alike names a single label more often.",
    margin:
      "A label is in the set when it is less than ε/\u2060√2 below the largest. The promise is the same, but near the centre the sets are larger than the inflated argmax's.",
    argmax: "Only the largest counts. A point on one side of a line and its neighbour on the other have nothing in common, however close they are.",
  };

  function drawRegions() {
    const regions = Simplex.regions(state.rule, state.epsilon);
    $("regions").replaceChildren(
      ...regions.map(({ labels, edges }) =>
        node("path", { d: Simplex.path(edges, place, SCALE), style: `fill:var(--s${labels.join("")})`, "data-labels": labels.join() }),
      ),
    );
    const others = state.outline ? Object.keys(RULE_SETS).filter((rule) => rule !== state.rule) : [];
    $("outlines").replaceChildren(
      ...others.flatMap((rule) => Simplex.regions(rule, state.epsilon).map(({ edges }) => node("path", { d: Simplex.path(edges, place, SCALE) }))),
    );
    drawNames(regions);
  }

  // Writes each set where it has room, else beside the triangle with a line to its region.
  function drawNames(regions) {
    const size = matchMedia("(max-width: 52rem)").matches ? 25 : 17;
    const corners = Simplex.CORNERS.map((corner, j) => {
      const [x, y] = place(Simplex.CORNERS[j].map((c, i) => c + 0.075 * (corner[i] - 1 / 3)));
      return node("text", { x, y, class: "corner" }, NAMES[j]);
    });
    const names = Simplex.spots(regions, RULE_SETS[state.rule]).flatMap(({ region, point, room }) => {
      const text = braces(region.labels);
      const [x, y] = place(point);
      const wide = (text.length * size) / 4.2;
      if (room * SCALE > Math.max(wide * 0.8, size * 0.62)) return [node("text", { x, y }, text)];
      if (region.labels.length === 1) return []; // the corner's own name stands beside it
      if (region.labels.length === 3) return outside(text, [x, y], [ORIGIN[0] + 190, 110]);
      const middle = Simplex.flat(region.labels.reduce((sum, j) => sum.map((v, i) => v + Simplex.CORNERS[j][i] / 2), [0, 0, 0]));
      const reach = SCALE + (SCALE * (0.1 + 0.07 * Math.abs(middle[0]))) / Math.hypot(...middle);
      return outside(text, [x, y], [ORIGIN[0] + reach * middle[0] * 1.06, ORIGIN[1] - reach * middle[1]]);
    });
    $("names").replaceChildren(...corners, ...names);
  }

  function outside(text, [x, y], [tx, ty]) {
    const [dx, dy] = [x - tx, y - ty];
    const gap = 24 / Math.hypot(dx, dy);
    return [
      node("line", { x1: x, y1: y, x2: tx + dx * gap, y2: ty + dy * gap }),
      node("text", { x: tx, y: ty, class: "outside" }, text),
    ];
  }

  function reason(j, w) {
    const h = state.epsilon / Math.SQRT2;
    if (state.rule === "inflated") {
      const far = Simplex.distance(w, Simplex.nearest(w, j, h));
      return { value: far, limit: state.epsilon, name: "ε" };
    }
    return { value: Math.max(...w) - w[j], limit: state.rule === "margin" ? h : 0, name: state.rule === "margin" ? "ε/\u2060√2" : "0" };
  }

  // The epsilon beyond which each label is in; null where none brings it in.
  function entriesOf(w) {
    if (state.rule === "inflated") return Selection.entryEpsilons(w);
    const gaps = w.map((p) => Math.max(...w) - p);
    return gaps.map((gap) => (state.rule === "margin" ? Math.SQRT2 * gap : gap === 0 ? 0 : null));
  }

  function why(labels, w) {
    const top = w.indexOf(Math.max(...w)) + 1;
    const count = ["", "one label", "two labels", "three labels"][labels.length];
    if (state.rule === "argmax") return labels.length === 1 ? `Label ${top} is the largest, by whatever margin.` : `${count} tie exactly.`;
    if (labels.length === 1) return `One label: ${top} leads by at least ε/\u2060√2 = ${three(state.epsilon / Math.SQRT2)}, so no move of less than ε lets another label replace it.`;
    if (state.epsilon === 0) return `${count} tie exactly.`;
    const rest = labels.filter((j) => j + 1 !== top).map((j) => j + 1);
    const named = `label${rest.length > 1 ? "s" : ""} ${rest.join(" and ")}`;
    const cause =
      state.rule === "inflated"
        ? `a move of less than ε could also give ${named} a clear lead`
        : `${named} ${rest.length > 1 ? "lie" : "lies"} less than ε/\u2060√2 below label ${top}`;
    return `${count[0].toUpperCase()}${count.slice(1)}: ${cause}.`;
  }

  function drawPoint() {
    const w = state.point;
    const [x, y] = place(w);
    const mask = RULE_SETS[state.rule](w);
    const labels = labelsOf(mask);
    const probabilities = w.map((p, j) => `label ${j + 1} ${three(p)}`).join(", ");
    set($("point"), { transform: `translate(${x} ${y})`, "aria-valuenow": three(w[1]), "aria-valuetext": `${probabilities}; set ${braces(labels)}` });
    set($("triangle"), { "data-proba": JSON.stringify(w), "data-set": JSON.stringify(mask), "data-epsilon": state.epsilon, "data-rule": state.rule });
    for (const id of ["ball", "ball-outside"]) set($(id), { cx: x, cy: y, r: state.epsilon * SCALE });
    drawWitnesses(w, [x, y]);

    const entries = entriesOf(w);
    $("set").textContent = braces(labels);
    $("why").textContent = why(labels, w);
    $("need").textContent = NEEDS[state.rule];
    $("rule-note").textContent = NOTES[state.rule];
    $("reasons").replaceChildren(
      ...w.map((p, j) => {
        const { value, limit, name } = reason(j, w);
        const sign = mask[j] ? (value < limit ? "<" : "=") : limit > 0 ? "≥" : ">";
        const swatch = node("span", { class: "swatch", style: `background:var(--s${j})` });
        return node("tr", { class: mask[j] ? "in" : "out" },
          node("td", {}, swatch, `${j + 1} ${mask[j] ? "in" : "out"}`),
          node("td", {}, three(p)),
          node("td", { title: `limit ${three(limit)}` }, `${three(value)} ${sign} ${name}`),
          node("td", {}, shown(entries[j])));
      }),
    );
    const radius = Selection.RULES.find((rule) => rule.id === state.rule).radius(w, state);
    const near = radius === Infinity ? "" : ` less than ${shown(radius)} away`;
    $("radius-note").textContent =
      `Any probability vector${near} has a set that shares a label with this one` +
      `${state.rule === "argmax" ? ": next to a line that is almost nothing." : "."}`;
    const call = { inflated: `ss.inflated_argmax([${w.join(", ")}], epsilon=${state.epsilon})`, margin: `ss.fixed_margin([${w.join(", ")}], epsilon=${state.epsilon})`, argmax: `ss.argmax_set([${w.join(", ")}])` };
    $("triangle-code").textContent = `>>> ${call[state.rule]}\narray([${mask.map((b) => (b ? "True" : "False")).join(", ")}])`;
    announce(`${probabilities}. ${RULE_NAMES[state.rule]}: set ${braces(labels)}`);
  }

  // Lines from the point to the nearest points at which each label leads by h.
  function drawWitnesses(w, [x, y]) {
    const h = state.epsilon / Math.SQRT2;
    const drawn = state.rule === "inflated" && h < 1 && state.epsilon > 0 ? [0, 1, 2] : [];
    $("witnesses").replaceChildren(
      ...drawn.flatMap((j) => {
        const target = Simplex.nearest(w, j, h);
        if (target === w) return [];
        const [tx, ty] = place(target);
        const kind = Simplex.distance(w, target) < state.epsilon ? "in" : "out";
        return [node("line", { x1: x, y1: y, x2: tx, y2: ty, class: kind }), node("circle", { cx: tx, cy: ty, r: 4.5, class: kind })];
      }),
    );
  }

  let telling = 0;
  function announce(text) {
    clearTimeout(telling);
    telling = setTimeout(() => ($("live").textContent = text), 350); // once the point rests
  }

  function moveTo(w) {
    state.point = Simplex.onto(w);
    drawPoint();
    remember();
  }

  function wireTriangle() {
    const svg = $("triangle");
    const corners = Simplex.CORNERS.map(place).map((p) => p.join(" "));
    for (const id of ["clip", "frame"]) set($(id), { d: `M${corners.join("L")}Z` });
    const at = (event) => {
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      return unplace([point.x, point.y]);
    };
    let dragging = false;
    svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !event.target.closest("#point, #regions")) return;
      dragging = true;
      svg.setPointerCapture(event.pointerId);
      $("point").classList.add("dragging");
      $("point").focus({ preventScroll: true });
      event.preventDefault();
      moveTo(at(event));
    });
    svg.addEventListener("pointermove", (event) => dragging && moveTo(at(event)));
    for (const end of ["pointerup", "pointercancel"]) {
      svg.addEventListener(end, () => {
        dragging = false;
        $("point").classList.remove("dragging");
      });
    }
    $("point").addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey) return;
      const target = keyTarget(event);
      if (!target) return;
      event.preventDefault();
      moveTo(target);
    });
  }

  function keyTarget(event) {
    const step = event.shiftKey ? 0.05 : event.altKey ? 0.001 : 0.01;
    const moves = { ArrowLeft: [1, 0, -1], ArrowRight: [-1, 0, 1], ArrowUp: [-0.5, 1, -0.5], ArrowDown: [0.5, -1, 0.5] };
    if (Object.hasOwn(moves, event.key)) return state.point.map((p, i) => p + step * moves[event.key][i]);
    if (event.key === "Home") return Simplex.CENTRE;
    return Simplex.CORNERS[["1", "2", "3"].indexOf(event.key)];
  }

  function setEpsilon(value, from) {
    state.epsilon = value;
    if (from !== "text") $("epsilon").value = String(value);
    if (from !== "slider") $("epsilon-slider").value = value;
    $("epsilon-slider").setAttribute("aria-valuetext", String(value));
    complain($("epsilon"), $("epsilon-error"), "");
    drawRegions();
    drawPoint();
    drawVector();
    remember();
  }

  function wireControls() {
    $("epsilon-slider").addEventListener("input", (event) => setEpsilon(Number(event.target.value), "slider"));
    $("epsilon").addEventListener("input", (event) => {
      const value = decimal(event.target.value);
      if (value >= 0 && value < Infinity) return setEpsilon(value, "text");
      return complain(event.target, $("epsilon-error"), `ε must be a finite number that is at least 0; got "${event.target.value}".`);
    });
    for (const radio of document.querySelectorAll("input[name=rule]")) {
      radio.addEventListener("change", () => {
        state.rule = radio.value;
        drawRegions();
        drawPoint();
        remember();
      });
    }
    $("outline").addEventListener("change", (event) => {
      state.outline = event.target.checked;
      drawRegions();
      remember();
    });
    matchMedia("(max-width: 52rem)").addEventListener("change", drawRegions);
  }

  // ---- any number of labels

  // The numbers of a text, or a sentence that says what is wrong with it.
  function parseVector(text) {
    const words = text.replace(/[[\]()]/g, " ").split(/[\s,;]+/).filter(Boolean);
    if (!words.length) return { sentence: "Type at least one number." };
    const bad = words.findIndex((word) => !Number.isFinite(decimal(word)));
    if (bad >= 0) return { sentence: `Every entry must be a finite number; got "${words[bad].slice(0, 40)}" in place ${bad + 1}.` };
    return { numbers: words.map(decimal) };
  }

  function readVector() {
    const { numbers, sentence } = parseVector($("vector").value);
    complain($("vector"), $("vector-error"), sentence ?? "");
    if (numbers) state.vector = numbers;
    drawVector();
    remember();
  }

  function readOptions() {
    const k = decimal($("k").value);
    const tau = decimal($("tau").value);
    const beta = decimal($("beta").value);
    const faults = [
      [Number.isInteger(k) && k >= 1, "k", "k must be a whole number that is at least 1"],
      [tau > 0 && tau <= 1, "tau", "τ must be a number above 0 and at most 1"],
      [beta >= 0 && beta < Infinity, "beta", "β must be a finite number that is at least 0"],
    ];
    for (const [good, id] of faults) $(id).setAttribute("aria-invalid", good ? "false" : "true");
    const fault = faults.find(([good]) => !good);
    $("options-error").textContent = fault ? `${fault[2]}; got "${$(fault[1]).value}".` : "";
    if (fault) return;
    Object.assign(state, { k, tau, beta });
    drawVector();
    remember();
  }

  const withParameter = (rule) =>
    ({ inflated: `${rule.name}, ε = ${general(state.epsilon, 6)}`, margin: `${rule.name}, ε = ${general(state.epsilon, 6)}`, topk: `top-${state.k}`,
       mass: `mass ${general(state.tau, 6)}`, ndc: `NDC, β = ${general(state.beta, 6)}` })[rule.id] ?? rule.name;

  function ruleRow(rule, w, off) {
    const name = node("td", {}, withParameter(rule));
    const problem = rule.id === "topk" && state.k > w.length ? `needs k of at most ${w.length}, the number of labels` : rule.probabilities ? off : null;
    const row = node("tr", { "data-rule": rule.id, class: rule.id === "inflated" ? "chosen" : "" }, name);
    if (problem) {
      row.append(node("td", { colspan: 3, class: "refused" }, problem));
      return row;
    }
    const labels = labelsOf(rule.set(w, state));
    const text = labels.length > 24 ? `${braces(labels.slice(0, 20)).slice(0, -1)}, … ${labels.length - 20} more}` : braces(labels);
    row.dataset.set = JSON.stringify(labels);
    row.dataset.radius = String(rule.radius(w, state));
    row.append(node("td", {}, text), node("td", {}, String(labels.length)), node("td", {}, shown(rule.radius(w, state))));
    return row;
  }

  function drawVector() {
    const w = state.vector;
    if (!w.length) return;
    const off = Selection.offSimplex(w);
    $("scale").hidden = !(off && w.every((x) => x >= 0) && w.some((x) => x > 0) && Number.isFinite(w.reduce((a, b) => a + b)));
    $("rules").replaceChildren(...Selection.RULES.map((rule) => ruleRow(rule, w, off)));
    const inside = Selection.inflatedArgmax(w, state.epsilon);
    const entries = Selection.entryEpsilons(w);
    const [low, high] = [Math.min(0, ...w), Math.max(...w, 1e-300)];
    $("bars").replaceChildren(
      ...w.map((x, j) => {
        const bar = node("i", { style: `width:${(100 * Math.max(0, (x - low) / (high - low))).toFixed(2)}%` });
        return node("tr", { class: inside[j] ? "in" : "out", "data-entry": String(entries[j]) },
          node("td", {}, String(j + 1)),
          node("td", {}, node("div", { class: "bar" }, bar, node("span", {}, Math.abs(x) >= 1e5 ? general(x, 4) : three(x)))),
          node("td", {}, shown(entries[j])));
      }),
    );
    const typed = w.length > 40 ? `[${w.slice(0, 40).join(", ")}, …]` : `[${w.join(", ")}]`;
    $("vector-code").textContent = `>>> ss.entry_epsilons(${typed}) < ${state.epsilon}   # the inflated argmax, for any ε > 0 at once`;
  }

  function wireVector() {
    $("vector").addEventListener("input", readVector);
    for (const id of ["k", "tau", "beta"]) $(id).addEventListener("input", readOptions);
    const fill = (numbers) => {
      $("vector").value = numbers.join(", ");
      readVector();
    };
    $("take-point").addEventListener("click", () => fill(state.point));
    $("scale").addEventListener("click", () => {
      const sum = state.vector.reduce((a, b) => a + b);
      fill(state.vector.map((x) => x / sum));
    });
  }

  // ---- the guarantee

  function optional(id) {
    return $(id).value.trim() === "" ? null : typed(id);
  }

  function typed(id) {
    const text = $(id).value.replace(/(\d)[_,](?=\d{3}\b)/g, "$1");
    const value = decimal(text);
    if (Number.isNaN(value)) throw new RangeError(`"${document.querySelector(`label[for=${id}]`).textContent}" must be a number; got "${$(id).value}".`);
    return value;
  }

  $("calculator").addEventListener("submit", (event) => event.preventDefault());

  function calculatorSetting() {
    return {
      n: typed("g-n"), epsilon: typed("g-eps"), size: typed("g-m"), isShare: /[.e]/i.test($("g-m").value), labels: optional("g-labels"), bags: optional("g-bags"),
      resampling: $("g-resampling").value, coupling: $("g-coupling").value || null, theorem: $("g-theorem").value,
    };
  }

  const percent = (delta) => (delta === 0 ? "never" : `at most ${general(100 * delta, 3)} times in a hundred`);

  function drawGuarantee() {
    let found;
    let all;
    try {
      const setting = calculatorSetting();
      found = Guarantees.selectionStability(setting);
      all = Guarantees.everyTheorem(setting);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      $("g-error").textContent = error.message;
      $("g-result").hidden = true;
      return;
    }
    $("g-error").textContent = "";
    $("g-result").hidden = false;
    set($("g-result"), { "data-delta": found.delta, "data-theorem": found.theorem, "data-vacuous": found.vacuous });
    $("g-delta").textContent = general(found.delta, 3);
    $("g-vacuous").hidden = !found.vacuous;
    $("g-plain").textContent = found.vacuous
      ? `Vacuous: the bound is not below ${Guarantees.VACUOUS}, so ${Guarantees.TITLES[found.theorem]} promises nothing here. More bags, more rows, smaller bags or a larger ε help.`
      : `Dropping ${found.everyRow ? "any one row" : "a row"} gives a disjoint label set ${percent(found.delta)}, by ${Guarantees.TITLES[found.theorem]}` +
        `${found.everyRow ? ", for every row." : ", on average over the rows."}`;
    $("g-all").replaceChildren(
      ...Object.entries(all).map(([theorem, delta]) =>
        node("tr", { class: theorem === found.theorem ? "used" : "" },
          node("td", {}, Guarantees.TITLES[theorem]),
          node("td", {}, delta === null ? "does not apply" : delta >= Guarantees.VACUOUS ? `${general(delta, 3)}, vacuous` : general(delta, 3)))),
    );
    $("g-sentence").textContent = found.sentence;
    const word = (name, id) => ($(id).value ? `, ${name}="${$(id).value}"` : "");
    $("g-code").textContent =
      `>>> ss.selection_stability(n_samples=${found.n}, epsilon=${found.eps}, bag_size=${found.m}, n_classes=${found.L ?? "None"}, ` +
      `n_bags=${found.B ?? "None"}, resampling="${found.resampling}"${word("coupling", "g-coupling")}, theorem="${$("g-theorem").value}").delta\n${found.delta}`;
  }

  function wireCalculator() {
    for (const id of [...Object.keys(CALCULATOR), ...Object.keys(CHOICES)]) {
      $(id).addEventListener("input", () => {
        drawGuarantee();
        remember();
      });
    }
  }

  // ---- the address keeps the view

  const FIELDS = { w: "vector", k: "k", tau: "tau", beta: "beta", ...Object.fromEntries([...Object.keys(CALCULATOR), ...Object.keys(CHOICES)].map((id) => [id.slice(2) === "eps" ? "geps" : id.slice(2), id])) };
  let remembering = 0;
  function remember() {
    clearTimeout(remembering);
    remembering = setTimeout(() => {
      const view = new URLSearchParams({ p: state.point.join(), eps: state.epsilon, rule: state.rule });
      if (state.outline) view.set("outline", "1");
      for (const [key, id] of Object.entries(FIELDS)) view.set(key, $(id).value);
      history.replaceState(null, "", `#${view.toString().replaceAll("%2C", ",")}`);
    }, 250);
  }

  function recall() {
    const view = new URLSearchParams(location.hash.slice(1));
    const point = (view.get("p") ?? "").split(",").map(decimal);
    if (point.length === 3 && point.every((x) => x >= 0) && Math.abs(point[0] + point[1] + point[2] - 1) < 1e-6) state.point = point;
    if (Object.hasOwn(RULE_SETS, view.get("rule"))) state.rule = view.get("rule");
    state.outline = view.get("outline") === "1";
    const epsilon = decimal(view.get("eps") ?? "");
    if (epsilon >= 0 && epsilon < Infinity) state.epsilon = epsilon;
    const fallback = { ...CALCULATOR, ...CHOICES, vector: VECTOR, k: "2", tau: "0.8", beta: "1" };
    for (const [key, id] of Object.entries(FIELDS)) {
      $(id).value = view.get(key) ?? fallback[id];
      if (id in CHOICES && $(id).selectedIndex < 0) $(id).value = fallback[id];
    }
    $("outline").checked = state.outline;
    document.querySelector(`input[name=rule][value=${state.rule}]`).checked = true;
  }

  function showAll() {
    recall();
    readOptions();
    readVector();
    setEpsilon(state.epsilon);
    drawGuarantee();
  }

  wireTriangle();
  wireControls();
  wireVector();
  wireCalculator();
  addEventListener("hashchange", showAll);
  showAll();
})();
