// Making elements. Every text is inserted as text; a memory's words can never become markup.

export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function show(place, ...children) {
  place.replaceChildren(...children.flat(3).filter(Boolean));
}

// What someone wrote: its own direction, its own line breaks.
export function said(text, attributes = {}) {
  return h("span", { dir: "auto", class: "said", ...attributes }, text);
}

// A link changes the state that the page has when it is followed, not the one it had when this was drawn.
export function link(app, changes, attributes, ...children) {
  const anchor = Object.assign(h("a", attributes, ...children), { changes });
  lead(anchor, app);
  return anchor;
}

// Where a link leads from here; one that leads to where the page is says so, and one to a recall is marked by its list.
export function lead(anchor, app) {
  anchor.setAttribute("href", app.href(anchor.changes));
  if ("recall" in anchor.changes) return;
  if (app.href(anchor.changes) === app.href({})) anchor.setAttribute("aria-current", "page");
  else anchor.removeAttribute("aria-current");
}

export function problem(error) {
  return h("p", { class: "problem", role: "alert" }, error.message);
}

// A long text, whose end is a click away.
export function long(text, most = 400, whole = said(text)) {
  if (text.length <= most) return whole;
  return h("details", { class: "long" }, h("summary", {}, said(`${text.slice(0, most - 100)}…`)), whole);
}

// An event is a moment: B is moved there.
export function event(app, seq) {
  return link(app, { b: `@${seq}` }, {}, `@${seq}`);
}

// A sentence of the engine, whose events are links.
export function events(app, text) {
  return text.split(/(?<=^|[\s(])@(\d+)\b/).map((part, place) => (place % 2 ? event(app, part) : part));
}

// A list whose end is folded away.
export function folded(items, most, attributes = {}) {
  const rest = items.slice(most);
  return [h("ul", { class: "plain small", ...attributes }, items.slice(0, most)), rest.length ? h("details", {}, h("summary", { class: "small" }, `${rest.length} more`), h("ul", { class: "plain small", ...attributes }, rest)) : null];
}

export function number(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  const round = Number(value.toFixed(digits));
  return String(round === 0 && value !== 0 ? Number(value.toPrecision(2)) : round); // a tiny one is not nothing
}

export function day(iso) {
  return iso.replace("T", " ").slice(0, 16);
}

export function age(iso, now = Date.now()) {
  const seconds = Math.max(0, (now - Date.parse(iso)) / 1000);
  const units = [[86400 * 365, "y"], [86400 * 30, "mo"], [86400, "d"], [3600, "h"], [60, "min"]];
  const found = units.find(([length]) => seconds >= length);
  return found ? `${Math.floor(seconds / found[0])} ${found[1]} ago` : "just now";
}

export function plural(count, word) {
  return `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
}
