// A formula's numbers as sliders beside its text: the question is ranked again at once, the recorded traffic behind it.

import { get, post, stream } from "./api.js";
import { question } from "./centre.js";
import { folded, h, link, number, plural, problem, said, show } from "./dom.js";
import { ranking } from "./ranking.js";
import { words } from "./words.js";

const SHORT_MS = 80, LONG_MS = 700, RECALLS = 60, ALL = 1000;
const JUDGED = {
  "what was used": "how well an answer ranks what was used from it", recorded: "as it was answered", tried: "under the formula that is tried",
  "difference, 95 % interval": "tried minus recorded; an interval that holds 0 may be luck", "better / same / worse": "in how many questions",
};

export async function renderFormula(place, app, asked, signal) {
  const name = app.state.formula || (asked ? asked.formula : app.status.formula);
  const given = app.state.tried && (await unpacked(app.state.tried).catch(() => { throw new Error("the formula in this address cannot be read; was it copied whole?"); }));
  let formula = given ? await post("formulas/check", { text: given }, signal) : await get(`formulas/${encodeURIComponent(name)}`, {}, signal);
  let fields = JSON.parse(formula.text);
  const text = h("textarea", { rows: 16, spellcheck: "false", "aria-label": "The formula as TOML", class: "mono" });
  const wrong = h("p", { class: "problem", role: "alert" }), sliders = h("div", { class: "sliders" }), live = h("div", {}), adopted = h("div", { class: "small", role: "status" });
  const traffic = h("div", { class: "card pad small", role: "status" }, "Move a slider to see what it does to the recorded questions.");
  let turn = new AbortController(), seen = formula.text; // what the sliders or the text say, checked or not

  // Each move takes back what an earlier one still waits for, and leaving the view takes back everything.
  const moved = () => {
    turn.abort();
    turn = new AbortController();
    wrong.textContent = "";
  };
  const later = (delay, work) => {
    const now = AbortSignal.any([signal, turn.signal]);
    setTimeout(() => now.aborted || work(now).catch((error) => {
      if (now.aborted) return;
      wrong.textContent = error.message;
      show(traffic);
    }), delay);
  };
  const compare = (last, html, heard, now) => stream("stream/compare", (event, value) => {
    if (event === "progress") show(traffic, `${value.done} of ${plural(value.total, "recorded question")} ranked again …`);
    if (event === "failed") throw new Error(value.error);
    if (event === "done") heard(value);
  }, now, { text: JSON.stringify(fields), last, html });
  const report = () => later(0, async (now) => {
    await compare(ALL, true, (value) => save(`compare-${fields.name}.html`, value.html, "text/html"), now);
    await rank(now);
  });
  const rank = (now) => compare(RECALLS, false, (comparison) => show(traffic, told(comparison, app), h("p", {}, h("button", { type: "button", class: "mini report", onclick: report }, "Full comparison report"))), now);
  const again = (changed) => {
    const tried = JSON.stringify(fields);
    later(SHORT_MS, async (now) => show(live, ranking(await post("bars", { ...clean(question(app, asked)), formula: null, text: tried, at: app.state.b || null }, now), app, { recorded: asked?.hits.map((hit) => hit.id) })));
    if (!changed) return;
    later(LONG_MS / 2, async (now) => { const kept = await packed(tried); if (!now.aborted) app.keep({ tried: kept }); });
    later(LONG_MS, rank);
  };
  const checked = async (now) => {
    formula = await post("formulas/check", { text: seen }, now);
    fields = JSON.parse(formula.text);
  };
  const draw = () => show(sliders, formula.numbers.map(([stage, path, value]) => slider(stage, path, value, fields, (changed) => {
    moved();
    set(fields, stage, path, changed);
    seen = JSON.stringify(fields);
    again(true);
    later(LONG_MS / 2, async (now) => { await checked(now); text.value = formula.toml; });
  })));
  text.value = formula.toml;
  text.addEventListener("input", () => {
    moved();
    seen = text.value;
    later(LONG_MS / 2, async (now) => { await checked(now); draw(); again(true); });
  });
  draw();
  show(place, h("p", { class: "small dim" }, `${formula.label}: ${formula.numbers.length} numbers`), wrong,
    h("div", { class: "beside" }, sliders, h("div", {}, text, h("p", {}, h("button", { type: "button", class: "mini", onclick: () => save(`${fields.name}.toml`, text.value, "application/toml") }, "Save as a file"), " ",
      app.status.read_only ? null : h("button", { type: "button", class: "mini", onclick: () => adopt(seen, app, adopted) }, "Adopt")), adopted)),
    h("h3", {}, `The recorded traffic: the last ${RECALLS} questions`), traffic, h("h3", {}, "This question"), live);
  again(Boolean(given));
}

function clean(parameters) {
  return Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== undefined && value !== "").map(([name, value]) => [name, name === "k" ? Number(value) : value]));
}

function slider(stage, path, value, formula, changed) {
  const most = Math.max(1, Math.abs(value) * 3);
  const shown = h("output", { class: "num" }, number(value, 4));
  const input = h("input", { type: "range", min: value < 0 ? -most : 0, max: most, step: most / 200, value, "data-number": `${stage}.${path}` });
  input.addEventListener("input", () => { shown.textContent = number(Number(input.value), 4); changed(Number(input.value)); });
  const { op } = formula.stages[stage - 1], named = path.split(".").at(-1);
  const label = h("label", { class: "slider" }, h("span", { class: "small" }, `${stage} ${op} · ${path}`), input, shown);
  words().then((known) => label.setAttribute("title", [known[op], known[named] && `${named}: ${known[named]}`].filter(Boolean).join(" ")));
  return label;
}

function set(formula, stage, path, value) {
  const [name, key] = path.split(/\.(.*)/s);
  if (key) formula.stages[stage - 1][name][key] = value;
  else formula.stages[stage - 1][name] = value;
}

// What it does to the recorded questions: what people notice first, then the numbers, then question by question.
function told(comparison, app) {
  const changed = comparison.rows.filter((row) => !row.unchanged);
  const means = Object.entries(comparison.metrics).filter(([name]) => /^(churn|top1_changed|rbo)/.test(name));
  const cell = (value, sign = "") => h("td", { class: "n" }, sign + number(value, 4));
  return [h("p", {}, comparison.sentence),
    h("table", {}, h("caption", { class: "unseen" }, "recorded and tried"), h("tbody", {}, means.map(([name, value]) => h("tr", {}, h("th", { scope: "row" }, name.replaceAll("_", " ")), cell(value))))),
    Object.keys(comparison.judged).length ? h("table", {}, h("thead", {}, h("tr", {}, Object.entries(JUDGED).map(([word, title]) => h("th", { scope: "col", title }, word)))),
      h("tbody", {}, Object.entries(comparison.judged).map(([name, one]) => h("tr", {}, h("th", { scope: "row" }, name), cell(one.a), cell(one.b),
        h("td", { class: "n" }, `${number(one.delta, 4)} [${number(one.low, 4)}, ${number(one.high, 4)}]`), h("td", { class: "n" }, `${one.wins} / ${one.ties} / ${one.losses}`))))) : null,
    h("p", {}, `${changed.length} of ${plural(comparison.questions, "question")} get another answer${changed.length ? ":" : "."}`),
    folded(changed.map((row) => h("li", {}, link(app, { recall: row.name, ask: "", memory: "" }, {}, row.name), " ", said(row.text), h("span", { class: "dim" }, row.entered.length || row.left.length ? ` in: ${row.entered.join(", ") || "–"}; out: ${row.left.join(", ") || "–"}` : " another order"))), 8),
    comparison.note ? h("p", { class: "dim" }, comparison.note) : null];
}

// A formula's text as a part of the address.
async function packed(text) {
  const bytes = await new Response(new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"))).arrayBuffer();
  return btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text();
}

// In force from the next question on; an event of the log, so that the past keeps the formulas it had.
async function adopt(text, app, place) {
  if (!confirm("Put this formula in force for all questions from now on?")) return;
  try {
    const made = await post("formulas/adopt", { text });
    app.status.formula = made.formula;
    show(place, `${made.formula} is in force`);
  } catch (error) {
    show(place, problem(error));
  }
}

function save(name, text, type) {
  const anchor = h("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  anchor.click();
  URL.revokeObjectURL(anchor.href);
}
