// Sessions: the tasks that agents worked on, newest first.
import { html } from "../framework.js";
import { useData } from "../api.js";
import { useLive } from "../live.js";
import { address } from "../routes.js";
import { Ago, Nothing, Outcome, Section, Trouble, Waiting } from "../parts.js";
import { cut, lasted } from "../words.js";

export function Page({ route }) {
  const cursor = route.query.get("cursor") ?? "";
  const path = `/v1/sessions?limit=40&excerpt=300${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`;
  const { data, error, load } = useData(path);
  useLive(["trajectory"], load);
  return html`<header class="top"><h1>Sessions</h1></header>
    <${Trouble} error=${error} retry=${load} />
    <${Section} id="list" title="Newest first" twin=${path}>
      ${!data ? html`<${Waiting} rows=${8} />` : !data.sessions.length ? html`<${Nothing}>No agent has worked with this project yet. <code>reasoningbank install claude-code</code> lets one.<//>` : html`<ul class="rows three">${data.sessions.map((session) => html`<li key=${session.id}>
        <${Outcome} of=${session.outcome} />
        <div class="what"><a class="title" href=${address("session", session.id)}><bdi>${cut(session.task, 200)}</bdi></a></div>
        <span class="when">${[session.agent, session.ended_at && `took ${lasted(session.started_at, session.ended_at)}`].filter(Boolean).join(", ")}, <${Ago} at=${session.started_at} /></span>
      </li>`)}</ul>`}
      <p class="more">${cursor && html`<a href=${address("sessions")}>To the newest</a> `}${data?.next && html`<a href=${address("sessions", "", { cursor: data.next })}>Older</a>`}</p>
    <//>`;
}
