// The address is the state: which page, of what, in which namespace. Every view can be linked to.
import { useState, useEffect } from "./framework.js";

const BASE = "/ui";
const listeners = new Set();

function current() {
  const path = location.pathname.slice(BASE.length).replace(/^\/+|\/+$/g, "");
  const [page = "", ...rest] = path.split("/");
  return { page, id: decoded(rest.join("/")), query: new URLSearchParams(location.search) };
}

// What somebody typed need not be well formed: then it names nothing, as it stands.
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function announce() {
  for (const listener of listeners) listener(current());
}

// A page that is gone back to is made anew, and has its length when its answers are there. The one that is left may be long
// enough already: so it counts only when nothing has moved it for a while.
const LONGEST_MS = 10000, SETTLED_MS = 500;
history.scrollRestoration = "manual";
let coming = 0;
function comeBackTo(top) {
  const began = performance.now(), mine = ++coming;
  let moved = began;
  const attempt = () => {
    const now = performance.now();
    if (mine !== coming || now > began + LONGEST_MS || now > moved + SETTLED_MS) return;
    if (Math.abs(scrollY - top) > 1) {
      moved = now;
      scrollTo(0, top);
    }
    requestAnimationFrame(attempt);
  };
  attempt();
}
for (const moved of ["wheel", "touchmove", "keydown", "pointerdown"]) addEventListener(moved, () => (coming += 1), { passive: true });

addEventListener("popstate", (event) => {
  announce();
  comeBackTo(event.state?.top ?? 0);
});

export function address(page, id = "", query = {}) {
  const asked = new URLSearchParams();
  const namespace = new URLSearchParams(location.search).get("ns");
  if (namespace && !("ns" in query)) asked.set("ns", namespace);
  for (const [name, value] of Object.entries(query)) {
    if (value !== "" && value !== null && value !== undefined && value !== false) asked.set(name, value);
  }
  const path = [BASE, page, id && encodeURIComponent(id)].filter(Boolean).join("/");
  const search = asked.toString();
  return (page ? path : `${BASE}/`) + (search ? `?${search}` : "");
}

export function go(to, { replace = false } = {}) {
  if (replace) history.replaceState(null, "", to);
  else {
    history.replaceState({ top: scrollY }, "");
    history.pushState(null, "", to);
    coming += 1;
    scrollTo(0, 0);
  }
  announce();
}

// Links are ordinary links; a plain click on one of ours stays on the page.
addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
  const to = new URL(link.href, location.href);
  if (to.origin !== location.origin || !to.pathname.startsWith(`${BASE}/`) || link.target) return;
  event.preventDefault();
  go(to.pathname + to.search);
});

export function useRoute() {
  const [route, setRoute] = useState(current);
  useEffect(() => {
    listeners.add(setRoute);
    return () => listeners.delete(setRoute);
  }, []);
  return route;
}
