"""One event of a coding agent, answered: the words to print, in the agent's own shape.

Knows which event is whose business. The bank is opened only by those that need one, and whatever a caller must do about
time and failure is the caller's.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from reasoningbank.agents import payload, recall
from reasoningbank.agents.advice import say
from reasoningbank.agents.notes import leave_note, start_reader
from reasoningbank.agents.output import printed
from reasoningbank.agents.payload import Event
from reasoningbank.agents.place import place_of
from reasoningbank.agents.policy import Policy
from reasoningbank.agents.spaces import Spaces, spaces_of
from reasoningbank.bank import Bank
from reasoningbank.core.values import dataclass
from reasoningbank.learn.ingest.text import digest_of, own_words_out

AT_START = "What is known about work here. Reference, not rule: use what fits, ignore the rest."
FOR_PROMPT = "Lessons from earlier work. Reference, not rule: use what fits, ignore the rest."


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
        case _:
            context = ""
    return printed(event.agent, event.kind, context)


def _log(event: Event, house: House) -> Path:
    return place_of(house.location).session_log(event.agent, event.session)


def _at_start(event: Event, house: House, spaces: Spaces) -> str:
    bank = house.bank()
    if bank is None:
        return ""
    return say(_log(event, house), recall.for_start(bank, spaces), house.policy, heading=AT_START, now=house.now)


def _at_prompt(event: Event, house: House, spaces: Spaces) -> str:
    bank = house.bank()
    if bank is None:
        return ""
    hits = recall.for_prompt(bank, spaces, event.prompt)
    asked = digest_of(" ".join(own_words_out(event.prompt).split()))
    return say(_log(event, house), hits, house.policy, heading=FOR_PROMPT, now=house.now, prompt=asked)


def capture(event: Event, house: House, spaces: Spaces) -> None:
    """Note that the session is to be read, and see to it that somebody does."""
    if not event.session or event.inside_subagent:
        return
    place = place_of(house.location)
    leave_note(place, event, spaces.own, house.now)
    start_reader(place, house.location)
