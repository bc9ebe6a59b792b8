// The REST interface as the page uses it: JSON in and out, problems as sentences, a session that has ended told once.
import { useState, useEffect, useRef, useCallback, useMemo } from "./framework.js";

export class Problem extends Error {
  constructor(status, code, detail) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

let whenSignedOut = () => {};
export function onSignedOut(act) {
  whenSignedOut = act;
}

function namespaced(path) {
  const namespace = new URLSearchParams(location.search).get("ns");
  if (!namespace || !path.startsWith("/v1/") || /[?&]namespace=/.test(path)) return path;
  return `${path}${path.includes("?") ? "&" : "?"}namespace=${encodeURIComponent(namespace)}`;
}

export function twin(path) {
  return namespaced(path);
}

export async function call(method, path, body, { signal } = {}) {
  const headers = {};
  if (body !== undefined) headers["content-type"] = "application/json";
  let answer;
  try {
    answer = await fetch(namespaced(path), {
      method,
      headers,
      signal,
      credentials: "same-origin",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "unreachable", "The server does not answer. Is it still running?");
  }
  if (answer.status === 204) return null;
  const told = await answer.json().catch((error) => {
    // Given up while it came: no answer, and not an empty one either.
    if (error.name === "AbortError") throw error;
    return {};
  });
  if (answer.ok) return told;
  if (answer.status === 401 && path.startsWith("/v1/")) whenSignedOut();
  throw new Problem(answer.status, told.code ?? "", told.detail ?? `The server answered ${answer.status}.`);
}

export const get = (path, options) => call("GET", path, undefined, options);
export const post = (path, body, options) => call("POST", path, body, options);

// What a request gives, asked anew when it is another one. Asked again while it is on its way (others go on writing), it is
// waited for first: an answer that takes longer than the next change takes to come would never be seen otherwise.
export function useAnswer(ask) {
  const [state, setState] = useState({ ask, data: null, error: null });
  const running = useRef(null);
  const load = useCallback(() => {
    const before = running.current;
    if (!ask) return Promise.resolve();
    if (before) return (before.next ??= before.done.then(() => (before.control.signal.aborted ? null : load())));
    const mine = (running.current = { control: new AbortController(), next: null });
    mine.done = ask(mine.control.signal)
      .then(
        (data) => setState({ ask, data, error: null }),
        (error) => error.name === "AbortError" || setState((was) => ({ ...was, ask, error })),
      )
      .then(() => running.current === mine && (running.current = null));
    return mine.done;
  }, [ask]);
  useEffect(() => {
    load();
    return () => {
      running.current?.control.abort();
      running.current = null;
    };
  }, [load]);
  return { ...state, load };
}

// Answers of this visit, the last ones: shown at once when they are asked for again, until the new answer is there.
const MOST_KEPT = 40;
const kept = new Map();

function keep(path, data) {
  kept.delete(path);
  kept.set(path, data);
  if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value);
  return data;
}

export function forgetKept() {
  kept.clear();
}

// Asked for before anybody wants to see it, one after the other, while nothing else is to be done.
export function warm(paths) {
  const [path, ...rest] = paths.map(namespaced).filter((one) => !kept.has(one));
  if (!path) return () => {};
  const control = new AbortController();
  const ask = () => get(path, { signal: control.signal }).then((data) => (keep(path, data), (next = warm(rest))), () => {});
  let next = null;
  const timer = (window.requestIdleCallback ?? setTimeout)(ask);
  return () => ((window.cancelIdleCallback ?? clearTimeout)(timer), control.abort(), next?.());
}

export function useData(path, { lasting = true } = {}) {
  const whole = path && namespaced(path);
  const ask = useMemo(() => whole && ((signal) => get(whole, { signal }).then((data) => (lasting ? keep(whole, data) : data))), [whole]);
  const answer = useAnswer(ask);
  return answer.ask === ask && (answer.data || answer.error) ? answer : { ...answer, data: kept.get(whole) ?? null, error: null };
}
