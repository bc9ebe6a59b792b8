// Session: what was done step by step, how it was judged and why, what was shown, what was learned.
import { html, useCallback } from "../framework.js";
import { useData } from "../api.js";
import { useLive } from "../live.js";
import { address } from "../routes.js";
import { Advice, Ago, Confidence, MemoryLink, Nothing, Outcome, Said, Section, Trouble, Waiting } from "../parts.js";
import { cut, lasted, moment, two } from "../words.js";

const JUDGES = { environment: "by what the environment said", model: "by a language model", rules: "by rules" };

// Why there is no lesson, by what became of the job.
const UNREAD = {
  waiting: "It waits to be learned from.", dead: "Learning from it failed, and was given up.", discarded: "Somebody decided not to learn from it.",
  done: "Nothing in it was worth keeping.", none: "It is not to be learned from.",
};

export function Page({ route }) {
  const path = `/v1/sessions/${encodeURIComponent(route.id)}`;
  const whole = useData(`${path}?excerpt=4000`);
  const account = useData(`${path}/account?excerpt=2000`);
  const reload = useCallback(() => (whole.load(), account.load()), [whole.load, account.load]);
  useLive(["trajectory", "step", "signal", "job", "memory"], reload);
  if (whole.error) return html`<h1>Session</h1><${Trouble} error=${whole.error} />`;
  if (!whole.data) return html`<h1 class="unseen">Session</h1><${Waiting} rows=${8} />`;
  const session = whole.data;
  document.title = `${cut(session.task, 60)} · ReasoningBank`;
  return html`<header class="top">
      <p class="crumbs"><a href=${address("sessions")}>Sessions</a></p>
      <h1 dir="auto">${cut(session.task, 500)}</h1>
      <p class="marks"><${Outcome} of=${session.outcome} /><span>${session.agent ?? "an agent"}</span><span title=${moment(session.started_at)}><${Ago} at=${session.started_at} /></span>${session.ended_at && html`<span>took ${lasted(session.started_at, session.ended_at)}</span>`}</p>
    </header>
    <${Verdict} account=${account.data} outcome=${session.outcome} />
    <${Section} id="steps" title="What was done" twin=${path}>
      ${!session.steps.length ? html`<${Nothing}>No step was noted.<//>` : html`<ol class="timeline">${session.steps.map((step, index) => html`<li key=${step.id}>
        <p class="note">step ${step.number ?? index + 1}${step.at && html`, <${Since} start=${session.started_at} at=${step.at} />`}</p>
        <${Said} text=${step.action} most=${4000} />
        ${step.result && html`<pre class="result" dir="auto" tabindex="0">${cut(step.result, 4000)}</pre>`}
      </li>`)}</ol>`}
    <//>
    <${Shown} account=${account.data} path=${path} />
    <${Lessons} account=${account.data} path=${path} outcome=${session.outcome} />
    <p class="note ids">${session.id}</p>`;
}

function Since({ start, at }) {
  return html`<span title=${moment(at)}>${lasted(start, at) || "0 s"} in</span>`;
}

function Verdict({ account, outcome }) {
  if (!account) return null;
  const { verdict, jobs } = account;
  const job = jobs[0];
  return html`<${Section} id="verdict" title="How it was judged">
    ${verdict ? html`<p><b>${String(verdict.outcome)}</b> ${JUDGES[verdict.source] ?? String(verdict.source ?? "")}, with a certainty of ${two(verdict.certainty ?? 0)}. <span dir="auto">${cut(String(verdict.reason ?? ""), 1000)}</span></p>
      ${verdict.evidence && html`<pre class="result" dir="auto" tabindex="0">${cut(String(verdict.evidence), 2000)}</pre>`}`
      : html`<p class="note">${outcome ? html`It ended as ${outcome}. ${UNREAD[job?.state] ?? UNREAD.none}` : "It still runs."}</p>`}
    ${job?.error && job.state !== "done" && html`<p class="trouble">${job.error} ${job.state === "dead" && html`<a href=${address("queue", "", { state: "dead" })}>Retry it in the queue</a>`}</p>`}
  <//>`;
}

function Shown({ account, path }) {
  if (!account) return html`<${Section} id="shown" title="Memories that were shown"><${Waiting} rows=${2} /><//>`;
  return html`<${Section} id="shown" title="Memories that were shown" twin=${`${path}/account`}>
    ${!account.shown.length ? html`<${Nothing}>None were shown.<//>` : html`<div class="scroll"><table>
      <thead><tr><th>Rank</th><th class="wide">Memory</th><th>Used</th><th class="wide">What the session said of it</th><th>Confidence now</th></tr></thead>
      <tbody>${account.shown.map((memory) => html`<tr key=${memory.id}><td>${memory.rank}</td><td class="wide"><${MemoryLink} id=${memory.id} title=${memory.title} /></td>
        <td>${memory.signals.some((one) => one.used) ? "yes" : "no"}</td>
        <td class="wide">${memory.signals.length ? memory.signals.map((one) => html`<span class=${one.positive ? "good" : "bad"}>${one.positive ? "for" : "against"} it, weight ${two(one.weight)}</span> <span class="note" dir="auto">${cut(one.comment, 120)}</span> `) : html`<span class="note">nothing</span>`}</td>
        <td><${Confidence} of=${memory} /></td></tr>`)}</tbody></table></div>`}
  <//>`;
}

function Lessons({ account, path, outcome }) {
  if (!account) return null;
  const left = account.jobs.flatMap((job) => (Array.isArray(job.metadata?.left_out) ? job.metadata.left_out : []));
  return html`<${Section} id="lessons" title="What was learned from it" twin=${`${path}/account`}>
    ${account.lessons.length > 0 && html`<ul class="rows">${account.lessons.map((memory) => html`<li key=${memory.id}><${Advice} of=${memory} /><div class="what"><${MemoryLink} id=${memory.id} title=${memory.title} /><p dir="auto">${cut(memory.content, 200)}</p></div><${Confidence} of=${memory} /></li>`)}</ul>`}
    ${!account.lessons.length && html`<${Nothing}>${!account.jobs.length && !outcome ? "It has not ended yet." : UNREAD[account.jobs[0]?.state] ?? UNREAD.none}<//>`}
    ${left.length > 0 && html`<ul class="plainrows">${left.map((one) => html`<li><div><b dir="auto">${cut(String(one.what ?? ""), 200)}</b> <span class="note" dir="auto">${cut(String(one.why ?? ""), 300)}</span></div></li>`)}</ul>`}
  <//>`;
}
