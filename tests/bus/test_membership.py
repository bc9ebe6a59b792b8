"""Who is alive: probes, suspicion and incarnations in simulated networks."""

from __future__ import annotations

from bench.bus.simulator import Simulation, Weather
from reasoningbank_bus.wire.frame import MemberNews


def states(simulation: Simulation, of: int) -> set[str]:
    key = simulation.hosts[of].key.public
    others = [host for host in simulation.up() if host.number != of]
    return {host.node.members.members[key].state for host in others}


def test_everybody_finds_everybody_through_one_address():
    simulation = Simulation(8, seed=1)
    simulation.settle()
    for host in simulation.hosts:
        status = host.node.status(simulation.now)
        assert status.members == 8
        assert sum(peer.connected for peer in status.peers) == 7


def test_a_death_is_seen_by_all_within_five_seconds():
    simulation = Simulation(8, seed=2)
    simulation.settle()
    simulation.crash(simulation.hosts[5])
    assert simulation.run(5, until=lambda: states(simulation, 5) == {"dead"}) is not None


def test_nobody_is_declared_dead_because_frames_are_lost():
    simulation = Simulation(8, seed=3, weather=Weather(loss=0.1))
    simulation.settle(60)
    assert sum(host.node.members.deaths for host in simulation.hosts) == 0


def test_the_dead_come_back_with_a_higher_incarnation():
    simulation = Simulation(4, seed=4)
    simulation.settle()
    simulation.crash(simulation.hosts[2])
    simulation.run(10)
    assert states(simulation, 2) == {"dead"}
    simulation.start(simulation.hosts[2])
    assert simulation.run(90, until=lambda: states(simulation, 2) == {"alive"}) is not None
    assert simulation.hosts[2].node.members.incarnation == 2


def test_a_lie_about_a_living_peer_is_refuted():
    simulation = Simulation(4, seed=5)
    simulation.settle()
    victim, liar = simulation.hosts[1], simulation.hosts[3]
    for host in simulation.hosts:
        if host not in (victim, liar):
            lie = MemberNews(victim.key.public, victim.address, "dead", 1, liar.key.public)
            host.node.members.take_news([lie], simulation.now)
    simulation.run(5)
    assert states(simulation, 1) == {"alive"}
    assert sum(host.node.members.deaths for host in simulation.hosts) == 0


def test_a_host_with_many_connections_sends_newcomers_to_others():
    simulation = Simulation(30, seed=6, most_links=10, least_links=5)
    simulation.settle(25)
    counts = [len([p for p in host.node.status(simulation.now).peers if p.connected]) for host in simulation.hosts]
    assert min(counts) >= 3
    assert max(counts) <= 14
    simulation.write(simulation.hosts[17])
    assert simulation.run(20, until=simulation.agree) is not None
