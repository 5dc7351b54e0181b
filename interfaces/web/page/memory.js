// One memory: why it stands where it stands in the open question, its versions as blame, and where it answered.
// Its id is a parameter of every request: a path cannot hold ".." or "x/history".

import { get, post } from "./api.js";
import { question } from "./centre.js";
import { text } from "./dreams.js";
import { age, day, event, events, folded, h, link, long, number, plural, problem, said, show } from "./dom.js";

const VERSIONS = 12, RECALLS = 40, EVENTS = 20, DREAMS = 5;

export async function renderDetail(place, app, signal) {
  const id = app.state.memory;
  place.hidden = !id;
  if (!id) return show(place);
  const parts = ["why", "memo", "versions", "links", "changes", "answered"].map((name) => h("section", { class: `card pad ${name}` }));
  show(place, h("div", { class: "bartop" }, h("h2", {}, h("code", {}, id)), link(app, { memory: "" }, { class: "mini button" }, "Close")));
  const shown = await get("show/-", { id }, signal); // of an id that is not known it says so, once
  place.append(...parts);
  await Promise.all([
    filled(parts[0], () => why(app, id, signal)),
    filled(parts[1], () => memo(app, id, signal)),
    filled(parts[2], () => versions(shown, app)),
    filled(parts[3], () => links(shown, app)),
    filled(parts[4], () => changes(app, id, signal)),
    filled(parts[5], () => answered(shown, app)),
  ]);
}

// A part that fails says so in its own place; the others stand.
async function filled(place, work) {
  try {
    const found = await work();
    if (found?.length) show(place, found);
    else place.remove();
  } catch (error) {
    if (error.name !== "AbortError") show(place, problem(error));
    else throw error;
  }
}

async function why(app, id, signal) {
  const { recall, ask, b, formula } = app.state;
  if (!recall && !ask) return null;
  const found = recall && !formula && !b
    ? await get(`why/${encodeURIComponent(recall)}/-`, { id }, signal)
    : await get("explain", { ...(recall ? await asIfThen(app, signal) : question(app, null, { at: b })), formula, id }, signal);
  return [h("h3", {}, found.rank ? `Why it is ${found.rank} of ${found.candidates}` : "Why it is not in the answer"), found.note ? h("p", { class: "note small" }, found.note) : null, h("p", { class: "sentence" }, found.sentence),
    found.dropped_at ? h("p", { class: "small lost" }, `${found.dropped_at.title}: ${found.dropped_at.reason}`) : null,
    [["behind", found.above], ["ahead of", found.below]].filter(([, other]) => other).map(([word, other]) => h("p", { class: "small dim beside-it" }, `${number(other.margin, 6)} ${word} `, link(app, { memory: other.id }, {}, other.id), ` (${other.decided_by})`)),
    terms(found), stages(found), recall && !app.status.read_only ? expectForm(recall, id) : null];
}

// A recorded recall at another moment or under another formula: its own filters and session, at the moment and clock of its bars.
async function asIfThen(app, signal) {
  const { basis, now } = await get("bars", { ...question(app, { id: app.state.recall }), at: app.state.b, losers: 0 }, signal);
  return { q: app.state.recall, at: `@${basis}`, now };
}

function terms(found) {
  const all = found.channels.flatMap((channel) => channel.terms);
  return all.length ? h("p", { class: "small" }, "words: ", all.map((term) => h("span", { class: "chip" }, `${term.term} ${number(term.contribution, 3)}`))) : null;
}

function stages(found) {
  return h("details", {}, h("summary", { class: "small" }, `${found.stages.length} stages`), h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "stages" }, h("table", {},
    h("thead", {}, h("tr", {}, ["", "stage", "read", "score"].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, found.stages.map((stage) => h("tr", { class: stage.state === "applied" ? "" : "idle" }, h("td", {}, String(stage.number)), h("td", {}, stage.title, stage.state === "applied" ? null : h("i", {}, ` (${stage.state})`)),
      h("td", { class: "small" }, Object.entries({ ...stage.inputs, ...stage.reads }).map(([name, value]) => `${name} ${number(value)}`).join(", ")), h("td", { class: "n" }, stage.scored ? number(stage.after, 6) : "")))))));
}

function expectForm(recall, id) {
  const told = h("span", { class: "small", role: "status" }), button = h("button", { class: "mini" }, "Expect");
  const form = h("form", { class: "inline small" }, h("label", {}, "Expect it ", h("select", { name: "how" }, h("option", { value: "first" }, "first"), h("option", { value: "top" }, "among the first 3"), h("option", { value: "absent" }, "absent"))), h("label", {}, "note ", h("input", { name: "note", dir: "auto", autocomplete: "off", placeholder: "why" })), button, told);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const { how, note } = Object.fromEntries(new FormData(form));
    button.disabled = true;
    try {
      const made = await post("expectations", { recall, id, note, ...(how === "top" ? { top: 3 } : { [how]: true }) });
      told.textContent = `kept as ${made.id}`;
    } catch (error) {
      told.textContent = error.message;
    }
    button.disabled = false;
  });
  return form;
}

async function memo(app, id, signal) {
  const found = await get("memories/-", { id, at: app.state.b }, signal);
  const { state } = found;
  const facts = [["kind", state.kind], ["project", state.project], ["session", state.session], ["source", state.source], ["tags", state.tags.join(", ")], ["importance", state.importance], ["strength", number(state.strength)], ["used", state.used_count], ["accessed", state.access_count], ["layer", state.layer], ["superseded by", state.superseded_by && link(app, { memory: state.superseded_by }, {}, state.superseded_by)], ["hidden", found.hidden_because]];
  const impact = h("div", { class: "impact" });
  return [h("h3", {}, found.visible ? "The memory" : "The memory (does not answer)"), h("div", { class: "text" }, long(found.content)),
    h("dl", {}, facts.filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== 0).map(([name, value]) => [h("dt", {}, name), h("dd", { dir: "auto" }, value instanceof Node ? value : String(value))])),
    h("button", { type: "button", class: "mini", onclick: () => impactOf(impact, app, id) }, "What did it change? (impact)"), impact];
}

async function impactOf(place, app, id) {
  show(place, h("p", { class: "dim small" }, "replaying every answer that held it, without it …"));
  try {
    const found = await get("impact/-", { id });
    show(place, h("p", { class: "small" }, `${plural(found.answers.length, "recorded answer")} held it; ${found.changed} would have been others without it, ${found.first_changed} with another first hit.`), h("ul", { class: "plain small" }, found.answers.slice(0, 50).map((one) => h("li", {}, link(app, { recall: one.recall, ask: "", formula: "", b: "" }, {}, one.recall), ` ${one.changed ? "changed without it" : "the same without it"}: `, said(one.query || "")))));
  } catch (error) {
    show(place, problem(error));
  }
}

// Every version with the words that came and went, newest first.
function versions(shown, app) {
  const tags = { added: "ins", removed: "del", same: "span" };
  return [h("h3", {}, plural(shown.versions.length, "version")), folded(shown.versions.toReversed().map((one) => h("li", {},
    h("div", { class: "dim small" }, `${one.revision} · `, event(app, one.seq), ` ${day(one.at)} ${one.actor}${one.changed.length ? ` · ${one.changed.join(", ")}` : ""}`),
    long(one.content || one.words.map((part) => part.text).join(""), 400, h("div", { class: "said", dir: "auto" }, one.words.length ? one.words.map((part) => h(tags[part.how], {}, part.text)) : one.content)))), VERSIONS, { class: "plain versions" })];
}

function links(shown, app) {
  if (!shown.links.length) return null;
  return [h("h3", {}, "Links"), h("ul", { class: "plain small" }, shown.links.map((one) => h("li", {}, link(app, { memory: one.a }, {}, one.a), ` ${one.kind} `, link(app, { memory: one.b }, {}, one.b), " ", event(app, one.seq))))];
}

// What dreams made of it, before → after, and what else touched it beside new versions and accesses.
async function changes(app, id, signal) {
  const [history, dreams] = await Promise.all([get("memories/-/history", { id }, signal), get("dreams", {}, signal)]);
  const within = (one) => dreams.find((dream) => dream.began <= one.seq && one.seq <= dream.seq);
  const by = [...new Set(history.map(within).filter(Boolean))].toSorted((a, b) => b.seq - a.seq);
  const read = (one) => get(`show/${encodeURIComponent(one.id)}`, {}, signal);
  const shown = await Promise.all(by.slice(0, DREAMS).map(read));
  const made = (dream) => dream.changes.filter((one) => one.id === id).map((one) => `${one.what} ${text(one.before)} → ${text(one.after)}`).join(", ");
  const rest = history.filter((event) => !["memory.ingested", "memory.revised", "memory.accessed"].includes(event.type) && !within(event)).reverse();
  return [
    by.length ? [h("h3", {}, `Changed by ${plural(by.length, "dream")}`), folded(by.map((one, place) => h("li", {}, link(app, { view: "dreams", dream: one.id }, {}, one.id), ` ${day(one.at)} `, shown[place] ? made(shown[place]) : later(async () => made(await read(one))))), EVENTS, { class: "plain small dreamt" })] : null,
    rest.length ? [h("h3", {}, "What else changed it"), folded(rest.map((one) => h("li", { dir: "auto" }, event(app, one.seq), ` ${day(one.at)} `, events(app, one.summary))), EVENTS)] : null,
  ].filter(Boolean);
}

// What an older dream made of it is read when it is wanted.
function later(work) {
  const button = h("button", { type: "button", class: "mini", onclick: async () => {
    button.disabled = true;
    button.replaceWith(await work().catch(problem));
  } }, "before → after");
  return button;
}

function answered(shown, app) {
  return [h("h3", {}, shown.recalls.length ? `In ${plural(shown.recalls.length, "answer")}` : "In no recorded answer"),
    folded(shown.recalls.map((one) => h("li", {}, link(app, { recall: one.recall, ask: "", view: "", formula: "", b: "" }, {}, one.recall), ` rank ${one.rank} `, h("span", { class: "dim" }, `${age(one.at)} `), said(one.query, { class: "said clamped" }))), RECALLS)];
}
