// Overview: what was learned, how tasks went, what makes a difference, and what to put right.
import { html, useCallback, useEffect, useState } from "../framework.js";
import { call, useData, warm } from "../api.js";
import { SurenessChart, TasksChart, Whisker } from "../charts.js";
import { useLive } from "../live.js";
import { address } from "../routes.js";
import { Advice, Ago, Confidence, MemoryLink, Nothing, Section, State, SURENESS, Trouble, Waiting } from "../parts.js";
import { count, counted, cut, share, signed } from "../words.js";
import { undecided } from "./held_back.js";
import { Welcome } from "./welcome.js";

const SPANS = [7, 30, 90, 365];
const trendsPath = (days) => `/v1/trends?days=${days}`;
const reportPath = (days) => `/v1/report?days=${days}&limit=50`;

const CHANGES = ["memory", "signal", "trajectory", "job", "ruling", "consolidation"];
const SUMS_MS = 5000;

function useReload(parts) {
  return useCallback(() => parts.forEach((one) => one.load()), parts.map((one) => one.load));
}

export function Page({ route, me, namespace }) {
  const days = Number(route.query.get("days")) || 30;
  const status = useData("/v1/status");
  const trends = useData(trendsPath(days));
  const report = useData(reportPath(days));
  const newest = useData("/v1/memories?limit=8&excerpt=300");
  const held = useData("/v1/memories?state=quarantined&limit=20&excerpt=100");
  const origins = useData("/v1/origins");
  const gaps = useData("/v1/gaps?limit=8");
  const jobs = useData("/v1/jobs?limit=1");
  const spending = useData("/v1/spending");
  const all = [status, trends, report, newest, held, origins, gaps, jobs, spending];
  const reload = useReload(all);
  const complete = all.every((one) => one.data);
  useEffect(() => (complete ? warm(SPANS.flatMap((span) => [trendsPath(span), reportPath(span)])) : undefined), [complete, namespace]);
  useLive(CHANGES, useReload([status, newest, held]));
  useLive(CHANGES, useReload([trends, report, origins, gaps, jobs, spending]), SUMS_MS);
  const error = all.map((one) => one.error).find(Boolean);
  if (error && !status.data) return html`<h1>Overview</h1><${Trouble} error=${error} retry=${reload} />`;
  if (!status.data || !newest.data) return html`<h1>Overview</h1><${Waiting} rows=${6} />`;
  const here = status.data.namespaces[namespace] ?? 0;
  if (!here && held.data && jobs.data && !held.data.memories.length && !Object.keys(jobs.data.tally).length) return html`<${Welcome} namespace=${namespace} namespaces=${status.data.namespaces} />`;
  return html`<header class="top">
      <h1>${namespace}</h1>
      <${Facts} here=${here} status=${status.data} />
      <div class="choice" role="group" aria-label="How far back">
        ${SPANS.map((span) => html`<a href=${address("", "", { days: span === 30 ? "" : span })} aria-current=${span === days ? "true" : null}>${span === 365 ? "1 year" : `${span} days`}</a>`)}
      </div>
    </header>
    <${Trouble} error=${error} retry=${reload} />
    <${ToPutRight} held=${held.data} origins=${origins.data} failed=${jobs.data?.tally.dead ?? 0} report=${report.data} />
    <div class="pair">
      <${Tasks} trends=${trends.data} days=${days} />
      <${Sureness} trends=${trends.data} days=${days} />
    </div>
    <${Section} id="lately" title="Learned lately" twin="/v1/memories?limit=8" note=${SURENESS}>
      <${Newest} memories=${newest.data.memories} />
      <p class="more"><a href=${address("search")}>All memories</a></p>
    <//>
    <${Difference} report=${report.data} days=${days} />
    <div class="pair">
      <${Gaps} gaps=${gaps.data} me=${me} reload=${gaps.load} />
      <${Work} jobs=${jobs.data} spending=${spending.data} />
    </div>`;
}

// Evidence and sessions are counted over the whole bank: beside the memories of one project they would be taken for its own.
function Facts({ here, status }) {
  const all = Object.values(status.namespaces).reduce((a, b) => a + b, 0);
  const evidence = html`<b>${count(status.signals)}</b> ${status.signals === 1 ? "piece" : "pieces"} of evidence`, sessions = html`<b>${count(status.sessions)}</b> ${status.sessions === 1 ? "session" : "sessions"}`;
  return html`<p class="facts"><b>${count(here)}</b> ${here === 1 ? "memory" : "memories"} ${all > here ? html`<span class="note">here, of ${count(all)} in the whole bank, with ${counted(status.signals, "piece")} of evidence and ${counted(status.sessions, "session")}</span>` : html`${evidence} ${sessions}`}</p>`;
}

function ToPutRight({ held, origins, failed, report }) {
  const things = [];
  const suspect = held && origins ? undecided(held.memories, origins.origins).length : 0;
  if (suspect) things.push(html`<a href=${address("trust")}>${held.next ? "More than " : ""}${counted(suspect, "memory is", "memories are")} held back</a> until somebody approves or rejects ${suspect === 1 ? "it" : "them"}.`);
  if (failed) things.push(html`<a href=${address("queue", "", { state: "dead" })}>${counted(failed, "session")}</a> could not be learned from.`);
  for (const line of (report?.memories ?? []).filter((one) => one.uplift && one.uplift.high < 0).slice(0, 3)) {
    things.push(html`<${MemoryLink} id=${line.id} title=${line.title} />: tasks go worse with it (${signed(line.uplift.value)}).`);
  }
  for (const line of (report?.dead_weight ?? []).slice(0, 3)) {
    things.push(html`<${MemoryLink} id=${line.id} title=${line.title} />: ${line.dead}.`);
  }
  if (!things.length) return null;
  return html`<section class="right" aria-labelledby="right"><h2 id="right">To put right</h2><ul>${things.map((thing) => html`<li>${thing}</li>`)}</ul></section>`;
}

function Tasks({ trends, days }) {
  if (!trends) return html`<${Section} id="tasks" title="How tasks went"><${Waiting} /><//>`;
  const well = trends.days.reduce((sum, day) => sum + day.succeeded, 0);
  const badly = trends.days.reduce((sum, day) => sum + day.failed, 0);
  return html`<${Section} id="tasks" title="How tasks went" twin=${trendsPath(days)}
      note=${well + badly ? html`${share(well, well + badly)} of ${count(well + badly)} went well` : "no task has ended yet"}>
    ${well + badly ? html`<${TasksChart} days=${trends.days} /><p class="key"><i class="good"></i>went well <i class="bad"></i>failed</p>` : html`<${Nothing}>An agent's session ends with an outcome: that is what the bank learns from.<//>`}
  <//>`;
}

function Sureness({ trends, days }) {
  if (!trends) return html`<${Section} id="sure" title="How sure it is"><${Waiting} /><//>`;
  const last = trends.days.at(-1).confidence;
  return html`<${Section} id="sure" title="How sure it is" twin=${trendsPath(days)}
      note=${last ? html`${last.middle.toFixed(2)} now, the median of ${counted(trends.followed, "memory", "memories")}` : "no evidence in this time"}>
    ${last ? html`<${SurenessChart} days=${trends.days} /><p class="key"><i class="accent"></i>median <i class="wash"></i>half of the memories; 1 would be certain</p>` : html`<${Nothing}>Confidence is earned by outcomes and by what people say.<//>`}
  <//>`;
}

// What a title does not say already.
function gist({ title, description, content }) {
  return description && !description.startsWith(title.replace(/…$/, "")) ? description : content;
}

function Newest({ memories }) {
  if (!memories.length) return html`<${Nothing}>Nothing yet in this project.<//>`;
  return html`<ul class="rows">${memories.map((memory) => html`<li key=${memory.id}>
    <${Advice} of=${memory} />
    <div class="what"><${MemoryLink} id=${memory.id} title=${memory.title} /> <${State} of=${memory} />
      <p dir="auto">${cut(gist(memory), 160)}</p></div>
    <${Confidence} of=${memory} />
    <span class="when">${memory.source ? html`<a href=${address("session", memory.source)}>from a session</a>` : memory.origin}, <${Ago} at=${memory.created_at} /></span>
  </li>`)}</ul>`;
}

function Difference({ report, days }) {
  const [every, setEvery] = useState(false);
  if (!report) return html`<${Section} id="difference" title="What makes a difference"><${Waiting} /><//>`;
  const measured = report.memories.filter((line) => line.uplift).sort((a, b) => b.uplift.low - a.uplift.low);
  const shown = every ? measured : measured.slice(0, 6);
  const ways = new Set(measured.map((line) => line.uplift.by));
  return html`<${Section} id="difference" title="What makes a difference" twin=${reportPath(days)}
      note="uplift: how much more often tasks go well with a memory than without, and its range; the surest first">
    ${!measured.length && html`<${Nothing}>Too few sessions have ended with and without a memory to tell.<//>`}
    ${measured.length > 0 && html`<div class="scroll"><table>
      <thead><tr><th class="wide">Memory</th><th class="n">Tasks with</th><th class="n">without</th><th class="n">Uplift</th><th>−1 … 0 … +1</th><th class="n">Used</th><th class="n">Helped</th><th class="n">Hurt</th></tr></thead>
      <tbody>${shown.map((line) => html`<tr key=${line.id}>
        <td class="wide"><${MemoryLink} id=${line.id} title=${line.title} /></td>
        <td class="n">${count(line.uplift.sessions_with)}</td><td class="n">${count(line.uplift.sessions_without)}</td>
        <td class="n">${signed(line.uplift.value)}</td>
        <td><${Whisker} of=${line.uplift} /><span class="unseen">between ${signed(line.uplift.low)} and ${signed(line.uplift.high)}</span></td>
        <td class="n">${count(line.used)}</td><td class="n">${count(line.helped)}</td><td class="n">${count(line.hurt)}</td>
      </tr>`)}</tbody></table></div>
      ${measured.length > 6 && html`<p class="more"><button type="button" class="plain" onClick=${() => setEvery(!every)}>${every ? "Fewer" : `All ${measured.length}`}</button></p>`}
      ${ways.has("compared") && html`<p class="note">Compared: the sessions may differ in more than this memory. <code>REASONINGBANK_HOLDOUT=0.05</code> leaves some out by chance, which tells for certain.</p>`}`}
  <//>`;
}

function Gaps({ gaps, me, reload }) {
  const drop = (gap) => call("DELETE", `/v1/gaps/${gap.id}`).then(reload);
  return html`<${Section} id="gaps" title="Asked for in vain" twin="/v1/gaps" note="questions that nothing in the bank answers">
    ${!gaps ? html`<${Waiting} />` : !gaps.gaps.length ? html`<${Nothing}>Every question found something.<//>` : html`<ul class="plainrows">${gaps.gaps.map((gap) => html`<li key=${gap.id}>
      <div><a href=${address("search", "", { q: gap.question })}><bdi>${cut(gap.question, 200)}</bdi></a>
      <p>${counted(gap.times, "time")}, last <${Ago} at=${gap.last_at} /></p></div>
      ${me.scopes.includes("write") && html`<button type="button" class="plain" aria-label=${`Dismiss: ${cut(gap.question, 80)}`} title="until it is asked for again" onClick=${() => drop(gap)}>Dismiss</button>`}
    </li>`)}</ul>`}
  <//>`;
}

function Work({ jobs, spending }) {
  const tally = jobs?.tally ?? {};
  const tokens = (spending?.spending ?? []).reduce((sum, one) => sum + one.tokens_in + one.tokens_out, 0);
  return html`<${Section} id="work" title="Queue" twin="/v1/jobs?limit=1" note="sessions that wait to be learned from">
    <dl class="facts down">
      ${["waiting", "running", "done", "dead"].map((state) => html`<div><dt>${state === "dead" ? "failed" : state}</dt><dd><a href=${address("queue", "", { state })}>${count(tally[state])}</a></dd></div>`)}
    </dl>
    <p class="note">${spending?.llm === "off" ? "No language model is asked: lessons are distilled by rules." : html`${count(tokens)} tokens spent by ${spending?.llm}.`}</p>
  <//>`;
}
