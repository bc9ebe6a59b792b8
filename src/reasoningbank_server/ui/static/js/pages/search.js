// Search: as one types, with what each score is made of and what was left out; without a question, all memories.
import { html, useCallback, useEffect, useRef, useState } from "../framework.js";
import { post, useAnswer, useData } from "../api.js";
import { useLive } from "../live.js";
import { address, go } from "../routes.js";
import { Advice, Ago, Confidence, MemoryLink, Nothing, Said, Section, State, STATE_WORDS, SURENESS, Tags, Trouble, TRUST_MEANS, Waiting } from "../parts.js";
import { count, counted, cut, two } from "../words.js";

const PROFILES = { balanced: "relevance first, then what works", "four-factor": "meaning, recency, confidence and variety added up", semantic: "meaning only", boosted: "meaning, lifted by recency and use" };
const WHY_LEFT_OUT = {
  floor: "not relevant enough", min_confidence: "below the least confidence", namespace: "in other projects", scope: "of another scope",
  outcome: "of the other outcome", state: "held back, archived or forgotten", tags: "without the tag", damaged: "damaged: run `verify`",
  trust: "trusted too little", trust_quota: "untrusted, beyond one in five", max_tokens: "beyond the budget",
};
const PARTS = [
  ["relevance", "how likely it is wanted, by meaning and words together"], ["cosine", "likeness of meaning"], ["keyword", "share of the question's words"],
  ["confidence", "how sure the bank is of it for this task; below it stands how sure it is over all tasks"], ["recency", "how lately it was made or used"], ["usage", "how often it was used"], ["diversity", "how little it repeats those above"],
];
const TRUST_STEPS = ["quarantined", "untrusted", "working", "trusted"];
const PAUSE_MS = 40;

export function Page({ route, namespace }) {
  const [text, setText] = useState(route.query.get("q") ?? "");
  const asked = route.query.get("q") ?? "";
  const tag = route.query.get("tag") ?? "";
  const profile = route.query.get("profile") ?? "balanced";
  const beside = route.query.get("beside") ?? "";
  const field = useRef(null);
  const sent = useRef(asked);
  const change = (query) => {
    if ("q" in query) sent.current = query.q;
    go(address("search", "", { q: asked, tag, profile: profile === "balanced" ? "" : profile, beside, ...query }), { replace: true });
  };
  useEffect(() => field.current?.focus({ preventScroll: true }), []);
  useEffect(() => {
    if (text === asked) return;
    const timer = setTimeout(() => change({ q: text }), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  useEffect(() => {
    // Only what came by another way than the field: whoever types is further on already.
    if (asked !== sent.current) setText((sent.current = asked));
  }, [asked]);
  return html`<header class="top"><h1>Search</h1></header>
    <form class="asking" role="search" onSubmit=${(e) => (e.preventDefault(), change({ q: text }))}>
      <label class="unseen" for="q">What do you want to do or know?</label>
      <input id="q" ref=${field} type="search" value=${text} onInput=${(e) => setText(e.target.value)} placeholder="What do you want to do or know?" autocomplete="off" spellcheck=${false} />
      ${asked && html`<label>ranked by <select value=${profile} onChange=${(e) => change({ profile: e.target.value === "balanced" ? "" : e.target.value })}>
        ${Object.keys(PROFILES).map((name) => html`<option value=${name}>${name}</option>`)}</select></label>
      <label>compared with <select value=${beside} onChange=${(e) => change({ beside: e.target.value })}>
        <option value="">nothing</option>${Object.keys(PROFILES).filter((name) => name !== profile).map((name) => html`<option value=${name}>${name}</option>`)}</select></label>`}
    </form>
    ${tag && html`<p class="filter">only with the tag <b>${tag}</b> <a href=${address("search", "", { q: asked, profile: profile === "balanced" ? "" : profile, beside })}>all</a></p>`}
    ${asked ? html`<div class=${beside ? "beside" : ""}>
        <${Found} question=${asked} profile=${profile} tag=${tag} titled=${Boolean(beside)} />
        ${beside && html`<${Found} question=${asked} profile=${beside} tag=${tag} titled />`}
      </div>` : html`<${Browse} tag=${tag} route=${route} namespace=${namespace} />`}`;
}

function Found({ question, profile, tag, titled }) {
  const ask = useCallback((signal) => post("/v1/search?excerpt=600", { query: question, profile, limit: 20, noted: false, ...(tag ? { tags: [tag] } : {}) }, { signal }), [question, profile, tag]);
  const { data: found, error, load, ask: answered } = useAnswer(ask);
  useLive(["memory", "signal"], load);
  if (error) return html`<${Trouble} error=${error} retry=${load} />`;
  if (!found) return html`<${Waiting} rows=${5} />`;
  const left = Object.entries(found.filtered_out);
  return html`<section class=${answered === ask ? "" : "stale"} aria-busy=${answered !== ask} aria-label=${`Found by ${profile}`} aria-live="polite">
    ${titled && html`<h2 class="profile">${profile} <span class="note">${PROFILES[profile]}</span></h2>`}
    <p class="summary">${found.abstained ? "Nothing fits well enough to be shown to an agent." : `${counted(found.total_found, "memory fits", "memories fit")}.`}
      ${left.length > 0 && html` Left out: ${left.map(([why, number], index) => html`${index ? ", " : ""}${count(number)} ${WHY_LEFT_OUT[why] ?? why}`)}.`}
      ${found.not_yet_indexed > 0 && html` <b>${counted(found.not_yet_indexed, "change")} not in the index yet.</b>`}</p>
    <ol class="hits">${found.memories.map((hit) => html`<${Hit} key=${hit.id} hit=${hit} />`)}</ol>
  </section>`;
}

function Hit({ hit }) {
  return html`<li>
    <div class="heading"><${Advice} of=${hit} /><${MemoryLink} id=${hit.id} title=${hit.title} /><${State} of=${hit} /><span class="score"><span class="note">score</span> <b>${two(hit.why.score)}</b></span></div>
    ${hit.description && html`<p class="when-to" dir="auto">${cut(hit.description, 600)}</p>`}
    <${Said} text=${hit.content} most=${600} />
    <${Parts} why=${hit.why} trust=${hit.trust} />
    <p class="under"><span>confidence</span> <${Confidence} of=${hit} /> ${hit.record && html`<span>${hit.record}</span>`} <${Tags} of=${hit.tags} /></p>
    ${hit.conflicts.length > 0 && html`<p class="doubt">contradicts ${hit.conflicts.map((one) => html`<${MemoryLink} id=${one.id} title=${one.title} /> `)}</p>`}
    ${hit.pulled_in && html`<p class="note">here because it ${hit.pulled_in.relation} <${MemoryLink} id=${hit.pulled_in.id} title=${hit.pulled_in.title} /></p>`}
    ${hit.see_also.length > 0 && html`<p class="note">${hit.see_also.map((one) => html`${one.relation} <${MemoryLink} id=${one.id} title=${one.title} />: <span dir="auto">${one.text}</span> `)}</p>`}
  </li>`;
}

function Bar({ name, part }) {
  return html`<span class="bar" aria-hidden="true"><i class=${name} style=${{ width: `${Math.max(0, Math.min(1, part)) * 100}%` }}></i></span>`;
}

function Parts({ why, trust }) {
  return html`<dl class="parts">${PARTS.map(([name, says]) => html`<div title=${says}>
    <dt>${name === "keyword" ? "words" : name === "confidence" ? "confidence here" : name}</dt>
    <dd><${Bar} name=${name} part=${why[name]} />${two(why[name])}</dd>
  </div>`)}
  <div title=${`how far where it comes from is believed: ${TRUST_MEANS[trust] ?? trust}`}><dt>trust</dt><dd><${Bar} name="trust" part=${TRUST_STEPS.indexOf(trust) / 3} />${trust}</dd></div></dl>`;
}

const SHOWN_STATES = ["active", "quarantined", "archived", "superseded", "forgotten", "any"];
function Browse({ tag, route }) {
  const state = route.query.get("state") ?? "active";
  const outcome = route.query.get("outcome") ?? "";
  const origin = route.query.get("origin") ?? "";
  const cursor = route.query.get("cursor") ?? "";
  const asked = new URLSearchParams({ limit: 30, state, ...(tag && { tag }), ...(outcome && { outcome }), ...(origin && { origin }), ...(cursor && { cursor }) });
  const { data, error, load } = useData(`/v1/memories?${asked}&excerpt=100`);
  useLive(["memory", "signal", "ruling"], load);
  const to = (query) => address("search", "", { tag, origin, state: state === "active" ? "" : state, outcome, ...query });
  return html`<div class="filters">
      <label>State <select value=${state} onChange=${(e) => go(to({ state: e.target.value === "active" ? "" : e.target.value }))}>${SHOWN_STATES.map((name) => html`<option value=${name}>${name === "any" ? "all" : STATE_WORDS[name] ?? name}</option>`)}</select></label>
      <label>About <select value=${outcome} onChange=${(e) => go(to({ outcome: e.target.value }))}><option value="">both</option><option value="success">what to do</option><option value="failure">what to avoid</option></select></label>
      ${origin && html`<p class="filter">from <b>${origin}</b> <a href=${to({ origin: "" })}>all</a></p>`}
    </div>
    <${Trouble} error=${error} retry=${load} />
    <${Section} id="all" title="Newest first" twin=${`/v1/memories?${asked}`} note=${SURENESS}>
      ${!data ? html`<${Waiting} rows=${8} />` : !data.memories.length ? html`<${Nothing}>No memory is like that.<//>` : html`<ul class="rows">${data.memories.map((memory) => html`<li key=${memory.id}>
        <${Advice} of=${memory} />
        <div class="what"><${MemoryLink} id=${memory.id} title=${memory.title} /> <${State} of=${memory} /> <${Tags} of=${memory.tags} /></div>
        <${Confidence} of=${memory} />
        <span class="when">used ${count(memory.usage_count)}×, <${Ago} at=${memory.created_at} /></span>
      </li>`)}</ul>`}
      <p class="more">${cursor && html`<a href=${to({})}>To the newest</a> `}${data?.next && html`<a href=${to({ cursor: data.next })}>Older</a>`}</p>
    <//>`;
}
