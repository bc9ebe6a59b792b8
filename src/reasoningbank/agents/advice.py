"""Renders memories into an agent's context: within the token budget, each once a session, between our own marks.

The marks tell a reader of the transcript what was ours, so that it is never learned from. No memory can end them: what
looks like a mark inside is taken apart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from reasoningbank.agents.policy import HookPolicy
from reasoningbank.agents.session_log import LogEntry, SessionLog, turn
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.patterns import pattern
from reasoningbank.core.tokens import count_tokens
from reasoningbank.core.types import Remembered
from reasoningbank.recall.holdout import divide, on_trial
from reasoningbank.recall.render import fitting, render

OPENING, CLOSING = "<reasoningbank>", "</reasoningbank>"
_MARK = pattern(r"<(/?\s*(?:reasoningbank|system-reminder|private)\b)", re.IGNORECASE)
_MARKS_TOKENS = count_tokens(f"{OPENING}\n\n{CLOSING}") + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The event at which advice is given, and the heading above it."""

    heading: str
    now: float
    prompt: str = ""
    """A digest of what the user asked, at a prompt."""
    holdout: float = 0.0
    """The chance that a memory is withheld from a session, to learn what it is worth."""


def say(log: SessionLog, hits: Sequence[Remembered], policy: HookPolicy, moment: Moment) -> str:
    """The text for those hits that the session has not seen and has room for, or "". Notes what is said."""
    heading, prompt = moment.heading, moment.prompt
    if not hits and not prompt:
        return ""
    with turn(log) as speaking:
        if speaking is None:
            return ""
        fresh = [hit for hit in hits if hit.id not in speaking.shown]
        room = min(policy.prompt_tokens, policy.session_tokens - speaking.tokens) - _MARKS_TOKENS
        # The log is the session's own, so its name draws the same lots whoever answers the hook.
        chosen, withheld = divide(fitting(fresh, room, heading=heading), log.stem, moment.holdout)
        text = _mark(render(chosen, heading=heading)) if chosen else ""
        # Taking a mark apart may add a little; what no longer fits is not said.
        if text and count_tokens(text) > room + _MARKS_TOKENS:
            text, chosen, withheld = "", [], []
        if chosen or withheld or prompt:
            speaking.note(
                LogEntry(
                    at=moment.now,
                    shown=tuple(hit.id for hit in chosen),
                    withheld=tuple(hit.id for hit in withheld),
                    on_trial=tuple(hit.id for hit in (*chosen, *withheld) if moment.holdout and on_trial(hit)),
                    holdout=moment.holdout,
                    tokens=count_tokens(text),
                    prompt=prompt,
                )
            )
        return text


def _mark(text: str) -> str:
    apart = _MARK.sub(r"‹\1", text)
    return f"{OPENING}\n{apart}\n{CLOSING}"
