// The triangle of three labels: its plane, the exact regions of the rules, and the nearest point of a region.
//
// Write c for the centre, h = epsilon/sqrt(2) and a_j = c + h (e_j - c), the apex of R_j, the points where j leads by h.
// The apexes lie epsilon apart, and the centre region of the inflated argmax is the Reuleaux triangle on them: the arc
// opposite a_j has a_j as its centre and epsilon as its radius. The fixed margin has a hexagon instead.
const Simplex = (() => {
  "use strict";
  const CORNERS = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
  const CENTRE = [1 / 3, 1 / 3, 1 / 3];
  const mix = (a, u, b, v) => u.map((x, i) => a * x + b * v[i]);

  // The plane, without changing distances: label 1 at the left, 2 on top, 3 at the right.
  const flat = (w) => [(w[2] - w[0]) / Math.SQRT2, (2 * w[1] - w[0] - w[2]) / Math.sqrt(6)];

  function unflat([x, y]) {
    const second = 1 / 3 + y * Math.sqrt(2 / 3);
    return [(1 - second - x * Math.SQRT2) / 2, second, (1 - second + x * Math.SQRT2) / 2];
  }

  // The probability vector nearest to w.
  function onto(w) {
    const v = [...w].sort((a, b) => b - a);
    let sum = 0;
    let shift = 0;
    v.forEach((x, i) => {
      sum += x;
      const t = (sum - 1) / (i + 1);
      if (x > t) shift = t;
    });
    return w.map((x) => Math.max(0, x - shift));
  }

  // The point of R_j nearest to w (the paper's projection lemma): (a + h at j, min(a, w_k) elsewhere).
  function nearest(w, j, h) {
    const others = w.filter((_, k) => k !== j).sort((a, b) => b - a);
    if (w[j] >= others[0] + h) return w;
    let sum = w[j] - h;
    let a = sum;
    for (let q = 0; q < others.length && others[q] > a; ++q) {
      sum += others[q];
      a = sum / (q + 2);
    }
    return w.map((x, k) => (k === j ? a + h : Math.min(a, x)));
  }

  const distance = (v, w) => Math.hypot(...v.map((x, i) => x - w[i]));

  // ---- regions: sets of labels with closed boundaries of edges {from, to, centre}; an edge with a centre is an arc

  function straight(...points) {
    return points.map((from, i) => ({ from, to: points[(i + 1) % points.length] }));
  }

  // The point between corners j and k where w_j - w_k = h.
  const onSide = (j, k, h) => mix((1 + h) / 2, CORNERS[j], (1 - h) / 2, CORNERS[k]);

  // The border between {1, 2, 3} and the pair without `missing`, from apex to apex.
  function innerEdge(rule, missing, h, apexes) {
    const from = apexes[(missing + 1) % 3];
    const to = apexes[(missing + 2) % 3];
    if (rule === "inflated") return [{ from, to, centre: apexes[missing] }];
    const corner = mix(1 + h, CENTRE, -h, CORNERS[missing]);
    return [{ from, to: corner }, { from: corner, to }];
  }

  function regions(rule, epsilon) {
    const h = rule === "argmax" ? 0 : epsilon / Math.SQRT2;
    if (h >= 1) return [{ labels: [0, 1, 2], edges: straight(...CORNERS) }]; // no label can lead by h
    const apexes = CORNERS.map((corner) => mix(1 - h, CENTRE, h, corner));
    const found = [0, 1, 2].map((j) => {
      const [k, other] = [(j + 1) % 3, (j + 2) % 3];
      return { labels: [j], edges: straight(apexes[j], onSide(j, k, h), CORNERS[j], onSide(j, other, h)) };
    });
    if (h === 0) return found;
    const inner = [0, 1, 2].map((missing) => innerEdge(rule, missing, h, apexes));
    for (const missing of [2, 1, 0]) {
      const [j, k] = [(missing + 1) % 3, (missing + 2) % 3];
      const way = [apexes[k], onSide(k, j, h), onSide(j, k, h), apexes[j]];
      const outer = way.slice(1).map((to, i) => ({ from: way[i], to }));
      found.push({ labels: [j, k].sort(), edges: [...inner[missing], ...outer] });
    }
    found.push({ labels: [0, 1, 2], edges: inner.flat() });
    return found;
  }

  // The boundary as an SVG path; `place` maps a vector to the picture, `scale` is its unit.
  function path(edges, place, scale) {
    const at = (w) => place(w).map((x) => x.toFixed(3)).join(" ");
    const start = `M${at(edges[0].from)}`;
    const parts = edges.map(({ from, to, centre }) => {
      if (!centre) return `L${at(to)}`;
      const [c, p, q] = [centre, from, to].map(place);
      const turn = (p[0] - c[0]) * (q[1] - c[1]) - (p[1] - c[1]) * (q[0] - c[0]);
      const radius = (distance(from, centre) * scale).toFixed(3);
      return `A${radius} ${radius} 0 0 ${turn > 0 ? 1 : 0} ${at(to)}`;
    });
    return `${start}${parts.join("")}Z`;
  }

  // ---- where a label fits

  function toSegment(p, a, b) {
    const [dx, dy] = [b[0] - a[0], b[1] - a[1]];
    const share = Math.min(1, Math.max(0, ((p[0] - a[0]) * dx + (p[1] - a[1]) * dy) / (dx * dx + dy * dy || 1)));
    return Math.hypot(p[0] - a[0] - share * dx, p[1] - a[1] - share * dy);
  }

  function toEdge(p, { from, to, centre }) {
    if (!centre) return toSegment(p, flat(from), flat(to));
    const [x, y] = flat(centre);
    return Math.abs(Math.hypot(p[0] - x, p[1] - y) - distance(from, centre));
  }

  // The roomiest point of each region, with its room: a disc of that radius stays inside. Found on a grid.
  function spots(found, select, steps = 54) {
    const best = new Map(found.map((region) => [region.labels.join(), { region, point: null, room: 0 }]));
    for (let i = 0; i <= steps; ++i) {
      for (let j = 0; i + j <= steps; ++j) {
        const w = [i / steps, j / steps, (steps - i - j) / steps];
        const labels = select(w).flatMap((inside, label) => (inside ? [label] : []));
        const spot = best.get(labels.join());
        if (!spot) continue; // on a boundary without room
        const p = flat(w);
        const sides = Math.min(...w) * Math.sqrt(1.5);
        const room = spot.region.edges.reduce((least, edge) => Math.min(least, toEdge(p, edge)), sides);
        if (room > spot.room + 1e-9) Object.assign(spot, { point: w, room });
      }
    }
    return [...best.values()].filter((spot) => spot.point);
  }

  return { CORNERS, CENTRE, flat, unflat, onto, nearest, distance, regions, path, spots };
})();
