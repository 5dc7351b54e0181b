// Ranks over events: one line per memory, dots at its own events, crossings where two lines change places.

import { svg } from "./dom.js";

export function worst(data, most) {
  return Math.min(most, Math.max(1, ...data.lines.flatMap((line) => line.ranks.filter((rank) => rank !== null))));
}

// Where lines cross: between two positions, two memories whose order turned round.
export function crossings(data) {
  const found = [];
  for (let place = 1; place < data.seqs.length; place++)
    for (let i = 0; i < data.lines.length; i++)
      for (let j = i + 1; j < data.lines.length; j++) {
        const [a, b] = [data.lines[i], data.lines[j]];
        const [before, after] = [order(a.ranks[place - 1], b.ranks[place - 1]), order(a.ranks[place], b.ranks[place])];
        if (before && after && before !== after) found.push({ place, up: after < 0 ? a.id : b.id, down: after < 0 ? b.id : a.id });
      }
  return found;
}

function order(a, b) {
  return a === null || b === null ? 0 : Math.sign(a - b);
}

export function bump(data, { width = 640, row = 26, most = 12, onpoint, oncross } = {}) {
  const last = worst(data, most), height = (last + 1) * row;
  const x = (place) => 30 + (place / Math.max(1, data.seqs.length - 1)) * (width - 60);
  const y = (rank) => (rank === null || rank > last ? (last + 0.6) * row : (rank - 0.4) * row);
  const lines = data.lines.map((line, number) =>
    svg("g", { class: `line hue-line-${number % 8}` },
      svg("path", { d: line.ranks.map((rank, place) => `${place ? "L" : "M"}${x(place).toFixed(1)} ${y(rank).toFixed(1)}`).join(" ") }, svg("title", {}, line.id)),
      line.marks.filter((mark) => data.seqs.includes(mark.seq)).map((mark) => {
        const place = data.seqs.indexOf(mark.seq);
        return svg("circle", { class: "mark", cx: x(place), cy: y(line.ranks[place]), r: 4.5, tabindex: 0, role: "button", "aria-label": `@${mark.seq} ${mark.what}`, onclick: () => onpoint && onpoint(line, mark), onkeydown: (event) => event.key === "Enter" && onpoint && onpoint(line, mark) }, svg("title", {}, `@${mark.seq} ${mark.what}`));
      }),
      svg("text", { x: width - 26, y: y(line.ranks[line.ranks.length - 1]) + 4 }, line.ranks[line.ranks.length - 1] ?? "–")));
  const crossed = crossings(data).map((one) =>
    svg("circle", { class: "cross", cx: (x(one.place - 1) + x(one.place)) / 2, cy: middle(data, one, y), r: 6, tabindex: 0, role: "button", "aria-label": `${one.up} passed ${one.down} by @${data.seqs[one.place]}`, onclick: () => oncross && oncross(one), onkeydown: (event) => event.key === "Enter" && oncross && oncross(one) }, svg("title", {}, `${one.up} passed ${one.down}: why?`)));
  return svg("svg", { class: "bump", viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "rank over events" }, lines, crossed);
}

function middle(data, one, y) {
  const line = data.lines.find((found) => found.id === one.up);
  return (y(line.ranks[one.place - 1]) + y(line.ranks[one.place])) / 2;
}
