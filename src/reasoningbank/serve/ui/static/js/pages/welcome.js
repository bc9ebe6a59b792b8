// What a newcomer sees: a bank that knows nothing yet, and how it begins to.
import { html } from "../framework.js";

const WAYS = [
  ["Let your coding agent remember", "Hooks give it advice before a task and note how the task went.", "reasoningbank install claude-code"],
  ["Learn from what it did already", "Transcripts that agents have left on this machine become sessions, and those become lessons.", "reasoningbank backfill"],
  ["Keep something yourself", "What to do, when, and whether it worked.", 'reasoningbank record --title "Wrap errors" --content "Use fmt.Errorf with %w"'],
  ["Take over what you have", "Memories of other tools, Markdown notes, or an export of another bank.", "reasoningbank import FILE"],
];

export function Welcome() {
  return html`<h1>Nothing learned yet</h1>
    <p class="lead">The bank keeps strategies that worked and mistakes not to repeat, and trusts each as far as outcomes bear it out. It begins in one of these ways; this page shows what comes of it as it happens.</p>
    <ol class="ways">${WAYS.map(([title, says, line]) => html`<li><h2>${title}</h2><p>${says}</p><pre tabindex="0"><code>${line}</code></pre></li>`)}</ol>
    <p class="note">See it work first, in a bank of its own: <code>reasoningbank demo</code></p>`;
}
