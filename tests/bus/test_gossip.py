"""Simulated networks: what one writes is everywhere soon, whatever is lost on the way."""

from __future__ import annotations

import pytest

from bench.bus.simulator import NAMESPACE, YEAR_MS, Simulation, Weather
from reasoningbank_bus.authority.intent import sign_revocation
from reasoningbank_bus.wire.entry import RecordName, entry_id, sign_entry


def seconds_until_everywhere(simulation: Simulation, entry) -> float:
    begun, id_ = simulation.now, entry_id(entry)
    at = simulation.run(30, until=lambda: all(id_ in host.ids for host in simulation.up()))
    assert at is not None
    return at - begun


def test_a_record_is_everywhere_after_two_rounds():
    simulation = Simulation(8, seed=1)
    simulation.settle()
    [entry] = simulation.write(simulation.hosts[3])
    assert seconds_until_everywhere(simulation, entry) <= 2 * 0.2 + 0.1
    assert all(host.took == 1 for host in simulation.hosts if host.number != 3)


def test_a_record_is_everywhere_within_seven_rounds_though_a_third_of_all_frames_is_lost():
    simulation = Simulation(8, seed=3, weather=Weather(loss=0.3, duplicates=0.1))
    simulation.settle()
    for number in range(5):
        [entry] = simulation.write(simulation.hosts[number])
        assert seconds_until_everywhere(simulation, entry) <= 7 * 0.2


def test_whoever_comes_later_gets_all_that_was_written_before():
    simulation = Simulation(3, seed=2)
    late = simulation.hosts[2]
    simulation.crash(late)
    simulation.write(simulation.hosts[0], 700)
    simulation.run(3)
    simulation.start(late)
    assert simulation.run(30, until=lambda: len(late.ids) == 700) is not None


def test_a_peer_that_answers_late_is_heard_and_not_shut_out():
    simulation = Simulation(2, seed=2, weather=Weather(least_delay=2.5, most_delay=3.0))
    one, late = simulation.hosts
    simulation.crash(late)
    simulation.write(one, 2_000)
    simulation.start(late)
    assert simulation.run(120, until=lambda: len(late.ids) == 2_000) is not None
    assert not late.node.status(simulation.now).refused


def test_two_halves_that_wrote_for_themselves_join_without_loss():
    simulation = Simulation(6, seed=4)
    simulation.settle()
    simulation.partition(range(3), range(3, 6))
    for number in range(60):
        simulation.write(simulation.hosts[number % 6])
        simulation.run(2)
    assert not simulation.agree()
    simulation.heal()
    assert simulation.run(90, until=simulation.agree) is not None
    assert len(simulation.hosts[0].ids) == 60


def test_one_way_silence_stops_nobody():
    simulation = Simulation(5, seed=5)
    simulation.settle()
    simulation.block([(0, 1), (0, 2), (3, 1)])
    simulation.write(simulation.hosts[0], 5)
    simulation.write(simulation.hosts[3], 5)
    assert simulation.run(30, until=simulation.agree) is not None


def test_clocks_that_are_years_apart_do_not_keep_entries_from_those_with_the_right_time():
    simulation = Simulation(5, seed=6, skews_ms=(0, 0, 0, -3 * YEAR_MS, 4 * YEAR_MS))
    simulation.settle()
    simulation.write(simulation.hosts[0], 4)
    simulation.run(10)
    # Whoever lives three years ago does not take what is not written yet; all others do, and go on without it.
    assert [len(host.ids) for host in simulation.hosts] == [4, 4, 4, 0, 4]
    assert simulation.hosts[3].node.status(simulation.now).refused["from_the_future"]
    behind = simulation.hosts[3]
    behind.skew_ms = 0
    assert simulation.run(120, until=lambda: len(behind.ids) == 4) is not None


@pytest.mark.parametrize("years", [-40, 40])
def test_a_clock_that_is_set_right_takes_what_it_had_refused_within_a_minute_and_a_half(years):
    simulation = Simulation(2, seed=12, authority="grants")
    simulation.settle()
    one, other = simulation.hosts
    other.skew_ms = years * YEAR_MS
    [entry] = simulation.write(one)
    simulation.run(10)
    assert entry_id(entry) not in other.ids
    other.skew_ms = 0
    assert simulation.run(90, until=lambda: entry_id(entry) in other.ids) is not None


def test_grants_travel_with_their_holders():
    simulation = Simulation(4, seed=7, authority="grants")
    simulation.settle()
    simulation.write(simulation.hosts[1], 3)
    assert simulation.run(10, until=lambda: all(len(host.ids) == 3 for host in simulation.hosts)) is not None


@pytest.mark.parametrize("fails", ["before", "after"])
def test_power_that_fails_while_a_batch_is_written_loses_nothing(fails):
    simulation = Simulation(3, seed=8)
    simulation.settle()
    simulation.hosts[1].log.fails = fails
    simulation.write(simulation.hosts[0], 20)
    simulation.run(2)
    assert simulation.hosts[1].node is None
    simulation.start(simulation.hosts[1])
    assert simulation.run(30, until=lambda: all(len(host.ids) == 20 for host in simulation.hosts)) is not None


def test_a_host_restored_from_an_old_backup_gets_back_what_it_had():
    simulation = Simulation(3, seed=9)
    simulation.settle()
    simulation.write(simulation.hosts[0], 10)
    simulation.run(3)
    restored = simulation.hosts[0]
    simulation.crash(restored)
    restored.log = type(restored.log)()
    simulation.start(restored)
    assert simulation.run(30, until=lambda: len(restored.ids) == 10) is not None


def test_what_was_erased_goes_everywhere_and_does_not_come_back():
    simulation = Simulation(4, seed=10)
    simulation.settle()
    [kept, erased] = simulation.write(simulation.hosts[0], 2)
    simulation.run(3)
    away = simulation.hosts[3]
    simulation.crash(away)
    tombstone = simulation.make_entry(simulation.hosts[0], kind="erased", name=erased.record)
    simulation.hosts[0].log.add([tombstone])
    simulation.perform(simulation.hosts[0], lambda node: node.publish([tombstone], simulation.now))
    simulation.run(3)
    simulation.start(away)
    wanted = {entry_id(kept), entry_id(tombstone)}
    # The one that was away still has the body, and offers it: nobody takes it, and it forgets it too.
    assert simulation.run(30, until=lambda: all(host.ids == wanted for host in simulation.hosts)) is not None
    simulation.run(10)
    assert all(host.ids == wanted for host in simulation.hosts)
    # Nor is it offered any more: also the one that erased it, whose log forgot it behind the node's back, knows.
    assert all(host.node.status(simulation.now).entries == {"team:shared": 2} for host in simulation.hosts)


def test_after_a_revocation_nothing_more_is_taken():
    simulation = Simulation(3, seed=11, authority="grants")
    simulation.settle()
    simulation.write(simulation.hosts[1], 1)
    simulation.run(3)
    for host in simulation.hosts:
        host.node.rights.revoke(
            sign_revocation(simulation.root, at=simulation.now_ms(), holder=simulation.hosts[1].key.public)
        )
        simulation.perform(host, lambda node: node.change_rights(simulation.now))
    simulation.write(simulation.hosts[1], 1)
    simulation.run(5)
    assert [len(host.ids) for host in simulation.hosts] == [1, 2, 1]


def test_what_a_peer_may_not_read_is_neither_sent_nor_named_to_it():
    simulation = Simulation(3, seed=12, authority="grants")
    simulation.settle()
    private = sign_entry(
        simulation.root,
        at=simulation.now_ms(),
        kind="memory",
        namespace="private",
        scope="team",
        record=RecordName(simulation.root.public, "mem_1"),
        revision=1,
        intent=b"",
        body=b"secret plans",
    )
    seen = []
    simulation.watch = lambda _host, effects: seen.extend(e.frame for e in effects if hasattr(e, "frame"))
    simulation.hosts[0].log.add([private])
    simulation.perform(simulation.hosts[0], lambda node: node.publish([private], simulation.now))
    simulation.write(simulation.hosts[0], 1)
    simulation.run(10)
    assert [len(host.ids) for host in simulation.hosts] == [2, 1, 1]
    assert seen
    assert not any(b"private" in frame or entry_id(private)[:16] in frame for frame in seen)
    assert any(NAMESPACE.encode() in frame for frame in seen)


def test_an_author_that_may_write_and_not_read_gets_its_own_entries_to_the_others():
    simulation = Simulation(3, seed=13, authority="grants", actions=("record",))
    simulation.settle()
    simulation.write(simulation.hosts[1], 2, tell=False)
    simulation.crash(simulation.hosts[1])
    simulation.start(simulation.hosts[1])
    # Nobody may read anybody: only the root's own node would be sent anything.
    simulation.run(10)
    assert [len(host.ids) for host in simulation.hosts] == [0, 2, 0]
