// Ranks over events: one line per memory, dots at its own events, crossings where two lines change places.

import { svg } from "./dom.js";

export function worst(data, most) {
  return Math.min(most, Math.max(1, ...data.lines.flatMap((line) => line.ranks.filter((rank) => rank !== null))));
}

// Where lines cross: between two positions, two memories whose order turned round; or one came in, or dropped out.
export function crossings(data) {
  const found = [];
  for (let place = 1; place < data.seqs.length; place++)
    for (let i = 0; i < data.lines.length; i++) {
      const a = data.lines[i], [was, is] = [a.ranks[place - 1], a.ranks[place]];
      if (was === null && is !== null) found.push({ place, up: a.id, down: null });
      if (was !== null && is === null) found.push({ place, up: null, down: a.id });
      for (const b of data.lines.slice(i + 1)) {
        const [before, after] = [order(was, b.ranks[place - 1]), order(is, b.ranks[place])];
        if (before && after && before !== after) found.push({ place, up: after < 0 ? a.id : b.id, down: after < 0 ? b.id : a.id });
      }
    }
  return found;
}

// What happened at a crossing, in a few words.
export function crossed(one) {
  if (!one.down) return `${one.up} came in`;
  return one.up ? `${one.up} passed ${one.down}` : `${one.down} dropped out`;
}

// The memory that moved there, and a place that it reached or left: who passed if it rose, else who was passed.
export function mover(data, one) {
  const ranks = (id) => data.lines.find((line) => line.id === id)?.ranks.slice(one.place - 1, one.place + 1);
  const [was, is] = ranks(one.up) || [null, null];
  if (is !== null && (was === null || is < was)) return { id: one.up, top: is };
  return { id: one.down, top: ranks(one.down)[0] };
}

// Between which positions a seq lies: 1.5 is halfway from the second to the third.
export function between(seqs, seq) {
  const next = seqs.findIndex((one) => one >= seq);
  if (next <= 0) return Math.max(0, next);
  return next - (seqs[next] - seq) / (seqs[next] - seqs[next - 1]);
}

function order(a, b) {
  return a === null || b === null ? 0 : Math.sign(a - b);
}

export function bump(data, { width = 640, row = 26, most = 12, onpoint, oncross } = {}) {
  const last = worst(data, most), height = (last + 1) * row;
  const x = (place) => 30 + (place / Math.max(1, data.seqs.length - 1)) * (width - 60);
  const y = (rank) => (rank === null || rank > last ? (last + 0.6) * row : (rank - 0.4) * row);
  const along = (line, place) => y(line.ranks[Math.floor(place)]) + (place % 1) * (y(line.ranks[Math.ceil(place)]) - y(line.ranks[Math.floor(place)]));
  const circle = (kind, cx, cy, r, words, press) => svg("circle", { class: kind, cx, cy, r, tabindex: 0, role: "button", "aria-label": words, onclick: press, onkeydown: (event) => { if (event.key !== "Enter" && event.key !== " ") return; event.preventDefault(); press(); } }, svg("title", {}, words));
  const lines = data.lines.map((line, number) => {
    const end = line.ranks[line.ranks.length - 1];
    return svg("g", { class: `line hue-line-${number % 8}` },
      svg("path", { d: line.ranks.map((rank, place) => `${place ? "L" : "M"}${x(place).toFixed(1)} ${y(rank).toFixed(1)}`).join(" ") }, svg("title", {}, line.id)),
      line.marks.map((mark) => {
        const place = between(data.seqs, mark.seq);
        return circle("mark", x(place), along(line, place), 4.5, `@${mark.seq} ${mark.what}`, () => onpoint(line, mark));
      }),
      svg("text", { x: width - 26, y: y(end) + 4 }, end ?? "–"));
  });
  const rings = crossings(data).map((one) => {
    const line = data.lines.find((found) => found.id === (one.up || one.down));
    return circle("cross", x(one.place - 0.5), along(line, one.place - 0.5), 6, `${crossed(one)} by @${data.seqs[one.place]}: why?`, () => oncross(one));
  });
  return svg("svg", { class: "bump", viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "rank over events" }, lines, rings);
}
