// What the server commits, as it happens, whichever process wrote it. Bursts are told once.
import { useEffect, useState } from "./framework.js";
import { get } from "./api.js";

const GATHER_MS = 700;
const listeners = new Set();
let stream = null;
let gathered = null;
let state = "connecting";

function tell() {
  const kinds = gathered;
  gathered = null;
  // Nobody looks at a hidden page; it catches up when it is shown again.
  if (document.hidden) {
    gathered = kinds;
    return;
  }
  for (const listener of listeners) listener({ kinds, state });
}

function change(to) {
  if (state === to) return;
  state = to;
  for (const listener of listeners) listener({ kinds: new Set(), state });
}

export function follow() {
  if (stream) return;
  stream = new EventSource("/v1/changes/stream");
  stream.onopen = () => change("live");
  stream.onerror = () => {
    change("waiting");
    if (stream.readyState === EventSource.CLOSED) {
      stream = null;
      // Refused for good, or only for now: a session that ended is told by the next answer.
      setTimeout(() => get("/v1/me").then(follow, () => {}), 2000);
    }
  };
  stream.addEventListener("change", (event) => {
    const { kind } = JSON.parse(event.data);
    if (!gathered) {
      gathered = new Set();
      setTimeout(tell, GATHER_MS);
    }
    gathered.add(kind);
  });
}

export function unfollow() {
  stream?.close();
  stream = null;
  change("waiting");
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden && gathered) tell();
});

// `pause` is for what costs the server more: not more often than that, but after the last change all the same.
export function useLive(kinds, act, pause = 0) {
  useEffect(() => {
    let timer = null;
    let last = -Infinity;
    const acting = () => {
      timer = null;
      last = performance.now();
      act();
    };
    const listener = (told) => {
      if (timer === null && kinds.some((kind) => told.kinds.has(kind))) timer = setTimeout(acting, Math.max(0, last + pause - performance.now()));
    };
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      clearTimeout(timer);
    };
  }, [act]);
}

export function useLiveState() {
  const [now, setNow] = useState(state);
  useEffect(() => {
    const listener = (told) => setNow(told.state);
    listeners.add(listener);
    // It may have changed since it was drawn.
    setNow(state);
    return () => listeners.delete(listener);
  }, []);
  return now;
}
