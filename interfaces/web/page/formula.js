// A formula's numbers as sliders beside its text: the question is ranked again at once, the recorded traffic behind it.

import { get, post } from "./api.js";
import { question } from "./centre.js";
import { h, number, show } from "./dom.js";
import { ranking } from "./ranking.js";

const SHORT_MS = 80, LONG_MS = 700, RECALLS = 60;

export async function renderFormula(place, app, asked, signal) {
  const name = app.state.formula || (asked ? asked.formula : app.status.formula);
  let formula = await get(`formulas/${encodeURIComponent(name)}`, {}, signal);
  let fields = JSON.parse(formula.text);
  const text = h("textarea", { rows: 16, spellcheck: "false", "aria-label": "The formula as TOML", class: "mono" });
  const problem = h("p", { class: "problem", role: "alert" }), sliders = h("div", { class: "sliders" }), live = h("div", {});
  const traffic = h("div", { class: "card pad small", role: "status" }, "Move a slider to see what it does to the recorded questions.");
  let timers = [];

  const later = (delay, work) => timers.push(setTimeout(() => work().catch((error) => error.name !== "AbortError" && (problem.textContent = error.message)), delay));
  const again = (moved) => {
    timers.forEach(clearTimeout);
    timers = [];
    problem.textContent = "";
    const tried = JSON.stringify(fields);
    later(SHORT_MS, async () => show(live, ranking(await post("bars", { ...clean(question(app, asked)), formula: null, text: tried, at: app.state.b || null }, signal), app, { recorded: asked?.hits.map((hit) => hit.id) })));
    if (moved) later(LONG_MS, async () => { show(traffic, "asking the recorded questions again …"); show(traffic, told(await post("formulas/compare", { text: tried, last: RECALLS }, signal))); });
  };
  const checked = async (given) => {
    formula = await post("formulas/check", { text: given }, signal);
    fields = JSON.parse(formula.text);
  };
  const draw = () => show(sliders, formula.numbers.map(([stage, path, value]) => slider(stage, path, value, fields, (changed) => {
    set(fields, stage, path, changed);
    again(true);
    later(LONG_MS / 2, async () => { await checked(JSON.stringify(fields)); text.value = formula.toml; });
  })));
  text.value = formula.toml;
  text.addEventListener("input", () => { timers.forEach(clearTimeout); later(LONG_MS / 2, async () => { await checked(text.value); draw(); again(true); }); });
  draw();
  show(place, h("p", { class: "small dim" }, `${formula.label}: ${formula.numbers.length} numbers`), problem,
    h("div", { class: "beside" }, sliders, h("div", {}, text, h("p", {}, h("button", { type: "button", class: "mini", onclick: () => save(fields.name, text.value) }, "Save as a file"), " ",
      app.status.read_only ? null : h("button", { type: "button", class: "mini", onclick: () => adopt(fields, app, problem) }, "Adopt")))),
    h("h3", {}, "The recorded traffic"), traffic, h("h3", {}, "This question"), live);
  again(false);
}

function clean(parameters) {
  return Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== undefined && value !== "").map(([name, value]) => [name, name === "k" ? Number(value) : value]));
}

function slider(stage, path, value, formula, changed) {
  const most = Math.max(1, Math.abs(value) * 3);
  const shown = h("output", { class: "num" }, number(value, 4));
  const input = h("input", { type: "range", min: value < 0 ? -most : 0, max: most, step: most / 200, value, "data-number": `${stage}.${path}` });
  input.addEventListener("input", () => { shown.textContent = number(Number(input.value), 4); changed(Number(input.value)); });
  return h("label", { class: "slider" }, h("span", { class: "small" }, `${stage} ${formula.stages[stage - 1].op} · ${path}`), input, shown);
}

function set(formula, stage, path, value) {
  const [name, key] = path.split(/\.(.*)/s);
  if (key) formula.stages[stage - 1][name][key] = value;
  else formula.stages[stage - 1][name] = value;
}

function told(comparison) {
  const metrics = Object.entries(comparison.metrics || {}).slice(0, 8);
  return [comparison.sentence ? h("p", {}, comparison.sentence) : null,
    h("table", {}, h("tbody", {}, metrics.map(([name, value]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", { class: "n" }, typeof value === "number" ? number(value, 4) : JSON.stringify(value))))))];
}

// In force from the next question on; an event of the log, so that the past keeps the formulas it had.
async function adopt(fields, app, problem) {
  if (!confirm(`Put ${fields.name} in force for all questions from now on?`)) return;
  try {
    const made = await post("formulas/adopt", { text: JSON.stringify(fields) });
    app.status.formula = made.formula;
    problem.textContent = `${made.formula} is in force`;
  } catch (error) {
    problem.textContent = error.message;
  }
}

function save(name, text) {
  const anchor = h("a", { href: URL.createObjectURL(new Blob([text], { type: "application/toml" })), download: `${name}.toml` });
  anchor.click();
  URL.revokeObjectURL(anchor.href);
}
