"""Answers a hook in its own process, when no server runs: opens the bank if it must, and answers."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from reasoningbank.config.environment import agent_around, agent_variables
from reasoningbank_coding_agents.answer import answer_event
from reasoningbank_coding_agents.hosts import host_named
from reasoningbank_coding_agents.house import House
from reasoningbank_coding_agents.output import output_line
from reasoningbank_coding_agents.payload import event_from
from reasoningbank_coding_agents.policy import policy_from
from reasoningbank_coding_agents.session_log import Delivery

if TYPE_CHECKING:
    from reasoningbank.bank.bank import Bank
    from reasoningbank.location import Location


def answer(
    location: Location,
    agent: str,
    event_name: str | None,
    raw: bytes,
    *,
    namespace: str | None,
    hooks: str,
    cwd: str,
    delivery: Delivery | None = None,
) -> str:
    """The output to print, which then counts as printed.

    A hook that ends with it gives a `delivery`, to confirm it itself. Its bank stays open: nothing was written that a
    close would have to finish.
    """
    try:
        data = json.loads(raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        data = None
    event = event_from(agent, data, event_name=event_name, cwd=cwd)
    if event is None or location.state is None:
        return output_line(agent, "")
    banks: list[Bank] = []

    def open_bank(*, create: bool = False) -> Bank | None:
        if not banks and (bank := _open_bank(location, create=create)) is not None:
            banks.append(bank)
        return banks[0] if banks else None

    variables = agent_variables()
    house = House(
        location=location,
        bank=open_bank,
        policy=policy_from(hooks),
        namespace=namespace,
        now=time.time(),
        by_agent=agent_around(None, variables, host_named(event.agent).own_marks),
        variables=variables,
        delivery=delivery,
    )
    try:
        return answer_event(event, house)
    finally:
        for bank in banks if delivery is None else ():
            bank.close()


def _open_bank(location: Location, *, create: bool) -> Bank | None:
    from reasoningbank.wiring.backends import backend_of

    if not create and not backend_of(location).exists(location):
        return None
    from reasoningbank.wiring import ReasoningBank

    return ReasoningBank.open(location, create=create)
