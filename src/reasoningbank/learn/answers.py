"""Parses a model's answer into lessons, or lists what is wrong with it.

However the fields are written (`answer_form`), a lesson needs a title, a description and a content, each within its
limits; what is missing, too long, doubtful or one too many is a problem to be named, never something to be stored.
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
from reasoningbank.core.stem import stem
from reasoningbank.core.text import terms
from reasoningbank.core.types import Outcome
from reasoningbank.core.wording import counted
from reasoningbank.learn.answer_form import Item, items_in, parsed_tags
from reasoningbank.learn.answer_json import json_in
from reasoningbank.learn.answer_schemas import MOST_TAGS
from reasoningbank.learn.answer_text import answer_in, without_fences
from reasoningbank.learn.consolidate.vocabulary import EMPTY

NOTHING = "NO_EXTRACTIONS"
LONGEST_ANSWER_CHARS = 50_000
LONGEST_TAG_CHARS = 40
_OUTCOMES = {
    **dict.fromkeys(("success", "successful", "succeeded", "successes"), Outcome.SUCCESS),
    **dict.fromkeys(("failure", "failed", "fail", "failures", "unsuccessful"), Outcome.FAILURE),
}
_PLACEHOLDER = re.compile(r"\A<[^<>]*>\Z")
_FENCE = re.compile(r"(?m)^<<<\w+ \w+$|^\w+ \w+>>>$")
FEWEST_SHARED_WORDS = 2
_SAYS_LITTLE = EMPTY | {stem(word) for word in terms("session outcome success failure unknown task trace step ended")}
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
    body = answer_in(text)
    if not body:
        return Answer(problems=("It is empty.",))
    items, problems = items_in(body)
    if not items:
        values = json_in(without_fences(body))
        is_empty_list = len(values) == 1 and (
            values[0] == [] or (isinstance(values[0], dict) and list(values[0].values()) == [[]])
        )
        # That there is nothing to learn, in the word that was asked for or as an empty list.
        if NOTHING in body or is_empty_list:
            return Answer()
        return Answer(problems=(*problems, _unreadable(body)))
    if len(items) > most:
        amount = counted(len(items), "memory", "memories")
        problems.append(f"There are {amount}; at most {most} are wanted. Keep the best.")
    lessons: list[Lesson] = []
    for number, item in enumerate(items, 1):
        lesson, wrong = _lesson(item, finding)
        problems += [f"Memory {number}: {problem}" for problem in wrong]
        lessons += [lesson] if lesson is not None else []
    problems += find_repeated(lessons)
    ground_terms = frozenset(term for ground in grounds for term in _telling_terms(_FENCE.sub("", ground)))
    if ground_terms:
        problems += [f'"{lesson.title}" has hardly a word in common with the record.' for lesson in lessons
                     if not _comes_from(lesson, ground_terms)]  # fmt: skip
    return Answer(problems=tuple(problems)) if problems else Answer(lessons=tuple(lessons))


def _comes_from(lesson: Lesson, ground_terms: frozenset[str]) -> bool:
    """True if a lesson has words of the record: one may be chance, unless it is told in another script than theirs."""
    text = f"{lesson.title} {lesson.description} {lesson.content}"
    least = min(FEWEST_SHARED_WORDS if text.isascii() else 1, len(ground_terms))
    return len(ground_terms & _telling_terms(text)) >= least


def _telling_terms(text: str) -> frozenset[str]:
    return frozenset(term for term in terms(text) if len(term) > 2 and stem(term) not in _SAYS_LITTLE)


def _unreadable(body: str) -> str:
    if without_fences(body)[:1] in ("{", "["):
        return "Its JSON breaks off, is damaged, or has no memory with a title in it."
    return f"It has no memory with a title, a description and a content, and is not {NOTHING}."


def _lesson(fields: Item, finding: VerdictOutcome) -> tuple[Lesson | None, list[str]]:
    missing = [name.lower() for name in ("Title", "Description", "Content") if not fields.get(name)]
    if missing:
        return None, [
            f"it has no {name}." if fields.get(name.title()) is None else f"its {name} is empty." for name in missing
        ]
    outcome = _outcome(fields.get("Outcome", ""), finding)
    if outcome is None:
        text = fields.get("Outcome")
        return None, [f"its outcome must be success or failure, not {text[:40]!r}." if text else "it has no outcome."]
    lesson = Lesson(
        title=fields["Title"],
        description=" ".join(fields["Description"].split()),
        content=fields["Content"],
        outcome=outcome,
        tags=parsed_tags(fields.get("Tags", "")),
        kind="warning" if outcome == Outcome.FAILURE else "strategy",
    )
    wrong = problems_of(lesson)
    if finding is not VerdictOutcome.UNKNOWN and outcome.value != finding.value:
        wrong.append(f"its outcome is {outcome}, but this session was a {finding}.")
    return lesson, wrong


def _outcome(text: str, finding: VerdictOutcome) -> Outcome | None:
    """The outcome as it is told; where it is not, as the session ended."""
    if not text:
        return None if finding is VerdictOutcome.UNKNOWN else Outcome(finding.value)
    words = re.findall(r"[a-z]+", text.lower())
    outcomes = {_OUTCOMES[word] for word in words if word in _OUTCOMES}
    # More words than three are a sentence, which may say anything.
    return outcomes.pop() if len(outcomes) == 1 and len(words) <= 3 else None


def problems_of(lesson: Lesson) -> list[str]:
    """Problems that keep a lesson from being stored, whoever made it."""
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
    numbers: dict[str, int] = {}
    wrong = []
    for number, lesson in enumerate(lessons, 1):
        for text in {_plain(lesson.title), _plain(lesson.content)}:
            if text in numbers and numbers[text] != number:
                wrong.append(f"Memory {number} repeats memory {numbers[text]}.")
                break
            numbers[text] = number
    return wrong


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
