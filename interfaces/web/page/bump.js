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

// What stands at an end of the axis and halfway: the event, and its time where there is one.
export function ticks(data) {
  const last = data.seqs.length - 1;
  return [...new Set([0, Math.round(last / 2), last])].map((place) => ({ place, seq: data.seqs[place], time: data.seqs[place] ? data.at[place].slice(0, 16).replace("T", " ") : "empty" }));
}

// The words beside a row of ranks; the last row is for what has none, or one too low to be drawn.
export function rows(data, most) {
  const last = worst(data, most), low = data.lines.some((line) => line.ranks.some((rank) => rank > last));
  return [...Array.from({ length: last }, (_, rank) => String(rank + 1)), low ? `below ${last}, or not ranked` : "not ranked"];
}

// Three dash patterns of eight colours each: CSS knows them by these names.
export function kind(number) {
  return `hue-line-${number % 8} dash-${Math.floor(number / 8) % 3}`;
}

const LEFT = 30, RIGHT = 150, NAME = 20, TOUCH = 13;

// One stop for Tab; the arrow keys go from dot to dot in the order of time.
function rove(points) {
  const order = points.toSorted((a, b) => a.x - b.x).map((one) => one.element);
  order.forEach((element, place) => {
    element.setAttribute("tabindex", place ? -1 : 0);
    element.addEventListener("keydown", ({ key }) => {
      const next = order[place + ({ ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[key] ?? NaN)];
      if (!next) return;
      element.setAttribute("tabindex", -1);
      next.setAttribute("tabindex", 0);
      next.focus();
    });
  });
}

export function bump(data, { width = 640, row = 26, most = 12, k = most, ends = ["A", "B"], onpoint, oncross } = {}) {
  const last = worst(data, most), height = (last + 1) * row, right = Math.min(RIGHT, width / 3), points = [];
  const x = (place) => LEFT + (place / Math.max(1, data.seqs.length - 1)) * (width - LEFT - right);
  const y = (rank) => (rank === null || rank > last ? (last + 0.6) * row : (rank - 0.4) * row);
  const along = (line, place) => y(line.ranks[Math.floor(place)]) + (place % 1) * (y(line.ranks[Math.ceil(place)]) - y(line.ranks[Math.floor(place)]));
  // A dot or a ring, in a circle that a finger can hit.
  const point = (name, cx, cy, r, words, press) => {
    const element = svg("g", { class: name, role: "button", "aria-label": words, onclick: press, onkeydown: (event) => { if (event.key.startsWith("Arrow")) event.preventDefault(); if (event.key !== "Enter" && event.key !== " ") return; event.preventDefault(); press(); } },
      svg("title", {}, words), svg("circle", { class: "touch", cx, cy, r: TOUCH }), svg("circle", { class: "seen", cx, cy, r }));
    points.push({ x: cx, element });
    return element;
  };
  const lines = data.lines.map((line, number) => {
    const end = line.ranks[line.ranks.length - 1];
    return svg("g", { class: `line ${kind(number)}` },
      svg("path", { d: line.ranks.map((rank, place) => `${place ? "L" : "M"}${x(place).toFixed(1)} ${y(rank).toFixed(1)}`).join(" ") }, svg("title", {}, line.id)),
      line.marks.map((mark) => {
        const place = between(data.seqs, mark.seq);
        return point("mark", x(place), along(line, place), 4.5, `${line.id} @${mark.seq} ${mark.what}`, () => onpoint(line, mark));
      }),
      end !== null && end <= last ? svg("text", { x: width - right + 10, y: y(end) + 4 }, svg("title", {}, line.id), line.id.length > NAME ? `${line.id.slice(0, NAME - 1)}…` : line.id) : null);
  });
  const rings = crossings(data).map((one) => {
    const line = data.lines.find((found) => found.id === (one.up || one.down));
    return point("cross", x(one.place - 0.5), along(line, one.place - 0.5), 6, `${crossed(one)} by @${data.seqs[one.place]}: why?`, () => oncross(one));
  });
  const words = rows(data, most);
  const left = words.map((word, place) => svg("text", { class: "axis", x: 6, y: place === last ? height + 2 : y(place + 1) + 4 }, word));
  const narrow = width < 520;
  const below = ticks(data).filter((one, number, all) => !narrow || number === 0 || number === all.length - 1).map(({ place, seq, time }, number, all) => svg("text", { class: "axis", x: x(place), y: height + 22, "text-anchor": number === 0 ? "start" : number === all.length - 1 ? "end" : "middle" },
    svg("tspan", {}, `${number === 0 ? `${ends[0]} ` : number === all.length - 1 ? `${ends[1]} ` : ""}@${seq}`), svg("tspan", { x: x(place), dy: 15 }, narrow ? time.slice(0, 10) : time)));
  const answer = k < last ? [svg("line", { class: "answer", x1: LEFT, x2: width - right, y1: (k + 0.1) * row, y2: (k + 0.1) * row }), svg("text", { class: "axis", x: width - 6, y: (k + 0.1) * row + 4, "text-anchor": "end" }, "↓ not in the answer")] : null;
  rove(points);
  return svg("svg", { class: "bump", viewBox: `0 0 ${width} ${height + 46}`, role: "group", "aria-label": `rank over events, from @${data.seqs[0]} to @${data.seqs[data.seqs.length - 1]}; the arrow keys go from dot to dot` }, left, below, answer, lines, rings);
}
