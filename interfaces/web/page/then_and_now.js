// Then and now: the same question at A and at B, beside each other and as lines of ranks.

import { bump, crossed, crossings, kind, mover } from "./bump.js";
import { get } from "./api.js";
import { besideBetween } from "./beside.js";
import { question } from "./centre.js";
import { day, event, h, link, number, problem, said, show, svg } from "./dom.js";
import { seqOf } from "./river_view.js";

const POINTS = 32, LINES = 24;

export async function renderThenAndNow(place, app, asked, signal) {
  const head = seqOf(app, "b") ?? app.head;
  const a = app.state.a || `@${chosen(asked?.basis, head)}`, b = app.state.b || `@${app.head}`;
  const sides = await Promise.all([["A", a], ["B", b]].map(async ([name, at]) => ({ name, at, ...await get("bars", question(app, asked, { at, losers: 0 }), signal) })));
  const [then, now] = inOrder(sides);
  const ids = [...new Set([...then.hits, ...now.hits].map((hit) => hit.id))].slice(0, LINES);
  const lines = await get("ranks", { ...question(app, asked), ids, from: then.basis, to: now.basis, points: POINTS }, signal);
  const told = h("div", { class: "told", role: "status" }, "A dot is an event of a memory, a ring is where two changed places: click one.");
  const chart = bump(lines, {
    width: Math.max(340, Math.min(900, place.clientWidth)), k: now.k, ends: [then.name, now.name],
    onpoint: (line, mark) => show(told, h("b", {}, line.id), " ", event(app, mark.seq), ` ${mark.what}`),
    oncross: (one) => { app.keep({ cross: named(lines, one) }); why(told, app, asked, one, lines, signal); },
  });
  show(place,
    h("p", { class: "small dim moments" }, `${sides.map(moment).join(", ")}: move them in the river above. Each is ranked with the memories and the clock of its moment.`,
      app.state.a ? "" : ` A was not chosen: it is ${asked?.basis === Number(a.slice(1)) ? "what the recorded answer saw" : "half of the events before B"}.`, then.name === "B" ? " A lies after B: the earlier one is shown first." : ""),
    h("div", { class: "beside" }, side(then, now, app), side(now, then, app)),
    h("h3", {}, "Rank over events"), [...new Set([then, now, lines].flatMap((one) => one.degraded))].map((line) => h("p", { class: "note" }, line)), chart, names(lines, app), told);
  const open = crossings(lines).find((one) => named(lines, one) === app.state.cross);
  if (open) await why(told, app, asked, open, lines, signal);
}

// A where none was chosen: what the recorded recall saw if that lies before B, else half of the events before B; never before the first event.
export function chosen(basis, head) {
  return Math.max(1, basis < head ? basis : Math.floor(head / 2));
}

// The earlier of two moments first.
export function inOrder(sides) {
  return sides.toSorted((one, other) => one.basis - other.basis);
}

// A moment, and what is seen of it: never the middle of a dream, or of another batch.
export function moment({ name, at, basis }) {
  return `${name} is @${basis}${/^@\d+$/.test(at) && at !== `@${basis}` ? ` (${at} lies inside a batch, such as a dream: this is the last whole one before it)` : ""}`;
}

// A crossing in the address.
function named(lines, one) {
  return `${mover(lines, one).id}@${lines.seqs[one.place]}`;
}

function side(mine, other, app) {
  const before = other.hits.map((hit) => hit.id);
  return h("div", { class: "card pad" }, h("h3", {}, `${mine.name}: @${mine.basis}, ${mine.basis ? day(mine.now) : "before the first event"}`),
    mine.hits.length ? h("ol", { class: "short" }, mine.hits.map((hit) => h("li", { "data-id": hit.id }, link(app, { memory: hit.id }, { class: "clamped" }, said(hit.content)),
      h("span", { class: "small dim" }, `${number(hit.score, 4)} · `, before.includes(hit.id) ? `${before.indexOf(hit.id) + 1} in ${other.name}` : `not in ${other.name}`)))) : h("p", { class: "empty" }, "Nothing answered."));
}

function names(lines, app) {
  return h("ul", { class: "legend small lines" }, lines.lines.map((line, place) => h("li", { class: kind(place) }, svg("svg", { class: `line ${kind(place)}`, viewBox: "0 0 26 8", width: 26, height: 8, "aria-hidden": "true" }, svg("path", { d: "M0 4 L26 4" })), " ", link(app, { memory: line.id }, {}, line.id))));
}

async function why(place, app, asked, one, lines, signal) {
  const [since, until] = [`@${lines.seqs[one.place - 1]}`, `@${lines.seqs[one.place]}`], { id, top } = mover(lines, one);
  const what = h("p", {}, "Between ", event(app, lines.seqs[one.place - 1]), " and ", event(app, lines.seqs[one.place]), ` ${crossed(one)}.`);
  show(place, what, h("p", { class: "dim" }, "asking why …"));
  try {
    const change = await get("why-changed", { ...(asked ? {} : besideBetween(app.state)), q: asked ? asked.id : app.state.ask, id, since, until, now: lines.at[one.place], formula: app.state.formula }, signal);
    if (!place.contains(what)) return; // another one was clicked meanwhile
    show(place, what, h("p", { class: "sentence" }, change.sentence), change.degraded.map((line) => h("p", { class: "note" }, line)), h("button", { type: "button", class: "mini", onclick: ({ target }) => bisect(target, place, app, asked, id, { top, from: since, to: until, now: lines.at[one.place] }, signal) }, "Which event?"));
  } catch (error) {
    if (error.name !== "AbortError" && place.contains(what)) show(place, what, problem(error));
  }
}

async function bisect(button, place, app, asked, id, between, signal) {
  button.disabled = true;
  const found = h("div", { class: "event", role: "status" }, "bisecting …");
  place.append(found);
  try {
    const { sentence, seq, event: what, degraded } = await get("bisect", { ...question(app, asked), id, ...between }, signal);
    show(found, sentence, what ? [" ", event(app, seq), `: ${what}`] : null, degraded.map((line) => h("p", { class: "note" }, line)));
  } catch (error) {
    if (error.name !== "AbortError") show(found, problem(error));
  }
}
