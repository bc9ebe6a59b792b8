"""Gathers what a session teaches about failures that were mended, and why the rest of them teach nothing.

    fixes       the command was changed
    remedies    something was done first
    code_fixes  the code was changed

A failure that one of them tells of is not told again by the next.
"""

from __future__ import annotations

from collections.abc import Sequence

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.learning import EpisodeStep, LeftOut, Lesson
from reasoningbank.learn.offline import code_fixes, fixes, remedies
from reasoningbank.learn.offline.code_fixes import CodeFix
from reasoningbank.learn.offline.fixes import Fix
from reasoningbank.learn.offline.remedies import Remedy

MOST_LEFT_OUT = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Mendings:
    lessons: tuple[Lesson, ...]
    kinds: frozenset[str]
    """Kinds of the failures that the lessons tell of."""
    left_out: tuple[LeftOut, ...]


def find_mendings(steps: Sequence[EpisodeStep], names: frozenset[str], task: str) -> Mendings:
    """Lessons about failures that were mended, and why others teach nothing.

    `names` are those that the session found out by looking.
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
    return Mendings(lessons=tuple(lessons), kinds=frozenset(kinds), left_out=tuple(reasons.values())[:MOST_LEFT_OUT])


def _lesson_of(mending: Fix | Remedy | CodeFix, steps: Sequence[EpisodeStep], task: str) -> Lesson:
    if isinstance(mending, Fix):
        return fixes.lesson_of(mending, steps, task)
    return (
        remedies.lesson_of(mending, steps, task)
        if isinstance(mending, Remedy)
        else code_fixes.lesson_of(mending, steps, task)
    )
