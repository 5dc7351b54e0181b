// What is said beside a question: filters, session and context, in the address (`with`, an object as JSON) and of a
// recorded recall. A recall's `filters` may hold more than a question over HTTP takes.

const SAID = ["project", "tags", "kinds", "since", "until", "valid_at"];
const TIMES = ["since", "until", "valid_at"];

export function beside(state) {
  try {
    const found = JSON.parse(state.with || "{}");
    return Array.isArray(found) ? {} : Object(found);
  } catch {
    return {};
  }
}

// The same between two moments: there `since` and `until` are the moments.
export function besideBetween(state) {
  const { since, until, ...rest } = beside(state);
  return { ...rest, told_since: since, told_until: until };
}

export function besideOf(asked) {
  const filters = Object.fromEntries(Object.entries(asked.filters).filter(([name]) => SAID.includes(name)));
  return given({ ...times(filters), session: asked.session, context: given(times(asked.context)) });
}

export function unsaid(asked) {
  return given(Object.fromEntries(Object.entries(asked.filters).filter(([name]) => !SAID.includes(name))));
}

export function besideText(name, value) {
  return `${name.replace("_", " ")} ${Array.isArray(value) ? value.join(", ") : typeof value === "object" ? JSON.stringify(value) : value}`;
}

function given(found) {
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value && (typeof value !== "object" || Object.keys(value).length)));
}

// Recorded times are microseconds; a question takes them in words.
function times(found) {
  return Object.fromEntries(Object.entries(found).map(([name, value]) => [name, TIMES.includes(name) && typeof value === "number" ? iso(value) : value]));
}

function iso(micros) {
  return new Date(Math.floor(micros / 1000)).toISOString().replace("Z", `${String(micros % 1000).padStart(3, "0")}Z`);
}
