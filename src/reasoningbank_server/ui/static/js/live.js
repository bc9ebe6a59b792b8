// What the server commits, as it happens, whichever process wrote it. Bursts are told once.
import { useEffect, useState } from "./framework.js";
import { get } from "./api.js";

const GATHER_MS = 700;
const AGAIN_MS = 2000;
// What was missed is not known: whatever is shown is asked for anew.
const ANYTHING = { has: () => true };
const listeners = new Set();
let stream = null;
let followed = false;
let gathered = null;
let state = "connecting";

function tell() {
  const kinds = gathered;
  gathered = null;
  // Whoever shows the page again asks for all of it.
  if (document.hidden) return;
  for (const listener of listeners) listener({ kinds, state });
}

function change(to) {
  if (state === to) return;
  const back = state === "waiting" && to === "live";
  state = to;
  for (const listener of listeners) listener({ kinds: back ? ANYTHING : new Set(), state });
}

function open() {
  stream = new EventSource("/v1/changes/stream");
  stream.onopen = () => change("live");
  stream.onerror = () => {
    change("waiting");
    if (stream.readyState === EventSource.CLOSED) {
      stream = null;
      setTimeout(comeBack, AGAIN_MS);
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

// Refused for good, or only for now: a session that ended is told by the answer.
function comeBack() {
  if (followed) get("/v1/me").then(follow, (error) => error.status === 401 || setTimeout(comeBack, AGAIN_MS));
}

export function follow() {
  followed = true;
  if (!stream && !document.hidden) open();
}

function pause() {
  stream?.close();
  stream = null;
  change("waiting");
}

export function unfollow() {
  followed = false;
  pause();
}

// Nobody looks at a hidden page, and a browser has few connections to one server for all its tabs.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) pause();
  else if (followed) follow();
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
