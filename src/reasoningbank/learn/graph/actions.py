"""Describes a call or a command as an action: its exact parameters, how it ended, and its values.

The output of a tool is quoted only where it is a report, since words in it may want to be obeyed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.learning import EpisodeStep
from reasoningbank.core.patterns import pattern
from reasoningbank.learn.graph.sources import is_query, sources_of_call
from reasoningbank.learn.graph.turns import Done
from reasoningbank.learn.offline.failure_kind import is_failure, message, quote_report
from reasoningbank.learn.offline.words import arguments, called_tool, clip_line

COMPLETE, FAILED = "complete", "failed"
LONGEST_GIST_CHARS = 90
LONGEST_LINE_CHARS = 70
LONGEST_ERROR_CHARS = 140
MOST_VALUES = 12
_MOST_SHOWN = 3
_PROGRAM = pattern(r"\s*(?:\w+=\S+\s+)*(?:sudo\s+)?([\w./-]+)")
_TELLING = pattern(r"\d|[@/_.#]|[A-Z]")


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedAction:
    name: str
    """The tool, or the program of a command."""
    given: Mapping[str, object] | None
    """The arguments of a call; None of a command or a query."""
    parameters: Any
    """As they were handed over: the arguments, or the command."""
    gist: str
    """As in "the agent ran …"."""
    noun: str
    """As in "… returned"."""
    text: str
    status: str
    error: str
    """The error that it failed with, between marks; "" when it did not, or says nothing that may be quoted."""
    values: tuple[str, ...]
    """Values that it was given: whole values of arguments, or the words of a command that are no plain words."""


def describe(turn: Done) -> DescribedAction:
    args = arguments(turn.action)
    if args is None and (called_tool(turn.action) and turn.action.rstrip().endswith("({})")):
        args = {}
    name, gist, noun, text, values = _wording_of(turn, args)
    has_failed = is_failure(EpisodeStep(action=turn.action, result=turn.result, ok=turn.ok))
    error = quote_report(message(turn.result), turn.action, LONGEST_ERROR_CHARS) if has_failed and turn.result else ""
    outcome = f" It failed: {error}" if error else " It failed." if has_failed else ""
    return DescribedAction(
        name=name,
        given=args,
        parameters=turn.action if args is None else args,
        gist=gist,
        noun=noun,
        text=text + outcome,
        status=FAILED if has_failed else COMPLETE,
        error=error,
        values=values[:MOST_VALUES],
    )


def _wording_of(turn: Done, args: Mapping[str, object] | None) -> tuple[str, str, str, str, tuple[str, ...]]:
    """The name of an action, how a sentence tells it as something run and as a thing, its own text, and its values."""
    if args is not None:
        name = called_tool(turn.action) or turn.tool
        values = tuple(leaves_of(args))
        examples = [clip_line(value, 40) for value in values if len(value) > 1][:_MOST_SHOWN]
        gist = clip_line(f"{name} for {', '.join(examples)}" if examples else name, LONGEST_GIST_CHARS)
        pairs = ", ".join(f"{key} {clip_line(_plain(value), 120)}" for key, value in args.items())
        return name, gist, f"the call {gist}", f"Called {name} with {pairs}." if pairs else f"Called {name}.", values
    line, words = clip_line(turn.action, LONGEST_LINE_CHARS), tuple(_words(turn.action))
    tables = list(dict.fromkeys(source.pointer for source in sources_of_call(turn.action, None)))
    if is_query(turn.action):
        over = f" over {words_for(tables)}" if tables else ""
        gist = f"the query `{line}`{over}"
        return turn.tool or "query", gist, gist, f"Ran the query `{clip_line(turn.action, 400)}`{over}.", words
    program = _PROGRAM.match(turn.action)
    name = (program[1].rpartition("/")[2] if program else "") or turn.tool or "command"
    return name, f"`{line}`", f"the command `{line}`", f"Ran `{clip_line(turn.action, 400)}`.", words


def leaves_of(value: object) -> Iterator[str]:
    """The values in arguments that tell one thing from another, in their order."""
    if isinstance(value, Mapping):
        for part in value.values():
            yield from leaves_of(part)
    elif isinstance(value, list):
        for part in value:
            yield from leaves_of(part)
    elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
        text = str(value).strip()
        if text:
            yield text


def _words(command: str) -> Iterator[str]:
    for word in re.findall(r"[^\s\"'`|;&<>()]+", command):
        if not word.startswith("-") and _TELLING.search(word) and len(word) >= 4:
            yield word


def _plain(value: object) -> str:
    if isinstance(value, list):
        return " and ".join(_plain(part) for part in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_plain(part)}" for key, part in value.items())
    return str(value)


def words_for(values: Sequence[str]) -> str:
    """A few values in a sentence: a, b and c."""
    examples = list(dict.fromkeys(values))[:_MOST_SHOWN]
    return examples[0] if len(examples) == 1 else f"{', '.join(examples[:-1])} and {examples[-1]}"
