"""Renders memories into an agent's context: a line each, within the token budget, once a session, between our marks.

The marks tell a reader of the transcript what was ours, so that it is never learned from. No memory can end them: what
looks like a mark inside is taken apart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from reasoningbank.agents.lesson_line import is_rule, line_of
from reasoningbank.agents.policy import HookPolicy
from reasoningbank.agents.session_log import LogEntry, SessionLog, turn
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.patterns import pattern
from reasoningbank.core.tokens import count_tokens
from reasoningbank.core.types import Remembered
from reasoningbank.core.wording import counted
from reasoningbank.recall.holdout import divide, on_trial

USER_SAID = "The user said:"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What is said to the agent, and how much of it there is."""

    text: str = ""
    rules: int = 0
    lessons: int = 0

    @property
    def notice(self) -> str:
        """For the user: that something was recalled; "" when nothing was."""
        told = [counted(self.rules, "rule of yours", "rules of yours")] if self.rules else []
        told += [counted(self.lessons, "lesson")] if self.lessons else []
        return f"ReasoningBank: {' and '.join(told)} recalled" if told else ""


NOTHING = Advice()


def say(log: SessionLog, hits: Sequence[Remembered], policy: HookPolicy, moment: Moment) -> Advice:
    """The text for those hits that the session has not seen and has room for, if any. Notes what is said."""
    if not hits and not moment.prompt:
        return NOTHING
    with turn(log) as speaking:
        if speaking is None:
            return NOTHING
        fresh = [hit for hit in hits if hit.id not in speaking.shown]
        room = min(policy.prompt_tokens, policy.session_tokens - speaking.tokens) - _MARKS_TOKENS
        # The log is the session's own, so its name draws the same lots whoever answers the hook.
        chosen, withheld = divide(_fitting(fresh, room, moment.heading), log.stem, moment.holdout)
        text = marked(render_lines(chosen, moment.heading)) if chosen else ""
        # Taking a mark apart may add a little; what no longer fits is not said.
        if text and count_tokens(text) > room + _MARKS_TOKENS:
            text, chosen, withheld = "", [], []
        if chosen or withheld or moment.prompt:
            speaking.note(
                LogEntry(
                    at=moment.now,
                    shown=tuple(hit.id for hit in chosen),
                    withheld=tuple(hit.id for hit in withheld),
                    on_trial=tuple(hit.id for hit in (*chosen, *withheld) if moment.holdout and on_trial(hit)),
                    holdout=moment.holdout,
                    tokens=count_tokens(text),
                    prompt=moment.prompt,
                )
            )
        rules = sum(map(is_rule, chosen))
        return Advice(text=text, rules=rules, lessons=len(chosen) - rules)


def render_lines(hits: Sequence[Remembered], heading: str) -> str:
    """The user's rules under a heading of their own, then the lessons, a line each."""
    rules, lessons = [hit for hit in hits if is_rule(hit)], [hit for hit in hits if not is_rule(hit)]
    lines = [USER_SAID, *map(line_of, rules)] if rules else []
    return "\n".join([*lines, heading, *map(line_of, lessons)] if lessons else lines)


def _fitting(hits: Sequence[Remembered], max_tokens: int, heading: str) -> list[Remembered]:
    """Those that get into the budget, the first ones first; the rest is left out whole."""
    kept: list[Remembered] = []
    headings: dict[bool, int] = {True: count_tokens(USER_SAID) + 1, False: count_tokens(heading) + 1}
    spent = 0
    for hit in hits:
        cost = count_tokens(line_of(hit)) + 1 + headings.get(is_rule(hit), 0)
        if spent + cost <= max_tokens:
            kept.append(hit)
            spent += cost
            headings.pop(is_rule(hit), None)
    return kept


def marked(text: str) -> str:
    """Between our marks, which nothing inside can end."""
    apart = _MARK.sub(r"‹\1", text)
    return f"{OPENING}\n{apart}\n{CLOSING}"
