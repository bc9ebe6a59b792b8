"""Finds what stands against a tool call before it runs: a known failure, a rule of the user, harm of a known kind.

Reads the views of known failures and of rules only; what is found are ids, and the records say what may be shown.
"""

from __future__ import annotations

from collections.abc import Sequence

from reasoningbank.core.commands import commands_in, plain_command
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.patterns import pattern
from reasoningbank.core.stem import stem
from reasoningbank.guard.risky import harm_in
from reasoningbank.learn.offline.user_rules import standing
from reasoningbank_coding_agents.forbidden import call_words, forbids
from reasoningbank_coding_agents.known_failures_file import RuleText, Trouble
from reasoningbank_coding_agents.matching import before_command, before_edit, command_parts, same_command

_WORD = pattern(r"[^\W\d_]{2,}")
_EMPTY = frozenset(
    {"the", "all", "and", "for", "with", "to", "of", "in", "on", "my", "our", "this", "that", "again", "please"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IntendedCall:
    """A call that is about to be made."""

    command: str = ""
    path: str = ""
    """Path of the file that it changes, where it is no command."""
    goal: str = ""
    """Purpose of the call, in the agent's words."""
    cwd: str = ""
    branch: str | None = None

    @property
    def plain(self) -> str:
        """The same however it is dressed."""
        return plain_command(self.command) or self.command or self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class Objections:
    """Ids of the memories against a call."""

    known: tuple[str, ...] = ()
    """It failed before, as it is."""
    forbidden: tuple[str, ...] = ()
    """It does harm of the kind that they warn of."""
    like: tuple[str, ...] = ()
    """A call like it failed, or one for the same goal."""
    harmful: bool = False

    @property
    def ids(self) -> list[str]:
        return list(dict.fromkeys((*self.forbidden, *self.known, *self.like)))


def objections_to(call: IntendedCall, troubles: Sequence[Trouble]) -> Objections:
    words = call_words(call.command, call.path, call.branch)
    failures = [trouble for trouble in troubles if trouble.action or trouble.files or trouble.signature]
    if call.command:
        # A call that is the very way that worked heeds the failure.
        commands = set(commands_in(call.command))
        warnings = [
            trouble for trouble in failures if not (trouble.worked and set(commands_in(trouble.worked)) <= commands)
        ]
        like = [*before_command(call.command, warnings, call.cwd), *_for_the_same_goal(call, failures)]
    else:
        like = before_edit(call.path, call.cwd, failures)
    return Objections(
        known=tuple(same_command(call.command, _wrong_in_themselves(failures), call.cwd) if call.command else ()),
        forbidden=tuple(
            trouble.memory_id
            for trouble in failures
            if words.harm and trouble.action and words.harm & (harm_in(trouble.action) - harm_in(trouble.worked))
        ),
        like=tuple(like),
        harmful=bool(words.harm),
    )


def rules_against(call: IntendedCall, rules: Sequence[RuleText]) -> list[str]:
    """Ids of the rules that forbid a call, the latest word first; one that is replaced forbids nothing."""
    words = call_words(call.command, call.path, call.branch)
    return [rule.id for rule in standing(rules) if forbids(rule.text, words)]


def _wrong_in_themselves(failures: Sequence[Trouble]) -> list[Trouble]:
    """Failures whose command is not a part of what worked: that one only had to wait for something else."""
    return [
        trouble
        for trouble in failures
        if not trouble.worked or not set(commands_in(trouble.action)) <= set(commands_in(trouble.worked))
    ]


def _for_the_same_goal(call: IntendedCall, failures: Sequence[Trouble]) -> list[str]:
    goal = _goal_words(call.goal)
    if not goal:
        return []
    parts = command_parts(call.command)
    return [
        trouble.memory_id
        for trouble in failures
        if len(goal & (other := _goal_words(trouble.goal))) >= 0.6 * len(goal | other) and not _follows(parts, trouble)
    ][:1]


def _goal_words(goal: str) -> frozenset[str]:
    return frozenset(stem(word) for word in _WORD.findall(goal.casefold()) if word not in _EMPTY)


def _follows(parts: Sequence[Sequence[str]], trouble: Trouble) -> bool:
    """True if the call has what the failing one lacked."""
    missing = {word for part in command_parts(trouble.worked) for word in part}
    missing -= {word for part in command_parts(trouble.action) for word in part}
    return bool(missing) and any(missing <= set(part) for part in parts)
