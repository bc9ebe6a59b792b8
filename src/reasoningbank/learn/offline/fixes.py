"""Finds fixes: an action failed, and a later one like it worked; what changed is the lesson.

A change that only puts right names in place of guessed ones is left to the facts, which say the right names for good.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher

from reasoningbank.core.commands import does_the_same, tidy_line
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.learning import (
    LONGEST_LESSON_DESCRIPTION_CHARS,
    LONGEST_LESSON_TITLE_CHARS,
    EpisodeStep,
    LeftOut,
    Lesson,
)
from reasoningbank.core.types import Memory, Outcome
from reasoningbank.guard.quotes import quote
from reasoningbank.learn.offline.changed_command import quoted_words, why_no_fix
from reasoningbank.learn.offline.failure_kind import FIX, in_room, is_failure, is_telling, kind, message, quote_output
from reasoningbank.learn.offline.general import impersonal
from reasoningbank.learn.offline.trouble import goal_of, trouble_of
from reasoningbank.learn.offline.words import (
    all_words,
    arguments,
    called_tool,
    clip_line,
    describe_action,
    digest,
    head,
    is_talk,
)

FURTHEST_STEPS = 6
"""How long after a failure a success still counts as its fix."""
LEAST_ALIKE = 0.4
LEAST_ALIKE_OTHERWISE = 0.75
"""Where another word stands first."""
MOST_CHANGED = 0.5
"""Share of an action that may change: beyond, it is another action, and which of the changes mattered cannot be
told.
"""
MOST_CHANGES = 3
LONGEST_WHOLE_CHARS = 60
"""Lines up to here are told whole where they differ in several places."""
FEW_CHARS = 40
"""Characters that may change in the shortest action."""
LONGEST_ADDED_CHARS = 120
"""Characters that an action which only grew may have grown by."""
_LONGEST_ACTION_CHARS = 240
_LONGEST_COMPARED_CHARS = 2_000
MOST_COMPARISONS = 50_000
"""Limit on comparisons of a token of one action with the same of another."""
_CHANGE = "The change: "
_RULE = re.compile(
    r"\b(?:should|must|only|required?|needs?|cannot|can't|may not|not allowed|at least|at most)\b", re.IGNORECASE
)
_LETTERS = re.compile(r"[^\W\d_]+")
_DIGITS = re.compile(r"\d+")
_TOKEN = re.compile(
    r"(?:~|\.{1,2})?/?(?:[\w.-]{1,80}/){1,20}[\w.*-]*|\.{1,2}/[\w.-]+|-{0,2}\w+(?:[-:]\w+)*(?:=(?=\w))?|[^\w\s]"
)
_HYPHEN = re.compile(r"(?<=\w)-(?=\w)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    failure: int
    success: int
    said: str
    kind: str
    change: str
    local: bool
    """It puts one name right, which mends nothing but this one guess."""


def fixes(steps: Sequence[EpisodeStep], names: frozenset[str]) -> list[Fix]:
    return [fix for fix in find_fixes(steps, names) if isinstance(fix, Fix)]


def find_fixes(steps: Sequence[EpisodeStep], names: frozenset[str]) -> list[Fix | LeftOut]:
    """Fixes, and what looked like one and teaches nothing.

    `names` are those that the session found out by looking; the last try before a success tells most.
    """
    by_kind: dict[str, Fix | LeftOut] = {}
    for number, step in enumerate(steps):
        if not is_failure(step) or guessed_name(step, names) or is_talk(step.action):
            continue
        later = None if _worked_again(steps, number) else _success_of(steps, number)
        if later is None:
            continue
        error = message(step.result)
        change = _change(step.action, steps[later].action, error, names)
        why = why_no_fix(steps, number, later, error) or ("" if change else "what changed is too much, or only a name")
        if not why and not is_telling(error, step.action):
            why = "the complaint does not say what is wrong"
        if why:
            by_kind.setdefault(kind(error), LeftOut(what=clip_line(step.action, 100), why=why))
            continue
        local = bool(quoted_words(step) & all_words(step.action))
        by_kind[kind(error)] = Fix(
            failure=number, success=later, said=error, kind=kind(error), change=change, local=local
        )
    return list(by_kind.values())


def _worked_again(steps: Sequence[EpisodeStep], number: int) -> bool:
    """True if the very same worked later: then it was not the action that was wrong."""
    action = steps[number].action
    if called_tool(action):
        return False
    later = steps[number + 1 : number + 1 + 2 * FURTHEST_STEPS]
    return any(
        not is_failure(step) and not called_tool(step.action) and does_the_same(action, step.action) for step in later
    )


def guessed_name(step: EpisodeStep, names: frozenset[str]) -> bool:
    """True if a failure was about a name that the action guessed, in a session that went and looked the names up."""
    if not names:
        return False
    return bool((quoted_words(step) & all_words(step.action)) - names)


def lesson_of(fix: Fix, steps: Sequence[EpisodeStep], task: str = "") -> Lesson:
    wrong, right = steps[fix.failure], steps[fix.success]
    report = quote_output(fix.said, wrong.action)
    failing, working = (
        describe_action(wrong.action, _LONGEST_ACTION_CHARS),
        describe_action(right.action, _LONGEST_ACTION_CHARS),
    )
    lines = [f"`{failing}` failed with {report}", f"What worked: `{working}`", f"{_CHANGE}{fix.change}"]
    what = head(wrong.action)
    return Lesson(
        title=in_room(fix.change, LONGEST_LESSON_TITLE_CHARS),
        description=in_room(f"{what or 'an action'} fails with {report}", LONGEST_LESSON_DESCRIPTION_CHARS),
        content="\n".join(lines if failing != working else lines[::2]),
        outcome=Outcome.SUCCESS,
        tags=(FIX,),
        evidence=f"{clip_line(wrong.action, 80)} → {report}",
        kind=FIX,
        key=f"fix {digest(what, fix.kind, fix.change if fix.local else '')}",
        metadata={
            "trouble": trouble_of(wrong.action, fix.said, right.action, change=fix.change, goal=goal_of(wrong, task))
        },
    )


def merge(memory: Memory, lesson: Lesson) -> Lesson | None:
    """Another change that mended the same kind of failure is added, up to a few; one that is there confirms it."""
    _, separator, change = lesson.content.rpartition(_CHANGE)
    if not separator or change in memory.content or memory.content.count("\nOr: ") + 1 >= MOST_CHANGES:
        return None
    return Lesson(
        title=memory.title,
        description=memory.description,
        content=f"{memory.content}\nOr: {change}",
        outcome=memory.outcome,
        tags=memory.tags,
        evidence=lesson.evidence,
        kind=FIX,
        key=memory.key,
    )


def _success_of(steps: Sequence[EpisodeStep], number: int) -> int | None:
    """The action after a failure that is most like it and worked, before the same failure comes again."""
    action, sort = steps[number].action, kind(message(steps[number].result))
    best, success = 0.0, None
    for later in range(number + 1, min(len(steps), number + 1 + FURTHEST_STEPS)):
        other = steps[later].action
        alike = _alike(action, other)
        if other == action or alike < (LEAST_ALIKE if head(other) == head(action) else LEAST_ALIKE_OTHERWISE):
            continue
        if is_failure(steps[later]):
            if kind(message(steps[later].result)) == sort:
                break
        elif alike > best or (alike == best and success is not None and other != steps[success].action):
            # Of two that are as like, the later one tells more; what worked and was only run again tells no more.
            best, success = alike, later
    return success


def _alike(action: str, other: str) -> float:
    if called_tool(action):
        return 1.0 if called_tool(action) == called_tool(other) else 0.0
    # `docker-compose` and `docker compose` are alike.
    ours, theirs = (all_words(_HYPHEN.sub(" ", line[:_LONGEST_COMPARED_CHARS])) for line in (action, other))
    return len(ours & theirs) / (min(len(ours), len(theirs)) or 1)


def _change(wrong: str, right: str, error: str, names: frozenset[str]) -> str:
    """Description of what was taken out and what was put in; "" when it is only names that the facts tell, or too
    much.
    """
    calls = arguments(wrong), arguments(right)
    if calls[0] is not None and calls[1] is not None:
        return _changed_arguments(calls[0], calls[1], error)
    before, after = tidy_line(wrong[:_LONGEST_COMPARED_CHARS]), tidy_line(right[:_LONGEST_COMPARED_CHARS])
    pairs = list(dict.fromkeys(_replacements(before, after)))
    if not pairs or len(pairs) > MOST_CHANGES:
        return ""
    size = sum(max(len(old), len(new)) for old, new in pairs)
    only_adds = not any(old for old, _ in pairs)
    longest = max(FEW_CHARS, MOST_CHANGED * max(len(before), len(after)))
    if size > (LONGEST_ADDED_CHARS if only_adds else longest):
        return ""
    # Part of a subcommand says little; a program's name says enough.
    uneven = len(pairs) > 1 or any(
        old and new and len(old.split()) != len(new.split()) and not before.startswith(old) for old, new in pairs
    )
    if uneven and max(len(before), len(after)) <= LONGEST_WHOLE_CHARS and "\n" not in before + after:
        pairs = [(before, after)]
    put_in = [new for _, new in pairs if new]
    if put_in and all((words := all_words(new)) and words <= names for new in put_in):
        return ""
    return "; ".join(_swap(old, new) for old, new in pairs)


def _swap(old: str, new: str) -> str:
    if not old and new.endswith("&&"):
        return f"first `{clip_line(new.removesuffix('&&'), 80)}`"
    if not old:
        return f"add `{clip_line(new, 80)}`"
    if not new:
        return f"leave out `{clip_line(old, 80)}`"
    return f"`{clip_line(new, 80)}` instead of `{clip_line(old, 80)}`"


def _replacements(wrong: str, right: str) -> Iterator[tuple[str, str]]:
    before, after = list(_TOKEN.finditer(wrong)), list(_TOKEN.finditer(right))
    old, new = [m.group() for m in before], [m.group() for m in after]
    counts = Counter(new)
    if sum(counts[token] for token in old) > MOST_COMPARISONS:
        # The same few signs over and over: what was changed among them teaches nobody anything.
        yield wrong, right
        return
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal":
            yield _span(wrong, before[i1:i2]), _span(right, after[j1:j2])


def _span(text: str, tokens: Sequence[re.Match[str]]) -> str:
    return text[tokens[0].start() : tokens[-1].end()] if tokens else ""


def _changed_arguments(wrong: Mapping[str, object], right: Mapping[str, object], error: str) -> str:
    """Changes argument by argument. Another value of the same shape belongs to this one case: it teaches something
    only if the message says a rule.
    """
    changes = [f"add `{name}`" for name in right if name not in wrong]
    changes += [f"leave out `{name}`" for name in wrong if name not in right]
    for name in right:
        if name not in wrong or right[name] == wrong[name]:
            continue
        if _shape(right[name]) != _shape(wrong[name]):
            changes.append(f"`{name}` like `{_example(right[name])}`, not `{_example(wrong[name])}`")
        elif _RULE.search(error) and _is_blamed(name, error):
            rule = quote(error, str(wrong[name]), 120)
            changes.append(f"another value for `{name}`{rule and f': {rule}'}")
    return "; ".join(changes) if len(changes) <= MOST_CHANGES else ""


def _is_blamed(name: str, error: str) -> bool:
    """True if a message speaks of an argument, by a word of its name."""
    words = [word for word in name.casefold().split("_") if word not in ("id", "ids", "new")]
    return any(word.rstrip("s") in error.casefold() for word in words)


def _example(value: object) -> str:
    """A value as an example of its form: what is somebody's own (an order, an address) stands with other digits."""
    text = clip_line(str(value), 40)
    return text if impersonal(text) == text else _DIGITS.sub(lambda digits: "0" * len(digits.group()), text)


def _shape(value: object) -> str:
    """The value with every letter and digit made the same, runs of them made one."""
    if isinstance(value, list):
        return "[" + ",".join(sorted({_shape(entry) for entry in value})) + "]"
    if not isinstance(value, str):
        return type(value).__name__
    # An address is somebody's own, however it is spelt.
    return _LETTERS.sub("a", _DIGITS.sub("9", value)) if len(value) < 200 and "@" not in value else "text"
