"""Parses a model's answer into lessons, or lists what is wrong with it.

Knows the one form that is asked for and the limits of each field. Refuses to guess: text around the form, a missing
field, a fourth memory or a title that is too long is a problem to be named, never something to be stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.learning import (
    LONGEST_LESSON_CONTENT_CHARS,
    LONGEST_LESSON_DESCRIPTION_CHARS,
    LONGEST_LESSON_TITLE_CHARS,
    Lesson,
    VerdictOutcome,
)
from reasoningbank.core.text import terms
from reasoningbank.core.types import Outcome
from reasoningbank.core.wording import counted

NOTHING = "NO_EXTRACTIONS"
FIELDS = ("Title", "Description", "Content", "Tags", "Outcome")
LONGEST_ANSWER_CHARS = 50_000
MOST_TAGS = 8
LONGEST_TAG_CHARS = 40
_HEAD = re.compile(r"^## Memory (\d+)[ \t]*$", re.MULTILINE)
_FIELD = re.compile(rf"^\*\*({'|'.join(FIELDS)})\*\*:[ \t]*", re.MULTILINE)
_FENCE = re.compile(r"\A```[a-z]*\n(.*)\n```\Z", re.DOTALL)
_PLACEHOLDER = re.compile(r"\A<[^<>]*>\Z")
_UNUSABLE = re.compile("[\ud800-\udfff\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    lessons: tuple[Lesson, ...] = ()
    problems: tuple[str, ...] = ()
    """In words for whoever answered; empty when the answer is good."""


def parse(text: str, *, finding: VerdictOutcome, most: int, grounds: Iterable[str] = ()) -> Answer:
    """`finding` is how the episode went: a lesson must agree with it. A lesson must have come from `grounds`."""
    if len(text) > LONGEST_ANSWER_CHARS:
        return Answer(problems=(f"It has {len(text):,} characters; the limit is {LONGEST_ANSWER_CHARS:,}.",))
    body = text.strip().replace("\r\n", "\n")
    fence = _FENCE.match(body)
    body = fence[1].strip() if fence else body
    if body == NOTHING:
        return Answer()
    if not body:
        return Answer(problems=("It is empty.",))
    heads = list(_HEAD.finditer(body))
    if not heads:
        return Answer(problems=(f'It has no line "## Memory 1" and is not {NOTHING}.',))
    problems = _layout_problems(body, heads, most)
    lessons: list[Lesson] = []
    for number, head in enumerate(heads, 1):
        end = heads[number].start() if number < len(heads) else len(body)
        fields, wrong = _fields(body[head.end() : end])
        problems += [f"Memory {number}: {problem}" for problem in wrong]
        if not wrong:
            lesson, wrong = _lesson(fields, finding)
            problems += [f"Memory {number}: {problem}" for problem in wrong]
            lessons += [lesson] if lesson is not None else []
    problems += find_repeated(lessons)
    known = frozenset(term for ground in grounds for term in terms(ground) if len(term) > 2)
    if known:
        problems += [f'"{lesson.title}" has not a word in common with the record.' for lesson in lessons
                     if known.isdisjoint(terms(f"{lesson.title} {lesson.content}"))]  # fmt: skip
    return Answer(problems=tuple(problems)) if problems else Answer(lessons=tuple(lessons))


def _layout_problems(body: str, heads: Sequence[re.Match[str]], most: int) -> list[str]:
    problems = []
    if body[: heads[0].start()].strip():
        problems.append("There is text before the first memory.")
    if [int(head[1]) for head in heads] != list(range(1, len(heads) + 1)):
        problems.append("The memories are not numbered 1, 2, 3.")
    if len(heads) > most:
        problems.append(
            f"There are {counted(len(heads), 'memory', 'memories')}; at most {most} are wanted. Keep the best."
        )
    return problems


def _fields(block: str) -> tuple[dict[str, str], list[str]]:
    marks = list(_FIELD.finditer(block))
    names = [mark[1] for mark in marks]
    if block[: marks[0].start() if marks else len(block)].strip():
        return {}, ["there is text before the title."]
    if names != list(FIELDS):
        return {}, [f"its fields are {', '.join(names) or 'missing'}; wanted are {', '.join(FIELDS)}, in this order."]
    ends = [*(mark.start() for mark in marks[1:]), len(block)]
    return {name: block[mark.end() : end].strip() for name, mark, end in zip(names, marks, ends, strict=True)}, []


def _lesson(fields: dict[str, str], finding: VerdictOutcome) -> tuple[Lesson | None, list[str]]:
    tags = tuple(dict.fromkeys(tag.strip().strip("`#") for tag in fields["Tags"].split(",") if tag.strip()))
    outcome = fields["Outcome"].lower()
    if outcome not in (Outcome.SUCCESS, Outcome.FAILURE):
        return None, [f"its outcome must be success or failure, not {fields['Outcome'][:40]!r}."]
    lesson = Lesson(
        title=fields["Title"],
        description=fields["Description"],
        content=fields["Content"],
        outcome=Outcome(outcome),
        tags=tags,
        kind="warning" if outcome == Outcome.FAILURE else "strategy",
    )
    wrong = problems_of(lesson)
    if finding is not VerdictOutcome.UNKNOWN and outcome != finding:
        wrong.append(f"its outcome is {outcome}, but this session was a {finding}.")
    return lesson, wrong


def problems_of(lesson: Lesson) -> list[str]:
    """What keeps a lesson from being stored, whoever made it."""
    wrong = []
    for name, text, limit in (
        ("title", lesson.title, LONGEST_LESSON_TITLE_CHARS),
        ("description", lesson.description, LONGEST_LESSON_DESCRIPTION_CHARS),
        ("content", lesson.content, LONGEST_LESSON_CONTENT_CHARS),
    ):
        if not text.strip() or _PLACEHOLDER.match(text.strip()):
            wrong.append(f"its {name} is empty.")
        if len(text) > limit:
            wrong.append(f"its {name} has {len(text)} characters; the limit is {limit}.")
        if _UNUSABLE.search(text):
            wrong.append(f"its {name} has characters in it that cannot be shown.")
        if name != "content" and "\n" in text:
            wrong.append(f"its {name} must be one line.")
    if len(lesson.tags) > MOST_TAGS or any(
        len(tag) > LONGEST_TAG_CHARS or not tag or _UNUSABLE.search(tag) or "\n" in tag for tag in lesson.tags
    ):
        wrong.append(f"its tags must be at most {MOST_TAGS} short words.")
    return wrong


def find_repeated(lessons: Sequence[Lesson]) -> list[str]:
    seen: dict[str, int] = {}
    wrong = []
    for number, lesson in enumerate(lessons, 1):
        for text in {_plain(lesson.title), _plain(lesson.content)}:
            if text in seen and seen[text] != number:
                wrong.append(f"Memory {number} repeats memory {seen[text]}.")
                break
            seen[text] = number
    return wrong


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
