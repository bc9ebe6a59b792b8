"""Trust of Codex in our hooks: it runs none that its user has not looked at.

Reads what Codex keeps in `[hooks.state]` of its settings: under the file of a hook, its event and its place there, a
digest of the hook as it was trusted. Nothing is started and nothing written: to trust is the user's to do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from reasoningbank_coding_agents.install.program import is_ours

DEFAULT_TIMEOUT_S = 600
HOW = "start `codex`, type /hooks and trust those of reasoningbank"
_BORDER = re.compile(r"(?<!^)(?=[A-Z])")
_NO_MATCHER = frozenset({"UserPromptSubmit", "Stop"})
"""Events for which Codex passes over a matcher."""


class HookTrust(NamedTuple):
    trusted: int
    changed: int
    """Trusted once, and another command since."""
    off: int
    hooks: int

    @property
    def is_whole(self) -> bool:
        return self.trusted == self.hooks

    @property
    def says(self) -> str:
        if self.is_whole:
            return f"Codex trusts all {self.hooks} hooks"
        if self.off:
            return f"{self.off} of {self.hooks} hooks are switched off in Codex; /hooks switches them on."
        if self.changed:
            return f"{self.changed} of {self.hooks} hooks have changed since they were trusted, and do not run: {HOW}."
        return f"Codex runs {self.trusted} of {self.hooks} hooks: the others are not trusted yet. To do so, {HOW}."


def hook_trust(path: Path, settings: Mapping[str, Any], state: Mapping[str, Any]) -> HookTrust | None:
    """Trust in our hooks in the file `path`, which holds `settings`; None where none is ours. `state` is Codex's
    own.
    """
    verdicts = [_verdict(digest, state.get(f"{path}:{place}")) for place, digest in _our_hooks(settings)]
    if not verdicts:
        return None
    counts = {verdict: verdicts.count(verdict) for verdict in ("trusted", "changed", "off")}
    return HookTrust(hooks=len(verdicts), **counts)


def _verdict(digest: str, entry: object) -> str:
    fields = entry if isinstance(entry, Mapping) else {}
    if fields.get("enabled") is False:
        return "off"
    trusted_hash = fields.get("trusted_hash")
    return "untrusted" if not trusted_hash else "trusted" if trusted_hash == digest else "changed"


def _our_hooks(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Event and place of each, as Codex names them, and the digest under which it would be trusted."""
    events = settings.get("hooks")
    for event, groups in events.items() if isinstance(events, Mapping) else ():
        for number, group in enumerate(groups if isinstance(groups, list) else ()):
            calls = group.get("hooks") if isinstance(group, Mapping) else None
            for place, call in enumerate(calls if isinstance(calls, list) else ()):
                if isinstance(call, Mapping) and is_ours(call.get("command")):
                    event_name = _BORDER.sub("_", event).lower()
                    yield f"{event_name}:{number}:{place}", _digest(event, event_name, group.get("matcher"), call)


def _digest(event: str, event_name: str, matcher: object, call: Mapping[str, Any]) -> str:
    timeout = call.get("timeout", DEFAULT_TIMEOUT_S)
    hook: dict[str, Any] = {"type": "command", "command": call["command"], "timeout": timeout, "async": False}
    if call.get("statusMessage"):
        hook["statusMessage"] = call["statusMessage"]
    identity: dict[str, Any] = {"event_name": event_name, "hooks": [hook]}
    if matcher is not None and event not in _NO_MATCHER:
        identity["matcher"] = matcher
    raw = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{sha256(raw.encode()).hexdigest()}"
