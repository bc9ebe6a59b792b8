"""Tokens of a language model: a peer reaches the model of this bank within the cap of its grant, and not otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from reasoningbank.core.errors import LLMUnavailable
from reasoningbank.llm.scripted import ScriptedLLM
from reasoningbank_bus.authority.intent import intent_id, sign_intent
from reasoningbank_bus.exchange.answering import answer, read_hit
from tests.bus.laptops import Laptop, befriend, until
from tests.bus.sides import Side, give

QUERY = "retry a request that timed out"
NAMES = ("first", "second", "third")


@pytest.fixture
def model() -> ScriptedLLM:
    return ScriptedLLM(["3, 1, 2"], forever=True)


@pytest.fixture
def here(side: Callable[..., Side], model: ScriptedLLM) -> Iterator[Side]:
    here = side(1, llm=model)
    for name in NAMES:
        here.learn(f"{QUERY}: the {name} way")
    return here


def found(here: Side, peer: bytes) -> list[str]:
    return [read_hit(hit).title for hit in answer(here.bank, here.log, here.rights, peer, QUERY, "n", 5)]


def test_the_model_orders_a_peers_hits_until_its_tokens_are_spent_and_a_restart_gives_none_back(
    here: Side, side: Callable[..., Side], model: ScriptedLLM
) -> None:
    peer = side(2)
    plain = found(here, here.key.public)
    assert model.asked == []
    one = 400
    grant = give(here, peer, actions=("search",), caps={"tokens": one}, period=0)
    assert found(here, peer.key.public) == [plain[2], plain[0], plain[1]]
    assert len(model.asked) == 1
    [spending] = here.bank.jobs.spending()
    spent = here.log.spent(intent_id(grant), 0)["tokens"]
    assert spent == spending.tokens_in + spending.tokens_out, "what the request really cost"
    for _ in range(one // spent):
        hits = found(here, peer.key.public)
    assert hits == plain, "answered all the same, in its own order"
    here.close()
    here.open()
    asked = len(model.asked)
    assert found(here, peer.key.public) == plain
    assert len(model.asked) == asked
    assert here.log.spent(intent_id(grant), 0)["tokens"] == asked * spent <= one


def test_a_model_that_is_away_costs_nothing(side: Callable[..., Side]) -> None:
    model = ScriptedLLM([LLMUnavailable("away")], forever=True)
    here, peer = side(1, llm=model), side(2)
    for name in NAMES:
        here.learn(f"{QUERY}: the {name} way")
    grant = give(here, peer, actions=("search",), caps={"tokens": 10_000})
    assert len(found(here, peer.key.public)) == len(NAMES)
    assert len(model.asked) == 1
    assert here.log.spent(intent_id(grant), 0)["tokens"] == 0


def test_a_derived_grant_reaches_no_model_that_the_one_above_it_does_not(
    here: Side, side: Callable[..., Side], model: ScriptedLLM
) -> None:
    office, peer = side(2), side(3)
    above = give(here, office, actions=("search",), delegable=True)
    below = sign_intent(
        office.key,
        peer.key.public,
        actions=("search",),
        namespaces=("*",),
        caps={"tokens": 10_000},
        not_before=above.not_before,
        expires=above.expires,
        parent=intent_id(above),
    )
    here.rights.add(below)
    assert len(found(here, peer.key.public)) == len(NAMES)
    assert model.asked == []


def test_nothing_that_a_peer_sends_or_asks_reaches_the_model_without_a_cap_of_tokens(tmp_path, model) -> None:
    pytest.importorskip("qh3")
    with Laptop(tmp_path / "anna.db", llm=model) as anna, Laptop(tmp_path / "ben.db") as ben:
        befriend(anna, ben)
        for one in (anna, ben):
            one.learn(*(f"{QUERY}: the {name} way" for name in NAMES))
        with anna.up("127.0.0.1:0") as running:
            ben.bus.add_peer(running.listen, anna.key, name="anna")
            with ben.up():
                until(lambda: len(anna.bank.list(limit=10)) == 6, "what ben has")
                mine = ben.bank.list(origin="user", limit=1)[0].id
                ben.bank.edit(mine, content="Never retry a request that timed out.")
                ben.bank.feedback(mine, helpful=True)
                ben.bank.erase(ben.bank.list(origin="user", limit=3)[-1].id)
                until(lambda: len(anna.bank.list(limit=10)) == 5, "the erasure")
                assert len(ben.bus.ask("anna", QUERY, namespace="n")) >= len(NAMES)
    assert model.asked == []
