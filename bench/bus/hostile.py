"""Hostile peers: 100,000 frames of every bad kind at one node, honest work beside them, and networks with villains."""

from __future__ import annotations

import math
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable

from bench.bus.attacks import KINDS, Scene
from bench.bus.simulator import Simulation
from bench.bus.villains import make_liar, make_spammer, make_withholder
from bench.report import Report
from reasoningbank_bus.wire.entry import encode_entry
from reasoningbank_bus.wire.frame import MEMORIES, EntryBatch, encode_frame

FRAMES = 100_000
GROWTH_MIB = 64
HONEST_BATCHES, BATCH = 60, 100


def measure_hostile(report: Report, small: bool) -> None:
    _measure_frames(report, FRAMES // 20 if small else FRAMES)
    _measure_throughput(report, HONEST_BATCHES // 6 if small else HONEST_BATCHES)
    _measure_villains(report, 1 if small else 10)


def _measure_frames(report: Report, frames: int) -> None:
    """Nobody is shut out here, so that each frame is looked at for itself; the next part has the scores on."""
    scene = Scene(seed=1, shut_out_below=-math.inf)
    scene.honest_work(3, 50)
    before = scene.state()
    refused: Counter[str] = Counter()
    unanswered: Counter[str] = Counter()
    changed = 0
    took = slowest = 0.0
    for number in range(frames):
        attack = KINDS[number % len(KINDS)]
        codes, seconds = scene.send(attack)
        took, slowest = took + seconds, max(slowest, seconds)
        refused.update(codes)
        if not codes:
            unanswered[attack.__name__] += 1
        if number % 997 == 0 and scene.state() != before:
            changed += 1
    most = _memory_of(scene, frames // 10)
    changed += scene.state() != before
    told = ", ".join(f"{code} {count:,}" for code, count in refused.most_common())
    report.add("bus", f"{frames:,} hostile frames: times that they changed anything", changed, "", limit=0)
    told = ", ".join(f"{name} {count:,}" for name, count in unanswered.items()) or told
    report.add("bus", "of them without a typed refusal", unanswered.total(), "", limit=0, detail=told)
    report.add("bus", "memory that another tenth of them took at most", most / 2**20, "MiB", limit=GROWTH_MIB)
    report.add("bus", "time for one, on average", 1e6 * took / frames, "µs", detail=f"slowest {1e3 * slowest:.0f} ms")


def _memory_of(scene: Scene, frames: int) -> int:
    tracemalloc.start()
    begun, _ = tracemalloc.get_traced_memory()
    for number in range(frames):
        scene.send(KINDS[number % len(KINDS)])
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most - begun


def _measure_throughput(report: Report, batches: int) -> None:
    """Entries of an honest peer a second, alone and while another sends ten hostile frames to each of its batches."""
    alone, attacked, seen = math.inf, math.inf, 0
    for turn in range(3):
        alone = min(alone, _honest_seconds(Scene(seed=2 + turn), batches, attack=False)[0])
        seconds, seen = _honest_seconds(Scene(seed=2 + turn), batches, attack=True)
        attacked = min(attacked, seconds)
    report.add("bus", "honest entries a second", batches * BATCH / alone, "1/s")
    report.add(
        "bus",
        "the same under attack, ten hostile frames to each batch",
        alone / attacked,
        "of it",
        limit=0.8,
        at_least=True,
    )
    report.add("bus", "hostile frames until a peer was shut out, most", seen, "", limit=60)


def _honest_seconds(scene: Scene, batches: int, *, attack: bool) -> tuple[float, int]:
    scene.honest_work(1, 1)
    frames = [encode_frame(EntryBatch(tuple(map(encode_entry, scene.entries(BATCH))), 1 + n)) for n in range(batches)]
    hostile = [scene.make(KINDS[n % len(KINDS)]) for n in range(10 * batches)] if attack else []
    begun = time.process_time()
    for number, frame in enumerate(frames):
        for channel, bad in hostile[10 * number : 10 * number + 10]:
            scene.deliver(scene.insider, channel, bad)
        scene.deliver(scene.honest, MEMORIES, frame)
    took = time.process_time() - begun
    assert len(scene.ids()) >= batches * BATCH
    return took, scene.frames_until_shut_out


def _measure_villains(report: Report, trials: int) -> None:
    villainies: dict[str, Callable] = {"lie": make_liar, "spam": make_spammer, "withhold": make_withholder}
    for name, make in villainies.items():
        times = []
        for trial in range(trials):
            simulation = Simulation(8, seed=70 + trial)
            simulation.settle(5)
            for number in (2, 6):
                make(simulation, simulation.hosts[number])
            honest = [host for host in simulation.hosts if host.number not in (2, 6)]
            for host in honest:
                simulation.write(host, 5)
            begun = simulation.now
            wanted = 5 * len(honest)
            at = simulation.run(60, until=lambda hosts=honest, wanted=wanted: all(len(h.ids) == wanted for h in hosts))
            times.append(math.inf if at is None else at - begun)
        report.add(
            "bus",
            f"seconds until 6 honest peers agree while 2 others {name}",
            max(times),
            "s",
            limit=10,
        )
