// The middle of the page: a question and its ranking, then and now, under another formula; or one of the other views.

import { get, post } from "./api.js";
import { age, day, h, link, problem, said, show } from "./dom.js";
import { beside, besideOf, besideText, unsaid } from "./beside.js";
import { renderDreams } from "./dreams.js";
import { renderExpectations } from "./expectations.js";
import { renderFirstRun } from "./first_run.js";
import { renderFormula } from "./formula.js";
import { ranking } from "./ranking.js";
import { renderThenAndNow } from "./then_and_now.js";
import { dot } from "./verdict.js";

export async function renderCentre(place, app, signal) {
  const { state } = app;
  if (state.view === "dreams") return renderDreams(place, app, signal);
  if (state.view === "expectations") return renderExpectations(place, app, signal);
  if (!state.recall && !state.ask) return app.status.memories ? show(place, askForm(app, null), h("p", { class: "empty" }, "Ask, or open a recorded recall.")) : renderFirstRun(place, app);
  const asked = state.recall ? await get(`recalls/${encodeURIComponent(state.recall)}`, {}, signal) : null;
  const body = h("div", {});
  show(place, askForm(app, asked), asked ? about(asked, app) : null, tabs(app), body);
  if (state.view === "then-and-now") return renderThenAndNow(body, app, asked, signal);
  if (state.view === "formula") return renderFormula(body, app, asked, signal);
  return renderRanking(body, app, asked, signal);
}

// What is asked: the recorded recall, or the question in the address, with what the address changes about it.
export function question(app, asked, more = {}) {
  const { state } = app;
  return { ...(asked ? { recall: asked.id } : { ...beside(state), q: state.ask, k: state.k }), formula: state.formula, ...more };
}

async function renderRanking(place, app, asked, signal) {
  const at = app.state.b;
  let bars;
  try {
    bars = await get("bars", question(app, asked, { at }), signal);
  } catch (error) {
    if (!asked || error.name === "AbortError") throw error;
    return show(place, h("p", { class: "note" }, error.message), recordedList(asked, app));
  }
  const same = !asked || app.state.formula || at || bars.exact;
  show(place,
    at ? h("p", { class: "small dim" }, `As of @${bars.basis}, with the clock of that moment (${day(bars.now)})${asked ? ", not the recall's own" : ""}.`) : null,
    bars.degraded.filter((line) => !asked?.degraded.includes(line)).map((line) => h("p", { class: "note" }, line)),
    same ? null : [h("p", { class: "note" }, `${asked.replayed.sentence.replace(/\.$/, "")}. This is what was recorded; below it, what ranking again gives now.`), recordedList(asked, app), h("h3", {}, "Ranked again")],
    bars.hits.length ? ranking(bars, app, { recorded: asked && (app.state.formula || at) ? asked.hits.map((hit) => hit.id) : null }) : [h("p", { class: "empty" }, "Nothing answers."), ranking(bars, app)],
    asked?.afterwards.length ? [h("h3", {}, "What came of it"), h("ul", { class: "plain small" }, asked.afterwards.map((one) => h("li", {}, `@${one.seq} ${day(one.at)} ${one.what}: ${one.ids.join(", ")}`)))] : null,
    whyNot(app));
}

function recordedList(asked, app) {
  return h("ol", { class: "hits" }, asked.hits.map((hit) => h("li", { class: "hit", "data-id": hit.id },
    link(app, { memory: hit.id }, { class: "row" }, h("span", { class: "place" }, String(hit.rank)), said(hit.content), h("span", { class: "score num" }, String(hit.score))))));
}

function whyNot(app) {
  const form = h("form", { class: "inline" }, h("label", {}, "Why not ", h("input", { name: "id", dir: "auto", placeholder: "id of a memory", autocomplete: "off" })), h("button", { class: "mini" }, "Why not"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const id = new FormData(form).get("id").trim();
    if (id) app.go({ memory: id });
  });
  return form;
}

function about(asked, app) {
  const filters = Object.entries({ ...besideOf(asked), ...unsaid(asked), session: null }).filter(([, value]) => value);
  const facts = [asked.id, `${day(asked.at)} (${age(asked.at)})`, asked.actor, asked.session && `session ${asked.session}`, ...filters.map(([name, value]) => besideText(name, value)), asked.formula, `k ${asked.k}`, `as of @${asked.basis}`, `clock ${day(asked.now)}`].filter(Boolean);
  return h("div", { class: "about" }, h("h2", {}, said(asked.query)),
    h("p", { class: "small dim" }, dot(asked.replayed), ` ${asked.replayed.verdict.replace("_", " ")} · ${facts.join(" · ")}`),
    asked.degraded.map((line) => h("p", { class: "note" }, line)));
}

function tabs(app) {
  const names = [["", "Ranking"], ["then-and-now", "Then and now"], ["formula", "Formula"]];
  return h("nav", { class: "tabs", "aria-label": "What to see of it" }, names.map(([view, word]) => link(app, { view }, {}, word)));
}

const K = 10; // as the server takes it
let typed = {}; // and not asked yet: it stays when its form is drawn anew

function askForm(app, asked) {
  const { state } = app;
  const about = `${state.recall} ${state.ask}`, { q, k, kept } = typed.about === about ? typed : {};
  const said_ = asked ? besideOf(asked) : beside(state), lost = asked ? Object.entries(unsaid(asked)) : [];
  const text = q ?? (state.ask || asked?.query || "");
  const form = h("form", { class: "ask card", oninput: () => { const data = new FormData(form); typed = { about, ...Object.fromEntries(data), kept: data.getAll("with") }; } },
    h("textarea", { name: "q", id: "question", "aria-label": "Question", dir: "auto", placeholder: "What do you want to remember?", autocomplete: "off", rows: Math.min(6, Math.ceil(text.length / 50) || 1), onkeydown: enter }, text),
    h("label", {}, "hits ", h("input", { type: "number", name: "k", min: 1, max: 100, value: k ?? (asked?.k || state.k || K) })),
    h("label", {}, "formula ", formulaSelect(app, asked)),
    Object.entries(said_).map(([name, value]) => h("label", { class: "check", title: "Asked with it; untick to ask without" }, h("input", { type: "checkbox", name: "with", value: name, checked: !kept || kept.includes(name) }), ` ${besideText(name, value)}`)),
    lost.map(([name, value]) => h("span", { class: "small dim" }, `asked anew without: ${besideText(name, value)}`)),
    h("button", { class: "first" }, "Ask"),
    app.status.read_only ? null : h("button", { type: "button", class: "mini", onclick: () => record(form, app, said_) }, "Ask and record"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const data = new FormData(form);
    typed = {};
    app.go({ ask: data.get("q"), k: data.get("k"), with: packed(said_, data), formula: data.get("formula"), recall: "", memory: "", view: "", tried: "", cross: "" });
  });
  return form;
}

function formulaSelect(app, asked) {
  const select = h("select", { name: "formula" }, h("option", { value: "" }, asked ? "as recorded" : "in force"));
  get("formulas").then((known) => {
    select.append(...[...known.built_in, ...known.in_log].map((name) => h("option", { value: name, selected: app.state.formula === name }, name)));
  }, () => {});
  select.addEventListener("change", () => (app.state.recall || app.state.ask) && app.go({ formula: select.value, tried: "" }));
  return select;
}

// Enter asks; the question wraps and takes no line breaks of its own.
function enter(event) {
  if (event.key !== "Enter" || event.isComposing) return;
  event.preventDefault();
  event.target.form.requestSubmit();
}

const ticked = (said_, data) => Object.fromEntries(Object.entries(said_).filter(([name]) => data.getAll("with").includes(name)));

function packed(said_, data) {
  const found = ticked(said_, data);
  return Object.keys(found).length ? JSON.stringify(found) : "";
}

async function record(form, app, said_) {
  const data = new FormData(form);
  try {
    if (!data.get("q").trim()) throw new Error("There is no question to record; write one.");
    const answer = await post("recall", { ...ticked(said_, data), q: data.get("q"), k: Number(data.get("k")), formula: data.get("formula") || null });
    typed = {};
    app.go({ recall: answer.id, ask: "", memory: "", view: "", formula: "", tried: "", cross: "", b: "" });
  } catch (error) {
    form.querySelector(".problem")?.remove();
    form.append(problem(error));
  }
}
