// An empty store: three commands to copy, and a store to look at.

import { h, show } from "./dom.js";

const COMMANDS = ['recollect remember "Deploys happen on Tuesdays"', "recollect import ~/.claude/projects", "recollect watch ~/notes"];

// As a shell takes it.
export function quoted(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

export function renderFirstRun(place, app) {
  show(place, h("div", { class: "card pad" }, h("h2", {}, "Nothing is remembered yet"), h("p", {}, "Tell it something:"), COMMANDS.map((command) => copyable(`${command} --store ${quoted(app.status.path)}`)),
    h("p", {}, "Or look at a store that is full already:"), copyable("recollect demo --store demo && recollect serve --store demo --port 0 --open")));
}

function copyable(command) {
  const button = h("button", { type: "button", class: "mini", onclick: async () => { await navigator.clipboard.writeText(command); button.textContent = "Copied"; } }, "Copy");
  return h("p", { class: "command" }, h("code", {}, command), navigator.clipboard ? button : null); // plain http from afar has none
}
