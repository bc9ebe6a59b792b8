"""Answers one hook event of a coding agent: the JSON to print, in the agent's own shape.

Knows which event is whose business, and loads no more than that one needs: most events come to nothing. Whatever a
caller must do about time and failure is the caller's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from reasoningbank.agents import events
from reasoningbank.agents.hosts import host_named
from reasoningbank.agents.namespaces import Spaces, spaces_of
from reasoningbank.agents.output import output_line
from reasoningbank.agents.payload import Event
from reasoningbank.agents.policy import HookPolicy
from reasoningbank.agents.state_dir import place_of
from reasoningbank.core.frozen import dataclass, replace
from reasoningbank.core.patterns import pattern

if TYPE_CHECKING:
    from reasoningbank.agents.known_failures_file import Trouble
    from reasoningbank.agents.session_log import Delivery, SessionLog
    from reasoningbank.bank.bank import Bank
    from reasoningbank.core.types import Remembered
    from reasoningbank.location import Location

AT_START = "What is known about work here. Reference, not rule: use what fits, ignore the rest."
FOR_PROMPT = "Lessons from earlier work. Reference, not rule: use what fits, ignore the rest."
BEFORE_TOOL = "This went wrong here before. A warning, not a rule: go on if it does not apply."
AFTER_FAILURE = "A failure like this was met here before. Reference, not rule: use what fits."
_TOLD_OF = (events.PROMPT, events.AFTER_TOOL, events.AFTER_FAILURE, events.STOP)
_FORGETFUL = ("compact", "clear")
"""Sources of a session's start after which the agent knows nothing of what it was told."""
_CHANGES_FILES = pattern(r"(?i)edit|write|patch|replace|create|delete")


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """Context of a hook event: its bank, the policy, the namespace, the time."""

    location: Location
    """Of the bank."""
    bank: Callable[[], Bank | None]
    """None when there is no bank yet."""
    policy: HookPolicy
    namespace: str | None
    """Instead of the repository's identity."""
    now: float
    starts_reader: bool = True
    """Whether a process may be started from here; a server leaves that to the hooks."""
    delivery: Delivery | None = None
    """How what is said here gets to the agent; None where it arrives with the answer."""


def answer_event(event: Event, house: House) -> str:
    spaces = spaces_of(event.cwd, house.policy, house.namespace)
    if event.session and not host_named(event.agent).transcripts_tell_results:
        event = _write_down(event, house)
    match event.kind:
        case events.SESSION_START | events.SUBAGENT_START:
            context = "\n\n".join(filter(None, (_at_start(event, house, spaces), _jobs_asked_for(event, house))))
        case events.PROMPT:
            context = _at_prompt(event, house, spaces)
        case events.BEFORE_TOOL:
            context = _before_tool(event, house, spaces)
        case events.AFTER_FAILURE:
            context = _after_failure(event, house, spaces)
        case events.STOP | events.BEFORE_COMPACTION | events.SESSION_END | events.SUBAGENT_STOP:
            _capture(event, house, spaces)
            context = ""
        case _:
            context = ""
    return output_line(event.agent, event.named, context)


# ---------------------------------------------------------------- speaking


def _at_start(event: Event, house: House, spaces: Spaces) -> str:
    bank = house.bank()
    if house.starts_reader:
        from reasoningbank.agents.capture_queue import waiting

        # Whoever reads sessions brings the known failures up to date too, and finds what an earlier one left.
        if bank is not None or waiting(place_of(house.location)):
            _capture(event, house, spaces)
    if bank is None:
        return ""
    from reasoningbank.agents import recall
    from reasoningbank.agents.session_log import forget

    if event.source in _FORGETFUL:
        forget(_session_log(event, house))
    hits = [*_lost(event, house, bank, spaces), *recall.for_start(bank, spaces)]
    return _advice_text(event, house, bank, AT_START, _each_once(hits))


def _jobs_asked_for(event: Event, house: House) -> str:
    bank = house.bank()
    if bank is None or event.kind != events.SESSION_START:
        return ""
    if event.named not in host_named(event.agent).reads_context_at:
        return ""
    from reasoningbank.agents.host_jobs import request_for_jobs

    return request_for_jobs(bank, place_of(house.location))


def _at_prompt(event: Event, house: House, spaces: Spaces) -> str:
    bank = house.bank()
    if bank is None:
        return ""
    from reasoningbank.agents import recall
    from reasoningbank.learn.ingest.text import digest_of, own_words_out

    hits = _each_once([*recall.for_prompt(bank, spaces, event.prompt), *_lost(event, house, bank, spaces)])
    asked = digest_of(" ".join(own_words_out(event.prompt).split()))
    return _advice_text(event, house, bank, FOR_PROMPT, hits, asked)


def _before_tool(event: Event, house: House, spaces: Spaces) -> str:
    command, path = _command(event), _edited_file(event)
    troubles = _troubles(house, spaces) if command or path else []
    if not troubles:
        return ""
    from reasoningbank.agents.matching import before_command, before_edit

    ids = before_command(command, troubles) if command else before_edit(path, event.cwd, troubles)
    bank = house.bank() if ids else None
    if bank is None:
        return ""
    from reasoningbank.agents import recall

    return _advice_text(event, house, bank, BEFORE_TOOL, recall.by_ids(bank, spaces, ids))


def _after_failure(event: Event, house: House, spaces: Spaces) -> str:
    from reasoningbank.agents.matching import after_failure, says_something
    from reasoningbank.learn.ingest.text import injected_out
    from reasoningbank.learn.offline.failure_kind import message

    error = injected_out(event.failure or "")
    bank = None if event.interrupted or not says_something(message(error)) else house.bank()
    if bank is None:
        return ""
    from reasoningbank.agents import recall

    command = _command(event) or event.tool
    ids = after_failure(command, error, _troubles(house, spaces))
    hits = recall.by_ids(bank, spaces, ids) or recall.for_failure(bank, spaces, command, error)
    return _advice_text(event, house, bank, AFTER_FAILURE, hits)


def _advice_text(
    event: Event, house: House, bank: Bank, heading: str, hits: Sequence[Remembered], prompt: str = ""
) -> str:
    from reasoningbank.agents.advice import Moment, say

    moment = Moment(heading=heading, now=house.now, prompt=prompt, holdout=bank.holdout)
    # What the agent would not pass on is not said, nor noted as shown.
    heard = hits if event.named in host_named(event.agent).reads_context_at else ()
    return say(_session_log(event, house), heard, house.policy, moment)


def _session_log(event: Event, house: House) -> SessionLog:
    from reasoningbank.agents.session_log import SessionLog

    return SessionLog(
        path=place_of(house.location).session_log(event.agent, event.session),
        now=house.now,
        call=event.call,
        delivery=house.delivery,
        pending_s=house.policy.deadline_ms / 1_000,
    )


def _lost(event: Event, house: House, bank: Bank, spaces: Spaces) -> list[Remembered]:
    """What the session was told before its context was compacted, unless something was said since."""
    from reasoningbank.agents import recall
    from reasoningbank.agents.session_log import lost_in

    lost = lost_in(_session_log(event, house))
    return recall.by_ids(bank, spaces, lost) if lost else []


def _each_once(hits: Sequence[Remembered]) -> list[Remembered]:
    return list({hit.id: hit for hit in hits}.values())


def _troubles(house: House, spaces: Spaces) -> list[Trouble]:
    from reasoningbank.agents.known_failures_file import known_troubles

    place = place_of(house.location)
    return [trouble for namespace in spaces.read for trouble in known_troubles(place, namespace)]


def _command(event: Event) -> str:
    for name in ("command", "cmd", "script"):
        given = event.tool_input.get(name)
        if isinstance(given, str):
            return given
        if isinstance(given, list) and all(isinstance(word, str) for word in given):
            # `["bash", "-lc", "ls"]` is `ls`.
            return str(given[-1]) if len(given) == 3 and given[1].startswith("-") else " ".join(given)
    return ""


def _edited_file(event: Event) -> str:
    """The file that a tool is about to change; reading one is never a mistake."""
    if not _CHANGES_FILES.search(event.tool):
        return ""
    given = (event.tool_input.get(name) for name in ("file_path", "notebook_path", "path", "target_file"))
    return next((path for path in given if isinstance(path, str)), "")


# ---------------------------------------------------------------- listening


def _write_down(event: Event, house: House) -> Event:
    """Write the session down as it happens; the event then names that as its transcript."""
    path = place_of(house.location).heard(event.agent, event.session)
    if event.kind in _TOLD_OF:
        from reasoningbank.agents.event_transcript import write_down
        from reasoningbank.guard.secrets import Scrubber

        bank = house.bank()
        scrubber = Scrubber() if bank is None else bank.context.scrubber
        write_down(path, event, lambda text: scrubber.scrub(text).text, house.now)
    return replace(event, transcript=str(path))


def _capture(event: Event, house: House, spaces: Spaces) -> None:
    """Note that the session is to be read, and see to it that somebody does."""
    if not event.session or event.kind == events.SUBAGENT_START:
        return
    from reasoningbank.agents.capture_queue import leave_note, start_reader

    place = place_of(house.location)
    if event.kind == events.BEFORE_COMPACTION:
        from reasoningbank.agents.session_log import forget

        forget(_session_log(event, house))
    leave_note(place, event, spaces.own, house.now)
    start_reader(place, house.location.absolute_url)
