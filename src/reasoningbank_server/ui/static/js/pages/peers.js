// Peers: other banks on the bus, how far they are, what went out and came in, what was refused and why, and their rights.
import { html, useCallback, useEffect, useState } from "../framework.js";
import { post, useData } from "../api.js";
import { useLive } from "../live.js";
import { address } from "../routes.js";
import { Ago, Confirm, Nothing, Section, Trouble, Trust, Waiting } from "../parts.js";
import { count, counted, cut, moment } from "../words.js";

const LOOK_EVERY_MS = 3000;
const STATES = { connected: ["success", "connected"], away: ["", "away"], not_up: ["", "nobody is up here"] };
const RIGHTS = { given: "given by us", held: "given to us", seen: "between others" };
const GRANT_STATES = { valid: "in force", expired: "expired", not_yet_valid: "not yet in force", revoked: "revoked", no_root: "by nobody who decides here" };

export function Page({ me }) {
  const bus = useData("/v1/bus");
  const grants = useData("/v1/bus/grants");
  const reload = useCallback(() => [bus, grants].forEach((one) => one.load()), [bus.load, grants.load]);
  useLive(["memory", "ruling"], reload);
  // What peers do is not in the feed of this bank.
  useEffect(() => {
    const timer = setInterval(() => document.hidden || reload(), LOOK_EVERY_MS);
    return () => clearInterval(timer);
  }, [reload]);
  const [asked, setAsked] = useState(null);
  const [told, setTold] = useState("");
  const decides = me.scopes.includes("admin") && me.origin === "user";
  const ask = decides ? setAsked : null;
  const revoked = (done) => {
    setAsked(null);
    setTold(`${counted(done.grants.length, "grant")} taken back${done.ruling ? `, ${counted(done.memories, "memory", "memories")} hidden` : ""}.`);
    reload();
  };
  const it = bus.data;
  return html`<header class="top"><h1>Peers</h1>${it?.key && html`<${Own} bus=${it} />`}</header>
    <${Trouble} error=${bus.error ?? grants.error} retry=${reload} />
    <p class="told" role="status">${told}${told && html` <a href=${address("trust")}>What was decided</a>`}</p>
    ${it?.trouble && html`<p class="trouble" role="alert">${it.trouble}</p>`}
    ${!it ? !bus.error && html`<${Waiting} rows=${6} />` : !it.key ? html`<${Nothing}>This bank is not on the bus. <code>reasoningbank bus init</code> makes its key; then banks of others learn from it, and it from them.<//>` : html`
      <${Peers} peers=${it.peers} up=${it.up} ask=${ask} />
      <${Refused} bus=${it} />
      <${Grants} grants=${grants.data?.grants} ask=${ask} />
      <${Shared} policy=${it.shares} roots=${it.roots} />`}
    ${asked && html`<${Revoke} ...${asked} done=${revoked} close=${() => setAsked(null)} />`}`;
}

function Own({ bus }) {
  return html`<p class="facts"><b>${count(bus.shared)}</b> ${bus.shared === 1 ? "entry" : "entries"} shared <b>${count(bus.taken)}</b> taken <b>${count(bus.waiting)}</b> waiting</p>
    <p class="note">We are <b>${bus.fingerprint}</b>. ${bus.up ? html`Up${bus.listen && html`, reachable at <b>${bus.listen}</b>`}; it began <${Ago} at=${bus.up_since_at} />.` : html`Not up: <code>reasoningbank bus up</code>, or <code>serve --bus HOST:PORT</code>.`}</p>`;
}

const nameOf = (peer) => peer.name || peer.fingerprint;

function Peers({ peers, up, ask }) {
  return html`<${Section} id="peers" title="Other banks" twin="/v1/bus" note="compare the fingerprint before you believe a name">
    ${!peers.length ? html`<${Nothing}>No other bank is known. <code>reasoningbank bus grant KEY --name NAME</code> lets one in.<//>` : html`<div class="scroll"><table>
      <thead><tr><th class="wide">Bank</th><th>State</th><th class="n">Behind</th><th class="n">Sent</th><th class="n">Received</th><th class="n">Refused</th><th>Believed as</th><th><span class="unseen">What to do</span></th></tr></thead>
      <tbody>${peers.map((peer) => {
        const [look, word] = STATES[peer.state] ?? ["", peer.state];
        return html`<tr key=${peer.fingerprint}>
          <td class="wide"><b><bdi>${cut(nameOf(peer), 80)}</bdi></b><p class="note">${peer.name && html`${peer.fingerprint} `}<bdi>${peer.address}</bdi></p>${peer.problem && html`<p class="bad" dir="auto">${cut(peer.problem, 300)}</p>`}</td>
          <td><span class=${`outcome ${look}`}>${up ? word : "not up"}</span>${peer.seen_at && html`<p class="note">heard <${Ago} at=${peer.seen_at} /></p>`}</td>
          <td class="n">${peer.behind === null ? html`<span class="note">unknown</span>` : peer.behind ? counted(peer.behind, "entry", "entries") : "in step"}</td>
          <td class="n">${count(peer.sent)}</td><td class="n">${count(peer.received)}</td>
          <td class="n">${count(Object.values(peer.refused).reduce((a, b) => a + b, 0))}</td>
          <td><${Trust} of=${peer.trust} /> <a class="note" href=${address("search", "", { origin: `peer:${peer.fingerprint}`, state: "any" })}>its memories</a></td>
          <td class="n">${ask && html`<button type="button" class="danger" aria-label=${`Revoke ${nameOf(peer)}`} onClick=${() => ask({ target: peer.fingerprint, name: nameOf(peer), whole: true })}>Revoke…</button>`}</td>
        </tr>`;
      })}</tbody></table></div>`}
  <//>`;
}

function Command({ of }) {
  return of.split("`").map((part, place) => (place % 2 ? html`<code>${part}</code>` : part));
}

function Refused({ bus }) {
  const by = (code) => bus.peers.filter((peer) => peer.refused[code]).map((peer) => `${nameOf(peer)} ${count(peer.refused[code])}`).join(", ");
  return html`<${Section} id="refused" title="What was refused, and why" twin="/v1/bus">
    ${!bus.refusals.length ? html`<${Nothing}>Nothing was refused.<//>` : html`<ul class="plainrows">${bus.refusals.map((one) => html`<li key=${`${one.code} ${one.ours}`}><div>${one.reason || one.code} <span class="note" dir="auto">${one.ours ? "" : by(one.code)}</span>
      <p class="note">${one.ours ? "Not sent" : one.author && html`Last of <bdi>${cut(one.author, 80)}</bdi>`}${one.namespace && html` in <bdi>${cut(one.namespace, 80)}</bdi>`}. ${one.remedy && html`<${Command} of=${one.remedy} />`}</p></div><span class="n">${count(one.count)}</span></li>`)}</ul>`}
  <//>`;
}

const PERIODS = { 0: "in all", 3600: "an hour", 86400: "a day", 604800: "a week", 2592000: "in 30 days" };
function Caps({ grant }) {
  const caps = Object.entries(grant.caps);
  if (!caps.length) return html`<span class="note">no cap</span>`;
  return caps.map(([name, most]) => {
    const spent = grant.spent[name] ?? 0;
    return html`<div class="cap"><progress max=${most} value=${Math.min(most, spent)} aria-label=${`${name} spent`}></progress> ${count(spent)} of ${count(most)} ${name} <span class="note">${PERIODS[grant.period_s] ?? `in ${counted(Math.round(grant.period_s / 3600), "hour")}`}</span></div>`;
  });
}

function Grants({ grants, ask }) {
  const other = (grant) => (grant.direction === "held" ? grant.issuer : grant.holder);
  return html`<${Section} id="grants" title="Rights" twin="/v1/bus/grants" note="who may do what, where, how much and until when">
    ${!grants ? html`<${Waiting} />` : !grants.length ? html`<${Nothing}>Nobody was given a right yet.<//>` : html`<div class="scroll"><table>
      <thead><tr><th class="wide">Bank</th><th class="wide">May</th><th class="wide">Spent</th><th>Until</th><th>State</th><th><span class="unseen">What to do</span></th></tr></thead>
      <tbody>${grants.map((grant) => html`<tr key=${grant.id}>
        <td class="wide"><b><bdi>${cut(nameOf(other(grant)), 80)}</bdi></b><p class="note">${RIGHTS[grant.direction] ?? grant.direction}${grant.delegable && ", may hand it on"}</p></td>
        <td class="wide">${grant.actions.join(", ")}<p class="note">in <bdi>${grant.namespaces.includes("*") ? "every project" : cut(grant.namespaces.join(", "), 200)}</bdi>, ${grant.scopes.join(" and ")}</p></td>
        <td class="wide"><${Caps} grant=${grant} /></td>
        <td title=${moment(grant.expires_at)}>${grant.expires_at?.slice(0, 10)}</td>
        <td><span class=${`outcome ${grant.state === "valid" ? "success" : "failure"}`}>${GRANT_STATES[grant.state] ?? grant.state}</span></td>
        <td class="n">${ask && grant.direction === "given" && grant.state === "valid" && html`<button type="button" class="danger" aria-label=${`Revoke this grant to ${nameOf(grant.holder)}`} onClick=${() => ask({ target: grant.id, name: `the grant to ${nameOf(grant.holder)}` })}>Revoke…</button>`}</td>
      </tr>`)}</tbody></table></div>`}
  <//>`;
}

function Shared({ policy, roots }) {
  const where = policy.namespaces.includes("*") ? "every project" : policy.namespaces.join(", ");
  return html`<${Section} id="shared" title="What is shared" twin="/v1/bus/policy">
    ${!policy.namespaces.length ? html`<p>Nothing yet: <code>reasoningbank bus share --in NAME</code> names a project.</p>` : html`<p>What is scoped to the ${policy.scopes.join(" or the ")}, of <bdi>${cut(where, 300)}</bdi>${policy.tags.length > 0 && html`, with the tag <bdi>${cut(policy.tags.join(", "), 200)}</bdi>`}${policy.least_confidence > 0 && `, from a confidence of ${policy.least_confidence} on`}${policy.nodes && ", and pieces of conversations"}.</p>`}
    ${roots.length > 0 && html`<p class="note">Beside us decide here: <bdi>${cut(roots.join(", "), 300)}</bdi></p>`}
    <p class="note">What is scoped to a project, untrusted, held back, or came from another bank is never shared.</p>
  <//>`;
}

function Revoke({ target, name, whole, done, close }) {
  return html`<${Confirm} title=${html`Revoke <bdi>${cut(name, 120)}</bdi>?`} word="Revoke" danger act=${() => post("/v1/bus/revoke", { target })} onDone=${done} onCancel=${close}>
    ${whole ? html`<p>Every right that it was given ends, and <b>everything that came from it is held back</b>: no longer found, no longer taken. This is told to every other bank.</p><p class="note">The memories can be brought back on the page Trust; the rights only by new grants.</p>`
      : html`<p>This right ends here and, as it is told, at every other bank. What came under it stays. <b>It cannot be taken back</b>, only given anew.</p>`}
  <//>`;
}
