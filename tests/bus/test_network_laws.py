"""The law of the bus: after any order, duplication, loss, partition and crash, all hold the same entries."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.bus.simulator import Simulation
from bench.bus.stories import live_through, stories


@given(story=stories(), seed=st.integers(0, 2**16))
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_whatever_happened_all_hold_the_same_entries_in_the_end(story, seed):
    assert live_through(story, seed) == []


def test_the_same_seed_gives_the_same_run():
    def run() -> list[object]:
        simulation = Simulation(4, seed=9)
        simulation.settle(5)
        simulation.write(simulation.hosts[1], 3)
        simulation.run(5)
        return [simulation.counts, *(sorted(host.ids) for host in simulation.hosts)]

    assert run() == run()
