// The log over time: counts per lane and span → an area for each lane. Two handles, A and B, are seqs.

import { svg } from "./dom.js";

export const LANES = ["memories", "recalls", "dreams", "erasures", "formulas"];

// The index of the span in which a seq falls.
export function spanOf(upto, seq) {
  let low = 0, high = upto.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (upto[middle] >= seq) high = middle;
    else low = middle + 1;
  }
  return low;
}

// Whether a seq lies before what is shown (-1), in it (0), or after it (1).
export function outside({ before, upto }, seq) {
  return seq <= before && before > 0 ? -1 : seq > upto[upto.length - 1] ? 1 : 0;
}

// The seq at a place between 0 and 1 of the shown time.
export function seqAt(river, place) {
  const span = Math.max(0, Math.min(river.upto.length - 1, Math.floor(place * river.upto.length)));
  return river.upto[span];
}

// A zoom around a place: new since and until in ms.
export function zoomed(since, until, place, factor) {
  const length = (until - since) * factor, at = since + (until - since) * place;
  return [at - length * place, at + length * (1 - place)];
}

// One lane's outline; heights are square roots, so that a lone event is seen beside a thousand.
export function outline(counts, width, height) {
  const most = Math.sqrt(Math.max(1, ...counts)), step = width / counts.length;
  const points = counts.map((count, place) => [place * step, height - (Math.sqrt(count) / most) * (height - 1)]);
  return `M0 ${height} ${points.map(([x, y]) => `L${x.toFixed(1)} ${y.toFixed(1)} L${(x + step).toFixed(1)} ${y.toFixed(1)}`).join(" ")} L${width} ${height} Z`;
}

export function river(data, { width = 1000, lane = 18 } = {}) {
  return LANES.map((name, place) =>
    svg("g", { transform: `translate(0 ${place * lane})`, class: `lane lane-${name}` },
      svg("title", {}, `${name}: ${data.lanes[name].reduce((sum, count) => sum + count, 0)} events`),
      svg("rect", { class: "ground", x: 0, y: 0, width, height: lane - 2 }),
      svg("path", { d: outline(data.lanes[name], width, lane - 2) })));
}
