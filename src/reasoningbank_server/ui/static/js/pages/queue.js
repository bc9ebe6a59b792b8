// Queue and upkeep: sessions that wait to be learned from, what failed and why, and what tidying up has changed.
import { html, useCallback, useState } from "../framework.js";
import { post, useData } from "../api.js";
import { useLive } from "../live.js";
import { address } from "../routes.js";
import { Ago, MemoryLink, Nothing, Section, Trouble, Waiting } from "../parts.js";
import { Rehearsal, Run } from "./upkeep.js";
import { count, counted, cut, two } from "../words.js";

const STATES = { "": "all", waiting: "waiting", running: "running", dead: "failed", done: "done", discarded: "discarded" };

export function Page({ route, me }) {
  const state = route.query.get("state") ?? "";
  const limit = Number(route.query.get("limit")) || 15;
  const jobsPath = `/v1/jobs?limit=${limit}${state ? `&state=${state}` : ""}`;
  const jobs = useData(jobsPath);
  const runs = useData("/v1/consolidations");
  const [looked, setLooked] = useState(false);
  const faded = useData(looked ? "/v1/faded" : null);
  const reload = useCallback(() => [jobs, runs].forEach((one) => one.load()), [jobs.load, runs.load]);
  useLive(["job", "consolidation", "memory"], reload);
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState("");
  const [told, setTold] = useState("");
  const [asked, setAsked] = useState(null);
  const writes = me.scopes.includes("write");
  const act = (name, what) => () => {
    setBusy(name);
    setTold("");
    what().then((text) => setTold(text ?? ""), setError).finally(() => (setBusy(""), reload()));
  };
  const distil = act("distil", () => post("/v1/distill", { limit: 10 }).then((done) => `${counted(done.jobs.done, "session")} distilled, ${counted(done.memories.length, "memory", "memories")} learned.`));
  const rehearse = act("rehearse", () => post("/v1/consolidate", { dry_run: true }).then(setAsked));
  return html`<header class="top"><h1>Queue and upkeep</h1></header>
    <${Trouble} error=${error ?? jobs.error ?? runs.error ?? faded.error} retry=${() => (setError(null), reload())} />
    <p class="told" role="status">${told}</p>
    <${Section} id="jobs" title="Sessions to learn from" twin=${jobsPath} note="what an ended session teaches is distilled into memories"
        actions=${writes && html`<button type="button" disabled=${busy !== ""} onClick=${distil}>${busy === "distil" ? "Distilling…" : "Distil now"}</button>`}>
      <div class="choice" role="group" aria-label="Which">${Object.entries(STATES).map(([name, word]) => html`<a href=${address("queue", "", { state: name })} aria-current=${state === name ? "true" : null}>${word}${name && jobs.data?.tally[name] ? ` ${count(jobs.data.tally[name])}` : ""}</a>`)}</div>
      ${!jobs.data ? html`<${Waiting} rows=${5} />` : !jobs.data.jobs.length ? html`<${Nothing}>${state ? "None is in this state." : "No session has ended yet."}<//>` : html`<div class="scroll"><table>
        <thead><tr><th>State</th><th class="wide">Session</th><th class="n">Tries</th><th class="wide">What came of it</th><th class="n">When</th><th><span class="unseen">What to do</span></th></tr></thead>
        <tbody>${jobs.data.jobs.map((job) => html`<tr key=${job.id}>
          <td><span class=${`outcome ${job.standing === "dead" ? "failure" : job.standing === "done" ? "success" : ""}`}>${job.standing === "dead" ? "failed" : job.standing}</span></td>
          <td class="wide"><a class="title" href=${address("session", job.subject)}><bdi>${cut(jobs.data.names[job.subject] ?? job.subject, 160)}</bdi></a></td><td class="n">${job.attempts}</td>
          <td class="wide">${job.error && job.standing !== "done" ? html`<span class="bad" dir="auto">${cut(job.error, 400)}</span>` : job.results.length ? job.results.map((id) => html`<${MemoryLink} id=${id} title=${jobs.data.names[id] ?? id} /> `) : html`<span class="note">${job.standing === "done" ? "nothing worth keeping" : ""}</span>`}</td>
          <td class="n"><${Ago} at=${job.created_at} /></td>
          <td class="n">${writes && html`<${JobActions} job=${job} reload=${reload} tell=${setTold} fail=${setError} />`}</td>
        </tr>`)}</tbody></table></div>
        ${jobs.data.jobs.length === limit && limit < 500 && html`<p class="more"><a href=${address("queue", "", { state, limit: 500 })}>More of them</a></p>`}`}
    <//>
    <${Section} id="runs" title="Upkeep" twin="/v1/consolidations" note="what says the same is merged, what belongs or clashes is tied, what proved wrong is put away"
        actions=${writes && html`<button type="button" disabled=${busy !== ""} onClick=${rehearse}>${busy === "rehearse" ? "Looking…" : "What would it change?"}</button>`}>
      ${!runs.data ? html`<${Waiting} />` : !runs.data.runs.length ? html`<${Nothing}>Nobody has tidied up yet.<//>` : html`<ul class="plainrows">${runs.data.runs.map((run) => html`<${Run} key=${run.id} run=${run} writes=${writes} reload=${reload} />`)}</ul>`}
    <//>
    <${Section} id="faded" title="Faded" twin="/v1/faded" note="memories that have lost confidence to age alone">
      ${!looked ? html`<p><button type="button" onClick=${() => setLooked(true)}>Look for them</button> <span class="note">every memory is weighed for it</span></p>` : faded.error ? null : !faded.data ? html`<${Waiting} />` : !faded.data.faded.length ? html`<${Nothing}>None has faded.<//>` : html`<ul class="plainrows">${faded.data.faded.slice(0, 30).map((one) => html`<li key=${one.id}><div><${MemoryLink} id=${one.id} title=${one.title} /></div><span class="note">${two(one.confidence_before)} → ${two(one.confidence)}, idle for ${count(Math.round(one.idle_days))} days</span></li>`)}</ul>`}
    <//>
    ${asked && html`<${Rehearsal} plan=${asked} done=${() => (setAsked(null), reload())} close=${() => setAsked(null)} />`}`;
}

function JobActions({ job, reload, tell, fail }) {
  const act = (what, says) => () => post(`/v1/jobs/${job.id}/${what}`).then(() => (tell(says), reload()), fail);
  if (job.standing === "dead" || job.standing === "discarded") return html`<button type="button" onClick=${act("retry", "It waits for its turn again: “Distil now” does not wait.")}>Retry</button>`;
  if (job.standing === "waiting") return html`<button type="button" onClick=${act("discard", "It will not be learned from. Among those discarded it can be retried.")}>Discard</button>`;
  return null;
}
