// Then and now: the same question at A and at B, beside each other and as lines of ranks.

import { bump } from "./bump.js";
import { get } from "./api.js";
import { question } from "./centre.js";
import { h, link, number, said, show } from "./dom.js";

const POINTS = 32;

export async function renderThenAndNow(place, app, asked, signal) {
  const a = app.state.a || (asked ? `@${asked.basis}` : "@0"), b = app.state.b || `@${app.head}`;
  const [then, now] = await Promise.all([a, b].map((at) => get("bars", question(app, asked, { at, losers: 0 }), signal)));
  const ids = [...new Set([...then.hits, ...now.hits].map((hit) => hit.id))].slice(0, 24);
  const lines = await get("ranks", { ...question(app, asked), ids, from: then.basis, to: now.basis, points: POINTS }, signal);
  const told = h("div", { class: "told", role: "status" }, "A dot is an event of a memory, a ring is where two changed places: click one.");
  const chart = bump(lines, {
    onpoint: (line, mark) => show(told, h("b", {}, line.id), ` @${mark.seq} ${mark.what}`),
    oncross: (one) => crossed(told, app, asked, one, lines, signal),
  });
  show(place,
    h("p", { class: "small dim" }, `A is @${then.basis}, B is @${now.basis}: move them in the river above. Each is ranked with the memories and the clock of its moment.`),
    h("div", { class: "beside" }, side("A", then, now, app), side("B", now, then, app)),
    h("h3", {}, "Rank over events"), chart, names(lines, app), told);
}

function side(name, mine, other, app) {
  const before = other.hits.map((hit) => hit.id);
  return h("div", { class: "card pad" }, h("h3", {}, `${name}: @${mine.basis}, ${mine.now.slice(0, 16).replace("T", " ")}`),
    mine.hits.length ? h("ol", { class: "short" }, mine.hits.map((hit) => h("li", { "data-id": hit.id }, link(app.href({ memory: hit.id }), {}, said(hit.content)),
      h("span", { class: "small dim" }, ` ${number(hit.score, 4)} · `, before.includes(hit.id) ? `${before.indexOf(hit.id) + 1} in ${name === "A" ? "B" : "A"}` : `not in ${name === "A" ? "B" : "A"}`)))) : h("p", { class: "empty" }, "Nothing answered."));
}

function names(lines, app) {
  return h("ul", { class: "legend small" }, lines.lines.map((line, number_) => h("li", { class: `hue-line-${number_ % 8}` }, h("i", { class: "swatch" }), link(app.href({ memory: line.id }), {}, line.id))));
}

async function crossed(place, app, asked, one, lines, signal) {
  const [since, until] = [lines.seqs[one.place - 1], lines.seqs[one.place]];
  show(place, `${one.up} passed ${one.down} between @${since} and @${until}: asking why …`);
  try {
    const text = asked ? asked.query : app.state.ask;
    const change = await get("why-changed", { q: text, id: one.up, since: `@${since}`, until: `@${until}`, formula: app.state.formula }, signal);
    const rank = Math.max(1, lines.lines.find((line) => line.id === one.up).ranks[one.place] || 1);
    show(place, h("p", {}, change.sentence), h("button", { type: "button", class: "mini", onclick: () => bisect(place, app, asked, one.up, rank, since, until, signal) }, "Which event?"));
  } catch (error) {
    show(place, h("p", { class: "problem", role: "alert" }, error.message));
  }
}

async function bisect(place, app, asked, id, top, since, until, signal) {
  try {
    const found = await get("bisect", { ...question(app, asked), id, top, from: `@${since}`, to: `@${until}` }, signal);
    show(place, h("p", {}, found.sentence), found.event ? h("p", { class: "small" }, `@${found.seq}: ${found.event}`) : null);
  } catch (error) {
    show(place, h("p", { class: "problem", role: "alert" }, error.message));
  }
}
