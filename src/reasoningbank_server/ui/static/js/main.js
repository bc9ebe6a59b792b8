// The frame around the pages: who looks, at which project, and where to go.
import { html, render, useState, useEffect, useRef } from "./framework.js";
import { call, forgetKept, get, onSignedOut, useData } from "./api.js";
import { follow, unfollow, useLive, useLiveState } from "./live.js";
import { address, go, useRoute } from "./routes.js";
import { Trouble, Waiting } from "./parts.js";
import { Enter } from "./pages/enter.js";

const PAGES = {
  "": ["Overview", () => import("./pages/overview.js")],
  search: ["Search", () => import("./pages/search.js")],
  sessions: ["Sessions", () => import("./pages/sessions.js")],
  graph: ["Graph", () => import("./pages/graph.js")],
  trust: ["Trust", () => import("./pages/trust.js")],
  queue: ["Queue and upkeep", () => import("./pages/queue.js")],
  peers: ["Peers", () => import("./pages/peers.js")],
};
const INNER = {
  memory: ["Memory", () => import("./pages/memory.js"), "search"],
  session: ["Session", () => import("./pages/session.js"), "sessions"],
};
// Its code is on the way while the server is asked who looks.
const first = location.pathname.slice(4).split("/")[0];
(PAGES[first] ?? INNER[first])?.[1]();
const RIGHTS = { read: "reading only", write: "reading and writing", admin: "with every right" };
const LIVE = { connecting: "connecting", live: "live", waiting: "not connected" };

const SUMS_MS = 5000;
function Frame({ me, status: before, signOut }) {
  const route = useRoute();
  const { data, load: ask } = useData("/v1/status");
  useLive(["memory", "node"], ask, SUMS_MS);
  const status = data ?? before;
  const [title, load, under = route.page] = PAGES[route.page] ?? INNER[route.page] ?? ["Nothing here", null];
  const [shown, setShown] = useState(null);
  const heading = useRef(null);
  const live = useLiveState();
  useEffect(() => {
    let gone = false;
    const show = (what) => gone || setShown({ page: route.page, ...what });
    document.title = `${title} · ReasoningBank`;
    load?.().then(({ Page }) => show({ Page }), () => show({ error: new Error("The server does not answer. Is it still running?") }));
    return () => (gone = true);
  }, [route.page]);
  // A browser does not fetch code again that it could not get: the whole page is opened anew when the server is back.
  const lost = useRef(false);
  useEffect(() => {
    if (live === "live" && lost.current && shown?.error) location.reload();
    lost.current = live === "waiting";
  }, [live]);
  useEffect(() => {
    const slash = (event) => {
      if (event.key !== "/" || event.metaKey || event.ctrlKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
      event.preventDefault();
      if (route.page === "search") document.querySelector("input[type=search]")?.focus();
      else go(address("search"));
    };
    addEventListener("keydown", slash);
    return () => removeEventListener("keydown", slash);
  }, [route.page]);
  // Whoever goes to another page by keyboard or ear goes on from its beginning; a page may take the focus further.
  const here = useRef(`${route.page}/${route.id}`);
  useEffect(() => {
    if (here.current === `${route.page}/${route.id}`) return;
    here.current = `${route.page}/${route.id}`;
    heading.current?.focus({ preventScroll: true });
  }, [route.page, route.id]);
  const namespace = route.query.get("ns") ?? me.namespace;
  return html`<a class="skip" href="#main" onClick=${(e) => (e.preventDefault(), heading.current?.focus())}>Skip to the contents</a>
    <aside class="side">
      <a class="name" href=${address("")}><${Mark} />ReasoningBank</a>
      <nav aria-label="Pages">
        ${Object.entries(PAGES).filter(([page]) => page !== "peers" || me.bus).map(([page, [name]]) => html`<a href=${address(page)} aria-current=${under === page ? "page" : null}>${name}</a>`)}
      </nav>
      <${Whose} me=${me} status=${status} namespace=${namespace} signOut=${signOut} />
    </aside>
    <main id="main" tabindex="-1" ref=${heading}>
      ${!load && html`<h1>Nothing here</h1><p>There is no such page. <a href=${address("")}>Overview</a></p>`}
      ${load && shown?.page === route.page && shown.error && html`<h1>${title}</h1><${Trouble} error=${shown.error} retry=${() => location.reload()} />`}
      ${load && shown?.page === route.page ? shown.Page && html`<${shown.Page} key=${`${route.page}/${route.id}/${namespace}`} route=${route} me=${me} status=${status} namespace=${namespace} />` : load && html`<${Waiting} />`}
    </main>`;
}

function Mark() {
  return html`<svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true"><rect width="32" height="32" rx="7" /><path d="M7 22c4 0 4-11 9-11s5 7 9 7" /><circle cx="25" cy="18" r="2.6" /></svg>`;
}

function Whose({ me, status, namespace, signOut }) {
  const live = useLiveState();
  const known = Object.keys(status.namespaces ?? {});
  const names = [...new Set([namespace, me.namespace, ...known])];
  const choose = (event) => go(address(location.pathname.slice(4).split("/")[0] in PAGES ? location.pathname.slice(4).split("/")[0] : "", "", { ns: event.target.value }));
  return html`<div class="whose">
    <label>Project <select value=${namespace} onChange=${choose}>
      ${names.map((name) => html`<option value=${name}>${name}</option>`)}
    </select></label>
    <p>${me.tenant === "local" ? "this machine's bank" : html`tenant <b>${me.tenant}</b>`}, ${RIGHTS[me.scopes.at(-1)]}</p>
    <p class=${`link ${live}`} role="status">${LIVE[live]}</p>
    ${signOut && html`<button type="button" class="plain" onClick=${signOut}>Sign out</button>`}
    <p class="version">version ${status.version}</p>
  </div>`;
}

function App() {
  const [state, setState] = useState({ me: null, status: null, error: null, out: false });
  const load = () =>
    Promise.all([get("/v1/me"), get("/v1/status")]).then(
      ([me, status]) => {
        setState({ me, status, error: null, out: false });
        follow();
      },
      (error) => setState((before) => ({ ...before, error: error.status === 401 ? null : error, out: error.status === 401 })),
    );
  useEffect(() => {
    onSignedOut(() => {
      unfollow();
      forgetKept();
      setState((before) => ({ ...before, out: true }));
    });
    if (!location.pathname.startsWith("/ui/enter")) load();
  }, []);
  const signOut = () => call("DELETE", "/ui/session").then(() => (unfollow(), forgetKept(), load()));
  if (state.out || location.pathname.startsWith("/ui/enter")) {
    const entered = () => {
      if (location.pathname.startsWith("/ui/enter")) history.replaceState(null, "", "/ui/");
      return load();
    };
    return html`<${Enter} entered=${entered} ended=${state.me !== null} />`;
  }
  if (state.error) return html`<main class="alone"><${Trouble} error=${state.error} retry=${load} /></main>`;
  if (!state.me) return html`<main class="alone"><${Waiting} /></main>`;
  return html`<${Frame} me=${state.me} status=${state.status} signOut=${state.me.name === "local" ? null : signOut} />`;
}

render(html`<${App} />`, document.getElementById("page"));
