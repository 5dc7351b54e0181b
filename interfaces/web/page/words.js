// What the words of a formula mean, as its reference says; asked for once.

import { get } from "./api.js";
import { HUES, hue } from "./bars.js";

let asked = null;
const KINDS = ["how near it is in meaning", "how well its words match", "what stands around it", "who it is about or from", "when it was", "how it was used", "how much it counts", "another number of the formula"];

export function words() {
  asked ??= get("words").catch(() => { asked = null; return {}; });
  return asked;
}

// The meaning of a column: that of the factor, input or channel of its name, or what kind of thing it says.
export function meaning(known, column) {
  const name = column.split(" · ")[0];
  return known[name] || known[name.split("/")[0]] || KINDS[HUES.indexOf(hue(column))];
}
