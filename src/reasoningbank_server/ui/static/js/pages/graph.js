// Graph: conversations as nodes, sentences as edges, lessons among them; a question walks it, path by path.
import { html, useCallback, useEffect, useMemo, useRef, useState } from "../framework.js";
import { post, useData } from "../api.js";
import { Drawing, labelColour, labelNames } from "../drawing.js";
import { useLive } from "../live.js";
import { address, go } from "../routes.js";
import { Ago, Nothing, Said, Section, Trouble, Waiting } from "../parts.js";
import { count, counted, cut, two } from "../words.js";

const LABELS = { UserRequest: "requests", UserPreference: "preferences", AgentAnswer: "answers", AgentAction: "actions", Event: "events", DataSource: "sources", Lesson: "lessons" };
const AGES = { "": "any time", 7: "last 7 days", 30: "last 30 days", 365: "last year" };
const FEW = 1000;
const STEP_MS = 420;
const EXCERPT = 3000;
const calm = matchMedia("(prefers-reduced-motion: reduce)");

function sourceOf({ around, conv, limit }) {
  if (conv) return `/v1/graph/conversations/${encodeURIComponent(conv)}?excerpt=${EXCERPT}`;
  const asked = new URLSearchParams({ limit, excerpt: EXCERPT, ...(around && { around }) });
  return `/v1/graph?${asked}`;
}

export function Page({ route }) {
  const asked = Object.fromEntries(["q", "around", "conv", "tag", "age", "hide"].map((name) => [name, route.query.get(name) ?? ""]));
  const limit = Number(route.query.get("limit")) || FEW;
  const path = sourceOf({ ...asked, limit });
  const part = useData(path, { lasting: false });
  const conversations = useData("/v1/graph/conversations");
  useLive(["node", "edge"], part.load);
  const walk = useWalk(asked.q);
  const off = useMemo(() => new Set(asked.hide.split(",").filter(Boolean)), [asked.hide]);
  const [picked, setPicked] = useState(null);
  const [path_, setPath] = useState(0);
  const shown = useMemo(() => join(part.data, walk.data), [part.data, walk.data]);
  const hidden = useMemo(() => filterOf(shown, off, asked), [shown, off, asked.tag, asked.age]);
  useEffect(() => setPath(0), [walk.data]);
  const to = (query) => address("graph", "", { ...asked, limit: limit === FEW ? "" : limit, ...query });
  const tags = useMemo(() => [...new Set((shown?.nodes ?? []).flatMap((node) => node.tags ?? []))].sort(), [shown]);
  const there = useMemo(() => tally(shown), [shown]);
  const all = Object.values(conversations.data?.conversations ?? {}).reduce((a, b) => a + b, 0);
  const paths = walk.data?.paths ?? [];
  return html`<header class="top"><h1>Graph</h1>
      <p class="facts">${shown && html`<b>${count(shown.nodes.length)}</b> nodes and lessons <b>${count(shown.links.length)}</b> sentences${asked.around ? " around one of them" : asked.conv ? " of one conversation" : all > shown.nodes.length ? `, the newest of ${counted(all, "node")}` : ""}`}
      ${(asked.around || asked.conv || asked.q) && html` <a href=${address("graph")}>show all</a>`}${!asked.around && !asked.conv && all > limit && limit < 5000 && html` <a href=${to({ limit: 5000 })}>show 5,000</a>`}</p></header>
    <${Ask} text=${asked.q} to=${to} busy=${walk.busy} />
    <${Trouble} error=${part.error ?? walk.error} retry=${part.load} />
    <div class="filters">
      <label>Conversation <select value=${asked.conv} onChange=${(e) => go(to({ conv: e.target.value, around: "" }))}><option value="">all</option>${Object.entries(conversations.data?.conversations ?? {}).slice(0, 500).map(([name, nodes]) => html`<option value=${name}>${cut(name, 60)} (${nodes})</option>`)}</select></label>
      ${tags.length > 0 && html`<label>Tag <select value=${asked.tag} onChange=${(e) => go(to({ tag: e.target.value }))}><option value="">any</option>${tags.map((tag) => html`<option value=${tag}>${tag}</option>`)}</select></label>`}
      <label>Since <select value=${asked.age} onChange=${(e) => go(to({ age: e.target.value }))}>${Object.entries(AGES).map(([days, word]) => html`<option value=${days}>${word}</option>`)}</select></label>
    </div>
    <fieldset class="labels"><legend class="unseen">Kinds of nodes</legend>${labelNames.map((name) => html`<label><input type="checkbox" checked=${!off.has(name)} onChange=${() => go(to({ hide: [...toggled(off, name)].join(",") }), { replace: true })} /><i class="swatch" style=${{ background: labelColour(name) }}></i>${LABELS[name]} <span class="note">${there[name] ?? 0}</span></label>`)}</fieldset>
    ${shown && !shown.nodes.length ? html`<${Nothing}>No conversation was kept as a graph yet: <code>reasoningbank graph ingest FILE</code> makes one, <code>reasoningbank link</code> ties memories.<//>`
      : html`<div class="graph">
        <${Canvas} shown=${shown} hidden=${hidden} picked=${picked} pick=${setPicked} lit=${paths[path_]} />
        <div class="picked" aria-live="polite">${picked && shown?.byId.has(picked) ? html`<${Picked} node=${shown.byId.get(picked)} shown=${shown} close=${() => setPicked(null)} pick=${setPicked} />`
          : asked.q ? html`<${Paths} walk=${walk} shown=${shown} current=${path_} choose=${setPath} />` : html`<p class="note">Choose a node to read it, point at a line for its sentence, or ask a question to see which way the answer lies.</p>`}</div>
      </div>
      <${Sentences} shown=${shown} hidden=${hidden} path=${path} pick=${setPicked} />`}`;
}

function toggled(set, name) {
  const next = new Set(set);
  if (!next.delete(name)) next.add(name);
  return next;
}

function tally(shown) {
  const there = {};
  for (const node of shown?.nodes ?? []) there[node.label] = (there[node.label] ?? 0) + 1;
  return there;
}

function join(part, walk) {
  if (!part) return null;
  const nodes = new Map(part.nodes.map((node) => [node.id, node]));
  const links = new Map(part.links.map((link) => [link.id, link]));
  for (const node of walk?.nodes ?? []) nodes.set(node.id, node);
  for (const link of walk?.links ?? []) links.set(link.id, link);
  return { nodes: [...nodes.values()], links: [...links.values()], byId: nodes };
}

function filterOf(shown, off, { tag, age }) {
  const since = age ? Date.now() - Number(age) * 86400000 : 0;
  return (name) => {
    const node = shown?.byId.get(name);
    if (!node) return false;
    return off.has(node.label) || (tag !== "" && !(node.tags ?? []).includes(tag)) || (since > 0 && Date.parse(node.ingestion_time ?? node.created_at ?? "") < since);
  };
}

function useWalk(question) {
  const [state, setState] = useState({ data: null, error: null, busy: false });
  useEffect(() => {
    if (!question) return setState({ data: null, error: null, busy: false });
    const control = new AbortController();
    setState((before) => ({ ...before, busy: true, error: null }));
    post(`/v1/graph/walk?excerpt=${EXCERPT}`, { query: question }, { signal: control.signal }).then(
      (data) => setState({ data, error: null, busy: false }),
      (error) => error.name === "AbortError" || setState({ data: null, error, busy: false }),
    );
    return () => control.abort();
  }, [question]);
  return state;
}

function Ask({ text, to, busy }) {
  const submit = (event) => {
    event.preventDefault();
    go(to({ q: new FormData(event.target).get("q") }));
  };
  return html`<form class="asking" role="search" onSubmit=${submit}><label class="unseen" for="q">Walk from a question</label>
    <input id="q" name="q" type="search" defaultValue=${text} value=${text} placeholder="Walk from a question: why did …?" autocomplete="off" />
    <button type="submit" disabled=${busy}>${busy ? "Walking…" : "Walk"}</button></form>`;
}

function Canvas({ shown, hidden, picked, pick, lit }) {
  const place = useRef(null);
  const drawing = useRef(null);
  useEffect(() => {
    drawing.current = new Drawing(place.current, pick);
    return () => drawing.current.close();
  }, []);
  useEffect(() => {
    if (shown) drawing.current.show(shown);
  }, [shown]);
  useEffect(() => {
    drawing.current.hidden = hidden;
    drawing.current.chosen = drawing.current.byId.has(picked) ? picked : null;
    drawing.current.refresh();
  }, [hidden, picked, shown]);
  useEffect(() => light(drawing.current, lit), [lit, shown]);
  const zoom = (factor) => () => drawing.current?.zoom(factor);
  return html`<div class="canvas">
    <div ref=${place} role="img" aria-label="The graph as a drawing; its sentences are listed below it"></div>
    ${shown && html`<div class="over"><button type="button" onClick=${zoom(1.5)} aria-label="Closer">+</button><button type="button" onClick=${zoom(1 / 1.5)} aria-label="Further">−</button><button type="button" onClick=${() => drawing.current?.whole()}>Whole</button></div>`}
  </div>`;
}

// The way is lit step by step, in the order in which it was gone.
function light(drawing, path) {
  if (!path) {
    drawing.lit = null;
    drawing.refresh();
    return undefined;
  }
  let steps = calm.matches ? path.edges.length : 0;
  const draw = () => {
    drawing.lit = { nodes: new Set(path.nodes.slice(0, steps + 1)), edges: new Set(path.edges.slice(0, steps)) };
    drawing.refresh();
  };
  draw();
  const timer = setInterval(() => {
    if (++steps > path.edges.length) return clearInterval(timer);
    draw();
  }, STEP_MS);
  return () => clearInterval(timer);
}

const textOf = (node) => node?.title || node?.text || node?.key_lesson || node?.id || "";

function Paths({ walk, shown, current, choose }) {
  if (walk.busy && !walk.data) return html`<${Waiting} />`;
  if (!walk.data) return null;
  const links = new Map(walk.data.links.map((link) => [link.id, link]));
  return html`<p class="note">${counted(walk.data.paths.length, "path")}, the strongest first; ${counted(walk.data.visited, "node")} looked at</p>
    ${!walk.data.paths.length && html`<${Nothing}>Nothing in the graph leads from this question.<//>`}
    <ol class="paths">${walk.data.paths.map((path, index) => html`<li key=${index} aria-current=${index === current ? "true" : null}><button type="button" onClick=${() => choose(index)}>
      ${path.nodes.map((name, hop) => html`<span class="hop"><i class="swatch" style=${{ background: labelColour(shown?.byId.get(name)?.label) }}></i> <bdi>${cut(textOf(shown?.byId.get(name)), 90)}</bdi></span>
        ${path.edges[hop] && html`<span class="edge" dir="auto">${cut(links.get(path.edges[hop])?.text, 140)}</span>`}`)}
    </button></li>`)}</ol>`;
}

function Picked({ node, shown, close, pick }) {
  const links = shown.links.filter((link) => link.source === node.id || link.target === node.id);
  const lesson = node.label === "Lesson";
  return html`<div><button type="button" class="plain" onClick=${close}>close</button></div>
    <p class="note"><i class="swatch" style=${{ background: labelColour(node.label) }}></i> ${node.label}${node.conv_id && html`, <a href=${address("graph", "", { conv: node.conv_id })}><bdi>${cut(node.conv_id, 60)}</bdi></a>`}${node.ingestion_time && html`, <${Ago} at=${node.ingestion_time} />`}</p>
    <${Said} text=${textOf(node)} most=${3000} />
    <p>${lesson ? html`<a href=${address("memory", node.id)}>Open the memory</a>` : ""} <a href=${address("graph", "", { around: node.id })}>What lies around it</a></p>
    <ul class="plainrows">${links.slice(0, 60).map((link) => {
      const other = shown.byId.get(link.source === node.id ? link.target : link.source);
      return html`<li key=${link.id}><div><span class="kind">${link.source === node.id ? "" : "← "}${link.kind.replaceAll("_", " ")}${link.source === node.id ? " →" : ""}</span><button type="button" class="plain" onClick=${() => pick(other.id)}><bdi>${cut(textOf(other), 80)}</bdi></button><p dir="auto">${cut(link.text, 240)}</p></div><span class="n note">strength ${two(link.weight)}</span></li>`;
    })}</ul>`;
}

const LISTED = 60;
function Sentences({ shown, hidden, path, pick }) {
  if (!shown) return null;
  const links = shown.links.filter((link) => !hidden(link.source) && !hidden(link.target));
  const end = (id) => html`<button type="button" class="plain" onClick=${() => (pick(id), scrollTo(0, 0))}><bdi>${cut(textOf(shown.byId.get(id)), 80)}</bdi></button>`;
  return html`<${Section} id="sentences" title="Its sentences" twin=${path} note=${links.length > LISTED ? `the first ${LISTED} of ${count(links.length)}` : ""}>
    <ul class="plainrows">${links.slice(0, LISTED).map((link) => html`<li key=${link.id}><div>
      ${end(link.source)} <span class="kind">${link.kind.replaceAll("_", " ")} →</span> ${end(link.target)}<p dir="auto">${cut(link.text, 240)}</p></div></li>`)}</ul>
  <//>`;
}
