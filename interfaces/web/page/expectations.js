// Expectations about recorded questions: asked again, red or green, with the event that broke one.

import { get, post } from "./api.js";
import { events, h, link, problem, said, show } from "./dom.js";

export async function renderExpectations(place, app, signal) {
  const stated = await get("expectations", {}, signal);
  const title = h("h2", {}, "Expectations");
  if (!stated.length) return show(place, title, h("p", { class: "empty" }, "None yet: open a memory in a recorded recall and say what you expect of it."));
  show(place, title, h("p", { class: "dim waiting", role: "status" }, `asking ${stated.length} again …`));
  const report = await get("check", {}, signal);
  show(place, title, h("p", { role: "status" }, report.sentence), report.degraded.map((line) => h("p", { class: "note" }, line)), h("ul", { class: "plain expectations" }, [...report.failed, ...report.passed].map((one) => row(one, app))));
}

function row(one, app) {
  const { name, recall, id, expects, note, query } = one.expectation;
  return h("li", { class: `card pad ${one.held ? "holds" : "broken"}` },
    h("b", { class: one.held ? "good" : "bad" }, one.held ? "holds " : "broken "),
    link(app, { view: "", recall, memory: id, ask: "" }, {}, `${recall} ${expects}`),
    query ? h("p", { class: "question clamped" }, said(query)) : null,
    h("p", { class: "small" }, events(app, one.sentence)),
    note ? h("p", { class: "small dim" }, said(note)) : null,
    app.status.read_only ? null : h("button", { type: "button", class: "mini", "aria-label": `Withdraw ${name}`, onclick: ({ target }) => withdraw(target, name, app) }, "Withdraw"));
}

async function withdraw(button, name, app) {
  button.disabled = true;
  try {
    await post(`expectations/${name}/withdraw`, {});
    app.refresh("centre");
  } catch (error) {
    button.replaceWith(problem(error));
  }
}
