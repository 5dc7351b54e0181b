// One memory: why it stands where it stands in the open question, its versions as blame, and where it answered.

import { get, post } from "./api.js";
import { question } from "./centre.js";
import { diff } from "./diff.js";
import { age, day, h, link, number, plural, said, show } from "./dom.js";

const VERSIONS = 12, RECALLS = 40;

export async function renderDetail(place, app, signal) {
  const id = app.state.memory;
  place.hidden = !id;
  if (!id) return show(place);
  const path = `memories/${encodeURIComponent(id)}`;
  const parts = ["why", "memo", "versions", "answered"].map((name) => h("section", { class: `card pad ${name}` }));
  show(place, h("div", { class: "bartop" }, h("h2", {}, h("code", {}, id)), link(app.href({ memory: "" }), { class: "mini button" }, "Close")), parts);
  await Promise.all([
    filled(parts[0], () => why(app, id, signal)),
    filled(parts[1], () => memo(app, id, path, signal)),
    filled(parts[2], () => versions(path, signal)),
    filled(parts[3], () => recalls(app, id, signal)),
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

// Every version with the words that came and went, newest first; events of dreams and of others between them.
async function versions(path, signal) {
  const history = await get(`${path}/history`, {}, signal);
  const texts = history.filter((event) => ["memory.ingested", "memory.revised"].includes(event.type)).slice(-VERSIONS);
  const found = await Promise.all(texts.map((event) => get(path, { at: `@${event.seq}` }, signal)));
  const blame = texts.map((event, place) => h("li", {}, h("div", { class: "dim small" }, `@${event.seq} ${day(event.at)} ${event.actor}`), version(place ? found[place - 1].content : null, found[place].content)));
  const other = history.filter((event) => !texts.includes(event) && event.type !== "memory.accessed").slice(-30);
  return [h("h3", {}, `${texts.length} version${texts.length === 1 ? "" : "s"}`), h("ol", { class: "plain versions" }, blame.reverse()),
    other.length ? h("details", {}, h("summary", { class: "small" }, `${other.length} other events`), h("ul", { class: "plain small" }, other.reverse().map((event) => h("li", {}, `@${event.seq} ${day(event.at)} ${event.summary}`)))) : null];
}

function version(before, after) {
  const parts = before === null ? [{ kind: "kept", text: after }] : diff(before, after);
  const tags = { came: "ins", went: "del", kept: "span" };
  return h("div", { class: "said", dir: "auto" }, parts.map((part) => h(tags[part.kind], {}, part.text)));
}

async function recalls(app, id, signal) {
  const page = await get("recalls", { held: id, limit: RECALLS }, signal);
  return [h("h3", {}, page.recalls.length ? "Answered in" : "Never answered"),
    h("ul", { class: "plain small" }, page.recalls.map((one) => h("li", {}, link(app.href({ recall: one.id, ask: "", view: "", formula: "", b: "" }), {}, one.id), one.rank ? ` rank ${one.rank} ` : " ", said(one.query), h("span", { class: "dim" }, ` ${age(one.at)}`)))),
    page.before ? h("p", { class: "small dim" }, "and earlier ones") : null];
}
