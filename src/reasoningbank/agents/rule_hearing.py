"""Hears the user's rules in a prompt, shows the user what was only proposed, and hears the answer to that.

A sentence that is plainly the user's counts at once. Every other one is shown to the person, once, never to the model,
and waits for a yes: `keep-rules` or `drop-rules` as a prompt, which is about what was last shown in this project.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from reasoningbank.agents.events import FORGETFUL, SESSION_START
from reasoningbank.agents.hosts import host_named
from reasoningbank.agents.output import output_line
from reasoningbank.agents.state_dir import StateDir, make_room, place_of, write_whole
from reasoningbank.core.errors import BankError
from reasoningbank.core.patterns import pattern
from reasoningbank.core.types import USER_NAMESPACE, Rule, RuleState
from reasoningbank.core.wording import counted
from reasoningbank.files import hold
from reasoningbank.guard.speakers import Door

if TYPE_CHECKING:
    from reasoningbank.agents.house import House
    from reasoningbank.agents.namespaces import Spaces
    from reasoningbank.agents.payload import Event

MOST_SHOWN = 9
"""Proposals at one start; the others are shown at the next."""
LOCK_WAIT_S = 0.2
_ANSWER = pattern(r"(?i)\s*(keep|drop)-rules((?:[\s,]+\d{1,3})*)\s*")


def hear_rules(event: Event, house: House, spaces: Spaces) -> tuple[list[str], str]:
    """Keep what a prompt says of rules: the ids of those in force, and a sentence for the user where keeping failed."""
    from reasoningbank.learn.offline.heard_rules import heard_rules

    heard = [] if event.is_subagent else heard_rules(event.prompt, event.agent)
    if not heard:
        return [], ""
    from reasoningbank.agents.reading import is_ours

    bank = None if is_ours(event.prompt) else house.bank(create=True)
    if bank is None:
        return [], ""
    door, in_force = _door(event, house), []
    try:
        for rule in heard:
            namespace = USER_NAMESPACE if rule.about_user else spaces.repository
            said_at = door if rule.is_plain else Door(name=door.name)
            kept = bank.rules.add(rule.text, namespace=namespace, door=said_at)
            in_force += [kept.id] if kept.state is RuleState.IN_FORCE else []
    except BankError as error:
        return in_force, f"ReasoningBank could not keep a rule of yours: {error}"
    return in_force, ""


def _door(event: Event, house: House) -> Door:
    """Of a prompt. Whoever runs an agent inside of another one types nothing."""
    why = "" if house.by_agent is None else f"this prompt was given by an agent ({house.by_agent})"
    return Door(name=f"prompt:{event.agent}", is_user=house.by_agent is None, why=why)


# ---------------------------------------------------------------- what was proposed


def proposals_notice(event: Event, house: House, spaces: Spaces) -> str:
    """The proposals that this user was not shown yet, numbered; "" for none. Notes that they are shown now.

    Where the agent does not show what a hook has for its user, `status` and `doctor` say it.
    """
    is_theirs = event.kind == SESSION_START and event.source not in FORGETFUL and not event.is_subagent
    bank = house.bank() if is_theirs and host_named(event.agent).shows_notices else None
    waiting = [] if bank is None else bank.rules.proposed(*spaces.read)
    place = place_of(house.location)
    if bank is None or not waiting:
        return ""
    make_room(place.proposed_rules)
    lock = hold(place.proposed_rules.with_suffix(".lock"), LOCK_WAIT_S)
    if lock is None:
        return ""
    try:
        noted = _noted(place)
        told = set(noted["told"])
        fresh = [rule for rule in waiting if rule.id not in told][:MOST_SHOWN]
        if not fresh:
            return ""
        ids = [rule.id for rule in fresh]
        every = {rule.id for rule in bank.rules.proposed("*")}
        noted["told"] = [*(rule_id for rule_id in noted["told"] if rule_id in every), *ids]
        noted["shown"][spaces.repository] = ids
        write_whole(place.proposed_rules, json.dumps(noted))
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

    told = " ".join(visible(rule.text, markup=False).split())
    return f"{told} (in every project)" if rule.namespace == USER_NAMESPACE else told


def _noted(place: StateDir) -> dict[str, Any]:
    """`told` are the ids that were ever shown, `shown` those of the last list of each project."""
    try:
        noted = json.loads(place.proposed_rules.read_text("utf-8"))
        shown = {str(name): [str(one) for one in ids] for name, ids in noted["shown"].items()}
        return {"told": [str(one) for one in noted["told"]], "shown": shown}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {"told": [], "shown": {}}


def answer_to_proposals(event: Event, house: House, spaces: Spaces) -> str:
    """What to print at a prompt that is nothing but a word about the proposals; "" for any other.

    It is kept from the model, where the agent can do that; else the model passes on what came of it.
    """
    answer = _ANSWER.fullmatch(event.prompt)
    if answer is None or event.is_subagent:
        return ""
    told = _decide(event, house, spaces, keeps=answer[1].lower() == "keep", named=answer[2])
    if withheld := host_named(event.agent).withheld_prompt(told):
        return json.dumps(withheld)
    from reasoningbank.guard.envelope import marked

    return output_line(event.agent, event.named, marked(f"Tell the user: {told}"), told)


def _decide(event: Event, house: House, spaces: Spaces, *, keeps: bool, named: str) -> str:
    """The sentence for the user who answered."""
    bank, shown = house.bank(), _noted(place_of(house.location))["shown"].get(spaces.repository, [])
    with_state = {} if bank is None else {rule.id: rule for rule in bank.rules.proposed(*spaces.read)}
    waiting = {number: with_state[one] for number, one in enumerate(shown, start=1) if one in with_state}
    if bank is None or not waiting:
        return "ReasoningBank: nothing that was shown here waits for an answer. `reasoningbank rules` lists all rules."
    numbers = [int(number) for number in named.replace(",", " ").split()] or list(waiting)
    unknown = [number for number in numbers if number not in waiting]
    if unknown:
        listed = ", ".join(f"{number}. {_in_line(rule)}" for number, rule in waiting.items())
        return f"ReasoningBank: no rule {unknown[0]} waits for an answer here, so nothing was done. These do: {listed}"
    ids = [waiting[number].id for number in dict.fromkeys(numbers)]
    try:
        decided = (bank.rules.keep if keeps else bank.rules.drop)(ids, _door(event, house))
    except BankError as error:
        return f"ReasoningBank: {error}"
    done = "in force from now on" if keeps else "dropped"
    return f"ReasoningBank: {counted(len(decided), 'rule')} {done}: {'; '.join(map(_in_line, decided))}"
