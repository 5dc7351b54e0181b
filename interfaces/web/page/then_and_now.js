// Then and now: the same question at A and at B, beside each other and as lines of ranks.

import { bump, crossed, crossings, mover } from "./bump.js";
import { get } from "./api.js";
import { question } from "./centre.js";
import { h, link, number, problem, said, show } from "./dom.js";

const POINTS = 32;

export async function renderThenAndNow(place, app, asked, signal) {
  const a = app.state.a || (asked ? `@${asked.basis}` : "@0"), b = app.state.b || `@${app.head}`;
  const [then, now] = await Promise.all([a, b].map((at) => get("bars", question(app, asked, { at, losers: 0 }), signal)));
  const ids = [...new Set([...then.hits, ...now.hits].map((hit) => hit.id))].slice(0, 24);
  const lines = await get("ranks", { ...question(app, asked), ids, from: then.basis, to: now.basis, points: POINTS }, signal);
  const told = h("div", { class: "told", role: "status" }, "A dot is an event of a memory, a ring is where two changed places: click one.");
  const chart = bump(lines, {
    onpoint: (line, mark) => show(told, h("b", {}, line.id), ` @${mark.seq} ${mark.what}`),
    oncross: (one) => { app.keep({ cross: named(lines, one) }); why(told, app, asked, one, lines, signal); },
  });
  show(place,
    h("p", { class: "small dim" }, `A is @${then.basis}, B is @${now.basis}: move them in the river above. Each is ranked with the memories and the clock of its moment.`),
    h("div", { class: "beside" }, side("A", then, now, app), side("B", now, then, app)),
    h("h3", {}, "Rank over events"), chart, names(lines, app), told);
  const open = crossings(lines).find((one) => named(lines, one) === app.state.cross);
  if (open) await why(told, app, asked, open, lines, signal);
}

// A crossing in the address.
function named(lines, one) {
  return `${mover(lines, one).id}@${lines.seqs[one.place]}`;
}

function side(name, mine, other, app) {
  const before = other.hits.map((hit) => hit.id);
  return h("div", { class: "card pad" }, h("h3", {}, `${name}: @${mine.basis}, ${mine.now.slice(0, 16).replace("T", " ")}`),
    mine.hits.length ? h("ol", { class: "short" }, mine.hits.map((hit) => h("li", { "data-id": hit.id }, link(app, { memory: hit.id }, {}, said(hit.content)),
      h("span", { class: "small dim" }, ` ${number(hit.score, 4)} · `, before.includes(hit.id) ? `${before.indexOf(hit.id) + 1} in ${name === "A" ? "B" : "A"}` : `not in ${name === "A" ? "B" : "A"}`)))) : h("p", { class: "empty" }, "Nothing answered."));
}

function names(lines, app) {
  return h("ul", { class: "legend small" }, lines.lines.map((line, number_) => h("li", { class: `hue-line-${number_ % 8}` }, h("i", { class: "swatch" }), link(app, { memory: line.id }, {}, line.id))));
}

async function why(place, app, asked, one, lines, signal) {
  const [since, until] = [`@${lines.seqs[one.place - 1]}`, `@${lines.seqs[one.place]}`], { id, top } = mover(lines, one);
  const what = h("p", {}, `Between ${since} and ${until} `, crossed(one), ".");
  show(place, what, h("p", { class: "dim" }, "asking why …"));
  try {
    const change = await get("why-changed", { q: asked ? asked.id : app.state.ask, id, since, until, now: lines.at[one.place], formula: app.state.formula }, signal);
    if (!place.contains(what)) return; // another one was clicked meanwhile
    show(place, what, h("p", { class: "sentence" }, change.sentence), h("button", { type: "button", class: "mini", onclick: ({ target }) => bisect(target, place, app, asked, id, { top, from: since, to: until, now: lines.at[one.place] }, signal) }, "Which event?"));
  } catch (error) {
    if (error.name !== "AbortError" && place.contains(what)) show(place, what, problem(error));
  }
}

async function bisect(button, place, app, asked, id, between, signal) {
  button.disabled = true;
  const found = h("div", { class: "event", role: "status" }, "bisecting …");
  place.append(found);
  try {
    const { sentence, seq, event } = await get("bisect", { ...question(app, asked), id, ...between }, signal);
    show(found, sentence, event ? [" ", link(app, { b: `@${seq}` }, {}, `@${seq}`), `: ${event}`] : null);
  } catch (error) {
    if (error.name !== "AbortError") show(found, problem(error));
  }
}
