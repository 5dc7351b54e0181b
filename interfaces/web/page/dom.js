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

export function link(href, attributes, ...children) {
  return h("a", { href, ...attributes }, ...children);
}

// A list whose end is folded away.
export function folded(items, most, attributes = {}) {
  const rest = items.slice(most);
  return [h("ul", { class: "plain small", ...attributes }, items.slice(0, most)), rest.length ? h("details", {}, h("summary", { class: "small" }, `${rest.length} more`), h("ul", { class: "plain small", ...attributes }, rest)) : null];
}

export function number(value, digits = 4) {
  return value === null || value === undefined ? "–" : Number(value.toFixed(digits)).toString();
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
