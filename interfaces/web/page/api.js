// The server: JSON over HTTP with the token, if there is one, and server-sent events. Addresses are relative to the
// page, so that it works below any path.

export class Refused extends Error {
  constructor(status, problem) {
    super(problem.error || `the server answered ${status}`);
    this.status = status;
    this.code = problem.code || "";
    this.field = problem.field || "";
  }
}

export class Gone extends Error {}

const TOKEN = `recollect-token ${location.pathname}`; // a server may have many stores, each with tokens of its own
let token = sessionStorage.getItem(TOKEN) || "";
if (!isToken(token)) token = "";

export const hasToken = () => token !== "";

// What a header can carry.
export function isToken(value) {
  return /^[\x20-\x7e\xa0-\xff]*$/.test(value);
}

export function useToken(value) {
  token = value;
  sessionStorage.setItem(TOKEN, value);
}

async function ask(path, options = {}) {
  const headers = { ...(options.headers || {}), ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  let response;
  do {
    if (response) await new Promise((done) => setTimeout(done, 1000 * (Number(response.headers.get("Retry-After")) || 1)));
    try {
      response = await fetch(new URL(`api/${path}`, document.baseURI), { ...options, headers });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Gone("the server does not answer");
    }
  } while (response.headers.has("Retry-After")); // too many requests or connections: it did nothing yet
  if (!response.ok) throw new Refused(response.status, await response.json().catch(() => ({})));
  return response;
}

export function query(parameters) {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined && one !== null && one !== "") found.append(name, typeof one === "object" ? JSON.stringify(one) : one);
  }
  const text = found.toString();
  return text ? `?${text}` : "";
}

export async function get(path, parameters = {}, signal = undefined) {
  return (await ask(path + query(parameters), { signal })).json();
}

const sent = (value) => ({ method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(value) });

export async function post(path, value, signal = undefined) {
  return (await ask(path, { ...sent(value), signal })).json();
}

// Calls `heard(name, value)` for every event until the stream ends; with a `value` it is posted.
export async function stream(path, heard, signal = undefined, value = undefined) {
  const reader = (await ask(path, { ...(value ? sent(value) : {}), signal })).body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { done, value } = await reader.read().catch((error) => {
      if (error.name === "AbortError") throw error;
      throw new Gone("the server does not answer");
    });
    if (done) return;
    waiting += value;
    const events = waiting.split("\n\n");
    waiting = events.pop();
    for (const text of events) {
      const found = parseEvent(text);
      if (found) heard(found.name, found.value);
    }
  }
}

export function parseEvent(text) {
  const lines = text.split("\n");
  const name = lines.find((line) => line.startsWith("event: "));
  const data = lines.find((line) => line.startsWith("data: "));
  return name && data ? { name: name.slice(7), value: JSON.parse(data.slice(6)) } : null;
}
