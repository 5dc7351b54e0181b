// A state of the page is an address: #/recall/r2861/memory/auth-store?a=@400&b=@4252&formula=reverie
// Everything here is a function of values; main.js listens and navigates.

const PLACES = ["recall", "ask", "memory", "view", "dream"];
const SETTINGS = ["a", "b", "zoom", "cross", "formula", "tried", "k", "with", "grep", "since", "until", "project", "session", "actor", "by", "empty", "rated", "held"];

export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const state = {};
  const parts = path.split("/").filter(Boolean);
  for (let place = 0; place + 1 < parts.length; place += 2) {
    if (PLACES.includes(parts[place])) state[parts[place]] = decoded(parts[place + 1]);
  }
  for (const [name, value] of new URLSearchParams(query)) if (SETTINGS.includes(name) && value) state[name] = value;
  return state;
}

// A person may have typed it: a % that encodes nothing is a %.
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function format(state) {
  const path = PLACES.filter((name) => state[name]).map((name) => `${name}/${encodeURIComponent(state[name])}`);
  const query = new URLSearchParams(SETTINGS.filter((name) => state[name]).map((name) => [name, state[name]]));
  const text = query.toString().replaceAll("%40", "@");
  return `#/${path.join("/")}${text ? `?${text}` : ""}`;
}

// A state changed: undefined and "" take a value away. A recorded recall brings its own k and filters.
export function changed(state, changes) {
  const own = changes.recall ? { k: "", with: "" } : {};
  return Object.fromEntries(Object.entries({ ...state, ...changes, ...own }).filter(([, value]) => value));
}
