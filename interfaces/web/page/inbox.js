// The inbox: recorded recalls, newest first, found by what is known of them.

import { get } from "./api.js";
import { age, h, link, said, show } from "./dom.js";
import { dot } from "./verdict.js";

const FIELDS = [["grep", "text"], ["since", "since"], ["until", "until"], ["project", "project"], ["session", "session"], ["by", "formula"], ["actor", "actor"], ["held", "held memory"]];
const FLAGS = [["empty", "found nothing"], ["rated", "rated bad or good"]];

export async function renderInbox(place, app, signal) {
  const { by, ...rest } = pick(app.state);
  const page = await get("recalls", { ...rest, formula: by, limit: 60 }, signal);
  const list = h("ol", { class: "recalls" }, page.recalls.map((one) => row(one, app)));
  const more = page.before ? h("button", { type: "button", class: "mini more", onclick: (event) => older(event.target, list, app, page.before) }, "Older") : null;
  const open = place.querySelector("details")?.open || FIELDS.some(([name]) => app.state[name]) || false;
  show(place, h("h2", {}, "Recorded recalls"), filters(app, open), page.recalls.length ? list : h("p", { class: "empty" }, "No recall was recorded that fits."), more);
  check(list, page.recalls, signal);
}

function pick(state) {
  const found = Object.fromEntries([...FIELDS, ...FLAGS].map(([name]) => [name, state[name]]));
  for (const [name] of FLAGS) found[name] = state[name] ? "true" : undefined;
  return found;
}

function row(one, app) {
  const meta = [one.actor, one.filters.project, one.session, one.formula.split("@")[0]].filter(Boolean);
  return h("li", { "data-recall": one.id, class: one.id === app.state.recall ? "open" : "" },
    link(app.href({ recall: one.id, ask: "", memory: "", view: "", formula: "", b: "" }), { "aria-current": one.id === app.state.recall ? "true" : null },
      h("span", { class: "dot", role: "img", "aria-label": "not checked yet" }), said(one.query, { class: "said question" }),
      h("span", { class: "dim small meta" }, `${one.id} · ${age(one.at)} · ${one.hits ? `${one.hits} hits` : "empty"}${meta.length ? ` · ${meta.join(" · ")}` : ""}`)));
}

function filters(app, open) {
  const form = h("form", { class: "filters" },
    FIELDS.map(([name, word]) => h("label", {}, word, h("input", { name, value: app.state[name] || "", autocomplete: "off" }))),
    FLAGS.map(([name, word]) => h("label", { class: "check" }, h("input", { type: "checkbox", name, checked: Boolean(app.state[name]) }), word)),
    h("button", { class: "mini" }, "Find"), h("button", { type: "button", class: "mini", onclick: () => app.go(Object.fromEntries([...FIELDS, ...FLAGS].map(([name]) => [name, ""]))) }, "All"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const data = new FormData(form);
    app.go(Object.fromEntries([...FIELDS, ...FLAGS].map(([name]) => [name, (data.get(name) || "").toString().trim()])));
  });
  return h("details", { open }, h("summary", {}, "Filter"), form);
}

async function older(button, list, app, before) {
  const { by, ...rest } = pick(app.state);
  const page = await get("recalls", { ...rest, formula: by, limit: 60, before });
  list.append(...page.recalls.map((one) => row(one, app)));
  check(list, page.recalls);
  if (page.before) button.onclick = () => older(button, list, app, page.before);
  else button.remove();
}

// Each recall is ranked again behind the list, once, and its dot says what came of it.
const checked = new Map();

async function check(list, recalls, signal) {
  for (const one of recalls) {
    if (signal?.aborted) return;
    try {
      if (!checked.has(one.id)) checked.set(one.id, await get(`verify/${one.id}`, {}, signal));
      list.querySelector(`[data-recall="${one.id}"] .dot`)?.replaceWith(dot(checked.get(one.id)));
    } catch (error) {
      if (error.name === "AbortError") return;
      if (error.status === 429) await new Promise((done) => setTimeout(done, 5000));
    }
  }
}
