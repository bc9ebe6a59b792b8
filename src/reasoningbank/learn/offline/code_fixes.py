"""Finds what was wrong with the code: a check failed, files were edited, the same check passed.

Most such edits mend a bug of that day, which teaches nobody anything. A lesson is what holds on another day too: where
a thing is imported from, what an interface is called, what a test or a tool must be given, that a key may be missing.
So the error must be of such a kind and name a thing, and a small edit must be about that thing; otherwise there is a
reason why nothing is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reasoningbank.core.commands import ShellCommand, commands_in
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.learning import (
    LONGEST_LESSON_DESCRIPTION_CHARS,
    LONGEST_LESSON_TITLE_CHARS,
    EpisodeStep,
    LeftOut,
    Lesson,
)
from reasoningbank.core.patterns import pattern
from reasoningbank.core.program_names import command_name
from reasoningbank.core.types import Outcome
from reasoningbank.learn.offline.bypasses import silenced_by
from reasoningbank.learn.offline.edits import EditedLines, edits_in
from reasoningbank.learn.offline.failure_kind import FIX, in_room, is_failure, kind, message, quote_output
from reasoningbank.learn.offline.line_change import LineChange, changes_about, is_config, is_manifest, is_test_support
from reasoningbank.learn.offline.lookups import is_lookup
from reasoningbank.learn.offline.trouble import goal_of, trouble_of
from reasoningbank.learn.offline.words import called_tool, clip_line, describe_action, digest

FURTHEST_STEPS = 30
_ABOUT_A_BUG = pattern(
    r"(?i)\bassert|expected\b.{0,80}\b(?:got|but was|received|actual|to be)|\bexpect\(|syntax ?error"
    r"|unexpected token|indentation"
    r"|invalid syntax|parse error|mismatched types|not assignable|incompatible type|not equal|segmentation"
    r"|nil pointer|null pointer"
    r"|index out of|divi(?:de|sion) by zero|overflow|borrow|lifetime|moved value|unused|declared and not used"
    r"|line too long|F401|E501"
    r"|matches expected|values differ|timed? ?out|recursion|deadlock|invalid literal"
)
_ABOUT_THE_WORLD = pattern(
    r"(?i)no module named|cannot find module|module not found|can(?:not|'t) resolve|failed to resolve import"
    r"|cannot import name"
    r"|unresolved import|unresolved reference|not in std|no required module|package \S+ (?:does not exist|is not)"
    r"|cannot find (?:symbol|package|type|'|`)"
    r"|could not be found|undeclared (?:crate|type)|use of undeclared|could not find (?:gem|`|package|a package)"
    r"|class .{1,80} not found"
    r"|has no (?:exported member|attribute|member|field|method)|is not a function|no method named|no field"
    r"|does not exist on type"
    r"|undefined method|undefined function|undefined: \w+\.|call to undefined|unexpected keyword"
    r"|unexpected argument|missing \d+ required|required positional"
    r"|no longer|file extension|default export|es module|deprecat|was removed|unknown (?:property|field|option"
    r"|argument|column|key|setting|name)"
    r"|unsupported argument|not expected here"
    r"|fixture|django_db|database access|\bmark\b|improperlyconfigured|not configured|is not set|not defined"
    r"|environment variable|\bsetting\b|\bconfig"
    r"|required variable|missing (?:a value|required|script|environment)|event loop|not natively supported"
    r"|no running|outside (?:of )?(?:a )?(?:module|application|request)|app(?:lication)? context"
    r"|no such (?:table|column|option|file|target)|relation .{1,80} does not exist|column .{1,80} does not exist"
    r"|keyerror"
    r"|array key|undefined index"
    r"|cannot read propert|key not found|cors|csrf|forbidden|permission|E0432|E0433|E0599|TS2307|TS2305|TS2339"
    r"|CS0246|CS0103|CS1061"
)
_MISSES_A_PACKAGE = pattern(
    r"(?i)no module named|cannot find (?:module|package)|package \S+ does not exist|no required module"
    r"|unresolved import"
    r"|could not (?:find|be found|resolve)|can't resolve|failed to resolve|undeclared crate|not found"
)
_NAMED = pattern(r"['\"`‘“]([^'\"`’”\n]{1,120})['\"`’”]")
_NAMED_PLAINLY = pattern(
    r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b|(?:undefined: |named |symbol:? +(?:class|method|variable)? *|fixture |package "
    r"|module |table: |column "
    r"|function |method |variable |setting |class |gem )([\w.@/\\-]{2,80})|\b\w+(?:_\w+)+\b|\b[a-z]+[A-Z]\w+\b"
    r"|@[\w/-]{3,60}"
)
_NOT_ABOUT_IT = "nothing that was edited is about what the error names, or it was written anew"
_NOT_A_NAME = frozenset(
    {
        "undefined",
        "null",
        "None",
        "nil",
        "string",
        "number",
        "self",
        "default",
        "module",
        "object",
        "str",
        "int",
        "dict",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeFix:
    failure: int
    said: str
    kind: str
    names: tuple[str, ...]
    """Names in the error that the edit is about."""
    changes: tuple[LineChange, ...]


def find_code_fixes(steps: Sequence[EpisodeStep]) -> list[CodeFix | LeftOut]:
    """Each failure of a check that edits put right: what to know of it, or why there is nothing to know."""
    by_kind: dict[str, CodeFix | LeftOut] = {}
    for failure, later in _mended_runs(steps):
        error = message(steps[failure].result)
        edits = [edit for step in steps[failure + 1 : later] for edit in edits_in(step) if edit.path]
        if not edits:
            continue
        fix_or_reason = _read(failure, error, edits)
        if isinstance(fix_or_reason, str):
            by_kind.setdefault(kind(error), LeftOut(what=clip_line(error, 100), why=fix_or_reason))
        else:
            by_kind[kind(error) + " ".join(fix_or_reason.names)] = fix_or_reason
    return list(by_kind.values())


def _mended_runs(steps: Sequence[EpisodeStep]) -> Iterator[tuple[int, int]]:
    """Failing runs of a check that passed in the end, each with the next run that no longer failed so."""
    for number, step in enumerate(steps):
        if called_tool(step.action) or not step.action.strip() or not is_failure(step) or is_lookup(step.action):
            continue
        again = [
            later
            for later in range(number + 1, min(len(steps), number + 1 + FURTHEST_STEPS))
            if _is_same_check(step.action, steps[later].action)
        ]
        if again and any(not is_failure(steps[later]) for later in again):
            after = steps[again[0]]
            if not is_failure(after) or kind(message(after.result)) != kind(message(step.result)):
                yield number, again[0]


def _is_same_check(action: str, other: str) -> bool:
    """The same program on the same things, or on more or fewer of them."""
    return not called_tool(other) and any(
        _covers(ours, theirs) or _covers(theirs, ours) for ours in commands_in(action) for theirs in commands_in(other)
    )


def _covers(wide: ShellCommand, narrow: ShellCommand) -> bool:
    if command_name(wide.words) != command_name(narrow.words):
        return False
    operands = {word for word in wide.words[1:] if not word.startswith("-")}
    return not operands - set(narrow.words) or any(
        word.startswith(other.rstrip("/")) for word in narrow.words[1:] for other in operands if "/" in other
    )


def _read(failure: int, error: str, edits: Sequence[EditedLines]) -> CodeFix | str:
    """The fix, or why there is nothing in it for another day."""
    why = _why_not(error, edits)
    if why:
        return why
    names = names_in(error)
    candidates = (change for edit in edits for change in changes_about(edit, names)) if names else ()
    changes = list(dict.fromkeys(candidates))
    if not changes:
        only = edits[0] if len(edits) == 1 and (is_config(edits[0]) or is_test_support(edits[0])) else None
        changes = list(changes_about(only, ())) if only else []
    if not changes or len(changes) > 2:
        return "what was changed is too much to tell in a line" if changes else _NOT_ABOUT_IT
    about = tuple(name for name in names if any(change.names(name) for change in changes)) or names[:1]
    return CodeFix(failure=failure, said=error, kind=kind(error), names=about, changes=tuple(changes))


def _why_not(error: str, edits: Sequence[EditedLines]) -> str:
    suppression = next(filter(None, (silenced_by(edit.removed, edit.added) for edit in edits)), "")
    if suppression:
        return f"the check was silenced: `{suppression}`"
    if not _ABOUT_THE_WORLD.search(error) or (_ABOUT_A_BUG.search(error) and not any(map(is_config, edits))):
        return "a bug that was mended once"
    if _MISSES_A_PACKAGE.search(error) and any(map(is_manifest, edits)):
        return "what was missing is among the project's dependencies now"
    return f"{len(edits)} edits: which of them mended it cannot be told" if len(edits) > 6 else ""


def names_in(error: str) -> tuple[str, ...]:
    """The names that an error speaks of, those between quotes first."""
    in_quotes = [name.strip() for name in _NAMED.findall(error)]
    plain = [match[1] or match[0] for match in _NAMED_PLAINLY.finditer(error)]
    names = [name for name in (*in_quotes, *plain) if len(name) > 1 and name not in _NOT_A_NAME]
    return tuple(dict.fromkeys(names))


def lesson_of(fix: CodeFix, steps: Sequence[EpisodeStep], task: str = "") -> Lesson:
    failing = steps[fix.failure]
    report = quote_output(fix.said, failing.action)
    change = "; ".join(change.text for change in fix.changes)
    action = describe_action(failing.action, 120)
    trouble = trouble_of(
        failing.action, fix.said, change=change, goal=goal_of(failing, task), names=fix.names, is_at_fault=False
    )
    return Lesson(
        title=in_room(change, LONGEST_LESSON_TITLE_CHARS),
        description=in_room(
            f"{trouble.get('program', 'a check')} fails with {report}", LONGEST_LESSON_DESCRIPTION_CHARS
        ),
        content=f"`{action}` failed with {report}\nThe fix in the code: {change}",
        outcome=Outcome.SUCCESS,
        tags=(FIX,),
        evidence=f"{clip_line(failing.action, 80)} → {report}",
        kind=FIX,
        key=f"code {digest(fix.kind, *fix.names, *(change.text for change in fix.changes))}",
        metadata={"trouble": trouble},
    )
