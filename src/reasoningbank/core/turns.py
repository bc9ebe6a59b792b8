"""Finds the turns of a conversation by how they begin: "Ann: we picked it up on Friday".

A turn means little without the one before it, so a search lets neighbours speak for each other. A speaker's label is
told from the labels of notes that look like one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reasoningbank.core.patterns import pattern

_SPEAKER = pattern(
    r"\s*(?:[\[(][^\])\n]{1,60}[\])]\s*)?"
    r"((?:user|assistant|human|ai|agent|system|bot|customer|speaker ?\w{0,3})"
    r"|[A-Z][\w.'\u2019-]{0,24}(?: [A-Z][\w.'\u2019-]{0,24}){0,2})"
    r"(?: ?\([^)\n]{1,60}\))?: ?\S"
)
_LABELS = frozenset(
    (
        *("action", "advice", "answer", "avoid", "bug", "build", "cause", "caution", "caveat", "check", "command"),
        *("context", "default", "description", "details", "error", "example", "expected", "fact", "fatal", "file"),
        *("fix", "goal", "hint", "how", "http", "https", "important", "info", "input", "issue", "key", "known"),
        *("lesson", "name", "note", "output", "pattern", "principle", "problem", "question", "reason", "remember"),
        *("result", "rule", "run", "solution", "status", "step", "strategy", "summary", "symptom", "task", "tip"),
        *("title", "todo", "usage", "use", "user story", "warning", "what", "when", "where", "why", "workaround"),
    )
)
"""Labels that stand before a colon at the beginning of a note."""
_SPOKEN = ("speaker", "role", "turn", "dia_id")
_CONVERSATION = ("conv_id", "conversation", "conversation_id")


def conversation_of(content: str, source: str | None, metadata: Mapping[str, Any]) -> str | None:
    """The conversation that a memory is a turn of: by its source or metadata, "" where nobody says; None for a note."""
    if not any(name in metadata for name in _SPOKEN):
        label = _SPEAKER.match(content[:200])
        if label is None or label[1].casefold() in _LABELS:
            return None
    conversation = next((metadata[name] for name in _CONVERSATION if name in metadata), source)
    return str(conversation or "")
