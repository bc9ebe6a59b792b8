// Memory: what it says, why it is believed, where it comes from, what came of it, and what to do about it.
import { html, useCallback, useState } from "../framework.js";
import { get, useData } from "../api.js";
import { EvidenceChart } from "../charts.js";
import { diff } from "../diff.js";
import { useLive } from "../live.js";
import { address } from "../routes.js";
import { Advice, Ago, Confidence, MemoryLink, Nothing, Outcome, Said, Section, State, Tags, Trouble, Trust, Waiting } from "../parts.js";
import { count, counted, cut, inParts, PART_CHARS, two } from "../words.js";
import { Actions } from "./memory_actions.js";

const FIELDS = [["title", "Title"], ["description", "When"], ["content", "Advice"], ["outcome", "Outcome"], ["state", "State"], ["scope", "Scope"]];
const SAME_CHARS = 300;
const KINDS = { feedback: "somebody said so", completion: "a task ended", stability: "the code lasted or not", peer: "another bank said so" };
// Who says so without being asked; anybody else is named.
const ITSELF = new Set(["session", "distilled", "task"]);
const SCOPES = { project: "for this project", team: "for the team", global: "for every project" };

export function Page({ route, me }) {
  const path = `/v1/memories/${encodeURIComponent(route.id)}`;
  const history = useData(`${path}/history?excerpt=${PART_CHARS}`);
  const trust = useData(`${path}/trust?excerpt=500`);
  const sessions = useData(`${path}/sessions?limit=25&excerpt=300`);
  const links = useData(`${path}/neighbours?excerpt=400`);
  const all = [history, trust, sessions, links];
  const reload = useCallback(() => all.forEach((one) => one.load()), all.map((one) => one.load));
  useLive(["memory", "signal", "ruling", "edge", "trajectory"], reload);
  if (history.error) return html`<h1>Memory</h1><${Trouble} error=${history.error} retry=${history.error.status === 404 ? null : reload} />`;
  if (!history.data) return html`<h1 class="unseen">Memory</h1><${Waiting} rows=${8} />`;
  const memory = history.data;
  document.title = `${cut(memory.title, 60)} · ReasoningBank`;
  return html`<header class="top">
      <p class="crumbs"><a href=${address("search")}>Memories</a></p>
      <h1 dir="auto">${cut(memory.title, 500)}</h1>
      <p class="marks"><${Advice} of=${memory} /><${State} of=${memory} /><${Trust} of=${memory.trust} /><span>${SCOPES[memory.scope] ?? memory.scope}</span><${Tags} of=${memory.tags} /></p>
    </header>
    ${memory.warnings.length > 0 && html`<div class="right"><h2>${memory.state === "quarantined" ? "Why it is held back" : "What is suspicious about it"}</h2><ul>${memory.warnings.map((one) => html`<li>${one}</li>`)}</ul></div>`}
    ${memory.state === "superseded" && html`<${MergedInto} links=${links.data} />`}
    <div class="split">
      <div>
        ${memory.description && html`<p class="when-to" dir="auto">${cut(memory.description)}</p>`}
        <${Long} text=${memory.content} chars=${memory.cut?.content} path=${path} key=${memory.revision} />
      </div>
      <aside class="card" aria-label="Standing">
        <p class="note">Confidence, from 0 to 1</p>
        <p class="big">${two(memory.confidence)}</p>
        <${Confidence} of=${memory} figures=${false} />
        <p class="note" title=${`by the policy ${memory.policy}`}>the evidence allows ${two(memory.confidence_low)} to ${two(memory.confidence_high)}</p>
        <dl class="facts down">
          <div><dt>shown</dt><dd>${memory.shown}</dd></div><div><dt>uses reported</dt><dd>${memory.usage_count}</dd></div>
        </dl>
        ${memory.record && html`<p class="note">${memory.record}</p>`}
        <p class="note">${memory.last_used_at ? html`last used <${Ago} at=${memory.last_used_at} />` : "not used yet"}</p>
        <${Actions} memory=${memory} me=${me} reload=${reload} />
      </aside>
    </div>
    <${Section} id="why" title="Why it is believed" twin=${`${path}/history`} note="its confidence after each piece of evidence">
      ${memory.curve.length > 1 && html`<${EvidenceChart} curve=${memory.curve} />
      <p class="key"><i class="good"></i>for it <i class="bad"></i>against it <i class="grey"></i>what the evidence allows</p>`}
      <${Evidence} memory=${memory} />
    <//>
    <${Provenance} memory=${memory} trust=${trust.data} />
    <${Revisions} revisions=${memory.revisions} path=${path} />
    <${Links} links=${links.data} path=${path} id=${memory.id} />
    <${Appearances} sessions=${sessions.data} path=${path} />
    <p class="note ids">${memory.id}${memory.key && html`, key <b>${memory.key}</b>`}</p>`;
}

function MergedInto({ links }) {
  const kept = links?.neighbours.find(({ memory, edge, direction }) => memory && edge.kind === "supersedes" && direction === "in");
  return html`<div class="right"><p>${kept ? html`It was merged into <${MemoryLink} id=${kept.memory.id} title=${kept.memory.title} />, which is shown instead.` : "It was merged into another one, which is shown instead."} <a href=${address("queue")}>Upkeep</a> can undo it.</p></div>`;
}

// Part by part: a browser lays out some pages of text at once, not a thousand.
function Long({ text, chars, path }) {
  const [whole, setWhole] = useState(null);
  const [read, setRead] = useState(1);
  const [error, setError] = useState(null);
  if (!chars) return html`<${Said} text=${text} />`;
  const parts = inParts(whole ?? text, PART_CHARS).slice(0, read);
  const more = () => (whole ? Promise.resolve() : get(path).then((memory) => setWhole(memory.content))).then(() => setRead(read + 1), setError);
  const shown = parts.reduce((sum, part) => sum + part.length, 0), all = whole?.length ?? chars;
  return html`${parts.map((part, index) => html`<div class="said" dir="auto" key=${index}>${part}</div>`)}<${Trouble} error=${error} />
    ${shown < all && html`<p class="more"><button type="button" class="plain" onClick=${more}>Read on</button> <span class="note">${count(shown)} of ${count(all)} characters</span></p>`}`;
}

const FEW = 8;
function Evidence({ memory }) {
  const [every, setEvery] = useState(false);
  const said = memory.curve.filter((point) => point.signal).reverse();
  if (!said.length) return html`<${Nothing}>Nobody has said anything about it yet: ${two(memory.initial_confidence)} is where it began.<//>`;
  const shown = every ? said : said.slice(0, FEW);
  return html`<div class="scroll"><table>
    <thead><tr><th>When</th><th>Says</th><th class="n">Weight</th><th class="n">Confidence then</th><th class="wide">Why</th></tr></thead>
    <tbody>${shown.map(({ signal, confidence, counts }) => html`<tr key=${signal.id} class=${counts ? "" : "aside"}>
      <td><${Ago} at=${signal.at} /></td>
      <td class=${signal.positive ? "good" : "bad"}>${signal.positive ? "for" : "against"}</td>
      <td class="n">${two(signal.weight)}</td><td class="n">${two(confidence)}</td>
      <td class="wide">${KINDS[signal.kind] ?? signal.kind}${!ITSELF.has(signal.source) && `, by ${signal.source}`}${!counts && ", about an earlier text"}${signal.trajectory_id?.startsWith("trj_") && html` in <a href=${address("session", signal.trajectory_id)}>a session</a>`}${signal.comment && html`<p dir="auto">${cut(signal.comment, 300)}</p>`}</td>
    </tr>`)}</tbody></table></div>
    ${said.length > FEW && html`<p class="more"><button type="button" class="plain" onClick=${() => setEvery(!every)}>${every ? "Fewer" : `All ${said.length} pieces of evidence`}</button></p>`}`;
}

function Provenance({ memory, trust }) {
  const told = memory.metadata ?? {};
  const steps = [];
  if (memory.source?.startsWith("trj_")) steps.push(html`<a href=${address("session", memory.source)}>A session</a>${memory.agent && html` of ${memory.agent}`}`);
  if (told.verdict) steps.push(html`judged <b>${String(told.verdict)}</b>${told.evidence && html`: <span dir="auto">${cut(String(told.evidence), 200)}</span>`}`);
  if (told.distiller) steps.push(html`distilled by <b>${String(told.distiller)}</b>`);
  if (!steps.length) steps.push(html`Written down by <b>${memory.origin}</b>${memory.agent && html` with ${memory.agent}`}`);
  steps.push(html`kept <${Ago} at=${memory.created_at} />`);
  return html`<${Section} id="from" title="Where it comes from" twin=${`/v1/memories/${memory.id}/trust`}>
    <ol class="chain">${steps.map((step) => html`<li>${step}</li>`)}</ol>
    ${!trust ? html`<${Waiting} rows=${1} />` : html`
      <p>Its origin is <a href=${address("search", "", { origin: memory.origin })}>${memory.origin}</a>, so it is believed as <${Trust} of=${trust.trust} />. ${trust.descendants > 0 && `${counted(trust.descendants, "other memory follows", "other memories follow")} from it.`}</p>
      ${trust.parents.length > 0 && html`<p class="note">It follows from what was shown or merged then:</p><ul class="plainrows">${trust.parents.map((parent) => html`<li key=${parent.id}><div><${MemoryLink} id=${parent.id} title=${parent.title} /> <span class="note">${parent.origin}, ${parent.trust}</span></div></li>`)}</ul>`}
      ${trust.rulings.length > 0 && html`<ul class="plainrows">${trust.rulings.map((ruling) => html`<li key=${ruling.id}><div><b>${ruling.kind}</b> by ${ruling.source}, <${Ago} at=${ruling.at} /> <span dir="auto">${ruling.comment}</span></div></li>`)}</ul>`}`}
  <//>`;
}

function Revisions({ revisions, path }) {
  const [every, setEvery] = useState(false);
  if (revisions.length < 2) return null;
  const pairs = revisions.slice(1).map((after, index) => [revisions[index], after]).reverse();
  return html`<${Section} id="revisions" title="What it said before" twin=${`${path}/revisions`} note=${counted(revisions.length, "revision")}>
    <ol class="revisions">${(every ? pairs : pairs.slice(0, FEW)).map(([before, after]) => html`<li key=${after.revision}>
      <p class="note">revision ${after.revision}, <${Ago} at=${after.updated_at} /></p>
      <${Change} before=${before} after=${after} />
    </li>`)}</ol>
    ${pairs.length > FEW && !every && html`<p class="more"><button type="button" class="plain" onClick=${() => setEvery(true)}>All ${revisions.length} revisions</button></p>`}
  <//>`;
}

function Change({ before, after }) {
  const changed = FIELDS.filter(([name]) => before[name] !== after[name]);
  const tags = before.tags.join(", ") !== after.tags.join(", ");
  if (!changed.length && !tags) return html`<p class="note">${after.cut?.content ? `Nothing in its first ${count(PART_CHARS)} characters has changed.` : "Nothing that is read has changed."}</p>`;
  return html`<dl class="change">
    ${changed.map(([name, word]) => html`<div><dt>${word}</dt><dd dir="auto"><${Words} before=${cut(before[name] ?? "")} after=${cut(after[name] ?? "")} /></dd></div>`)}
    ${tags && html`<div><dt>Tags</dt><dd><${Words} before=${before.tags.join(", ")} after=${after.tags.join(", ")} /></dd></div>`}
  </dl>`;
}

function Words({ before, after }) {
  return diff(before, after).map(([kind, text]) => (kind === "gone" ? html`<del>${text}</del>` : kind === "come" ? html`<ins>${text}</ins>` : around(text)));
}

const around = (text) => (text.length > 3 * SAME_CHARS ? `${text.slice(0, SAME_CHARS)} … ${text.slice(-SAME_CHARS)}` : text);

function Links({ links, path, id }) {
  return html`<${Section} id="links" title="What it is tied to" twin=${`${path}/neighbours`} actions=${html`<a class="twin" href=${address("graph", "", { around: id })}>Graph</a>`}>
    ${!links ? html`<${Waiting} rows=${2} />` : !links.neighbours.length ? html`<${Nothing}>Nothing is tied to it.<//>` : html`<ul class="plainrows">${links.neighbours.map(({ memory, node, edge, direction }) => html`<li key=${edge.id}><div>
      <span class="kind">${direction === "out" ? "" : "← "}${edge.kind.replaceAll("_", " ")}${direction === "out" ? " →" : ""}</span>
      ${memory ? html`<${MemoryLink} id=${memory.id} title=${memory.title} />` : html`<a href=${address("graph", "", { around: node.id })}><bdi>${cut(node.text, 200)}</bdi></a> <span class="note">${node.label}</span>`}
      <p dir="auto">${cut(edge.text, 300)}</p></div><span class="n note">strength ${two(edge.weight)}</span></li>`)}</ul>`}
  <//>`;
}

function Appearances({ sessions, path }) {
  return html`<${Section} id="shown" title="Sessions it was shown in" twin=${`${path}/sessions`}>
    ${!sessions ? html`<${Waiting} rows=${2} />` : !sessions.sessions.length ? html`<${Nothing}>It was not shown in a session yet.<//>` : html`<ul class="rows three">${sessions.sessions.map((session) => html`<li key=${session.id}>
      <${Outcome} of=${session.outcome} />
      <div class="what"><a class="title" href=${address("session", session.id)}><bdi>${cut(session.task, 200)}</bdi></a>${session.signals.some((one) => one.used) && html` <span class="mark muted">used</span>`}</div>
      <span class="when"><${Ago} at=${session.shown_at} /></span></li>`)}</ul>`}
  <//>`;
}
