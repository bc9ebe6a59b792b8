// What a newcomer sees: a bank or a project that knows nothing yet, and how it begins to.
import { html } from "../framework.js";
import { address } from "../routes.js";
import { counted, cut } from "../words.js";

// A line writes to the project that is looked at, wherever it is typed.
const quoted = (name) => (/^[\w./-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`);
const ways = (name) => [
  ["Let your coding agent remember", "Hooks give it advice before a task and note how the task went.", "reasoningbank install claude-code"],
  ["Learn from what it did already", "Transcripts that agents have left on this machine become sessions, and those become lessons.", "reasoningbank backfill"],
  ["Keep something yourself", "What to do, when, and whether it worked.", `reasoningbank --namespace ${quoted(name)} record --title "Wrap errors" --content "Use fmt.Errorf with %w"`],
  ["Take over what you have", "Memories of other tools, Markdown notes, or an export of another bank.", `reasoningbank --namespace ${quoted(name)} import FILE`],
];

const MOST_PROJECTS = 12;
function Elsewhere({ namespaces }) {
  const known = Object.entries(namespaces).filter(([, memories]) => memories).sort(([, a], [, b]) => b - a);
  if (!known.length) return null;
  return html`<p class="lead elsewhere">Other projects of this bank have memories: ${known.slice(0, MOST_PROJECTS).map(([name, memories], index) => html`${index ? ", " : ""}<a href=${address("", "", { ns: name })}><bdi>${cut(name, 60)}</bdi></a> <span class="note">(${counted(memories, "memory", "memories")})</span>`)}${known.length > MOST_PROJECTS ? ", …" : "."}</p>`;
}

export function Welcome({ namespace, namespaces }) {
  return html`<h1>Nothing learned yet${Object.keys(namespaces).length > 0 && html` in <bdi>${cut(namespace, 80)}</bdi>`}</h1>
    <${Elsewhere} namespaces=${namespaces} />
    <p class="lead">The bank keeps strategies that worked and mistakes not to repeat, and trusts each as far as outcomes bear it out. It begins in one of these ways; this page shows what comes of it as it happens.</p>
    <ol class="ways">${ways(namespace).map(([title, says, line]) => html`<li><h2>${title}</h2><p>${says}</p><pre tabindex="0"><code>${line}</code></pre></li>`)}</ol>
    <p class="note">Where this page was started with <code>--bank</code>, give the commands the same. See it work first, in a bank of its own: <code>reasoningbank demo</code></p>`;
}
