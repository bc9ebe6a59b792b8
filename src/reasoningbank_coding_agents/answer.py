"""Answers one hook event of a coding agent: the JSON to print, in the agent's own shape.

Dispatches by event, and loads no more than that one needs: most events come to nothing. Whatever a caller must do about
time and failure is the caller's.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.config import repository_branch
from reasoningbank.core.frozen import replace
from reasoningbank.core.patterns import pattern
from reasoningbank_coding_agents import events
from reasoningbank_coding_agents.events import FORGETFUL
from reasoningbank_coding_agents.hosts import host_named
from reasoningbank_coding_agents.house import House
from reasoningbank_coding_agents.namespaces import Spaces, spaces_of
from reasoningbank_coding_agents.output import output_line, refusal_line
from reasoningbank_coding_agents.payload import Event
from reasoningbank_coding_agents.policy import AFTER, ASK, OFF
from reasoningbank_coding_agents.state_dir import place_of

if TYPE_CHECKING:
    from reasoningbank.bank.bank import Bank
    from reasoningbank.core.types import Remembered, Rule
    from reasoningbank_coding_agents.advice import Advice
    from reasoningbank_coding_agents.known_failures_file import Trouble
    from reasoningbank_coding_agents.session_log import SessionLog

AT_START = "Known about work here (reference, not rule):"
FOR_PROMPT = "Learned from earlier work here (reference, not rule):"
BEFORE_TOOL = "Known about calls like this one (go on if it does not apply):"
AFTER_FAILURE = "Noted about failures like this one (reference, not rule):"
_TOLD_OF = (events.PROMPT, events.AFTER_TOOL, events.AFTER_FAILURE, events.STOP)
_LATER = (events.BEFORE_TOOL, events.AFTER_TOOL, events.AFTER_FAILURE)
"""Events of a task at which what came too late for its prompt is still of use."""
_RESUMED = "resume"
"""One after which it knows all of it: what it has taught itself is no news to it."""
_CHANGES_FILES = pattern(r"(?i)edit|write|patch|replace|create|delete")


def answer_event(event: Event, house: House) -> str:
    spaces = spaces_of(event.cwd, house.policy, house.namespace, remember=True)
    if event.session and not host_named(event.agent).transcripts_tell_results:
        event = _write_down(event, house)
    _put_in_force(event, house, spaces)
    advice: Advice | None = None
    notice = ""
    match event.kind:
        case events.SESSION_START | events.SUBAGENT_START:
            advice = _with_jobs(event, house, _at_start(event, house, spaces))
            from reasoningbank_coding_agents.rule_hearing import proposals_notice

            notice = proposals_notice(event, house, spaces)
        case events.PROMPT:
            from reasoningbank_coding_agents.rule_hearing import answer_to_proposals, hear_rules

            if answer := answer_to_proposals(event, house, spaces):
                return answer
            rule_ids, notice = hear_rules(event, house, spaces)
            advice = _at_prompt(event, house, spaces, rule_ids)
        case events.BEFORE_TOOL:
            return _before_tool(event, house, spaces)
        case events.AFTER_FAILURE:
            advice = _after_failure(event, house, spaces)
        case events.STOP | events.BEFORE_COMPACTION | events.SESSION_END | events.SUBAGENT_STOP:
            _capture(event, house, spaces)
    return _output(event, advice, house, spaces, notice)


def _output(event: Event, advice: Advice | None, house: House, spaces: Spaces, for_user: str = "") -> str:
    """Advice found now; where there is none, what the prompt asks for and could not be said with it. `for_user` is
    for the user alone.
    """
    if (advice is None or not advice.text) and event.kind in _LATER:
        advice = _for_prompt_before(event, house, spaces) if event.prompt else _what_is_owed(event, house, spaces)
    text, notice = ("", "") if advice is None else (advice.text, advice.notice)
    from reasoningbank_coding_agents.moved_notice import ASKED_AT, moved_notice

    bank = house.bank() if event.kind in ASKED_AT and event.source not in FORGETFUL else None
    move_line = "" if bank is None else moved_notice(event, bank, place_of(house.location))
    host = host_named(event.agent)
    if move_line and not host.shows_notices and event.named in host.reads_context_at:
        from reasoningbank.guard.envelope import marked

        text = "\n\n".join(filter(None, (text, marked(f"Tell the user: {move_line}"))))
    notice = "\n".join(filter(None, (". ".join(filter(None, (notice, move_line))), for_user)))
    return output_line(event.agent, event.named, text, notice)


# ---------------------------------------------------------------- speaking


def _at_start(event: Event, house: House, spaces: Spaces) -> Advice | None:
    bank = house.bank()
    if house.starts_reader:
        from reasoningbank_coding_agents.capture_queue import waiting

        # Whoever reads sessions brings the known failures up to date too, and finds what an earlier one left.
        if bank is not None or waiting(place_of(house.location)):
            _capture(event, house, spaces)
    if bank is None:
        return None
    from reasoningbank_coding_agents import recall
    from reasoningbank_coding_agents.session_log import forget

    if event.source in FORGETFUL:
        forget(_session_log(event, house))
    is_resumed = event.source == _RESUMED
    hits = [] if is_resumed else [*_lost(event, house, bank, spaces), *recall.for_start(bank, spaces)]
    return _advice(event, house, bank, AT_START, _each_once(hits), rules=_rules(house, bank, spaces))


def _with_jobs(event: Event, house: House, advice: Advice | None) -> Advice | None:
    """With the request for the jobs that wait for this agent, where it reads what is said now."""
    bank = house.bank()
    if bank is None or event.kind not in host_named(event.agent).reads_context_at or event.kind != events.SESSION_START:
        return advice
    from reasoningbank_coding_agents.advice import NOTHING
    from reasoningbank_coding_agents.host_jobs import request_for_jobs

    request, base = request_for_jobs(bank, place_of(house.location)), advice or NOTHING
    return replace(base, text="\n\n".join(filter(None, (base.text, request)))) if request else advice


def _at_prompt(event: Event, house: House, spaces: Spaces, rule_ids: Sequence[str]) -> Advice | None:
    bank = house.bank()
    if bank is None:
        return None
    from reasoningbank_coding_agents import recall

    hits = _each_once([*recall.for_prompt(bank, spaces, event.prompt), *_lost(event, house, bank, spaces)])
    # The rules too: where the session's start was answered too late, nobody has said them yet.
    rules = _rules(house, bank, spaces)
    return _advice(event, house, bank, FOR_PROMPT, hits, _digest(event.prompt), rules=rules, rule_ids=rule_ids)


def _before_tool(event: Event, house: House, spaces: Spaces) -> str:
    from reasoningbank_coding_agents.known_failures_file import RuleText, noted_rules

    command, paths = _command(event), _edited_files(event)
    is_watched = (command or paths) and house.policy.warn != OFF
    troubles = _troubles(house, spaces) if is_watched else []
    rule_texts = noted_rules(place_of(house.location), spaces.own) if is_watched else []
    if not troubles and not rule_texts:
        return _output(event, None, house, spaces)
    from reasoningbank_coding_agents.matching import before_edit
    from reasoningbank_coding_agents.objections import IntendedCall, objections_to, rules_against

    # A patch edits several files: the one that something is known about counts.
    path = next((path for path in paths if before_edit(path, event.cwd, troubles)), paths[0] if paths else "")
    goal = event.tool_input.get("description")
    call = IntendedCall(
        command=command,
        path=path.removeprefix(event.cwd),
        goal=goal if isinstance(goal, str) else "",
        cwd=event.cwd,
        branch=repository_branch(Path(event.cwd)),
    )
    objections, ruled_out = objections_to(call, troubles), rules_against(call, rule_texts)
    bank = house.bank() if objections.ids or ruled_out else None
    if bank is None:
        return _output(event, None, house, spaces)
    from reasoningbank_coding_agents import recall, refusal

    # The view is only a file: what the records have in force now is what forbids.
    in_force = {rule.id: rule for rule in _rules_in_force(house, bank, spaces)} if ruled_out else {}
    rules = [in_force[rule_id] for rule_id in rules_against(call, [RuleText(r.id, r.text) for r in in_force.values()])]
    hits = recall.by_ids(bank, spaces, objections.ids)
    against = refusal.reasons_against(hits, objections)
    way = refusal.way_of(house.policy.warn, host_named(event.agent))
    if way == AFTER or not (rules or against):
        return _output(event, _advice(event, house, bank, BEFORE_TOOL, hits, rules=rules), house, spaces)
    # A rule that forbids no harm is recalled once, whatever else it applies to; harm is held back each time anew.
    only_rules = rules and not (objections.harmful or {hit.id for hit in against} & set(objections.known))
    key = refusal.call_key(event.tool, rules[0].id if only_rules else call.plain)
    reasons = rules[: refusal.MOST_REASONS]
    advice = refusal.refuse_once(_session_log(event, house), key, reasons, against, house.policy, house.now)
    if advice is None:
        return _output(event, None, house, spaces)
    return refusal_line(event.agent, event.named, advice.text, asks_user=way == ASK)


def _after_failure(event: Event, house: House, spaces: Spaces) -> Advice | None:
    from reasoningbank.learn.ingest.text import injected_out
    from reasoningbank.learn.offline.failure_kind import message
    from reasoningbank_coding_agents.matching import after_failure, says_something

    error = injected_out(event.failure or "")
    bank = None if event.interrupted or not says_something(message(error)) else house.bank()
    if bank is None:
        return None
    from reasoningbank_coding_agents import recall

    command = _command(event) or event.tool
    ids = after_failure(command, error, _troubles(house, spaces))
    hits = recall.by_ids(bank, spaces, ids) or recall.for_failure(bank, spaces, command, error)
    return _advice(event, house, bank, AFTER_FAILURE, hits)


def _rules(house: House, bank: Bank, spaces: Spaces) -> list[Rule]:
    """The rules to tell here."""
    in_force = _rules_in_force(house, bank, spaces)
    if not in_force:
        return []
    from reasoningbank.learn.offline.user_rules import rules_to_tell

    return rules_to_tell(in_force)


def _rules_in_force(house: House, bank: Bank, spaces: Spaces) -> list[Rule]:
    """The rules that hold here, noted for the events at which no bank is opened."""
    from reasoningbank_coding_agents.known_failures_file import RuleText, note_rules

    rules = bank.rules.in_force(*spaces.read)
    note_rules(place_of(house.location), spaces.own, [RuleText(rule.id, rule.text) for rule in rules])
    return rules


def _advice(
    event: Event,
    house: House,
    bank: Bank,
    heading: str,
    hits: Sequence[Remembered],
    prompt: str = "",
    *,
    rules: Sequence[Rule] = (),
    rule_ids: Sequence[str] = (),
) -> Advice:
    from reasoningbank_coding_agents.advice import Moment, say

    moment = Moment(heading=heading, now=house.now, prompt=prompt, holdout=bank.holdout, heard=tuple(rule_ids))
    # What the agent would not pass on is not said, nor noted as shown.
    is_read = event.named in host_named(event.agent).reads_context_at
    return say(_session_log(event, house), hits if is_read else (), house.policy, moment, rules if is_read else ())


def _session_log(event: Event, house: House) -> SessionLog:
    from reasoningbank_coding_agents.session_log import SessionLog

    return SessionLog(
        path=place_of(house.location).session_log(event.agent, event.session),
        now=house.now,
        call=event.call,
        delivery=house.delivery,
        pending_s=house.policy.deadline_ms / 1_000,
    )


def _lost(event: Event, house: House, bank: Bank, spaces: Spaces) -> list[Remembered]:
    """Memories that the session was told before its context was compacted, unless something was said since."""
    from reasoningbank_coding_agents import recall
    from reasoningbank_coding_agents.session_log import lost_in

    ids = lost_in(_session_log(event, house))
    return recall.by_ids(bank, spaces, ids) if ids else []


def _what_is_owed(event: Event, house: House, spaces: Spaces) -> Advice | None:
    """Advice that was found for the prompt that is being worked on, and came too late for it."""
    from reasoningbank_coding_agents.session_log import owed_in

    owed = owed_in(_session_log(event, house)) if event.session else ()
    bank = house.bank() if owed else None
    if bank is None:
        return None
    from reasoningbank_coding_agents import recall

    hits = recall.by_ids(bank, spaces, owed)
    return _advice(event, house, bank, FOR_PROMPT, hits, rules=_rules(house, bank, spaces))


def _for_prompt_before(event: Event, house: House, spaces: Spaces) -> Advice | None:
    """Advice that an agent which reads nothing with its prompt gets at the first calls that the prompt leads to."""
    from reasoningbank_coding_agents import recall
    from reasoningbank_coding_agents.session_log import entries_in

    log, digest = _session_log(event, house), _digest(event.prompt)
    bank = None if any(entry.prompt == digest for entry in entries_in(log.path)) else house.bank()
    if bank is None:
        return None
    hits = _each_once([*recall.for_start(bank, spaces), *recall.for_prompt(bank, spaces, event.prompt)])
    return _advice(event, house, bank, FOR_PROMPT, hits, digest, rules=_rules(house, bank, spaces))


def _digest(prompt: str) -> str:
    from reasoningbank.learn.ingest.text import digest_of, own_words_out

    return digest_of(" ".join(own_words_out(prompt).split()))


def _each_once(hits: Sequence[Remembered]) -> list[Remembered]:
    return list({hit.id: hit for hit in hits}.values())


def _troubles(house: House, spaces: Spaces) -> list[Trouble]:
    from reasoningbank_coding_agents.known_failures_file import known_troubles

    place = place_of(house.location)
    return [trouble for namespace in spaces.read for trouble in known_troubles(place, namespace)]


def _command(event: Event) -> str:
    for name in ("command", "cmd", "script"):
        value = event.tool_input.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and all(isinstance(word, str) for word in value):
            # `["bash", "-lc", "ls"]` is `ls`.
            return str(value[-1]) if len(value) == 3 and value[1].startswith("-") else " ".join(value)
    return ""


def _edited_files(event: Event) -> list[str]:
    """The files that a tool is about to change; reading one is never a mistake."""
    if not _CHANGES_FILES.search(event.tool):
        return []
    paths = event.tool_input.get("file_paths")
    if isinstance(paths, list):
        return [path for path in paths if isinstance(path, str)]
    values = (event.tool_input.get(name) for name in ("file_path", "notebook_path", "path", "target_file"))
    return [path for path in values if isinstance(path, str)][:1]


# ---------------------------------------------------------------- listening


def _put_in_force(event: Event, house: House, spaces: Spaces) -> None:
    """Have the rules of prompts count that are marked as typed by now. When a turn ends, the reader does that."""
    if event.kind in (events.STOP, events.BEFORE_COMPACTION, events.SESSION_END, events.SUBAGENT_STOP):
        return
    session = "" if event.kind == events.SESSION_START else event.session
    paths = place_of(house.location).every_unmarked(event.agent, session)
    bank = house.bank() if paths else None
    if bank is None:
        return
    from reasoningbank_coding_agents.rule_hearing import put_in_force

    if put_in_force(bank, paths, house.now):
        _rules_in_force(house, bank, spaces)


def _write_down(event: Event, house: House) -> Event:
    """Write the session down as it happens; the event then names that as its transcript.

    What an agent tells our hook does not come to what its program told: it is written down elsewhere.
    """
    session = f"{event.session}/{house.by_agent}" if house.by_agent else event.session
    path = place_of(house.location).heard(event.agent, session)
    if event.kind in _TOLD_OF:
        from reasoningbank.guard.secrets import Scrubber
        from reasoningbank_coding_agents.event_transcript import write_down

        bank = house.bank()
        scrubber = Scrubber() if bank is None else bank.context.scrubber
        write_down(path, event, lambda text: scrubber.scrub(text).text, house.now)
    return replace(event, transcript=str(path))


def _capture(event: Event, house: House, spaces: Spaces) -> None:
    """Note that the session is to be read, and see to it that somebody does."""
    if not event.session or event.kind == events.SUBAGENT_START:
        return
    from reasoningbank_coding_agents.capture_queue import leave_note, start_reader

    place = place_of(house.location)
    if event.kind == events.BEFORE_COMPACTION:
        from reasoningbank_coding_agents.session_log import forget

        forget(_session_log(event, house))
    leave_note(place, event, spaces.own, house.now, by_hook=house.by_agent is None)
    start_reader(place, house.location)
