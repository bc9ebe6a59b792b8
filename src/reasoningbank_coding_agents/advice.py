"""Renders rules and memories into an agent's context: a line each, within the token budget, once a session, between our
marks.

The marks tell a reader of the transcript what was ours, so that it is never learned from. No memory can end them: what
looks like a mark inside is taken apart. Rules come first, and nothing of them is left to chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.tokens import count_tokens
from reasoningbank.core.types import Remembered, Rule
from reasoningbank.core.wording import counted
from reasoningbank.guard.envelope import CLOSING, OPENING, marked
from reasoningbank.learn.offline.user_rules import USER_SAID, rule_line
from reasoningbank.recall.holdout import divide
from reasoningbank_coding_agents.lesson_line import line_of
from reasoningbank_coding_agents.policy import HookPolicy
from reasoningbank_coding_agents.session_log import LogEntry, SessionLog, turn

R = TypeVar("R")
_MARKS_TOKENS = count_tokens(f"{OPENING}\n\n{CLOSING}") + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The event at which advice is given, and the heading above it."""

    heading: str
    now: float
    prompt: str = ""
    """A digest of what the user asked, at a prompt."""
    heard: tuple[str, ...] = ()
    """Ids of rules that the prompt itself says: nobody need tell them."""
    holdout: float = 0.0
    """The chance that a memory is withheld from a session, to learn what it is worth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """Text for the agent, and how much of it there is."""

    text: str = ""
    rules: int = 0
    lessons: int = 0

    @property
    def notice(self) -> str:
        """For the user: that something was recalled; "" when nothing was."""
        counts = [counted(self.rules, "rule of yours", "rules of yours")] if self.rules else []
        counts += [counted(self.lessons, "lesson")] if self.lessons else []
        return f"ReasoningBank: {' and '.join(counts)} recalled" if counts else ""


NOTHING = Advice()


def say(
    log: SessionLog, hits: Sequence[Remembered], policy: HookPolicy, moment: Moment, rules: Sequence[Rule] = ()
) -> Advice:
    """The text for those rules and hits that the session has not seen and has room for, if any. Notes what is said."""
    if not hits and not rules and not moment.prompt:
        return NOTHING
    with turn(log) as speaking:
        if speaking is None:
            return NOTHING
        room = min(policy.prompt_tokens, policy.session_tokens - speaking.tokens) - _MARKS_TOKENS
        fresh_rules = [rule for rule in rules if rule.id not in speaking.shown and rule.id not in moment.heard]
        user_rules, cost = _fitting(fresh_rules, [rule_line(rule) for rule in fresh_rules], USER_SAID, room)
        fresh = [hit for hit in hits if hit.id not in speaking.shown]
        fitting, _ = _fitting(fresh, [line_of(hit) for hit in fresh], moment.heading, room - cost)
        # The log is the session's own, so its name draws the same lots whoever answers the hook.
        lessons, withheld = divide(fitting, log.stem, moment.holdout)
        text = marked(_render_lines(user_rules, lessons, moment.heading)) if user_rules or lessons else ""
        # Taking a mark apart may add a little; what no longer fits is not said.
        if text and count_tokens(text) > room + _MARKS_TOKENS:
            text, user_rules, lessons, withheld = "", [], [], []
        if user_rules or lessons or withheld or moment.prompt:
            speaking.note(
                LogEntry(
                    at=moment.now,
                    shown=(*moment.heard, *(rule.id for rule in user_rules), *(hit.id for hit in lessons)),
                    withheld=tuple(hit.id for hit in withheld),
                    on_trial=tuple(hit.id for hit in (*lessons, *withheld) if moment.holdout),
                    holdout=moment.holdout,
                    tokens=count_tokens(text),
                    prompt=moment.prompt,
                )
            )
        return Advice(text=text, rules=len(user_rules), lessons=len(lessons))


def _render_lines(rules: Sequence[Rule], hits: Sequence[Remembered], heading: str) -> str:
    """The user's rules under a heading of their own, then the lessons, a line each."""
    lines = [USER_SAID, *map(rule_line, rules)] if rules else []
    return "\n".join([*lines, heading, *map(line_of, hits)] if hits else lines)


def _fitting(records: Sequence[R], lines: Sequence[str], heading: str, max_tokens: int) -> tuple[list[R], int]:
    """Hits that get into the budget under their heading, the first ones first; the rest is left out whole. And what
    they cost.
    """
    fit: list[R] = []
    total = 0
    for record, line in zip(records, lines, strict=True):
        cost = count_tokens(line) + 1 + (0 if fit else count_tokens(heading) + 1)
        if total + cost <= max_tokens:
            fit.append(record)
            total += cost
    return fit, total
