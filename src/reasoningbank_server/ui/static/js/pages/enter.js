// The way in: a one-time link, or a token of the server.
import { html, useEffect, useState } from "../framework.js";
import { post } from "../api.js";
import { Trouble, Waiting } from "../parts.js";

export function Enter({ entered, ended }) {
  const code = location.pathname.startsWith("/ui/enter") ? location.hash.slice(1) : "";
  const [state, setState] = useState({ busy: Boolean(code), error: null });
  const exchange = (what) => {
    setState({ busy: true, error: null });
    return post("/ui/session", what).then(entered, (error) => setState({ busy: false, error }));
  };
  useEffect(() => {
    document.title = "Enter · ReasoningBank";
    if (code) exchange({ code });
  }, []);
  if (state.busy) return html`<main class="alone"><${Waiting} /></main>`;
  const submit = (event) => {
    event.preventDefault();
    const token = new FormData(event.target).get("token").trim();
    if (token) exchange({ token });
  };
  return html`<main class="alone">
    <h1>${ended ? "Your session has ended" : "Who are you?"}</h1>
    <p>This bank is not open to everybody. Run <code>reasoningbank ui</code> on its machine and open the link that it prints, or enter a token of the server.</p>
    <form onSubmit=${submit} class="entering">
      <label for="token">Token</label>
      <input id="token" name="token" type="password" autocomplete="off" spellcheck=${false} placeholder="rbk_…" required />
      <button class="main" type="submit">Enter</button>
    </form>
    <${Trouble} error=${state.error} />
    <p class="note">Whoever runs the server makes one: <code>reasoningbank token create --tenant NAME --scope read</code>. It stays on the server; this browser keeps a cookie for twelve hours.</p>
  </main>`;
}
