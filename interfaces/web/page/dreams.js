// Dreams: what one would change now, what past ones changed, memory by memory, and undo.

import { get, post } from "./api.js";
import { day, h, link, number, show } from "./dom.js";

export async function renderDreams(place, app, signal) {
  const page = await get("timeline", { type: "dream.ended", limit: 50 }, signal);
  const body = h("div", {});
  const run = (work) => async () => {
    show(body, h("p", { class: "dim" }, "dreaming …"));
    try {
      show(body, report(await work(), app));
    } catch (error) {
      show(body, h("p", { class: "problem", role: "alert" }, error.message));
    }
  };
  show(place, h("h2", {}, "Dreams"),
    h("p", {}, h("button", { type: "button", class: "first", onclick: run(() => get("dreams/preview")) }, "What would a dream change now?"), " ",
      app.status.read_only ? null : h("button", { type: "button", class: "mini", onclick: run(() => post("dreams", {})) }, "Dream")),
    body,
    h("h3", {}, "Past dreams"),
    page.events.length ? h("ol", { class: "plain" }, page.events.map((event) => past(event, body, app, run))) : h("p", { class: "empty" }, "None yet."));
}

function past(event, body, app, run) {
  const name = event.summary.match(/\bd\d+\b/)?.[0];
  return h("li", { class: "small" }, `@${event.seq} ${day(event.at)} ${event.summary} `,
    name ? h("button", { type: "button", class: "mini", onclick: run(() => get(`show/${name}`)) }, "Show") : null,
    name && !app.status.read_only ? h("button", { type: "button", class: "mini", onclick: run(() => post(`dreams/${name}/undo`, {})) }, "Undo") : null);
}

function report(dream, app) {
  const phases = dream.phases || [{ phase: dream.undoes ? `taking back ${dream.undoes}` : "all phases", changes: dream.changes }];
  return h("div", { class: "card pad" },
    h("p", {}, dream.refused || (dream.dry_run ? "Preview: nothing was changed." : `${dream.id}${dream.undone_at ? `, taken back at @${dream.undone_at}` : ""}`)),
    Object.keys(dream.metrics || {}).length ? h("p", { class: "small" }, `Recorded questions: ${Object.entries(dream.metrics).map(([name, value]) => `${name.replaceAll("_", " ")} ${number(value, 4)}`).join(" · ")}`) : null,
    phases.map((phase) => h("details", { open: phase.changes.length > 0 && phase.changes.length < 30 }, h("summary", {}, `${phase.phase}: ${phase.changes.length} changes`),
      h("table", {}, h("thead", {}, h("tr", {}, ["memory", "what", "before", "after", "why"].map((word) => h("th", { scope: "col" }, word)))),
        h("tbody", {}, phase.changes.slice(0, 200).map((one) => h("tr", {}, h("td", {}, one.id === "*" ? "all" : link(app.href({ memory: one.id }), {}, one.id)), h("td", {}, one.what), h("td", { class: "n" }, text(one.before)), h("td", { class: "n" }, text(one.after)), h("td", { class: "small" }, one.why || ""))))))));
}

function text(value) {
  return typeof value === "number" ? number(value, 4) : String(value ?? "–");
}
