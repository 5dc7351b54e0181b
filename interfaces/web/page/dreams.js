// Dreams: what one would change now, what past ones changed, memory by memory, what became of the answers, and undo.

import { get, post } from "./api.js";
import { day, event, folded, h, link, number, plural, problem, said, show } from "./dom.js";

const PREVIEW = "preview", MEMORIES = 200, ANSWERS = 10, PAST = 50;

export async function renderDreams(place, app, signal) {
  const past = await get("dreams", {}, signal);
  const body = h("div", {}), { dream } = app.state;
  const still = (is) => place.querySelectorAll("button").forEach((button) => { button.disabled = is; });
  const change = (words, work) => async () => {
    if (!confirm(words)) return;
    still(true);
    show(body, h("p", { class: "dim waiting", role: "status" }, "dreaming …"));
    try {
      const made = await work();
      if (made.refused) show(body, report(made, made.answers, app));
      else if (!signal.aborted) app.go({ dream: made.id });
    } catch (error) {
      show(body, problem(error));
    }
    if (!signal.aborted) still(false);
  };
  show(place, h("h2", {}, "Dreams"),
    h("p", {}, link(app, { dream: PREVIEW }, { class: "button first" }, "What would a dream change now?"), " ",
      app.status.read_only ? null : h("button", { type: "button", onclick: change("Dream now? It writes what it changes into the log, and can be taken back.", () => post("dreams", {})) }, "Dream")),
    body,
    h("h3", {}, "Past dreams"),
    past.length ? folded(past.map((one) => h("li", {}, summary(one, app))), PAST, { class: "plain small past" }) : h("p", { class: "empty" }, "None yet."));
  if (!dream) return;
  show(body, h("p", { class: "dim waiting", role: "status" }, dream === PREVIEW ? "dreaming …" : "asking the recorded questions before and after …"));
  if (dream === PREVIEW) {
    const made = await get("dreams/preview", {}, signal);
    return show(body, report(made, made.answers, app));
  }
  const [shown, answers] = await Promise.all([get(`show/${encodeURIComponent(dream)}`, {}, signal), get(`dreams/${encodeURIComponent(dream)}/effect`, {}, signal)]);
  const undo = shown.undoes || shown.undone_at || app.status.read_only ? null : h("button", { type: "button", class: "mini undo", onclick: change(`Take ${dream} back? The log keeps it, and what it changed no longer counts.`, () => post(`dreams/${encodeURIComponent(dream)}/undo`, {})) }, "Undo");
  show(body, report(shown, answers, app, undo));
}

// A dream in a line: when, what its phases changed, and whether it was taken back. It is undone where it is shown.
function summary(one, app) {
  const made = Object.entries(one.counts).filter(([, count]) => count).map(([phase, count]) => `${phase} ${count.toLocaleString("en")}`);
  const what = one.undoes ? ["took back ", link(app, { dream: one.undoes }, {}, one.undoes)] : made.join(", ") || "changed nothing";
  return [link(app, { dream: one.id }, {}, one.id), ` ${day(one.at)} · `, what, one.undone_at ? [h("b", { class: "undone" }, " · taken back"), " at ", event(app, one.undone_at)] : null];
}

function report(dream, answers, app, undo = null) {
  const title = dream.refused || (dream.dry_run ? "Preview: nothing was changed." : `${dream.id}${dream.undoes ? `, which took back ${dream.undoes}` : ""}${dream.undone_at ? `, taken back at @${dream.undone_at}` : ""}`);
  const metrics = Object.entries(dream.metrics);
  return h("div", { class: "card pad report" }, h("p", {}, h("b", {}, title), " ", dream.at ? `${day(dream.at)} ` : null, undo),
    h("h3", {}, "Recorded questions"),
    metrics.length ? h("p", { class: "small" }, metrics.map(([name, value]) => `${name.replaceAll("_", " ")} ${number(value, 4)}`).join(" · ")) : null,
    answers.length ? [h("p", {}, `${plural(answers.length, "recorded question")} ${answers.length === 1 ? "gets" : "get"} another answer:`), folded(answers.map((one) => answer(one, app)), ANSWERS, { class: "plain small answers" })] : h("p", {}, "No recorded question gets another answer."),
    h("h3", {}, "By phase"), byPhase(dream).map((phase) => changes(phase, app)));
}

// The phases of a report, or of a dream that the log has, with the changes of each.
export function byPhase(dream) {
  if (!dream.changes) return dream.phases;
  let end = 0;
  return dream.phases.map(([phase, count]) => ({ phase, changes: dream.changes.slice(end, (end += count)) }));
}

function answer(one, app) {
  const names = (ids) => ids.join(", ") || "nothing";
  const gone = one.before.filter((id) => !one.after.includes(id)), come = one.after.filter((id) => !one.before.includes(id));
  const said_ = gone.length || come.length ? `out: ${names(gone)}; in: ${names(come)}` : `another order: ${names(one.before)} → ${names(one.after)}`;
  return h("li", {}, link(app, { recall: one.recall, view: "", dream: "", memory: "" }, {}, one.recall), " ", said(one.query), h("span", { class: "dim" }, ` ${said_}`));
}

function changes(phase, app) {
  const few = phase.changes.length > 0 && phase.changes.length < 30;
  return h("details", { open: few }, h("summary", {}, `${phase.phase}: ${plural(phase.changes.length, "change")}`),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `changes: ${phase.phase}` }, h("table", {}, h("thead", {}, h("tr", {}, ["memory", "what", "before", "after", "why"].map((word) => h("th", { scope: "col" }, word)))),
      h("tbody", {}, phase.changes.slice(0, MEMORIES).map((one) => h("tr", {}, h("td", {}, one.id === "*" ? "all" : link(app, { memory: one.id }, {}, one.id)), h("td", {}, one.what), h("td", { class: "n" }, text(one.before)), h("td", { class: "n" }, text(one.after)), h("td", { class: "small" }, said(one.why || ""))))))),
    phase.changes.length > MEMORIES ? h("p", { class: "small dim" }, `and ${phase.changes.length - MEMORIES} more`) : null);
}

export function text(value) {
  return typeof value === "number" ? number(value, 4) : String(value ?? "–");
}
