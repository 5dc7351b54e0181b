// One memory: why it stands where it stands in the open question, its versions as blame, and where it answered.

import { get, post } from "./api.js";
import { question } from "./centre.js";
import { age, day, h, link, number, plural, said, show } from "./dom.js";

const VERSIONS = 12, RECALLS = 40;

export async function renderDetail(place, app, signal) {
  const id = app.state.memory;
  place.hidden = !id;
  if (!id) return show(place);
  const path = `memories/${encodeURIComponent(id)}`;
  const parts = ["why", "memo", "versions", "links", "changes", "answered"].map((name) => h("section", { class: `card pad ${name}` }));
  const shown = get(`show/${encodeURIComponent(id)}`, {}, signal);
  show(place, h("div", { class: "bartop" }, h("h2", {}, h("code", {}, id)), link(app.href({ memory: "" }), { class: "mini button" }, "Close")), parts);
  await Promise.all([
    filled(parts[0], () => why(app, id, signal)),
    filled(parts[1], () => memo(app, id, path, signal)),
    filled(parts[2], async () => versions(await shown)),
    filled(parts[3], async () => links(await shown, app)),
    filled(parts[4], () => dreams(path, signal)),
    filled(parts[5], async () => answered(await shown, app)),
  ]);
}

// A part that fails says so in its own place; the others stand.
async function filled(place, work) {
  try {
    const found = await work();
    if (found) show(place, found);
    else place.remove();
  } catch (error) {
    if (error.name !== "AbortError") show(place, h("p", { class: "problem", role: "alert" }, error.message));
    else throw error;
  }
}

async function why(app, id, signal) {
  const { recall, ask, b, formula } = app.state;
  if (!recall && !ask) return null;
  const replay = recall && !formula && !b;
  const asked = recall && !replay ? await get(`recalls/${encodeURIComponent(recall)}`, {}, signal) : null;
  const found = replay
    ? await get(`why/${encodeURIComponent(recall)}/${encodeURIComponent(id)}`, {}, signal)
    : await get("explain", { q: asked ? asked.query : ask, k: asked ? asked.k : app.state.k, formula, at: b, id, project: asked?.filters.project }, signal);
  return [h("h3", {}, found.rank ? `Why it is ${found.rank} of ${found.candidates}` : "Why it is not in the answer"), h("p", { class: "sentence" }, found.sentence),
    found.dropped_at ? h("p", { class: "small lost" }, `${found.dropped_at.title}: ${found.dropped_at.reason}`) : null,
    [found.above && `${number(found.above.margin, 6)} behind ${found.above.id} (${found.above.decided_by})`, found.below && `${number(found.below.margin, 6)} ahead of ${found.below.id} (${found.below.decided_by})`].filter(Boolean).map((line) => h("p", { class: "small dim" }, line)),
    terms(found), stages(found), recall && !app.status.read_only ? expectForm(recall, id) : null];
}

function terms(found) {
  const all = found.channels.flatMap((channel) => channel.terms);
  return all.length ? h("p", { class: "small" }, "words: ", all.map((term) => h("span", { class: "chip" }, `${term.term} ${number(term.contribution, 3)}`))) : null;
}

function stages(found) {
  return h("details", {}, h("summary", { class: "small" }, `${found.stages.length} stages`), h("div", { class: "scroll" }, h("table", {},
    h("thead", {}, h("tr", {}, ["", "stage", "read", "score"].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, found.stages.map((stage) => h("tr", { class: stage.state === "applied" ? "" : "idle" }, h("td", {}, String(stage.number)), h("td", {}, stage.title, stage.state === "applied" ? null : h("i", {}, ` (${stage.state})`)),
      h("td", { class: "small" }, Object.entries({ ...stage.inputs, ...stage.reads }).map(([name, value]) => `${name} ${number(value)}`).join(", ")), h("td", { class: "n" }, stage.scored ? number(stage.after, 6) : "")))))));
}

function expectForm(recall, id) {
  const told = h("span", { class: "small", role: "status" });
  const form = h("form", { class: "inline small" }, h("label", {}, "Expect it ", h("select", { name: "how" }, h("option", { value: "first" }, "first"), h("option", { value: "top" }, "among the first 3"), h("option", { value: "absent" }, "absent"))), h("button", { class: "mini" }, "Expect"), told);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const how = new FormData(form).get("how");
    try {
      const made = await post("expectations", { recall, id, ...(how === "top" ? { top: 3 } : { [how]: true }) });
      told.textContent = `kept as ${made.id}`;
    } catch (error) {
      told.textContent = error.message;
    }
  });
  return form;
}

async function memo(app, id, path, signal) {
  const found = await get(path, { at: app.state.b }, signal);
  const { state } = found;
  const facts = [["kind", state.kind], ["project", state.project], ["session", state.session], ["source", state.source], ["tags", state.tags.join(", ")], ["importance", state.importance], ["strength", number(state.strength)], ["used", state.used_count], ["accessed", state.access_count], ["layer", state.layer], ["superseded by", state.superseded_by], ["hidden", found.hidden_because]];
  const impact = h("div", { class: "impact" });
  return [h("h3", {}, found.visible ? "The memory" : "The memory (does not answer)"), h("p", {}, said(found.content)),
    h("dl", {}, facts.filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== 0).map(([name, value]) => [h("dt", {}, name), h("dd", { dir: "auto" }, String(value))])),
    h("button", { type: "button", class: "mini", onclick: () => impactOf(impact, app, id) }, "What did it change? (impact)"), impact];
}

async function impactOf(place, app, id) {
  show(place, h("p", { class: "dim small" }, "replaying every answer that held it, without it …"));
  try {
    const found = await get(`impact/${encodeURIComponent(id)}`);
    show(place, h("p", { class: "small" }, `${plural(found.answers.length, "recorded answer")} held it; ${found.changed} would have been others without it, ${found.first_changed} with another first hit.`), h("ul", { class: "plain small" }, found.answers.slice(0, 50).map((one) => h("li", {}, link(app.href({ recall: one.recall, ask: "", formula: "", b: "" }), {}, one.recall), ` ${one.changed ? "changed without it" : "the same without it"}: `, said(one.query || "")))));
  } catch (error) {
    show(place, h("p", { class: "problem", role: "alert" }, error.message));
  }
}

// Every version with the words that came and went, newest first.
function versions(shown) {
  const tags = { added: "ins", removed: "del", same: "span" };
  return [h("h3", {}, plural(shown.versions.length, "version")), h("ol", { class: "plain versions" }, shown.versions.slice(-VERSIONS).reverse().map((one) => h("li", {},
    h("div", { class: "dim small" }, `${one.revision} · @${one.seq} ${day(one.at)} ${one.actor}${one.changed.length ? ` · ${one.changed.join(", ")}` : ""}`),
    h("div", { class: "said", dir: "auto" }, one.words.length ? one.words.map((part) => h(tags[part.how], {}, part.text)) : one.content))))];
}

function links(shown, app) {
  if (!shown.links.length) return null;
  return [h("h3", {}, "Links"), h("ul", { class: "plain small" }, shown.links.map((one) => h("li", {}, link(app.href({ memory: one.a }), {}, one.a), ` ${one.kind} `, link(app.href({ memory: one.b }), {}, one.b), h("span", { class: "dim" }, ` @${one.seq}`))))];
}

async function dreams(path, signal) {
  const history = await get(`${path}/history`, {}, signal);
  const other = history.filter((event) => !["memory.ingested", "memory.revised", "memory.accessed"].includes(event.type)).slice(-30).reverse();
  return other.length ? [h("h3", {}, "What else changed it"), h("ul", { class: "plain small" }, other.map((event) => h("li", {}, `@${event.seq} ${day(event.at)} ${event.summary}`)))] : null;
}

function answered(shown, app) {
  return [h("h3", {}, shown.recalls.length ? `In ${plural(shown.recalls.length, "answer")}` : "In no recorded answer"),
    h("ul", { class: "plain small" }, shown.recalls.slice(0, RECALLS).map((one) => h("li", {}, link(app.href({ recall: one.recall, ask: "", view: "", formula: "", b: "" }), {}, one.recall), ` rank ${one.rank} `, said(one.query), h("span", { class: "dim" }, ` ${age(one.at)}`))))];
}
