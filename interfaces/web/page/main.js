// The page: reads the address, asks the server, and lets each view fill its own place.

import { changed, format, parse } from "./address.js";
import { Gone, Refused, get, hasToken, stream, useToken } from "./api.js";
import { h, lead, plural, problem, show } from "./dom.js";
import { renderCentre } from "./centre.js";
import { renderDetail } from "./memory.js";
import { renderInbox } from "./inbox.js";
import { renderRiver } from "./river_view.js";
import { verdictOf } from "./verdict.js";

const place = (id) => document.getElementById(id);
// In the order in which they ask the server: the answer first.
const views = {
  centre: { render: renderCentre, reads: ["recall", "ask", "view", "dream", "a", "b", "cross", "formula", "tried", "k"] },
  river: { render: renderRiver, reads: ["a", "b", "zoom"] },
  inbox: { render: renderInbox, reads: ["recall", "grep", "since", "until", "project", "session", "actor", "by", "empty", "rated", "held"] },
  detail: { render: renderDetail, reads: ["recall", "ask", "memory", "a", "b", "formula", "k"] },
};

const SIDE_VIEWS = ["dreams", "expectations"];

const app = {
  state: {},
  status: null,
  head: 0,
  href: (changes) => format(changed(app.state, changes)),
  go: (changes) => { if (location.hash === app.href(changes)) follow(true); else location.hash = app.href(changes); },
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
const running = {};
const shown = {};

const relink = () => document.querySelectorAll("main a").forEach((anchor) => lead(anchor, app));

function follow(again = false) {
  app.state = parse(location.hash);
  relink();
  for (const anchor of document.querySelectorAll("header nav a")) {
    if (anchor.dataset.view === (SIDE_VIEWS.includes(app.state.view) ? app.state.view : "")) anchor.setAttribute("aria-current", "page");
    else anchor.removeAttribute("aria-current");
  }
  return Promise.all(Object.keys(views).map((name) => draw(name, again)));
}

const read = (name) => JSON.stringify(views[name].reads.map((one) => app.state[one] || ""));

async function draw(name, again) {
  const key = read(name), target = place(name), [before] = target.children, other = shown[name] !== key;
  if (!again && !other) return;
  shown[name] = key;
  running[name]?.abort();
  const control = (running[name] = new AbortController());
  const focused = reachable(target).indexOf(document.activeElement);
  target.setAttribute("aria-busy", "true");
  try {
    await views[name].render(target, app, control.signal);
    if (!control.signal.aborted) target.querySelector(":scope > .problem")?.remove();
  } catch (error) {
    if (control.signal.aborted) return;
    if (other && before === target.firstElementChild && !(error instanceof Gone)) show(target); // it was of another address
    failed(target, error);
  }
  if (control.signal.aborted) return;
  target.removeAttribute("aria-busy");
  if (focused >= 0 && document.activeElement === document.body) reachable(target)[focused]?.focus();
}

// What the keyboard reaches; a place that is drawn again gives the focus back to what stands where it was.
const reachable = (target) => [...target.querySelectorAll("a, button, input, select, textarea, summary, [tabindex]")];

// An error stands in the place that it is about, and stays until that place shows something else.
export function failed(target, error) {
  if (error.name === "AbortError") return;
  if (error instanceof Gone) return gone(true), retry();
  if (error instanceof Refused && error.status === 401) return login(true);
  target.querySelectorAll(":scope > .problem, .waiting").forEach((one) => one.remove());
  target.prepend(problem(error));
}

function gone(is) {
  document.body.classList.toggle("gone", is);
  place("gone").hidden = !is;
}

function login(needed) {
  const form = place("login");
  place("refused").textContent = needed && hasToken() ? "This token is not the server's; look at what `recollect serve` printed." : "";
  form.hidden = !needed;
  for (const id of ["river", "columns"]) place(id).hidden = needed;
  if (needed) place("token").focus();
}

place("login").addEventListener("submit", (event) => {
  event.preventDefault();
  useToken(place("token").value.trim());
  start();
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
  app.head = app.status.head;
  place("store").textContent = `${app.status.store}  ${app.status.memories.toLocaleString("en")} memories, ${plural(app.status.head, "event")}`;
  show(place("health"), app.status.degraded.map((line) => h("p", { class: "note" }, line)));
}

let waiting = 0;

function retry() {
  clearTimeout(waiting);
  waiting = setTimeout(start, 2000);
}

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
  login(false);
  gone(false);
  follow(true);
  listen();
}

async function grown() {
  const empty = !app.status.memories;
  await totals();
  draw("river", true);
  draw("inbox", true);
  if (empty) draw("centre", true);
}

let listening = null;

// New events arrive by themselves; a server that went away is asked again until it is back.
async function listen() {
  listening?.abort();
  const control = (listening = new AbortController());
  try {
    await stream("stream", (name, value) => {
      gone(false);
      if (name === "head" && value.head !== app.head) grown().catch((error) => failed(place("health"), error));
    }, control.signal);
    throw new Gone("the stream ended");
  } catch (error) {
    if (control.signal.aborted) return;
    failed(place("health"), error);
    retry();
  }
}

// The address that `serve` prints has the token behind #.
function arrive() {
  const given = location.hash.match(/^#token=(.*)$/);
  if (!given) return false;
  useToken(decodeURIComponent(given[1]));
  history.replaceState(null, "", "#/");
  return true;
}

arrive();
window.addEventListener("hashchange", () => (arrive() ? start() : follow()));
document.addEventListener("click", ({ target }) => target.closest?.("a")?.hash === location.hash && follow(true)); // asked again
start();
