// The river across the top: drag the handles A and B, drag or wheel to move and zoom, arrow keys step event by event.

import { get } from "./api.js";
import { h, show, svg } from "./dom.js";
import { LANES, outside, river, seqAt, spanOf, zoomed } from "./river.js";

const WIDTH = 1000, LANE = 18, HEIGHT = LANES.length * LANE, BUCKETS = 500, PLAY_MS = 350, SEQ = /^@(\d+)$/;
const UNCOUNTED = { key: "", data: null };
let playing = null, dragging = false, counted = UNCOUNTED;

export function forgetRiver() {
  counted = UNCOUNTED;
}

export async function renderRiver(place, app, signal) {
  if (dragging) return; // its end draws the river
  const [since, until] = (app.state.zoom || "").split("..");
  const key = `${app.head} ${since} ${until}`;
  const whole = h("button", { type: "button", class: "mini", disabled: !app.state.zoom, onclick: () => app.drag({ zoom: "" }) }, "Whole log");
  if (counted.key !== key) {
    const data = await get("river", { buckets: BUCKETS, since, until }, signal).catch((error) => {
      if (error.status && app.state.zoom) show(place, whole);
      throw error;
    });
    counted = { key, data };
  }
  if (dragging) return;
  const { data } = counted;
  if (!data.head) return show(place, h("p", { class: "empty" }, "The log is empty."));
  const canvas = svg("svg", { class: "river", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": `${data.head} events from ${data.first} to ${data.last}` }, river(data, { width: WIDTH, lane: LANE }));
  const now = h("output", { class: "small moment", "aria-live": "polite" });
  const handles = ["a", "b"].map((name) => handle(name, data, app, canvas, now));
  show(place,
    h("div", { class: "lanes small dim", "aria-hidden": "true" }, LANES.map((name) => h("span", { class: `lane-${name}` }, name))),
    h("div", { class: "bed" }, canvas, handles.map((one) => one.element)),
    h("div", { class: "small dim ends" }, h("span", {}, data.since.slice(0, 16).replace("T", " ")), now, h("span", {}, data.until.slice(0, 16).replace("T", " "))),
    h("div", { class: "tools" },
      h("button", { type: "button", class: "mini", onclick: () => play(app) }, playing ? "Stop" : "Play"),
      h("button", { type: "button", class: "mini", onclick: () => step(app, -1) }, "◀ event"), h("button", { type: "button", class: "mini", onclick: () => step(app, 1) }, "event ▶"),
      h("button", { type: "button", class: "mini", onclick: () => rezoom(app, data, 0.5, 0.5) }, "Zoom in"), whole,
      h("button", { type: "button", class: "mini", disabled: !app.state.b && !app.state.a, onclick: () => app.go({ a: "", b: "" }) }, "Back to now")));
  canvas.addEventListener("wheel", (event) => { event.preventDefault(); rezoom(app, data, event.offsetX / canvas.clientWidth, event.deltaY > 0 ? 1.5 : 1 / 1.5); }, { passive: false });
  pan(canvas, app, data);
  describe(now, app, signal);
}

export function seqOf(app, name) {
  const at = app.state[name]?.match(SEQ);
  return at ? Math.min(app.head, Number(at[1])) : name === "b" ? app.head : null;
}

function handle(name, data, app, canvas, now) {
  const seq = seqOf(app, name);
  const at = (value) => (spanOf(data.upto, value) + 0.5) / data.upto.length;
  const element = h("div", { class: `handle handle-${name}`, role: "slider", tabindex: 0, "aria-label": name === "a" ? "A: the earlier moment" : "B: the later moment, now unless moved", "aria-valuemin": 0, "aria-valuemax": data.head }, name.toUpperCase());
  const put = (value) => {
    const beyond = outside(data, value), letter = name.toUpperCase();
    element.style.left = `${beyond ? (beyond < 0 ? 0 : 100) : at(value) * 100}%`;
    element.textContent = beyond ? (beyond < 0 ? `◂${letter}` : `${letter}▸`) : letter;
    element.classList.toggle("outside", beyond !== 0);
    element.setAttribute("aria-valuenow", value);
    element.setAttribute("aria-valuetext", `event ${value}${beyond ? `, ${beyond < 0 ? "before" : "after"} what is shown` : ""}`);
  };
  put(seq ?? 0);
  if (seq === null) element.setAttribute("aria-valuetext", "not set");
  element.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -100, PageDown: 100, Home: -Infinity, End: Infinity };
    if (!(event.key in steps)) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(data.head, (seqOf(app, name) ?? 0) + steps[event.key]));
    app.drag({ [name]: `@${next}` });
  });
  element.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    element.setPointerCapture(event.pointerId);
    dragging = true;
    playing = null;
    let value = null;
    const move = (where) => {
      const box = canvas.getBoundingClientRect();
      value = seqAt(data, (where.clientX - box.left) / box.width);
      put(value);
      now.textContent = `${name.toUpperCase()} @${value}`;
    };
    element.addEventListener("pointermove", move);
    element.addEventListener("lostpointercapture", () => {
      element.removeEventListener("pointermove", move);
      dragging = false;
      if (value !== null) app.drag({ [name]: `@${value}` });
      app.refresh("river"); // and what came meanwhile
    }, { once: true });
  });
  return { element };
}

function step(app, by) {
  const next = Math.max(0, Math.min(app.head, (seqOf(app, "b") ?? app.head) + by));
  app.drag({ b: `@${next}` });
}

// Runs until its end, or until B is moved otherwise.
async function play(app) {
  const mine = (playing = playing ? null : {});
  if (!mine) return app.refresh("river");
  let at = seqOf(app, "b") === app.head ? 0 : seqOf(app, "b");
  const stride = Math.max(1, Math.round((app.head - at) / 60));
  const pause = matchMedia("(prefers-reduced-motion: reduce)").matches ? PLAY_MS * 3 : PLAY_MS;
  do {
    at = Math.min(app.head, at + stride);
    await Promise.all([app.drag({ b: `@${at}` }), new Promise((done) => setTimeout(done, pause))]);
  } while (playing === mine && at < app.head && app.state.b === `@${at}`);
  if (playing !== mine) return;
  playing = null;
  app.refresh("river");
}

function rezoom(app, data, place, factor) {
  const [since, until] = zoomed(Date.parse(data.since), Date.parse(data.until), place, factor);
  const [first, last] = [Date.parse(data.first), Date.parse(data.last)];
  if (until - since >= last - first) return app.drag({ zoom: "" });
  if (until - since >= 1000) app.drag({ zoom: span(Math.max(first, since), Math.min(last + 1, until)) });
}

function span(since, until) {
  return [since, until].map((time) => new Date(time).toISOString()).join("..");
}

// A click moves B there. A drag moves what is shown, if it is not all; the lanes follow the pointer and are counted anew at its end.
function pan(canvas, app, data) {
  canvas.addEventListener("pointerdown", (event) => {
    const over = new AbortController(), { signal } = over;
    const [start, since, until] = [event.clientX, Date.parse(data.since), Date.parse(data.until)];
    const move = (to) => app.state.zoom && canvas.setAttribute("viewBox", `${((start - to.clientX) / canvas.clientWidth) * WIDTH} 0 ${WIDTH} ${HEIGHT}`);
    canvas.setPointerCapture(event.pointerId);
    canvas.addEventListener("pointermove", move, { signal });
    canvas.addEventListener("pointercancel", () => over.abort(), { signal });
    canvas.addEventListener("pointerup", (end) => {
      over.abort();
      const box = canvas.getBoundingClientRect();
      if (Math.abs(end.clientX - start) < 4) return app.drag({ b: `@${seqAt(data, (end.clientX - box.left) / box.width)}` });
      if (!app.state.zoom) return;
      const wanted = ((start - end.clientX) / canvas.clientWidth) * (until - since);
      const shift = Math.max(Date.parse(data.first) - since, Math.min(Date.parse(data.last) + 1 - until, wanted));
      app.drag({ zoom: span(since + shift, until + shift) });
    }, { signal });
  });
}

async function describe(now, app, signal) {
  const seq = seqOf(app, "b"), { b } = app.state;
  if (b && !SEQ.test(b)) { now.textContent = `B is ${b}`; return; }
  if (seq === app.head || !seq) { now.textContent = seq ? `B is now, @${app.head}` : ""; return; }
  const found = await get(`events/${seq}`, {}, signal).catch(() => null);
  if (found?.event) now.textContent = `B @${seq} ${found.at.slice(0, 16).replace("T", " ")}: ${found.event.summary}`;
}
