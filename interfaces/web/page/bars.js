// A score as a bar: data → segments on one scale → SVG. The amounts of a bar's parts add up to its score; what lifts
// stands to the right of what was there, what cuts is hatched over the end that it took away.

import { svg } from "./dom.js";

const KNOWN = {
  meaning: ["vector", "cosine", "semantic", "similarity", "nearness"],
  words: ["lexical", "words", "text", "bm25", "text_relevance", "word_overlap"],
  around: ["topic", "around", "session", "cluster"],
  people: ["under_label", "by_asker", "speaker", "affinity", "label"],
  time: ["recency", "half_life_recency", "recency_boost", "recency_share", "in_span", "tells_time", "exp_recency"],
  use: ["access", "log_usage", "usage", "access_frequency", "feedback_factor", "feedback"],
  importance: ["importance", "strength", "stability", "depth"],
};
export const HUES = ["meaning", "words", "around", "people", "time", "use", "importance", "plain"];

// The colour class of a column, by what kind of thing it says.
export function hue(column) {
  const first = column.split(" · ")[0].split("/")[0];
  return HUES.find((name) => (KNOWN[name] || []).some((known) => first === known || first.startsWith(`${known}.`) || first.startsWith(`${known}_`))) || "plain";
}

// Columns of one colour are told apart by a shade, in their order: 0 is the colour itself.
export function shades(columns) {
  const seen = {};
  return Object.fromEntries(columns.map((column) => [column, Math.min(2, (seen[hue(column)] = (seen[hue(column)] ?? -1) + 1))]));
}

// Where each part lies between 0 and the widest bar; `from` and `to` are scores.
export function segments(parts) {
  let end = 0;
  return parts.map((part) => {
    const from = end;
    end += part.amount;
    return { ...part, from: Math.min(from, end), to: Math.max(from, end), cut: part.amount < 0 };
  });
}

// The largest score that any bar reaches on its way.
export function widest(bars) {
  return Math.max(1e-12, ...bars.flatMap((bar) => segments(bar.parts).map((one) => one.to)));
}

export function total(parts) {
  return parts.reduce((sum, part) => sum + part.amount, 0);
}

export function label(part) {
  const sign = part.amount < 0 ? "−" : "+";
  const times = part.factor === null || part.factor === undefined ? "" : ` (× ${part.factor.toPrecision(4)})`;
  return `${part.column} ${sign}${Math.abs(part.amount).toPrecision(4)}${times}, stage ${part.number} ${part.op}`;
}

export function bar(one, scale, { width = 600, height = 14, ghost = false, shade = {} } = {}) {
  const x = (value) => (value / scale) * width;
  const found = segments(one.parts);
  const said = `score ${one.score === null ? "none" : one.score}: ${one.parts.map(label).join("; ")}`;
  return svg(
    "svg",
    { class: ghost ? "bar ghost" : "bar", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": said },
    found.map((part) =>
      svg("rect", { class: `part ${part.cut ? "cut" : `hue-${hue(part.column)} shade-${shade[part.column] || 0}`}`, x: x(part.from), y: part.cut ? 3 : 0, width: Math.max(0, x(part.to) - x(part.from)), height: part.cut ? height - 6 : height },
        svg("title", {}, label(part)))),
  );
}
