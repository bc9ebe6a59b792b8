"""One event of a coding agent, answered: the words to print, in the agent's own shape.

Knows which event is whose business. The bank is opened only by those that need one, and whatever a caller must do about
time and failure is the caller's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from reasoningbank.agents import payload, recall
from reasoningbank.agents.advice import say
from reasoningbank.agents.matching import after_failure, before_command, before_edit, says_something
from reasoningbank.agents.notes import leave_note, start_reader
from reasoningbank.agents.output import printed
from reasoningbank.agents.payload import Event
from reasoningbank.agents.place import place_of
from reasoningbank.agents.policy import Policy
from reasoningbank.agents.spaces import Spaces, spaces_of
from reasoningbank.agents.troubles import Trouble, known_troubles
from reasoningbank.bank import Bank
from reasoningbank.core.values import dataclass
from reasoningbank.learn.ingest.text import action_of, digest_of, own_words_out
from reasoningbank.learn.offline.trouble import message

_CHANGES_FILES = re.compile(r"(?i)edit|write|patch|replace|create|delete")
AT_START = "What is known about work here. Reference, not rule: use what fits, ignore the rest."
FOR_PROMPT = "Lessons from earlier work. Reference, not rule: use what fits, ignore the rest."

BEFORE_TOOL = "This went wrong here before. A warning, not a rule: go on if it does not apply."
AFTER_FAILURE = "A failure like this was met here before. Reference, not rule: use what fits."


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """Where an event arrives."""

    location: str
    """Of the bank's file."""
    bank: Callable[[], Bank | None]
    """None when there is no bank yet."""
    policy: Policy
    namespace: str | None
    """Instead of the repository's identity."""
    now: float


def answered(event: Event, house: House) -> str:
    spaces = spaces_of(event.cwd, house.policy, house.namespace)
    match event.kind:
        case payload.SESSION_START:
            context = _at_start(event, house, spaces)
        case payload.PROMPT:
            context = _at_prompt(event, house, spaces)
        case payload.STOP | payload.BEFORE_COMPACTION | payload.SESSION_END:
            capture(event, house, spaces)
            context = ""
        case payload.BEFORE_TOOL:
            context = _before_tool(event, house, spaces)
        case payload.AFTER_FAILURE:
            context = _after_failure(event, house, spaces)
        case _:
            context = ""
    return printed(event.agent, event.kind, context)


def _log(event: Event, house: House) -> Path:
    return place_of(house.location).session_log(event.agent, event.session)


def _at_start(event: Event, house: House, spaces: Spaces) -> str:
    bank = house.bank()
    if bank is None:
        return ""
    said = say(_log(event, house), recall.for_start(bank, spaces), house.policy, heading=AT_START, now=house.now)
    # Whoever reads sessions also brings the known failures up to date, and finds what an earlier one left.
    capture(event, house, spaces)
    return said


def _at_prompt(event: Event, house: House, spaces: Spaces) -> str:
    bank = house.bank()
    if bank is None:
        return ""
    hits = recall.for_prompt(bank, spaces, event.prompt)
    asked = digest_of(" ".join(own_words_out(event.prompt).split()))
    return say(_log(event, house), hits, house.policy, heading=FOR_PROMPT, now=house.now, prompt=asked)


def _before_tool(event: Event, house: House, spaces: Spaces) -> str:
    command, path = _command(event), _edited(event)
    if not (command or path):
        return ""
    troubles = _troubles(house, spaces)
    ids = before_command(command, troubles) if command else before_edit(path, event.cwd, troubles)
    bank = house.bank() if ids else None
    if bank is None:
        return ""
    hits = recall.by_ids(bank, spaces, ids)
    return say(_log(event, house), hits, house.policy, heading=BEFORE_TOOL, now=house.now)


def _after_failure(event: Event, house: House, spaces: Spaces) -> str:
    error = own_words_out(event.failure or "")
    if event.interrupted or not says_something(message(error)):
        return ""
    command = _command(event) or event.tool
    ids = after_failure(command, error, _troubles(house, spaces))
    bank = house.bank()
    if bank is None:
        return ""
    hits = recall.by_ids(bank, spaces, ids) or recall.for_failure(bank, spaces, command, error)
    return say(_log(event, house), hits, house.policy, heading=AFTER_FAILURE, now=house.now)


def _troubles(house: House, spaces: Spaces) -> list[Trouble]:
    place = place_of(house.location)
    return [trouble for namespace in spaces.read for trouble in known_troubles(place, namespace)]


def _command(event: Event) -> str:
    for name in ("command", "cmd", "script"):
        given = event.tool_input.get(name)
        if isinstance(given, str):
            return given
        if isinstance(given, list) and all(isinstance(word, str) for word in given):
            return action_of(event.tool, {"command": given})
    return ""


def _edited(event: Event) -> str:
    """The file that a tool is about to change; reading one is never a mistake."""
    if not _CHANGES_FILES.search(event.tool):
        return ""
    given = (event.tool_input.get(name) for name in ("file_path", "notebook_path", "path", "target_file"))
    return next((path for path in given if isinstance(path, str)), "")


def capture(event: Event, house: House, spaces: Spaces) -> None:
    """Note that the session is to be read, and see to it that somebody does."""
    if not event.session or event.inside_subagent:
        return
    place = place_of(house.location)
    leave_note(place, event, spaces.own, house.now)
    start_reader(place, house.location)
