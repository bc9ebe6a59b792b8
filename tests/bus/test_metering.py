"""What a grant allows is counted by every node for itself, once for each entry, however often and from wherever it comes."""

from __future__ import annotations

from bench.bus.simulator import FragileLog, Simulation, Weather
from reasoningbank_bus.authority.intent import intent_id
from reasoningbank_bus.authority.metering import period_of


def counted(simulation: Simulation, host, author) -> int:
    grant = author.intents[0]
    return host.log.spent(intent_id(grant), period_of(grant, simulation.now_ms())).get("records", 0)


def test_every_receiver_counts_an_entry_once_whatever_the_network_does():
    simulation = Simulation(4, seed=3, authority="grants", weather=Weather(loss=0.2, duplicates=0.3))
    simulation.settle()
    author = simulation.hosts[1]
    simulation.write(author, 7)
    assert simulation.run(120, until=simulation.agree) is not None
    simulation.run(20)
    assert [counted(simulation, host, author) for host in simulation.hosts if host is not author] == [7, 7, 7]


def test_what_an_author_wrote_counts_again_for_itself_when_it_comes_back_after_an_older_log_was_put_in_place():
    simulation = Simulation(3, seed=5, authority="grants")
    simulation.settle()
    author = simulation.hosts[1]
    simulation.write(author, 5)
    assert simulation.run(60, until=simulation.agree) is not None
    simulation.crash(author)
    author.log = FragileLog()
    simulation.start(author)
    assert simulation.run(300, until=lambda: len(author.ids) == 5 and simulation.agree()) is not None
    assert counted(simulation, author, author) == 5
