// Trust: the user's rules, what is held back, who is believed how far, and what was decided about it.
import { html, useCallback, useEffect, useState } from "../framework.js";
import { call, post, useData } from "../api.js";
import { useLive } from "../live.js";
import { address } from "../routes.js";
import { Ago, Confirm, MemoryLink, Nothing, Said, Section, STATE_WORDS, Trouble, Trust, TRUST_MEANS, Waiting } from "../parts.js";
import { count, counted, cut } from "../words.js";
import { undecided } from "./held_back.js";

export function Page({ me }) {
  const held = useData("/v1/memories?state=quarantined&limit=50&every_namespace=true&excerpt=800");
  const origins = useData("/v1/origins");
  const rulings = useData("/v1/rulings?limit=50&excerpt=300");
  const reload = useCallback(() => [held, origins, rulings].forEach((one) => one.load()), [held.load, origins.load, rulings.load]);
  useLive(["memory", "ruling"], reload);
  const [asked, setAsked] = useState(null);
  const suspects = held.data && origins.data ? undecided(held.data.memories, origins.data.origins) : null;
  const decided = (held.data?.memories.length ?? 0) - (suspects?.length ?? 0);
  const rules = me.scopes.includes("admin");
  const [told, setTold] = useState("");
  const done = ({ kind, memories }) => {
    setTold(`${DONE[kind]}: ${counted(Object.keys(memories).length, "memory", "memories")}.${kind === "undo" ? "" : " It stands under “What was decided”, where it can be undone."}`);
    setAsked(null);
    reload();
  };
  return html`<header class="top"><h1>Trust</h1></header>
    <${Trouble} error=${held.error ?? origins.error ?? rulings.error} retry=${reload} />
    <p class="told" role="status">${told}</p>
    ${me.origin === "user" && html`<${YourRules} decides=${rules} />`}
    <${Section} id="held" title="Held back" twin="/v1/memories?state=quarantined" note="no agent is shown these until you decide">
      ${!suspects ? html`<${Waiting} />` : !suspects.length ? html`<${Nothing}>Nothing waits for your decision.<//>` : html`<ul class="hits">${suspects.map((memory) => html`<li key=${memory.id}>
        <div class="heading"><${MemoryLink} id=${memory.id} title=${memory.title} /><span class="note">from ${memory.origin}, in <bdi>${memory.namespace}</bdi>, <${Ago} at=${memory.created_at} /></span></div>
        <${Said} text=${memory.content} most=${800} />
        <p class="doubt">${memory.warnings.length > 0 ? memory.warnings.join("; ") : "where it comes from, or what it follows from, is held back"}</p>
        ${rules && html`<div class="actions"><button type="button" onClick=${() => setAsked({ kind: "approve", target: memory.id, name: memory.title })}>Approve…</button><button type="button" class="danger" onClick=${() => setAsked({ kind: "reject", target: memory.id, name: memory.title })}>Reject…</button></div>`}
      </li>`)}</ul>`}
      ${decided > 0 && html`<p class="note">${held.data.next ? "At least " : ""}${counted(decided, "memory is", "memories are")} held back because ${decided === 1 ? "its origin was" : "their origins were"} revoked: undoing that brings ${decided === 1 ? "it" : "them"} back. <a href=${address("search", "", { state: "quarantined" })}>All that is held back here</a></p>`}
      ${held.data?.next && html`<p class="note">These are the newest; more follow when they are decided.</p>`}
    <//>
    <${Section} id="origins" title="Who is believed" twin="/v1/origins" note="every memory comes from somewhere, and is believed as far as that is">
      ${!origins.data ? html`<${Waiting} />` : !origins.data.origins.length ? html`<${Nothing}>Nothing was kept yet.<//>` : html`<div class="scroll"><table>
        <thead><tr><th>Origin</th><th class="wide">Believed as</th><th class="n">Memories</th><th class="n">Held back</th><th class="n">Approved</th><th><span class="unseen">What to do</span></th></tr></thead>
        <tbody>${origins.data.origins.map((one) => html`<tr key=${one.origin}>
          <td><a href=${address("search", "", { origin: one.origin, state: "any" })}><bdi>${one.origin}</bdi></a></td>
          <td class="wide">${one.revoked ? html`<span class="mark failure">revoked</span>` : html`<${Trust} of=${one.trust} /> <span class="note">${TRUST_MEANS[one.trust]}</span>`}</td>
          <td class="n">${count(one.memories)}</td><td class="n">${count(one.quarantined)}</td><td class="n">${count(one.approved)}</td>
          <td class="n">${rules && !one.revoked && one.origin !== "user" && html`<button type="button" class="danger" aria-label=${`Revoke ${one.origin}`} onClick=${() => setAsked({ kind: "revoke", target: one.origin, name: one.origin })}>Revoke…</button>`}</td>
        </tr>`)}</tbody></table></div>`}
    <//>
    <${Section} id="rulings" title="What was decided" twin="/v1/rulings">
      ${!rulings.data ? html`<${Waiting} />` : !rulings.data.rulings.length ? html`<${Nothing}>Nobody has decided anything yet.<//>` : html`<${Rulings} rulings=${rulings.data.rulings} rules=${rules} ask=${setAsked} />`}
    <//>
    ${asked && html`<${Rule} ...${asked} done=${done} close=${() => setAsked(null)} />`}`;
}

// What the user wants done: told to every agent as the user's word, so only the user puts it in force.
function YourRules({ decides }) {
  const { data, error, load } = useData("/v1/rules");
  const [trouble, setTrouble] = useState(null);
  useLive(["rule"], load);
  const done = () => (setTrouble(null), load());
  const decide = (state, { id }) => call("PATCH", `/v1/rules/${id}`, { state }).then(done, setTrouble);
  const add = (event) => {
    event.preventDefault();
    const form = event.target;
    post("/v1/rules", { text: form.elements.rule.value, everywhere: form.elements.everywhere.checked }).then(() => (form.reset(), done()), setTrouble);
  };
  const row = (rule, waits) => html`<li key=${rule.id}><div><span dir="auto">${rule.text}</span> <span class="note">${rule.namespace === "user" ? "in every project" : "in this project"}${waits && ", proposed"}, heard in ${rule.heard_in}, <${Ago} at=${rule.updated_at} /></span></div>
    ${decides && html`<span class="actions">${waits && html`<button type="button" aria-label=${`Keep ${rule.text}`} onClick=${() => decide("in_force", rule)}>Keep</button>`}<button type="button" class="danger" aria-label=${`Drop ${rule.text}`} onClick=${() => decide("dropped", rule)}>Drop</button></span>`}</li>`;
  return html`<${Section} id="rules" title="Your rules" twin="/v1/rules" note="told to agents as your word; what is proposed counts for nothing until you keep it">
    <${Trouble} error=${trouble ?? error} />
    ${!data ? html`<${Waiting} />` : !data.in_force.length && !data.proposed.length ? html`<${Nothing}>No rules yet.<//>` : html`<ul class="plainrows">${data.proposed.map((rule) => row(rule, true))}${data.in_force.map((rule) => row(rule, false))}</ul>`}
    ${decides && html`<form class="actions" onSubmit=${add}><label class="unseen" for="rule">A rule</label><input id="rule" name="rule" required maxlength="500" size="50" placeholder="Never push to main without asking me." />
      <label><input type="checkbox" name="everywhere" /> in every project</label><button>Add</button></form>`}
  <//>`;
}

// A memory by its title, an origin by its name, and of what was undone, what that was about.
function Target({ of, decided }) {
  const { data } = useData(of.startsWith("mem_") ? `/v1/memories/${of}?excerpt=200` : null);
  const undone = decided.find((one) => one.id === of);
  if (undone) return html`<b>${undone.kind}</b> <${Target} of=${undone.target} decided=${[]} />`;
  return of.startsWith("mem_") ? html`<${MemoryLink} id=${of} title=${data?.title ?? of} />` : html`<bdi>${of}</bdi>`;
}

function Rulings({ rulings, rules, ask }) {
  const undone = new Set(rulings.filter((one) => one.kind === "undo").map((one) => one.target));
  return html`<ul class="plainrows">${rulings.map((ruling) => html`<li key=${ruling.id}><div>
    <b>${ruling.kind}</b> <${Target} of=${ruling.target} decided=${rulings} /> <span class="note">${counted(Object.keys(ruling.memories).length, "memory", "memories")}, by ${ruling.source}, <${Ago} at=${ruling.at} />${undone.has(ruling.id) && ", taken back"}</span>
    ${ruling.comment && html`<p dir="auto">${cut(ruling.comment, 300)}</p>`}</div>
    ${rules && ruling.kind !== "undo" && !undone.has(ruling.id) && html`<button type="button" onClick=${() => ask({ kind: "undo", target: ruling.id, name: `“${ruling.target.startsWith("mem_") ? ruling.kind : `${ruling.kind} ${ruling.target}`}”` })}>Undo…</button>`}
  </li>`)}</ul>`;
}

const DONE = { approve: "Approved", reject: "Rejected", revoke: "Revoked", undo: "Undone" };
const WORDS = { approve: ["Approve", "It will be shown to agents."], reject: ["Reject", "It is forgotten, and the decision is written down as yours."], revoke: ["Revoke", "Nothing from there is shown any more, nor what follows from it."], undo: ["Undo", "Each memory is again what it was before."] };

// First a rehearsal: what the decision would take along.
function Rule({ kind, target, name, done, close }) {
  const [would, setWould] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    post("/v1/rulings", { kind, target, dry_run: true }).then(setWould, setError);
  }, []);
  const [word, says] = WORDS[kind];
  const ids = Object.keys(would?.memories ?? {});
  const act = () => post("/v1/rulings", { kind, target, comment: document.getElementById("ruling").value });
  return html`<${Confirm} title=${html`${word} <bdi>${cut(name, 120)}</bdi>?`} word=${word} danger=${kind === "revoke" || kind === "reject"} act=${act} onDone=${done} onCancel=${close}>
    <p>${says}</p><${Trouble} error=${error} />
    ${!would && !error && html`<${Waiting} rows=${1} />`}
    ${would && html`<p>It concerns <b>${counted(ids.length, "memory", "memories")}</b>${ids.length ? ":" : "."}</p>
      <ul class="plainrows">${ids.slice(0, 12).map((id) => html`<${Concerned} key=${id} id=${id} state=${would.memories[id]} />`)}</ul>
      ${ids.length > 12 && html`<p class="note">and ${ids.length - 12} more</p>`}`}
    <label for="ruling">Why (kept with it)</label><textarea id="ruling" rows="2"></textarea>
  <//>`;
}

function Concerned({ id, state }) {
  const { data } = useData(`/v1/memories/${id}?excerpt=200`);
  return html`<li><div><bdi>${data ? cut(data.title, 120) : id}</bdi> <span class="note">${data?.origin ?? ""}, ${STATE_WORDS[state] ?? state}</span></div></li>`;
}
