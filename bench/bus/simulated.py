"""The protocol in simulated networks: how fast and at what cost records spread, who is believed dead, what partitions
and differences cost. Time is simulated, so a busy machine changes no figure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from hashlib import blake2b

from bench.bus.simulator import Simulation, Weather
from bench.report import Report
from reasoningbank_bus.node.effects import Took
from reasoningbank_bus.sync.place_set import PlaceSet
from reasoningbank_bus.sync.reconcile import compare, whole_range
from reasoningbank_bus.wire.entry import Entry, encode_entry
from reasoningbank_bus.wire.frame import Ranges, encode_frame

ROUND_SECONDS = 0.2
OF_RECORDS = (9, 10, 11, 14)
"""Types of the frames that carry records: Want, EntryBatch, Have, Offer."""
GOSSIPSUB_EXPECTED, GOSSIPSUB_MEASURED = 7, 5
"""Copies of a message that a peer receives with a mesh of 8: by the model (ethresear.ch/t/19921: one and k − 2 = 6
duplicates), and by measuring Ethereum's network (80 % of all messages are duplicates:
reldo-site.pages.dev/posts/2026-02-02-gossipsub-bandwidth.html)."""
MEMBERLIST_FACTOR = 4
"""memberlist sends a message RetransmitMult · log10(n + 1) times from each node, 4 by default (docs.rs/serf-core,
MemberlistOptions; developer.hashicorp.com/consul, gossip_lan)."""


def measure_simulated(report: Report, small: bool) -> None:
    _measure_rounds(report, (8, 25) if small else (8, 25, 50, 100, 200), 20 if small else 60)
    _measure_loss(report, 60 if small else 400)
    _measure_cost(report, 25 if small else 200, 5 if small else 20)
    _measure_partition(report, 60 if small else 600)
    _measure_deaths(report, 60 if small else 600, 5 if small else 30)
    _measure_differences(report, (1_000, 10_000) if small else (1_000, 10_000, 100_000))


def _spread_rounds(simulation: Simulation, records: int) -> list[float]:
    """For each of some records, written one after the other, the rounds until everybody had it."""
    rounds: list[float] = []
    waiting: set[int] = set()
    newest: list[Entry] = []

    def is_everywhere() -> bool:
        return not waiting

    def watch(host, effects) -> None:
        for effect in effects:
            if isinstance(effect, Took) and any(entry.record == newest[-1].record for entry in effect.entries):
                waiting.discard(host.number)

    simulation.watch = watch
    for _ in range(records):
        author = simulation.random.choice(simulation.hosts)
        newest.append(simulation.make_entry(author, size=700))
        waiting |= {host.number for host in simulation.up()} - {author.number}
        author.log.add(newest[-1:])
        begun = simulation.now
        simulation.perform(author, lambda node: node.publish(newest[-1:], simulation.now))
        at = simulation.run(60, until=is_everywhere)
        rounds.append((at - begun) / ROUND_SECONDS if at is not None else math.inf)
        waiting.clear()
        simulation.run(2)
    simulation.watch = None
    return sorted(rounds)


def _percentile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def _measure_rounds(report: Report, sizes: Sequence[int], records: int) -> None:
    worst = 0.0
    for size in sizes:
        simulation = Simulation(size, seed=size)
        simulation.settle(20)
        rounds = _spread_rounds(simulation, records)
        slowest = _percentile(rounds, 0.99)
        worst = max(worst, slowest / math.log2(size))
        detail = f"p50 {_percentile(rounds, 0.5):.1f}, {records} records"
        report.add("bus", f"rounds until all of {size} peers have a record, p99", slowest, "rounds", detail=detail)
    what = "the same for each binary digit of the number of peers, most of all sizes"
    report.add("bus", what, worst, "rounds", limit=1.25)


def _measure_loss(report: Report, records: int) -> None:
    simulation = Simulation(8, seed=30, weather=Weather(loss=0.3))
    simulation.settle(20)
    rounds = _spread_rounds(simulation, records)
    detail = f"p50 {_percentile(rounds, 0.5):.1f}, most {rounds[-1]:.1f}, {records} records"
    report.add(
        "bus",
        "8 peers, 30 % of all frames lost: rounds, p99",
        _percentile(rounds, 0.99),
        "rounds",
        limit=7,
        detail=detail,
    )


def _measure_cost(report: Report, size: int, records: int) -> None:
    simulation = Simulation(size, seed=size + 1)
    simulation.settle(30)
    simulation.counts.clear()
    simulation.run(30)
    idle = simulation.counts["bytes"] / 30 / size
    simulation.bytes_by_type.clear()
    _spread_rounds(simulation, records)
    length = len(encode_entry(simulation.make_entry(simulation.hosts[0], size=700)))
    each = sum(simulation.bytes_by_type[number] for number in OF_RECORDS) / records / size
    memberlist = math.ceil(MEMBERLIST_FACTOR * math.log10(size + 1))
    report.add("bus", f"bytes a second of an idle peer, {size} peers", idle, "B/s")
    report.add("bus", f"bytes for each peer and record of {length} bytes, {size} peers", each, "B")
    report.add(
        "bus",
        "the same as copies of the record",
        each / length,
        "×",
        limit=GOSSIPSUB_EXPECTED,
        detail=f"gossipsub {GOSSIPSUB_EXPECTED} by its model, {GOSSIPSUB_MEASURED} measured; memberlist {memberlist}",
    )


def _measure_partition(report: Report, seconds: int) -> None:
    simulation = Simulation(8, seed=40)
    simulation.settle(20)
    simulation.partition(range(4), range(4, 8))
    for second in range(seconds):
        simulation.write(simulation.hosts[second % 4])
        simulation.write(simulation.hosts[4 + second % 4])
        simulation.run(1)
    halves = len(simulation.hosts[0].ids), len(simulation.hosts[7].ids)
    simulation.heal()
    begun = simulation.now
    simulation.counts.clear()
    at = simulation.run(300, until=lambda: int(simulation.now * 50) % 10 == 0 and simulation.agree())
    lost = 2 * seconds - min(len(host.ids) for host in simulation.hosts)
    report.add(
        "bus",
        f"records lost after 2 halves wrote {seconds} s apart",
        lost,
        "",
        limit=0,
        detail=f"{halves[0]} and {halves[1]} written",
    )
    report.add("bus", "seconds until both halves were one", math.inf if at is None else at - begun, "s")


def _measure_deaths(report: Report, seconds: int, trials: int) -> None:
    for loss, limit in ((0.1, 0), (0.3, 1)):
        simulation = Simulation(8, seed=50, weather=Weather(loss=loss))
        simulation.settle(20)
        before = sum(host.node.members.deaths for host in simulation.hosts if host.node)
        simulation.run(seconds)
        deaths = sum(host.node.members.deaths for host in simulation.hosts if host.node) - before
        report.add("bus", f"false deaths in {seconds} s × 8 peers at {loss:.0%} loss", deaths, "", limit=limit)
    times = []
    for trial in range(trials):
        simulation = Simulation(8, seed=60 + trial)
        simulation.settle(10)
        victim = simulation.hosts[trial % 8]
        simulation.crash(victim)
        begun = simulation.now
        at = simulation.run(30, until=_all_see_dead(simulation, victim.key.public))
        times.append(math.inf if at is None else at - begun)
    times.sort()
    report.add(
        "bus",
        "seconds until all see a death, most",
        times[-1],
        "s",
        limit=5,
        detail=f"p50 {times[len(times) // 2]:.1f}, {trials} deaths",
    )


def _all_see_dead(simulation: Simulation, key: bytes) -> Callable[[], bool]:
    return lambda: all(host.node.members.members[key].state == "dead" for host in simulation.up() if host.node)


def _measure_differences(report: Report, sizes: Sequence[int]) -> None:
    for size in sizes:
        places = [_place(number) for number in range(size)]
        whole = PlaceSet((place, place) for place in places)
        for difference in (number for number in (1, 10, 100, 1_000) if number < size):
            other = PlaceSet((place, place) for place in places)
            for number in range(difference):
                other.discard(places[number * (size // difference)])
            messages, cost = _reconcile_cost(whole, other)
            report.add(
                "bus",
                f"bytes to find a difference of {difference:,} in {size:,}",
                cost,
                "B",
                detail=f"{cost / difference:,.0f} each, {messages} messages, {32 * size:,} to tell all places",
            )


def _place(number: int) -> bytes:
    return bytes(8) + number.to_bytes(8, "big") + blake2b(b"%d" % number, digest_size=16).digest()


def _reconcile_cost(one: PlaceSet, other: PlaceSet) -> tuple[int, int]:
    messages = cost = 0
    asked = [whole_range(one)]
    side = other
    while asked:
        cost += len(encode_frame(Ranges("team:shared", tuple(asked))))
        messages += 1
        asked = compare(side, asked, most=1 << 30).answer
        side = one if side is other else other
    return messages, cost
