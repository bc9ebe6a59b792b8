"""Distils lessons without a model.

    facts      what there is and how it is named            one growing memory a place
    solved     the task was done: how                       one a task, or a way of calling
    fixes      it failed, this change made it work          one a kind of failure
    remedies   it failed, this was done first, it worked
    code_fixes it failed, the code was changed, it worked
    warnings   it failed again and again                    and another way got there

They stand in the order in which they matter when a session taught more than may be kept; each has a file of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from reasoningbank.core.frozen import dataclass, replace
from reasoningbank.core.learning import (
    MOST_CONTRAST_LESSONS,
    MOST_LESSONS,
    SOLVED,
    Episode,
    EpisodeStep,
    LeftOut,
    Lesson,
    Verdict,
    VerdictOutcome,
)
from reasoningbank.core.types import Memory
from reasoningbank.guard.quotes import quote
from reasoningbank.learn.offline import code_fixes, facts, failure_kind, fixes, remedies, solved, warnings
from reasoningbank.learn.offline.code_fixes import CodeFix
from reasoningbank.learn.offline.edits import edits_in
from reasoningbank.learn.offline.failure_kind import is_failure, message
from reasoningbank.learn.offline.fixes import Fix
from reasoningbank.learn.offline.places import read
from reasoningbank.learn.offline.remedies import Remedy
from reasoningbank.learn.offline.spelling import plain_steps
from reasoningbank.learn.offline.survey import survey
from reasoningbank.learn.offline.words import all_words, called_tool
from reasoningbank.ports import Reader


class OfflineDistiller:
    def __init__(self, most: int = MOST_LESSONS) -> None:
        self._most = most

    @property
    def name(self) -> str:
        return "offline"

    def distill(self, episode: Episode, verdict: Verdict) -> Sequence[Lesson]:
        episode = replace(episode, steps=plain_steps(episode.steps))
        steps = episode.steps
        place = survey(steps)
        fact = facts.fact(place) if place else None
        names = _names(fact)
        if fact is not None:
            guesses = [step for step in steps if is_failure(step) and fixes.guessed_name(step, names)]
            fact = facts.with_guesses(fact, [quote(message(step.result), step.action, 100) for step in guesses])
        mendings = _find_mendings(steps, names, episode.task)
        fact_steps = [number for number in place.numbers if not called_tool(steps[number].action)] if place else []
        # Which files were edited, and how often, is nobody's way to do it again.
        way = None if any(map(edits_in, steps)) else solved.solution(episode, verdict, fact_steps)
        lessons: list[Lesson] = [*([fact] if fact else []), *([way] if way else []), *mendings.lessons]
        if verdict.outcome is not VerdictOutcome.SUCCESS:
            groups = warnings.repeated_failures(steps, mendings.kinds, names)
            lessons += [warnings.lesson_of(group, steps) for group in groups]
        return lessons[: self._most]

    def left_out(self, episode: Episode) -> Sequence[LeftOut]:
        """Things in a session that looked like lessons and are none, each with the reason."""
        steps = plain_steps(episode.steps)
        place = survey(steps)
        names = _names(facts.fact(place) if place else None)
        return _find_mendings(steps, names, episode.task).left_out

    def contrast(self, episodes: Sequence[tuple[Episode, Verdict]]) -> Sequence[Lesson]:
        """Lessons of several runs, from those that went well first: what they teach, then what the others warn of."""
        order = {VerdictOutcome.SUCCESS: 0, VerdictOutcome.UNKNOWN: 1, VerdictOutcome.FAILURE: 2}
        by_key: dict[str, Lesson] = {}
        for episode, verdict in sorted(episodes, key=lambda pair: order[pair[1].outcome]):
            for lesson in self.distill(episode, verdict):
                by_key.setdefault(lesson.key or lesson.title, lesson)
        return list(by_key.values())[:MOST_CONTRAST_LESSONS]

    def settle(self, reader: Reader, namespace: str, lesson: Lesson) -> Lesson | None:
        """The lesson under the key of what it is about, where only the records can tell which that is."""
        return facts.with_place_key(reader, namespace, lesson) if lesson.kind == facts.FACT else lesson

    def merge(self, memory: Memory, lesson: Lesson) -> Lesson | None:
        """The memory with what the lesson adds; None when it says it all already: the lesson then confirms it."""
        match lesson.kind:
            case facts.FACT:
                return facts.merge(memory, lesson)
            case failure_kind.FIX:
                return fixes.merge(memory, lesson)
            case _ if lesson.kind == SOLVED:
                return solved.merge(memory, lesson)
            case warnings.WARNING:
                return warnings.merge(memory, lesson)
            case _:
                return None


def _names(fact: Lesson | None) -> frozenset[str]:
    if fact is None:
        return frozenset()
    things = read(fact.content).things
    return frozenset(word for name, parts in things.items() for text in (name, *parts) for word in all_words(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Mendings:
    lessons: tuple[Lesson, ...]
    kinds: frozenset[str]
    """Kinds of the failures that the lessons tell of."""
    left_out: tuple[LeftOut, ...]


def _find_mendings(steps: Sequence[EpisodeStep], names: frozenset[str], task: str) -> Mendings:
    """Lessons about failures that were mended, and why others teach nothing.

    A failure that a fix tells of is not told again by a remedy, nor one of these by a fix in the code. `names` are
    those that the session found out by looking.
    """
    lessons: list[Lesson] = []
    failures: set[int] = set()
    kinds: set[str] = set()
    reasons: dict[str, LeftOut] = {}
    candidates: list[Fix | Remedy | CodeFix | LeftOut] = [
        *fixes.find_fixes(steps, names),
        *remedies.find_remedies(steps),
        *code_fixes.find_code_fixes(steps),
    ]
    for candidate in candidates:
        if isinstance(candidate, LeftOut):
            reasons.setdefault(f"{candidate.what} {candidate.why}", candidate)
            continue
        if candidate.failure in failures:
            continue
        failures.add(candidate.failure)
        kinds.add(candidate.kind)
        lessons.append(_lesson_of(candidate, steps, task))
    return Mendings(lessons=tuple(lessons), kinds=frozenset(kinds), left_out=tuple(reasons.values())[:8])


def _lesson_of(mending: Fix | Remedy | CodeFix, steps: Sequence[EpisodeStep], task: str) -> Lesson:
    if isinstance(mending, Fix):
        return fixes.lesson_of(mending, steps, task)
    return (
        remedies.lesson_of(mending, steps, task)
        if isinstance(mending, Remedy)
        else code_fixes.lesson_of(mending, steps, task)
    )
