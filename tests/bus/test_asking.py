"""A question goes to one peer, within its rights, and every question has an answer."""

from __future__ import annotations

from bench.bus.simulator import NAMESPACE, Simulation, Weather
from reasoningbank_bus.wire.refusals import BusRefusal


def ask(simulation: Simulation, asker, asked, namespace=NAMESPACE):
    simulation.perform(asker, lambda node: node.ask(asked.key.public, "retries", namespace, 5, simulation.now)[1])


def test_hits_come_back_to_who_asked():
    simulation = Simulation(2, seed=1, authority="grants")
    simulation.settle(5)
    one, other = simulation.hosts
    ask(simulation, one, other)
    simulation.run(1)
    [search] = other.asked
    assert (search.peer, search.query, search.namespace, search.limit) == (one.key.public, "retries", NAMESPACE, 5)
    assert search.scopes == ("team", "org")
    assert search.chain[0].holder == one.key.public
    simulation.perform(other, lambda node: node.answered(search.peer, search.request, [b"\x80"], simulation.now))
    simulation.run(1)
    [answer] = one.answers
    assert (answer.peer, answer.hits, answer.refusal) == (other.key.public, (b"\x80",), None)


def test_where_a_peer_may_not_search_it_is_refused_and_nothing_is_looked_for():
    simulation = Simulation(2, seed=2, authority="grants")
    simulation.settle(5)
    one, other = simulation.hosts
    ask(simulation, one, other, "private")
    simulation.run(1)
    assert other.asked == []
    assert [answer.refusal[0] for answer in one.answers] == ["no_right"]


def test_a_refusal_of_the_bank_reaches_who_asked():
    simulation = Simulation(2, seed=3, authority="grants")
    simulation.settle(5)
    one, other = simulation.hosts
    ask(simulation, one, other)
    simulation.run(1)
    [search] = other.asked
    refusal = BusRefusal("cap_spent")
    simulation.perform(other, lambda node: node.answered(search.peer, search.request, refusal, simulation.now))
    simulation.run(1)
    assert [answer.refusal[0] for answer in one.answers] == ["cap_spent"]


def test_silence_and_a_lost_connection_are_answers_too():
    simulation = Simulation(3, seed=4, authority="grants")
    simulation.settle(5)
    one, other, third = simulation.hosts
    ask(simulation, one, other)
    simulation.run(31)
    assert [answer.refusal[0] for answer in one.answers] == ["no_answer"]
    ask(simulation, one, third)
    simulation.crash(third)
    simulation.run(15)
    assert [answer.refusal[0] for answer in one.answers] == ["no_answer", "not_connected"]
    ask(simulation, one, third)
    assert [answer.refusal[0] for answer in one.answers][2:] == ["not_connected"]


def test_an_answer_that_comes_too_late_is_nobodys_and_no_offence():
    simulation = Simulation(2, seed=4, authority="grants", weather=Weather(least_delay=2.5, most_delay=3.0))
    simulation.settle(20)
    one, other = simulation.hosts
    ask(simulation, one, other)
    simulation.run(29)
    [search] = other.asked
    simulation.perform(other, lambda node: node.answered(search.peer, search.request, [b"\x80"], simulation.now))
    simulation.run(4)
    assert [answer.refusal[0] for answer in one.answers] == ["no_answer"]
    assert not one.node.status(simulation.now).refused


def test_more_questions_than_are_answered_at_once_are_refused():
    simulation = Simulation(2, seed=5, authority="grants", open_requests=2)
    simulation.settle(5)
    one, other = simulation.hosts
    for _ in range(3):
        ask(simulation, one, other)
    simulation.run(1)
    assert len(other.asked) == 2
    assert [answer.refusal[0] for answer in one.answers] == ["over_limit"]
