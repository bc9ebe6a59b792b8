"""Hears the user's rules in a prompt, shows the user what was only proposed, and hears the answer to that.

A sentence that is plainly the user's counts at once, or as soon as the agent's transcript marks its prompt as typed,
where it does that only later. Every other one is shown to the person, once, never to the model, and waits for a yes:
`keep-rules` or `drop-rules` as a prompt, which is about what was last shown in this project.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reasoningbank.core.errors import BankError
from reasoningbank.core.patterns import pattern
from reasoningbank.core.types import USER_NAMESPACE, Rule, RuleState
from reasoningbank.core.wording import counted
from reasoningbank.files import hold
from reasoningbank.guard.speakers import Door
from reasoningbank_coding_agents.events import FORGETFUL, SESSION_START
from reasoningbank_coding_agents.hosts import host_named
from reasoningbank_coding_agents.output import output_line
from reasoningbank_coding_agents.state_dir import StateDir, make_room, place_of, write_whole

if TYPE_CHECKING:
    from reasoningbank.bank.bank import Bank
    from reasoningbank_coding_agents.house import House
    from reasoningbank_coding_agents.namespaces import Spaces
    from reasoningbank_coding_agents.payload import Event

MOST_SHOWN = 9
"""Proposals at one start; the others are shown at the next."""
LOCK_WAIT_S = 0.2
LONGEST_UNMARKED_S = 3_600.0
"""A prompt that has no mark after so long gets none: what it proposes is shown like any other."""
_BEFORE_PROMPT_BYTES = 65_536
"""Bytes of a transcript before the moment of a prompt, should its record be there already."""
_ANSWER = pattern(r"(?i)\s*(keep|drop)-rules((?:[\s,]+\d{1,3})*)\s*")


def hear_rules(event: Event, house: House, spaces: Spaces) -> tuple[list[str], str]:
    """Keep what a prompt says of rules: the ids of those that this session has heard for good, and a sentence for the
    user where keeping failed.
    """
    from reasoningbank.learn.offline.heard_rules import heard_rules

    rules = [] if event.is_subagent else heard_rules(event.prompt, event.agent)
    if not rules:
        return [], ""
    from reasoningbank_coding_agents.reading import is_ours

    bank = None if is_ours(event.prompt) else house.bank(create=True)
    if bank is None:
        return [], ""
    door, ids, pending = _door(event, house), [], {}
    proposing = Door(name=door.name)
    start = _size_of(event.transcript) - _BEFORE_PROMPT_BYTES
    is_typed = not event.prompt_id or _is_typed(event.agent, event.transcript, start, event.prompt_id)
    try:
        for rule in rules:
            namespace = USER_NAMESPACE if rule.about_user else spaces.repository
            counts = rule.is_plain and door.is_user and is_typed is not False
            record = bank.rules.add(rule.text, namespace=namespace, door=door if counts and is_typed else proposing)
            if counts and is_typed is None:
                pending[record.id] = record.revision
            ids += [record.id] if record.state is RuleState.IN_FORCE or record.id in pending else []
        if pending:
            note = {"agent": event.agent, "transcript": event.transcript, "start": start, "prompt": event.prompt_id}
            path = place_of(house.location).unmarked(event.agent, event.session, event.prompt_id)
            write_whole(path, json.dumps({**note, "rules": pending, "at": house.now}))
    except BankError as error:
        return ids, f"ReasoningBank could not keep a rule of yours: {error}"
    return ids, ""


def _door(event: Event, house: House) -> Door:
    """Door of a prompt. Whoever runs an agent inside of another one, or where nobody sits, types nothing."""
    why = f"this prompt was given by an agent ({house.by_agent})" if house.by_agent else ""
    why = why or host_named(event.agent).unattended(event.transcript, house.variables)
    return Door(name=f"{'shell' if house.by_agent else 'prompt'}:{event.agent}", is_user=not why, why=why)


# ---------------------------------------------------------------- prompts without a mark yet


def put_in_force(bank: Bank, paths: Sequence[Path], now: float) -> bool:
    """Put rules in force whose prompts are marked as typed by now; True if there were any. `paths` are the files of
    prompts that wait; they go once their prompt has its mark, or is too old to get one.
    """
    any_typed = False
    for path in paths:
        note = _unmarked_in(path)
        is_typed = bool(note) and _is_typed(note["agent"], note["transcript"], note["start"], note["prompt"])
        if is_typed is None and abs(now - note["at"]) < LONGEST_UNMARKED_S:
            continue
        if is_typed:
            with bank.context.read_for_output() as reader:
                rules = reader.get(Rule, list(note["rules"]))
            # What was decided about meanwhile is a later word than the prompt.
            # The note is only a file: it names no rule that came in by another door.
            door = Door(name=f"prompt:{note['agent']}", is_user=True)
            ids = [
                rule.id
                for rule in rules.values()
                if rule.revision == note["rules"][rule.id] and rule.heard_in == door.name
            ]
            bank.rules.keep(ids, door)
            any_typed = any_typed or bool(ids)
        path.unlink(missing_ok=True)
    return any_typed


def _unmarked_in(path: Path) -> dict[str, Any]:
    try:
        note = json.loads(path.read_text("utf-8"))
        rules = {str(rule_id): int(revision) for rule_id, revision in note["rules"].items()}
        texts = {name: str(note[name]) for name in ("agent", "transcript", "prompt")}
        return {**texts, "rules": rules, "start": int(note["start"]), "at": float(note["at"])}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def _is_typed(agent: str, transcript: str | None, start: int, prompt_id: str) -> bool | None:
    return host_named(agent).is_typed(transcript or "", max(0, start), prompt_id)


def _size_of(transcript: str | None) -> int:
    try:
        return Path(transcript or "").stat().st_size
    except OSError:
        return 0


# ---------------------------------------------------------------- what was proposed


def proposals_notice(event: Event, house: House, spaces: Spaces) -> str:
    """The proposals that this user was not shown yet, numbered; "" for none. Notes that they are shown now.

    Where the agent does not show what a hook has for its user, `status` and `doctor` say it.
    """
    is_theirs = event.kind == SESSION_START and event.source not in FORGETFUL and not event.is_subagent
    bank = house.bank() if is_theirs and host_named(event.agent).shows_notices else None
    place = place_of(house.location)
    pending = {rule_id for path in place.every_unmarked() for rule_id in _unmarked_in(path).get("rules", ())}
    proposals = [] if bank is None else bank.rules.proposed(*spaces.read)
    waiting = [rule for rule in proposals if rule.id not in pending]
    # Whoever starts an agent inside of another one shows it to nobody.
    if bank is None or not waiting or not _door(event, house).is_user:
        return ""
    make_room(place.proposed_rules)
    lock = hold(place.proposed_rules.with_suffix(".lock"), LOCK_WAIT_S)
    if lock is None:
        return ""
    try:
        notes = _noted(place)
        shown_ids = set(notes["told"])
        fresh = [rule for rule in waiting if rule.id not in shown_ids][:MOST_SHOWN]
        if not fresh:
            return ""
        ids = [rule.id for rule in fresh]
        every = {rule.id for rule in bank.rules.proposed("*")}
        notes["told"] = [*(rule_id for rule_id in notes["told"] if rule_id in every), *ids]
        notes["shown"][spaces.repository] = ids
        write_whole(place.proposed_rules, json.dumps(notes))
    finally:
        os.close(lock)
    until = "does not count it" if len(fresh) == 1 else "counts none of them"
    lines = [f"{number}. {_in_line(rule)}" for number, rule in enumerate(fresh, start=1)]
    return "\n".join(
        (
            f"ReasoningBank heard {counted(len(fresh), 'rule')} and {until} until you say so:",
            *lines,
            "Say keep-rules or drop-rules (or keep-rules 1) here, or run `reasoningbank rules` in a terminal.",
        )
    )


def _in_line(rule: Rule) -> str:
    """A rule as a terminal may show it: one line, nothing in it that moves a cursor or hides."""
    from reasoningbank.guard.hidden import visible

    line = " ".join(visible(rule.text, markup=False).split())
    return f"{line} (in every project)" if rule.namespace == USER_NAMESPACE else line


def _noted(place: StateDir) -> dict[str, Any]:
    """`told` are the ids that were ever shown, `shown` those of the last list of each project."""
    try:
        notes = json.loads(place.proposed_rules.read_text("utf-8"))
        lists = {str(name): [str(rule_id) for rule_id in ids] for name, ids in notes["shown"].items()}
        return {"told": [str(rule_id) for rule_id in notes["told"]], "shown": lists}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {"told": [], "shown": {}}


def answer_to_proposals(event: Event, house: House, spaces: Spaces) -> str:
    """Output at a prompt that is nothing but a word about the proposals; "" for any other.

    It is kept from the model, where the agent can do that; else the model passes on what came of it.
    """
    answer = _ANSWER.fullmatch(event.prompt)
    if answer is None or event.is_subagent:
        return ""
    result, texts = _decide(event, house, spaces, keeps=answer[1].lower() == "keep", number_text=answer[2])
    for_user = f"ReasoningBank: {result}{': ' if texts else '.'}{'; '.join(texts)}"
    if withheld := host_named(event.agent).withheld_prompt(for_user):
        return json.dumps(withheld)
    from reasoningbank.guard.envelope import marked

    # Without the sentences: what was not kept is for no model to read.
    return output_line(event.agent, event.named, marked(f"Tell the user: ReasoningBank: {result}."), for_user)


def _decide(event: Event, house: House, spaces: Spaces, *, keeps: bool, number_text: str) -> tuple[str, list[str]]:
    """Result of the answer in words, and the rules that it is about."""
    bank, shown_ids = house.bank(), _noted(place_of(house.location))["shown"].get(spaces.repository, [])
    with_state = {} if bank is None else {rule.id: rule for rule in bank.rules.proposed(*spaces.read)}
    waiting = {
        number: with_state[rule_id] for number, rule_id in enumerate(shown_ids, start=1) if rule_id in with_state
    }
    if bank is None or not waiting:
        return "nothing that was shown here waits for an answer; `reasoningbank rules` lists all rules", []
    numbers = [int(number) for number in number_text.replace(",", " ").split()] or list(waiting)
    unknown = [number for number in numbers if number not in waiting]
    if unknown:
        lines = [f"{number}. {_in_line(rule)}" for number, rule in waiting.items()]
        return f"no rule {unknown[0]} waits for an answer here, so nothing was done; these do", lines
    ids = [waiting[number].id for number in dict.fromkeys(numbers)]
    try:
        rules = (bank.rules.keep if keeps else bank.rules.drop)(ids, _deciding_door(event, house))
    except BankError as error:
        return str(error).removesuffix("."), []
    result = "in force from now on" if keeps else "dropped"
    return f"{counted(len(rules), 'rule')} {result}", [*map(_in_line, rules)]


def _deciding_door(event: Event, house: House) -> Door:
    """Door of a prompt that decides about rules: it is kept from the model, so no transcript marks it as typed."""
    door = _door(event, house)
    folders = {event.cwd, house.variables.get("CLAUDE_PROJECT_DIR") or event.cwd}
    if door.is_user and host_named(event.agent).can_type(event.transcript, folders):
        return Door(name=door.name, why="this agent can schedule prompts, and this may be one")
    return door
