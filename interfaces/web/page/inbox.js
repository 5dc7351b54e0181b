// The inbox: recorded recalls, newest first, found by what is known of them.

import { get } from "./api.js";
import { age, h, link, problem, said, show } from "./dom.js";
import { dot } from "./verdict.js";

const FIELDS = [["grep", "text"], ["since", "since"], ["until", "until"], ["project", "project"], ["session", "session"], ["by", "formula"], ["actor", "actor"], ["held", "held memory"]];
const FLAGS = [["empty", "found nothing", "true"], ["rated", "rated bad", "bad"]];
const NAMES = [...FIELDS, ...FLAGS].map(([name]) => name);
const PAGE = 60, MOST = 1000;

export async function renderInbox(place, app, signal) {
  const wanted = JSON.stringify(filtered(app));
  const same = place.dataset.wanted === wanted; // what is typed into the filters and what was loaded of the list stay
  const limit = same ? Math.min(MOST, Math.max(PAGE, place.querySelectorAll(".recalls li").length)) : PAGE;
  if (!same) show(place, h("h2", {}, "Recorded recalls"), filters(app, NAMES.some((name) => app.state[name])), h("div", {}));
  place.dataset.wanted = wanted;
  const page = await get("recalls", { ...filtered(app), limit }, signal);
  const list = h("ol", { class: "recalls" }, page.recalls.map((one) => row(one, app)));
  place.lastElementChild.replaceWith(h("div", {}, page.recalls.length ? list : h("p", { class: "empty" }, "No recall was recorded that fits."), older(list, app, page.before)));
  check(list, page.recalls, signal);
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

// After an erasure another verdict may be true.
export function forgetVerdicts() {
  checked = new Map();
}

async function check(list, recalls, signal) {
  for (const one of recalls) {
    if (signal?.aborted) return;
    try {
      if (!checked.has(one.id)) checked.set(one.id, await get(`verify/${one.id}`, {}, signal));
      list.querySelector(`[data-recall="${one.id}"] .dot`)?.replaceWith(dot(checked.get(one.id)));
    } catch (error) {
      if (error.name === "AbortError") return;
    }
  }
}
