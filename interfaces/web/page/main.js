// The page: reads the address, asks the server, and lets each view fill its own place.

import { changed, format, parse } from "./address.js";
import { Gone, Refused, get, hasToken, isToken, stream, useToken } from "./api.js";
import { h, lead, plural, problem, show } from "./dom.js";
import { renderCentre } from "./centre.js";
import { renderDetail } from "./memory.js";
import { forgetVerdicts, renderInbox } from "./inbox.js";
import { kept } from "./kept.js";
import { forgetRiver, renderRiver } from "./river_view.js";
import { verdictOf } from "./verdict.js";

const place = (id) => document.getElementById(id);
// In the order in which they ask the server: the answer first. One that is drawn `whole` stays as it was until what is
// drawn anew of the same address is there.
const views = {
  centre: { render: renderCentre, whole: true, reads: ["recall", "ask", "view", "dream", "a", "b", "cross", "formula", "tried", "k", "with"] },
  river: { render: renderRiver, reads: ["a", "b", "zoom"] },
  inbox: { render: renderInbox, reads: ["recall", "grep", "since", "until", "project", "session", "actor", "by", "empty", "rated", "held"] },
  detail: { render: renderDetail, whole: true, reads: ["recall", "ask", "memory", "a", "b", "formula", "k", "with"] },
};

const SIDE_VIEWS = ["dreams", "expectations"];

const app = {
  state: {},
  status: null,
  head: 0,
  href: (changes) => format(changed(app.state, changes)),
  go: (changes) => {
    opened = partOf(changes);
    if (location.hash === app.href(changes)) follow(true);
    else location.hash = app.href(changes);
  },
  // Replaces the address without a new entry in the history: for what is dragged.
  drag: (changes) => { history.replaceState(null, "", app.href(changes)); return follow(); },
  // The same for what a view shows already.
  keep: (changes) => {
    history.replaceState(null, "", app.href(changes));
    app.state = parse(location.hash);
    for (const name of Object.keys(views)) shown[name] = read(name);
    relink();
  },
  refresh: (name) => draw(name, true),
};
const running = {}; // what is shown or being drawn
const coming = {}; // what will take its place
const shown = {};

const relink = () => document.querySelectorAll("main a").forEach((anchor) => lead(anchor, app));

let opened = null; // the part that a person has just opened

function partOf(changes) {
  if (changes.memory && !changes.recall) return "detail";
  return ["recall", "ask", "view", "dream"].some((name) => changes[name]) || changes.view === "" ? "centre" : null;
}

// On a phone the parts stand below each other: what was opened is brought to where the eye is.
function reveal(part) {
  const target = place(part), { top } = target.getBoundingClientRect();
  if (target.hidden || (top > -innerHeight / 3 && top < (innerHeight * 2) / 3)) return;
  target.focus({ preventScroll: true });
  target.scrollIntoView({ behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth", block: "start" });
}

function follow(again = false) {
  app.state = parse(location.hash);
  relink();
  for (const anchor of document.querySelectorAll("header nav a")) {
    if (anchor.dataset.view === (SIDE_VIEWS.includes(app.state.view) ? app.state.view : "")) anchor.setAttribute("aria-current", "page");
    else anchor.removeAttribute("aria-current");
  }
  const drawing = Promise.all(Object.keys(views).map((name) => draw(name, again)));
  if (opened) reveal(opened);
  opened = null;
  return drawing;
}

const read = (name) => JSON.stringify(views[name].reads.map((one) => app.state[one] || ""));

async function draw(name, again) {
  const key = read(name), target = place(name), [before] = target.children, other = shown[name] !== key;
  if (!again && !other) return;
  shown[name] = key;
  const control = new AbortController(), beside = !other && views[name].whole;
  coming[name]?.abort();
  if (!beside) running[name]?.abort();
  (beside ? coming : running)[name] = control;
  let fresh = target, done = kept(target);
  if (beside) {
    fresh = target.cloneNode(false);
    fresh.removeAttribute("aria-busy");
  }
  target.setAttribute("aria-busy", "true");
  try {
    await views[name].render(fresh, app, control.signal);
    if (control.signal.aborted) return;
    fresh.querySelector(":scope > .problem")?.remove();
    if (beside) {
      if (place(name) !== target || target.querySelector(".waiting")) { // what was begun there goes on, and this comes after it
        target.removeAttribute("aria-busy");
        return redraw();
      }
      running[name]?.abort();
      running[name] = control;
      done = kept(target);
      target.replaceWith(fresh);
      done.rest(fresh);
    }
  } catch (error) {
    if (control.signal.aborted) return;
    if (!beside) target.querySelectorAll(".waiting").forEach((one) => one.remove()); // it waits no more
    if (other && before === target.firstElementChild && !(error instanceof Gone)) show(target); // it was of another address
    fresh = target;
    failed(target, error);
  }
  fresh.removeAttribute("aria-busy");
  tell();
  if (document.activeElement === document.body) done.focus(fresh.hidden ? place("centre") : fresh);
}

const TITLES = { dreams: "Dreams", expectations: "Expectations", "then-and-now": "Then and now", formula: "Formula" };

// The title says what is shown, and a note of the store's that the answer has stands with the answer.
function tell() {
  const { memory, ask, recall, view } = app.state, centre = place("centre");
  document.title = [memory, ask || centre.querySelector(".about h2")?.textContent, recall, TITLES[view], "Recollect"].filter(Boolean).join(" · ");
  const told = [...centre.querySelectorAll(".note")].map((note) => note.textContent);
  for (const note of place("health").querySelectorAll(".note")) note.hidden = told.includes(note.textContent);
}

// An error stands in the place that it is about, and stays until that place shows something else.
export function failed(target, error) {
  if (error.name === "AbortError") return;
  if (error instanceof Gone) return gone(true), retry();
  if (error instanceof Refused && error.status === 401) return login(true);
  target.querySelector(":scope > .problem")?.remove();
  target.prepend(problem(error));
}

function gone(is) {
  document.body.classList.toggle("gone", is);
  place("gone").hidden = !is;
}

let unfit = ""; // why what was given cannot be a token

function accept(token) {
  unfit = token !== null && isToken(token) ? "" : "This cannot be a token: no request can carry it. Copy it again from what `recollect serve` printed.";
  useToken(unfit ? "" : token);
}

function login(needed) {
  const form = place("login");
  place("refused").textContent = !needed ? "" : unfit || (hasToken() ? "This token is not the server's; look at what `recollect serve` printed." : "");
  form.hidden = !needed;
  for (const id of ["river", "columns"]) place(id).hidden = needed;
  if (needed) place("token").focus();
}

place("skip").addEventListener("click", () => place("centre").focus());

place("login").addEventListener("submit", (event) => {
  event.preventDefault();
  accept(place("token").value.trim());
  if (unfit) login(true);
  else start();
});

place("verify").addEventListener("click", async () => {
  const target = place("verdict");
  place("verify").disabled = true;
  show(target, "ranking every recall again …");
  try {
    await stream("stream/verify", (name, value) => {
      if (name === "progress") show(target, `${value.done} of ${plural(value.total, "recall")} ranked again`);
      if (name === "done") show(target, verdictOf(value));
      if (name === "failed") show(target, h("span", { class: "problem" }, value.error));
    });
  } catch (error) {
    show(target);
    failed(place("health"), error);
  }
  place("verify").disabled = false;
});

async function totals() {
  app.status = await get("status");
  place("store").textContent = `${app.status.store}  ${app.status.memories.toLocaleString("en")} memories, ${plural(app.status.head, "event")}`;
  show(place("health"), app.status.degraded.map((line) => h("p", { class: "note" }, line)));
  tell();
}

let waiting = 0;

function retry() {
  clearTimeout(waiting);
  waiting = setTimeout(start, 2000);
}

// From the beginning: what answers may be another server, and its store another one, or the same one damaged.
async function start() {
  try {
    await totals();
  } catch (error) {
    if (error instanceof Refused && error.status === 404) login(true); // one of many stores, and no token for it yet
    else {
      failed(place("health"), error);
      if (error.status !== 401) retry();
    }
    return;
  }
  app.head = app.status.head;
  told = 0;
  forget();
  forgetRiver();
  login(false);
  gone(false);
  follow(true);
  listen();
}

// What these tell changes nothing that is shown but the river and the list of recalls.
const QUIET = ["recall.answered", "memory.accessed", "log.attested", "shard.sealed", "shard.retired"];
const EVENTS = 200, REDRAW_MS = 4000, SOON_MS = 100;

let told = 0, growing = false; // the head that the stream told last

async function grown() {
  if (growing) return; // and goes on until it knows what was told
  growing = true;
  try {
    while (told > app.head && (await grow(app.head)));
  } finally {
    growing = false;
  }
}

// What the timeline answers is known up to the head that it names; what comes later is asked for from there.
async function grow(head) {
  const { run } = app.status;
  const page = await get("timeline", { since: `@${head}`, limit: EVENTS });
  await totals();
  if (app.head !== head || app.status.run !== run || page.head <= head) return false; // begun anew meanwhile, or nothing came
  app.head = page.head;
  const types = page.events.filter((event) => event.seq > head).map((event) => event.type);
  const erased = page.before || types.some((type) => type.endsWith(".erased"));
  if (erased) forget();
  draw("river", true);
  draw("inbox", true);
  if (erased || types.some(tells)) redraw();
  return true;
}

// Every verdict that was asked for: another may be true by now.
function forget() {
  forgetVerdicts();
  show(place("verdict"));
}

// Whether an event can change what is open. A formula that is tried is ranked again when it is moved.
function tells(type) {
  const { view } = app.state;
  return !QUIET.includes(type) && view !== "formula" && (!type.startsWith("recall.expect") || view === "expectations");
}

let redrawn = 0, redrawing = 0;

// Soon, and a while after the last time; not while something is drawn, or a dream that was asked for here is under way.
function redraw() {
  clearTimeout(redrawing);
  redrawing = setTimeout(() => {
    if (document.querySelector("#centre .waiting, #centre[aria-busy], #detail[aria-busy]")) return redraw();
    redrawn = Date.now();
    draw("centre", true);
    draw("detail", true);
  }, Math.max(SOON_MS, redrawn + REDRAW_MS - Date.now()));
}

let listening = null;

// New events arrive by themselves, in a tab that is seen: a browser opens six connections to a server, for all of its
// tabs. A server that went away is asked again until it is back.
async function listen() {
  listening?.abort();
  if (document.hidden) return;
  const control = (listening = new AbortController());
  try {
    await stream("stream", (name, value) => {
      gone(false);
      if (name !== "head") return;
      if (value.run !== app.status.run) return void start();
      told = value.head;
      grown().catch((error) => failed(place("health"), error));
    }, control.signal);
    throw new Gone("the stream ended");
  } catch (error) {
    if (control.signal.aborted) return;
    failed(place("health"), error);
    retry();
  }
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) listening?.abort();
  else if (app.status && place("login").hidden) listen();
});

// The address that `serve` prints has the token behind #.
function arrive() {
  const given = location.hash.match(/^#token=(.*)$/);
  if (!given) return false;
  try {
    accept(decodeURIComponent(given[1]));
  } catch {
    accept(null);
  }
  history.replaceState(null, "", "#/");
  return true;
}

arrive();
window.addEventListener("hashchange", () => (arrive() ? start() : follow()));
document.addEventListener("click", (event) => {
  const anchor = event.target.closest?.("a");
  if (!anchor || event.ctrlKey || event.metaKey || event.shiftKey) return;
  opened = anchor.changes ? partOf(anchor.changes) : null;
  if (anchor.hash === location.hash) follow(true); // asked again
});
start();
