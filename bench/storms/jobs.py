"""Kill workers while they distil, some of them by poisoned jobs, and prove that no job was lost or took effect twice.

Sessions are ended in a bank; a few worker processes distil them and are killed with SIGKILL after some milliseconds,
whatever they are doing, and replaced. Some jobs are poison: half of them raise, the others kill their own worker. At
the end every other job is done, with exactly one memory; what raises is dead after exactly five attempts, what kills
its workers when it has lost enough of them; nobody was stolen from.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.storms._apart import Died, apart
from bench.storms._teaching import Teaching, teacher
from bench.storms._weather import Promise, Weather
from reasoningbank.core.learning import Episode, Lesson, Verdict
from reasoningbank.core.types import Memory
from reasoningbank.learn import queue
from reasoningbank.learn.queue import MOST_ATTEMPTS
from reasoningbank.learn.worker_pool import Shift
from reasoningbank.wiring import ReasoningBank

SLICE = 1
"""Rounds in the test command. A round is a bank with jobs, worked off to the end."""
JOBS = 40
KILLS = 6
"""In a round; then the workers live on and finish."""
WORKERS = 3
WORK_S = 0.03
LIVES_S = (0.05, 0.2, 0.6)
POISON_EVERY = 20
LONGEST_ROUND_S = 300.0


class Poisonable(Teaching):
    """Notes each run outside the bank, and obeys poison."""

    def __init__(self, log: int) -> None:
        self._log = log

    def distill(self, episode: Episode, verdict: Verdict) -> Sequence[Lesson]:
        os.write(self._log, f"{episode.source}\n".encode())
        if episode.task == "poison: raise":
            raise ValueError("poison")
        if episode.task == "poison: kill":
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(WORK_S)
        return super().distill(episode, verdict)


def storm(weather: Weather) -> list[Promise]:
    promise = Promise("killed workers lose no job and double no effect; poison is given up in the end")
    kills = innocent_dead = 0
    for number in weather.rounds():
        folder = weather.folder / str(number)
        folder.mkdir()
        try:
            found = _round(folder, weather.chance)
        except Died as death:
            promise.violated(f"round {number}: {death}")
            break
        promise.held(found["jobs"])
        kills += found["kills"]
        innocent_dead += found["innocent_dead"]
        for how in found["violations"]:
            promise.violated(f"round {number}: {how}")
        if promise.broken:
            break
    promise.measured = f"jobs; {kills:,} workers killed, {innocent_dead} innocent jobs given up"
    return [promise]


def _open(folder: Path) -> ReasoningBank:
    return ReasoningBank.open(folder / "bank.db", embedder="hash", dimension=64, namespace="storm", config="none")


def _round(folder: Path, chance: random.Random) -> dict[str, Any]:
    began = time.monotonic()
    apart(_fill, folder)
    alive: dict[int, float] = {}
    done = died = 0
    while not apart(_all_ended, folder) and time.monotonic() - began < LONGEST_ROUND_S:
        while len(alive) < WORKERS:
            life_s = chance.random() * chance.choice(LIVES_S) + 0.05 if done < KILLS else 3600.0
            alive[_worker(folder, chance.getrandbits(32))] = time.monotonic() + life_s
        gone, killed = _reap(alive)
        died += gone
        done += killed
        time.sleep(0.02)
    for pid in alive:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return {"jobs": JOBS, "kills": done + died, **apart(_findings, folder, done + died)}


def _reap(alive: dict[int, float]) -> tuple[int, int]:
    ended = killed = 0
    for pid, until in list(alive.items()):
        if os.waitpid(pid, os.WNOHANG)[0]:
            # A worker that a poisoned job killed.
            ended += 1
            del alive[pid]
        elif time.monotonic() > until:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            killed += 1
            del alive[pid]
    return ended, killed


def _fill(folder: Path) -> None:
    with _open(folder) as bank:
        for number in range(JOBS):
            poison = number % POISON_EVERY == POISON_EVERY // 2
            kind = "raise" if number // POISON_EVERY % 2 else "kill"
            session = bank.start_session(f"poison: {kind}" if poison else f"task {number}")
            bank.end_session(session.id, "success")


def _worker(folder: Path, seed: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    log = os.open(folder / "runs", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    # What failed may be tried again at once: the storm tests what happens, not how long it waits.
    queue.FIRST_WAIT_S = 0.01
    try:
        bank = _open(folder)
        random.seed(seed)
        shift = Shift(workers=1, batch=10, threads=1, watch=True)
        bank.distill(shift, teachers=[teacher(Poisonable(log))])
    except BaseException as error:  # noqa: BLE001 - a child of fork must end here, and what it met is the finding
        os.write(log, f"error {type(error).__name__}: {error}".replace("\n", " ").encode() + b"\n")
    os._exit(1)


def _all_ended(folder: Path) -> bool:
    with _open(folder) as bank:
        tally = bank.jobs.tally()
    return not tally.get("waiting") and not tally.get("running")


def _findings(folder: Path, deaths: int) -> dict[str, Any]:
    lines = (folder / "runs").read_text("utf-8").splitlines()
    runs = Counter(line for line in lines if line.startswith("trj_"))
    problems = [f"a worker met {line}" for line in lines if line.startswith("error ")]
    with _open(folder) as bank:
        items = bank.jobs.list(limit=1 << 30)
        with bank.context.store.read(bank.tenant) as reader:
            taught = Counter(memory.source for memory in reader.select(Memory, {}))
        tasks = {session.id: session.task for session in bank.sessions(limit=1 << 30)}
        problems += [f"verify: {damage}" for damage in bank.verify()]
    innocent_dead = 0
    for item in items:
        effects, tried = taught.get(item.job.subject, 0), runs.get(item.job.subject, 0)
        if tasks[item.job.subject].startswith("poison"):
            attempts = MOST_ATTEMPTS if tasks[item.job.subject].endswith("raise") else item.job.attempts
            if item.standing != "dead" or item.job.attempts != attempts or effects:
                problems.append(f"{item.job.id} is poison and {item.standing} after {item.job.attempts} attempts")
        elif item.standing == "dead":
            # It lost too many workers by chance: given up, visible and replayable, but not done.
            innocent_dead += 1
        elif item.standing != "done" or effects != 1 or tried < 1:
            problems.append(f"{item.job.id} is {item.standing} with {effects} memories after {tried} runs")
    if len(items) != JOBS:
        problems.append(f"{JOBS} jobs were accepted, {len(items)} are there")
    good = sum(number for source, number in runs.items() if not tasks[source].startswith("poison"))
    if good > JOBS + deaths:
        problems.append(f"{good} runs for {JOBS} jobs and {deaths} deaths of workers")
    return {"innocent_dead": innocent_dead, "violations": problems[:20]}
