// The inbox: recorded recalls, newest first, found by what is known of them.

import { get } from "./api.js";
import { age, h, link, problem, said, show } from "./dom.js";
import { dot } from "./verdict.js";

const FIELDS = [["grep", "text"], ["since", "since"], ["until", "until"], ["project", "project"], ["session", "session"], ["by", "formula"], ["actor", "actor"], ["held", "held memory"]];
const FLAGS = [["empty", "found nothing", "true"], ["rated", "rated bad", "bad"]];
const NAMES = [...FIELDS, ...FLAGS].map(([name]) => name);
const PAGE = 60, MOST = 1000, MANY = 20;

export async function renderInbox(place, app, signal) {
  const wanted = JSON.stringify(filtered(app));
  const same = place.dataset.wanted === wanted; // what is typed into the filters and what was loaded of the list stay
  const limit = same ? Math.min(MOST, Math.max(PAGE, place.querySelectorAll(".recalls:not(.apart) li").length)) : PAGE;
  if (!same) show(place, h("h2", {}, "Recorded recalls"), filters(app, NAMES.some((name) => app.state[name])), h("div", {}));
  place.dataset.wanted = wanted;
  const page = await get("recalls", { ...filtered(app), limit }, signal);
  const open = await apart(page.recalls, app, signal);
  const list = h("ol", { class: "recalls" }, page.recalls.map((one) => row(one, app)));
  const all = h("div", {}, open.length ? [h("p", { class: "small dim" }, "Open, and not among those below:"), h("ol", { class: "recalls apart" }, open.map((one) => row(one, app)))] : null,
    page.recalls.length ? list : h("p", { class: "empty" }, "No recall was recorded that fits."), older(list, app, page.before));
  place.lastElementChild.replaceWith(all);
  check(all, [...open, ...page.recalls], signal);
}

// The recall that is open, if the list does not have it: it may be older, or not fit the filters.
async function apart(recalls, app, signal) {
  const { recall } = app.state;
  if (!recall || recalls.some((one) => one.id === recall)) return [];
  try {
    const found = await get(`recalls/${encodeURIComponent(recall)}`, {}, signal);
    return [{ ...found, hits: found.hits.length }];
  } catch (error) {
    if (error.status) return []; // its own place says why
    throw error;
  }
}

// The filters of the address, as the server calls them: `formula` there is the one that a question is tried with.
function filtered(app) {
  const { by, ...rest } = Object.fromEntries(NAMES.map((name) => [name, app.state[name]]));
  return { ...rest, formula: by };
}

function row(one, app) {
  const meta = [one.actor, one.filters.project, one.session, one.formula.split("@")[0]].filter(Boolean);
  return h("li", { "data-recall": one.id, class: one.id === app.state.recall ? "open" : "" },
    link(app, { recall: one.id, ask: "", memory: "", view: "", formula: "", tried: "", cross: "", b: "" }, { "aria-current": one.id === app.state.recall ? "true" : null },
      h("span", { class: "dot", role: "img", "aria-label": "not checked yet" }), said(one.query, { class: "said question" }),
      h("span", { class: "dim small meta" }, `${one.id} · ${age(one.at)} · ${one.hits ? `${one.hits} hits` : "empty"}${meta.length ? ` · ${meta.join(" · ")}` : ""}`)));
}

function filters(app, open) {
  const form = h("form", { class: "filters" },
    FIELDS.map(([name, word]) => h("label", {}, word, h("input", { name, dir: "auto", value: app.state[name] || "", autocomplete: "off" }))),
    FLAGS.map(([name, word, value]) => h("label", { class: "check" }, h("input", { type: "checkbox", name, value, checked: Boolean(app.state[name]) }), word)),
    h("button", { class: "mini" }, "Find"), h("button", { type: "button", class: "mini", onclick: () => app.go(Object.fromEntries(NAMES.map((name) => [name, ""]))) }, "All"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const data = new FormData(form);
    app.go(Object.fromEntries(NAMES.map((name) => [name, (data.get(name) || "").trim()])));
  });
  return h("details", { open }, h("summary", {}, "Filter"), form);
}

function older(list, app, before) {
  if (!before) return null;
  const button = h("button", { type: "button", class: "mini more", onclick: async () => {
    button.disabled = true;
    button.nextSibling?.remove();
    try {
      const page = await get("recalls", { ...filtered(app), limit: PAGE, before });
      list.append(...page.recalls.map((one) => row(one, app)));
      button.replaceWith(older(list, app, page.before) || "");
      check(list, page.recalls);
    } catch (error) {
      button.after(problem(error));
      button.disabled = false;
    }
  } }, "Older");
  return button;
}

// Each recall is ranked again behind the list, once, and its dot says what came of it.
let checked = new Map();

// Another verdict may be true by now.
export function forgetVerdicts() {
  checked = new Map();
}

async function check(list, recalls, signal) {
  const known = checked;
  for (let from = 0; from < recalls.length && !signal?.aborted; from += MANY) {
    const some = recalls.slice(from, from + MANY), asked = some.map((one) => one.id).filter((id) => !known.has(id));
    try {
      for (const found of asked.length ? await get("verdicts", { recalls: asked }, signal) : []) known.set(found.recall, found);
    } catch (error) {
      if (error.name === "AbortError") return;
    }
    for (const { id } of some) if (known.has(id)) list.querySelector(`[data-recall="${id}"] .dot`)?.replaceWith(dot(known.get(id)));
  }
}
