"""Values of learning: episode, verdict, lesson, message and completion of a model.

How an episode is captured, judged or distilled is the business of `learn`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from reasoningbank.core.frozen import dataclass, field
from reasoningbank.core.origins import HOOK
from reasoningbank.core.types import Outcome

MOST_LESSONS = 3
"""From one episode."""
MOST_CONTRAST_LESSONS = 5
"""From several runs of the same task, compared."""
LONGEST_LESSON_TITLE_CHARS = 50
LONGEST_LESSON_DESCRIPTION_CHARS = 200
LONGEST_LESSON_CONTENT_CHARS = 4_000


SOLVED = "solved"
"""The kind and the tag of a lesson that says how a task was solved."""
ANSWER = "Answer"
"""How the step begins that records what a run answered in the end."""
OF_A_SESSION = "session"
"""The source of the signals that the end of a session makes, unless our own hooks captured it."""
OF_SESSIONS = (OF_A_SESSION, HOOK)


class VerdictOutcome(StrEnum):
    """How an episode went. `unknown` is an answer too: whoever cannot tell must not guess."""

    SUCCESS = "success"
    FAILURE = "failure"
    UNKNOWN = "unknown"


class JudgedBy(StrEnum):
    """Who says so, the most trusted first."""

    ENVIRONMENT = "environment"
    """A reward, a test result, or whoever ran the session and said how it ended."""
    LLM = "llm"
    RULES = "rules"


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeStep:
    action: str
    result: str = ""
    ok: bool | None = None
    """True if the action worked, False if it did not; None where the trace does not say."""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """A finished session as judges and distillers see it: what was asked, what was done, how it ended."""

    task: str
    namespace: str
    steps: tuple[EpisodeStep, ...] = ()
    agent: str | None = None
    outcome: str | None = None
    """As the session itself ended: success, failure or unknown; None when nobody said."""
    reward: float | None = None
    """From the environment, 0 to 1; None when it gave none. A judge that is being measured must not be shown it."""
    messages: tuple[Mapping[str, Any], ...] = ()
    """The chat as it came (`role`, `content`), for those who need more than the steps, such as a user's corrections."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    source: str | None = None
    """The trajectory it was read from."""
    origin: str = "agent"
    """Who acted in it; lessons never earn more trust than this."""
    started_at: float | None = None
    """When it began, where the transcript says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    outcome: VerdictOutcome
    reason: str = ""
    evidence: str = ""
    """Words quoted from the episode."""
    source: JudgedBy = JudgedBy.RULES
    certainty: float = 0.0
    """0 to 1: how often a verdict like this one is right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """One reusable strategy (success: follow) or warning (failure: avoid). Valid by the limits above."""

    title: str
    description: str
    """When to use it, or when to beware."""
    content: str
    outcome: Outcome
    tags: tuple[str, ...] = ()
    evidence: str = ""
    """The span of the episode that shows it, quoted."""
    kind: str = "strategy"
    """strategy, solved, warning, fix, fact, preference: what sort of lesson, for those who treat them differently."""
    key: str | None = None
    """The subject, when a later lesson on it should revise this one instead of lying beside it."""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Something in an episode that might have taught a lesson and did not, and why."""

    what: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Acted:
    """Result of an agent's task, when it has more to tell than its answer."""

    answer: str
    steps: tuple[EpisodeStep, ...] = ()
    reward: float | None = None
    """From the environment, 0 to 1."""
    outcome: str | None = None
    """success, failure or unknown, when the environment says so."""
    used: tuple[str, ...] = ()
    """Ids of the memories that it really went by."""


# ---------------------------------------------------------------- asking a model


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    role: str
    """system, user or assistant."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    text: str
    tokens_in: int
    tokens_out: int
    model: str
    cut_short: bool = False
    """The model was stopped by the token limit, so the text ends in the middle."""
