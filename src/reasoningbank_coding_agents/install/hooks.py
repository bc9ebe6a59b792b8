"""Hook entries in the settings of coding agents: in groups, as Claude Code has them, or as flat lists, as Cursor has.

    {"hooks": {EVENT: [{"matcher": …, "hooks": [{"type": "command", "command": …, "timeout": …}]}]}}
    {"version": 1, "hooks": {EVENT: [{"command": …, "matcher": …, "timeout": …}]}}

Entries are ours by what they call, whoever installed them. Everything else in the file is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import dataclass
from reasoningbank_coding_agents.install.json_text import parse, with_item, with_member, without, without_if_bare
from reasoningbank_coding_agents.install.program import is_ours

HOOKS = "hooks"
_COMMANDS = ("command", "bash", "powershell")
_TIMEOUTS = ("timeout", "timeoutSec")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    event: str
    command: str
    timeout_s: int
    matcher: str | None = None


# ---------------------------------------------------------------- groups of hooks, as Claude Code has them


class HookCall(NamedTuple):
    """A call of a hook, as settings say it."""

    command: str
    limit_s: float


def _hook_group(hook: Hook, per_second: int = 1) -> dict[str, Any]:
    call: dict[str, Any] = {"type": "command", "command": hook.command, "timeout": hook.timeout_s * per_second}
    return {**({} if hook.matcher is None else {"matcher": hook.matcher}), HOOKS: [call]}


def with_groups(text: str, hooks: Sequence[Hook], *, per_second: int = 1) -> str:
    """Exactly these of ours; a text that has them already comes back as it is."""
    groups = [(hook.event, _hook_group(hook, per_second)) for hook in hooks]
    there = [(event, group) for event, _, group in _groups(text) if any(map(_calls_us, group[HOOKS]))]
    if _same(there, groups):
        return text
    text = without_groups(text)
    for event, group in groups:
        text = with_item(text, [HOOKS, event], group)
    return text


def without_groups(text: str) -> str:
    places = [
        (event, index, number)
        for event, index, group in _groups(text)
        for number, call in enumerate(group[HOOKS])
        if _calls_us(call)
    ]
    for event, index, number in reversed(places):
        text = without(text, [HOOKS, event, index, HOOKS, number])
        if not parse(text)[HOOKS][event][index][HOOKS]:
            text = without(text, [HOOKS, event, index])
    return _drop_empty_lists(text, {event for event, _, _ in places})


def _groups(text: str) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
    for event, entries in _events(text).items():
        for index, group in enumerate(entries):
            if isinstance(group, Mapping) and isinstance(group.get(HOOKS), list):
                yield event, index, group


# ---------------------------------------------------------------- a flat list of hooks, as Cursor has them


def flat(hook: Hook) -> dict[str, Any]:
    entry: dict[str, Any] = {"command": hook.command, "timeout": hook.timeout_s}
    return entry if hook.matcher is None else {**entry, "matcher": hook.matcher}


def with_entries(text: str, hooks: Sequence[Hook], entry: Callable[[Hook], dict[str, Any]] = flat) -> str:
    pairs = [(hook.event, entry(hook)) for hook in hooks]
    there = [(event, entry) for event, entries in _events(text).items() for entry in entries if _calls_us(entry)]
    if _same(there, pairs):
        return text
    text = without_entries(text)
    if "version" not in parse(text):
        text = with_member(text, ["version"], 1)
    for event, item in pairs:
        text = with_item(text, [HOOKS, event], item)
    return text


def without_entries(text: str) -> str:
    places = [
        (event, index)
        for event, entries in _events(text).items()
        for index, entry in enumerate(entries)
        if _calls_us(entry)
    ]
    for event, index in reversed(places):
        text = without(text, [HOOKS, event, index])
    return _drop_empty_lists(text, {event for event, _ in places})


# ---------------------------------------------------------------- both


def start_call(text: str, *, per_second: int = 1) -> HookCall | None:
    """How these settings call our hook at the start of a session."""
    for event, entries in _events(text).items():
        calls = (
            call for entry in entries for call in (entry.get(HOOKS, [entry]) if isinstance(entry, Mapping) else ())
        )
        ours = next(filter(_calls_us, calls), None) if event.lower() == "sessionstart" else None
        if ours is not None:
            limit = next((ours[name] for name in _TIMEOUTS if ours.get(name)), 60 * per_second)
            return HookCall(str(_command(ours)), float(limit) / per_second)
    return None


def _events(text: str) -> dict[str, list[Any]]:
    whole = parse(text)
    if not isinstance(whole, dict):
        raise InvalidInput("the whole of it is not an object")
    events = whole.get(HOOKS, {})
    if not isinstance(events, dict):
        raise InvalidInput(f"{HOOKS} is not an object")
    for event, entries in events.items():
        if not isinstance(entries, list):
            raise InvalidInput(f"{HOOKS}.{event} is not a list")
    return events


def _calls_us(call: object) -> bool:
    return isinstance(call, Mapping) and is_ours(_command(call))


def _command(call: Mapping[str, Any]) -> object:
    return next((call[name] for name in _COMMANDS if name in call), None)


def _same(there: Sequence[tuple[str, Any]], ours: Sequence[tuple[str, Any]]) -> bool:
    return sorted(there, key=lambda pair: pair[0]) == sorted(ours, key=lambda pair: pair[0])


def _drop_empty_lists(text: str, events: set[str]) -> str:
    """Without the lists that we leave empty."""
    for event in events:
        text = without_if_bare(text, [HOOKS, event])
    return without_if_bare(text, [HOOKS]) if events else text
