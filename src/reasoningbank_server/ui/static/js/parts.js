// The parts that every page is made of.
import { html, useState, useEffect, useRef } from "./framework.js";
import { twin } from "./api.js";
import { address } from "./routes.js";
import { ago, cut, moment, two } from "./words.js";

export function Ago({ at }) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 30000);
    return () => clearInterval(timer);
  }, []);
  return html`<time datetime=${at ?? ""} title=${moment(at)}>${ago(at)}</time>`;
}

// The mean as a tick on the interval that the evidence allows.
export function Confidence({ of, figures = true }) {
  const { confidence, confidence_low: low, confidence_high: high } = of;
  const percent = (value) => `${(100 * value).toFixed(1)}%`;
  return html`<span class="confidence" title=${`${two(confidence)}, between ${two(low)} and ${two(high)}`}>
    ${figures && html`<b>${two(confidence)}</b>`}
    <span class="scale" aria-hidden="true">
      <i class="band" style=${{ left: percent(low), width: percent(high - low) }}></i>
      <i class="tick" style=${{ left: percent(confidence) }}></i>
    </span>
    <span class="unseen">confidence ${two(confidence)}, between ${two(low)} and ${two(high)}</span>
  </span>`;
}

export const SURENESS = "with how sure the bank is of each, from 0 to 1, and the range that the evidence allows";

const SIGNS = { success: "✓", failure: "✕", unknown: "?", running: "…" };
export function Outcome({ of }) {
  const name = of ?? "running";
  return html`<span class=${`outcome ${name}`}><span aria-hidden="true">${SIGNS[name] ?? "·"}</span> ${name}</span>`;
}

// A memory says what to do, or what to beware of.
export function Advice({ of }) {
  return of.outcome === "failure"
    ? html`<span class="mark failure" title="learned from a failure: what to avoid">avoid</span>`
    : html`<span class="mark success" title="learned from a success: what to do">do</span>`;
}

const STATES = {
  quarantined: ["doubt", "held back until somebody approves it"],
  forgotten: ["muted", "no longer shown; can be restored"],
  archived: ["muted", "put away because it proved wrong"],
  superseded: ["muted", "merged into another one, which is shown instead"],
};
export const STATE_WORDS = { active: "in use", quarantined: "held back", superseded: "merged" };
export function State({ of }) {
  const [look, means] = STATES[of.state] ?? [];
  return look ? html`<span class=${`mark ${look}`} title=${means}>${STATE_WORDS[of.state] ?? of.state}</span>` : null;
}

export const TRUST_MEANS = {
  trusted: "shown as it is", working: "shown; what an agent says of itself counts less",
  untrusted: "shown with care, at most one in five; suspicious texts are held back", quarantined: "not shown before you have looked",
};
export function Trust({ of }) {
  return html`<span class=${`trust ${of}`} title=${TRUST_MEANS[of] ?? of}>${of}</span>`;
}

export function Tags({ of }) {
  return (of ?? []).map((tag) => html`<a class="tag" href=${address("search", "", { tag })}>${tag}</a>`);
}

export function MemoryLink({ id, title }) {
  return html`<a class="title" href=${address("memory", id)}><bdi>${cut(title, 300) || id}</bdi></a>`;
}

export function Said({ text, most }) {
  return html`<div class="said" dir="auto">${cut(text, most)}</div>`;
}

export function Section({ title, note, twin: path, children, id, actions }) {
  return html`<section aria-labelledby=${id} class="section">
    <header><h2 id=${id}>${title}</h2>${note && html`<p class="note">${note}</p>`}
      ${actions}${path && html`<a class="twin" href=${twin(path)} target="_blank" rel="noopener" aria-label=${`${title} as JSON`}>JSON</a>`}</header>
    ${children}
  </section>`;
}

export function Trouble({ error, retry }) {
  if (!error) return null;
  return html`<p class="trouble" role="alert">${error.message} ${retry && html`<button type="button" onClick=${retry}>Try again</button>`}</p>`;
}

export function Waiting({ rows = 3 }) {
  return html`<div class="waiting" role="status"><span class="unseen">Loading</span>${Array.from({ length: rows }, () => html`<i></i>`)}</div>`;
}

export function Nothing({ children }) {
  return html`<p class="nothing">${children}</p>`;
}

// Asks before something that cannot simply be taken back. Closes by Escape, gives the focus back.
export function Confirm({ title, children, act, word, onDone, onCancel, danger }) {
  const dialog = useRef(null);
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current.showModal();
    return () => before?.focus?.();
  }, []);
  const confirm = (event) => {
    event.preventDefault();
    setBusy(true);
    Promise.resolve().then(act).then(onDone, (problem) => {
      setError(problem);
      setBusy(false);
    });
  };
  return html`<dialog ref=${dialog} aria-labelledby="asked" onCancel=${(e) => (e.preventDefault(), onCancel())}>
    <form onSubmit=${confirm}>
      <h2 id="asked">${title}</h2>
      ${children}
      <${Trouble} error=${error} />
      <div class="buttons">
        <button type="button" onClick=${onCancel}>${word ? "Cancel" : "Close"}</button>
        ${word && html`<button type="submit" class=${danger ? "danger" : "main"} disabled=${busy}>${word}</button>`}
      </div>
    </form>
  </dialog>`;
}
