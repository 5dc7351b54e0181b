// One ranking: every hit a bar on one scale, the margin to the next as a gap, and below the line the next that lost.

import { bar, hue, shades, total, widest } from "./bars.js";
import { day, h, link, number, plural, said } from "./dom.js";
import { meaning, words } from "./words.js";

const GAP = 34;
const COLUMNS = { stage: "the step of the formula that did it", column: "what it looked at", amount: "what it added to the score, or took from it", factor: "what it multiplied the score by" };

export function ranking(bars, app, { recorded = null } = {}) {
  const all = [...bars.hits, ...bars.losers];
  const scale = widest(all), lifting = [...new Set(all.flatMap((one) => one.parts.filter((part) => part.amount > 0).map((part) => part.column)))], shade = shades(lifting);
  const margins = bars.hits.map((hit, place) => hit.score - (bars.hits[place + 1]?.score ?? bars.losers[0]?.score ?? hit.score));
  const most = Math.max(1e-12, ...margins);
  return [
    legend(all, lifting, shade),
    h("ol", { class: "hits" }, bars.hits.map((hit, place) => item(hit, app, scale, { shade, margin: margins[place], gap: gap(margins[place], most), moved: moved(hit, recorded) }))),
    bars.losers.length ? h("p", { class: "cutline" }, cut(bars)) : null,
    h("ol", { class: "hits losers" }, bars.losers.map((loser) => item(loser, app, scale, { shade, ghost: true }))),
  ];
}

// The space below a bar: how far it is ahead of the next. One that a stage dropped may have had more: that is no lead.
export function gap(margin, most) {
  return margin > 0 ? Math.round((margin / most) * GAP) : 0;
}

// How many candidates the stages saw, and what became of them.
export function cut({ hits, candidates, seen }) {
  const dropped = seen > candidates ? `, ${(seen - candidates).toLocaleString("en")} were dropped by a stage` : "";
  return `${hits.length} of ${plural(seen, "candidate")} ${hits.length === 1 ? "answers" : "answer"}${dropped}; below: what lost, and where`;
}

function moved(hit, recorded) {
  if (!recorded) return null;
  const before = recorded.indexOf(hit.id) + 1;
  if (!before) return "was not in the answer";
  return before === hit.rank ? null : `was ${before}`;
}

function item(one, app, scale, { shade, margin = null, gap = 0, ghost = false, moved: was = null }) {
  const place = one.rank === null ? "–" : String(one.rank);
  const meta = [one.kind, one.project, one.session, day(one.at), `version ${one.revision}`, ...one.tags.map((tag) => `#${tag}`)].filter(Boolean);
  const element = h("li", { class: ghost ? "hit ghost" : "hit", "data-id": one.id },
    link(app, { memory: one.id }, { class: "row", "aria-label": `${ghost ? "why not" : "why"} ${one.id}` },
      h("span", { class: "place" }, place), said(one.content, { class: "said clamped" }), h("span", { class: "score num" }, number(one.score, 6))),
    bar(one, scale, { ghost, shade }),
    h("div", { class: "dim small meta" }, h("code", {}, one.id), ` · ${meta.join(" · ")}`, margin ? ` · ${number(Math.abs(margin), 6)} ${margin > 0 ? "ahead of" : "behind"} the next` : null, was ? h("b", { class: "moved" }, ` · ${was}`) : null),
    one.lost ? h("div", { class: "small lost" }, one.lost) : null,
    numbers(one));
  element.style.marginBottom = `${gap + 6}px`;
  return element;
}

// The numbers behind a bar, on demand and for screen readers; their sum is the score.
function numbers(one) {
  return h("details", { class: "numbers" }, h("summary", { class: "small dim" }, "numbers"),
    h("table", {}, h("caption", { class: "unseen" }, `what the score of ${one.id} is made of`),
      h("thead", {}, h("tr", {}, Object.entries(COLUMNS).map(([name, title]) => h("th", { scope: "col", title }, name)))),
      h("tbody", {}, one.parts.map((part) => h("tr", {}, h("td", {}, `${part.number} ${part.op}`), h("td", {}, part.column), h("td", { class: "n" }, String(part.amount)), h("td", { class: "n" }, part.factor === null ? "" : String(part.factor)))),
        h("tr", {}, h("th", { scope: "row" }, "score"), h("td", {}), h("td", { class: "n" }, number(total(one.parts), 12)), h("td", {})))));
}

// The colours, and what their columns mean in plain words.
function legend(all, columns, shade) {
  const cut = all.some((one) => one.parts.some((part) => part.amount < 0));
  const swatch = (column) => h("i", { class: `swatch hue-${hue(column)} shade-${shade[column]}` });
  const list = h("dl", {}), what = h("details", { class: "meanings small" }, h("summary", { class: "dim" }, "What do these mean?"), list);
  words().then((known) => list.append(...columns.flatMap((column) => [h("dt", {}, column), h("dd", {}, meaning(known, column))]), ...(cut ? [h("dt", {}, "cut"), h("dd", {}, "what multiplied the score down")] : [])));
  return columns.length ? [h("p", { class: "legend small", "aria-hidden": "true" }, columns.map((column) => h("span", {}, swatch(column), column)), cut ? h("span", {}, h("i", { class: "swatch cut" }), "cut") : null), what] : null;
}
