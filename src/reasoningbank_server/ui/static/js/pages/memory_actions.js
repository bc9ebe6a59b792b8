// What a person does about a memory; whatever takes something away asks first.
import { html, useState } from "../framework.js";
import { call, post, useData } from "../api.js";
import { address, go } from "../routes.js";
import { Confirm, Trouble } from "../parts.js";
import { count } from "../words.js";

const MOST_CHARS = 1_000_000;
const DONE = {
  helpful: "Kept as evidence for it.", not: "Kept as evidence against it.", edit: "Saved as a new revision; what it said before stands below.",
  forget: "Forgotten: nobody is shown it. Restore brings it back.", restore: "Restored: it is found again.",
  approve: "Approved. The page Trust can undo it.", reject: "Rejected and forgotten. The page Trust can undo it.",
};

export function Actions({ memory, me, reload }) {
  const [asking, setAsking] = useState("");
  const [told, setTold] = useState("");
  const path = `/v1/memories/${memory.id}`;
  const may = (scope) => me.scopes.includes(scope);
  if (!may("write")) return html`<p class="note">These credentials may only read.</p>`;
  const close = () => setAsking("");
  const done = () => (setTold(DONE[asking]), close(), reload());
  const ask = (what) => () => (setTold(""), setAsking(what));
  const said = (helpful) => (event) => post(`${path}/feedback`, { helpful, comment: comment(event) });
  const comment = () => document.getElementById("comment")?.value ?? "";
  const rule = (kind) => () => post("/v1/rulings", { kind, target: memory.id, comment: comment() });
  const Comment = html`<label for="comment">Why (kept with it)</label><textarea id="comment" rows="2"></textarea>`;
  const dialogs = {
    helpful: () => html`<${Confirm} title="It helped" word="It helped" act=${said(true)} onDone=${done} onCancel=${close}>${Comment}<//>`,
    not: () => html`<${Confirm} title="It did not help" word="It did not help" act=${said(false)} onDone=${done} onCancel=${close}><p>What you say against a memory weighs more than any outcome.</p>${Comment}<//>`,
    edit: () => html`<${Edit} memory=${memory} path=${path} done=${done} close=${close} />`,
    forget: () => html`<${Confirm} title="Forget this memory?" word="Forget" danger act=${() => call("DELETE", path)} onDone=${done} onCancel=${close}><p>Nobody is shown it any more. It can be restored.</p><//>`,
    restore: () => html`<${Confirm} title="Restore this memory?" word="Restore" act=${() => post(`${path}/restore`)} onDone=${done} onCancel=${close}><p>It will be found again.</p><//>`,
    approve: () => html`<${Confirm} title="Approve this memory?" word="Approve" act=${rule("approve")} onDone=${done} onCancel=${close}><p>You vouch for it: it is shown to agents from now on.</p>${Comment}<//>`,
    reject: () => html`<${Confirm} title="Reject this memory?" word="Reject" danger act=${rule("reject")} onDone=${done} onCancel=${close}><p>It is forgotten, and the decision is written down as yours.</p>${Comment}<//>`,
    erase: () => html`<${Confirm} title="Erase this memory for good?" word="Erase" danger act=${() => call("DELETE", `${path}?erase=true`)} onDone=${() => go(address("search"))} onCancel=${close}><p>Its text, its revisions and all evidence about it are removed. <b>This cannot be undone.</b></p><//>`,
  };
  const held = memory.state === "quarantined", gone = memory.state === "forgotten" || memory.state === "archived";
  return html`<div class="actions" role="group" aria-label="What to do about it">
    ${held && may("admin") && html`<button type="button" class="main" onClick=${ask("approve")}>Approve…</button><button type="button" onClick=${ask("reject")}>Reject…</button>`}
    ${!held && !gone && html`<button type="button" onClick=${ask("helpful")}>It helped…</button><button type="button" onClick=${ask("not")}>It did not…</button>`}
    ${gone && html`<button type="button" class="main" onClick=${ask("restore")}>Restore…</button>`}
    ${!gone && html`<button type="button" onClick=${ask("edit")}>Edit…</button>`}
    ${!gone && html`<button type="button" onClick=${ask("forget")}>Forget…</button>`}
    ${may("admin") && html`<button type="button" class="danger" onClick=${ask("erase")}>Erase…</button>`}
  </div>
  <p class="note" role="status">${told}</p>
  ${asking && dialogs[asking]()}`;
}

// What is shown may be the beginning of it: what is edited is the whole.
function Edit({ memory, path, done, close }) {
  const whole = useData(memory.cut ? path : null, { lasting: false });
  if (!memory.cut) return html`<${Fields} memory=${memory} path=${path} done=${done} close=${close} />`;
  return whole.data ? html`<${Fields} memory=${whole.data} path=${path} done=${done} close=${close} />` : html`<${Trouble} error=${whole.error} />`;
}

function Fields({ memory, path, done, close }) {
  const [fields, setFields] = useState({ title: memory.title, description: memory.description, content: memory.content, tags: memory.tags.join(", ") });
  // What is shown behind it moves on when somebody else writes: this is about what was read when it was opened.
  const [began] = useState(memory.revision);
  const set = (name) => (event) => setFields({ ...fields, [name]: event.target.value });
  const save = () => {
    const chars = fields.content.replace(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g, " ").length;
    if (chars > MOST_CHARS) throw new Error(`The advice has ${count(chars)} characters; a memory holds at most ${count(MOST_CHARS)}.`);
    const tags = fields.tags.split(",").map((tag) => tag.trim()).filter(Boolean);
    return call("PATCH", path, { ...fields, tags, expected_revision: began });
  };
  return html`<${Confirm} title="Edit" word="Save" act=${save} onDone=${done} onCancel=${close}>
    <label for="edit-title">Title</label><input id="edit-title" value=${fields.title} onInput=${set("title")} required />
    <label for="edit-when">When it applies</label><textarea id="edit-when" rows="2" onInput=${set("description")} value=${fields.description}></textarea>
    <label for="edit-text">Advice</label><textarea id="edit-text" rows="8" onInput=${set("content")} value=${fields.content} required></textarea>
    <label for="edit-tags">Tags, with commas between them</label><input id="edit-tags" value=${fields.tags} onInput=${set("tags")} />
    <p class="note">What it said before stays readable. Evidence goes on counting where the advice is still the same.</p>
  <//>`;
}
