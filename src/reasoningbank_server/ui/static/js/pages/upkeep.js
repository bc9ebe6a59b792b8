// A run of upkeep: what it would change, what it has changed act by act, and taking it back.
import { html, useState } from "../framework.js";
import { post, useData } from "../api.js";
import { Ago, Confirm, MemoryLink, Trouble, Waiting } from "../parts.js";
import { count, counted, two } from "../words.js";

const MOST_SHOWN = 40;
const RUNS = { consolidate: "tidied up", prune: "put away", promote: "offered further", undo: "undone" };

function changes(counts) {
  const told = Object.entries(counts).filter(([, number]) => number).map(([name, number]) => `${count(number)} ${name}`);
  return told.length ? told.join(", ") : "nothing changed";
}

export function Run({ run, writes, reload }) {
  const [open, setOpen] = useState(false);
  const done = Object.values(run.counts).some(Boolean);
  return html`<li><div>
      <b>${RUNS[run.kind] ?? run.kind}:</b> ${changes(run.counts)} <span class="note">in ${run.namespace}, by ${run.source}, <${Ago} at=${run.at} />${run.undone && ", undone"}</span>
      ${done && html` <button type="button" class="plain" aria-expanded=${open} onClick=${() => setOpen(!open)}>${open ? "Less" : "What it changed"}</button>`}
      ${open && html`<${Acts} run=${run} />`}</div>
    ${writes && !run.undone && run.kind !== "undo" && html`<${Undo} run=${run} reload=${reload} />`}</li>`;
}

function Acts({ run }) {
  const { data, error, load } = useData(`/v1/consolidations/${run.id}`);
  if (error) return html`<${Trouble} error=${error} retry=${load} />`;
  if (!data) return html`<${Waiting} rows=${2} />`;
  const all = Object.values(run.counts).reduce((a, b) => a + b, 0);
  const named = (id) => (data.names[id] ? html`<${MemoryLink} id=${id} title=${data.names[id]} />` : html`<span class="note">one that was erased since</span>`);
  const between = (act) => html`${named(act.source)} <span class="kind">${(act.kind ?? "").replaceAll("_", " ")} →</span> ${named(act.target)}`;
  const says = {
    merge: (act) => html`merged ${act.merged.map((id, index) => html`${index ? ", " : ""}${named(id)} <span class="note">(alike to ${two(act.likeness[index]?.[0] ?? 0)})</span>`)} into ${named(act.kept)}`,
    link: (act) => html`tied ${between(act)}`,
    reweigh: (act) => html`weighed anew, ${two(act.from)} to ${two(act.to)}: ${between(act)}`,
    unlink: (act) => html`untied ${between(act)}`,
    archive: (act) => html`put away ${named(act.id)} <span class="note">at a confidence of ${two(act.confidence)}</span>`,
    promote: (act) => html`offered to the ${act.to}, before to the ${act.from}: ${named(act.id)}`,
  };
  return html`<ul class="plainrows acts">${data.acts.slice(0, MOST_SHOWN).map((act, index) => html`<li key=${index}><div>${says[act.act](act)}</div></li>`)}</ul>
    ${all > MOST_SHOWN && html`<p class="note">the first ${MOST_SHOWN} of ${count(all)}</p>`}`;
}

function Undo({ run, reload }) {
  const [asked, setAsked] = useState(false);
  return html`<button type="button" onClick=${() => setAsked(true)}>Undo…</button>
    ${asked && html`<${Confirm} title="Undo this run?" word="Undo" act=${() => post(`/v1/consolidations/${run.id}/undo`)} onDone=${() => (setAsked(false), reload())} onCancel=${() => setAsked(false)}><p>${changes(run.counts)}: each is put back as it was, unless somebody has changed it since.</p><//>`}`;
}

export function Rehearsal({ plan, done, close }) {
  const lines = [
    ...plan.merges.map((one) => html`merge ${one.merged.length} into <${MemoryLink} id=${one.kept} title=${one.title} />: ${one.why}`),
    ...plan.conflicts.map((one) => html`tie as contradicting: <bdi>${one.titles.join(" / ")}</bdi>`),
    ...plan.links.map((one) => html`tie (${one.kind}): <bdi>${one.titles.join(" / ")}</bdi>`),
    ...plan.archivals.map((one) => html`put away <${MemoryLink} id=${one.id} title=${one.title} />: ${one.why}`),
    ...plan.promotions.map((one) => html`offer to the ${one.after}: <${MemoryLink} id=${one.id} title=${one.title} />, ${one.why}`),
  ];
  return html`<${Confirm} title="What upkeep would change" word=${lines.length ? "Do it" : ""} act=${() => post("/v1/consolidate", {})} onDone=${done} onCancel=${close}>
    ${lines.length ? html`<ul class="plainrows">${lines.slice(0, MOST_SHOWN).map((line) => html`<li><div>${line}</div></li>`)}</ul>` : html`<p>Nothing: ${counted(plan.considered, "memory was", "memories were")} looked at.</p>`}
    ${lines.length > MOST_SHOWN && html`<p class="note">and ${lines.length - MOST_SHOWN} more</p>`}
  <//>`;
}
