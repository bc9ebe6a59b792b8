"""Kill workers at random moments while they work jobs off, then prove that no job was lost and none took effect twice.

    python -m bench jobs                          # 2,000 jobs, 200 kills
    python -m bench jobs --jobs 200 --kills 20 --seed 1

Sessions are ended in a bank; a few worker processes distil them and are killed with SIGKILL after some milliseconds,
whatever they are doing, and replaced. One job in a hundred is poison: half of them raise, the others kill their own
worker. At the end every other job is done, with exactly one memory; the poison is dead after exactly five attempts;
nobody was stolen from.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reasoningbank.core.learning import Episode, Lesson, Verdict
from reasoningbank.core.types import Memory, Outcome
from reasoningbank.learn import queue
from reasoningbank.learn.crew import Shift
from reasoningbank.learn.judge import EnvironmentJudge
from reasoningbank.learn.queue import MOST_ATTEMPTS
from reasoningbank.learn.worker import Teacher
from reasoningbank.wiring import ReasoningBank

LIVES_S = (0.05, 0.2, 0.6)
POISON_EVERY = 100
LONGEST_RUN_S = 600.0


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench jobs", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=2_000)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--workers", type=int, default=3, help="processes that work at the same time")
    parser.add_argument("--work", type=float, default=0.002, help="seconds that one job takes")
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args(argv)
    if not hasattr(os, "fork"):
        print("The storm needs os.fork.", file=sys.stderr)
        return 2
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 30)
    folder = Path(tempfile.mkdtemp(prefix="reasoningbank-jobs-"))
    Teaching.takes_s = options.work
    result = {"seed": seed, **storm(folder, random.Random(seed), options.jobs, options.kills, options.workers)}
    print(json.dumps(result))
    if result["violations"]:
        print(f"The bank is kept in {folder}.", file=sys.stderr)
        return 1
    shutil.rmtree(folder)
    return 0


class Teaching:
    """One lesson a session, which says where it is from; notes each run outside the bank; obeys poison."""

    name = "storm"
    takes_s = 0.0

    def __init__(self, log: int) -> None:
        self._log = log

    def distill(self, episode: Episode, verdict: Verdict) -> Sequence[Lesson]:
        os.write(self._log, f"{episode.source}\n".encode())
        if episode.task == "poison: raise":
            raise ValueError("poison")
        if episode.task == "poison: kill":
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(self.takes_s)
        lesson = f"learned from {episode.source}"
        return [Lesson(title="storm", description="always", content=lesson, outcome=Outcome.SUCCESS)]

    def contrast(self, episodes: Any) -> Sequence[Lesson]:
        return []

    def settle(self, reader: Any, namespace: str, lesson: Lesson) -> Lesson:
        return lesson

    def merge(self, known: Memory, lesson: Lesson) -> Lesson | None:
        return None


def opened(folder: Path) -> ReasoningBank:
    return ReasoningBank.open(folder / "bank.db", embedder="hash", dimension=64, namespace="storm")


def storm(folder: Path, rng: random.Random, jobs: int, kills: int, workers: int) -> dict[str, Any]:
    began = time.monotonic()
    _apart(_fill, folder, jobs)
    alive: dict[int, float] = {}
    done = self_killed = 0
    problems: list[str] = []
    while (ended := _apart(_all_ended, folder)) is not True:
        if isinstance(ended, dict):
            problems += ended["violations"]
        if problems or time.monotonic() - began > LONGEST_RUN_S:
            break
        while len(alive) < workers:
            life_s = rng.random() * rng.choice(LIVES_S) + 0.05 if done < kills else 3600.0
            alive[_worker(folder, rng.getrandbits(32))] = time.monotonic() + life_s
        gone, killed = _reap(alive)
        self_killed += gone
        done += killed
        time.sleep(0.02)
    for pid in alive:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    found = _apart(_violations, folder, jobs, done + self_killed)
    found["violations"] = problems + found["violations"]
    return {
        "jobs": jobs,
        "kills": done,
        "killed_by_their_job": self_killed,
        **found,
        "seconds": round(time.monotonic() - began, 1),
    }


def _reap(alive: dict[int, float]) -> tuple[int, int]:
    ended = killed = 0
    for pid, until in list(alive.items()):
        if os.waitpid(pid, os.WNOHANG)[0]:
            # A worker that found nothing to do, or that a poisoned job killed.
            ended += 1
            del alive[pid]
        elif time.monotonic() > until:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            killed += 1
            del alive[pid]
    return ended, killed


def _fill(folder: Path, jobs: int) -> int:
    with opened(folder) as bank:
        for number in range(jobs):
            poison = number % POISON_EVERY == POISON_EVERY // 2
            kind = "raise" if number // POISON_EVERY % 2 else "kill"
            trajectory = bank.start_session(f"poison: {kind}" if poison else f"task {number}")
            bank.end_session(trajectory.id, "success")
    return jobs


def _worker(folder: Path, seed: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    log = os.open(folder / "runs", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    # What failed may be tried again at once: the storm tests what happens, not how long it waits.
    queue.FIRST_WAIT_S = 0.01
    try:
        bank = opened(folder)
        teacher = Teacher(judge=EnvironmentJudge(), distiller=Teaching(log))
        random.seed(seed)
        bank.distill(Shift(workers=1, batch=10, threads=1, watch=True), teachers=[teacher])
    except BaseException as error:  # noqa: BLE001 - a child of fork must end here, and what it met is the finding
        os.write(log, f"error {type(error).__name__}: {error}".replace("\n", " ").encode() + b"\n")
    os._exit(1)


def _all_ended(folder: Path) -> bool:
    with opened(folder) as bank:
        tally = bank.jobs.tally()
    return not tally.get("waiting") and not tally.get("running")


def _violations(folder: Path, jobs: int, kills: int) -> dict[str, Any]:
    lines = (folder / "runs").read_text("utf-8").splitlines()
    runs = Counter(line for line in lines if line.startswith("trj_"))
    problems = [f"a worker met {line}" for line in lines if line.startswith("error ")]
    with opened(folder) as bank:
        items = bank.jobs.list(limit=1 << 30)
        store = bank.desk.store
        with store.read(bank.tenant) as reader:
            memories = reader.select(Memory, {})
        tasks = {t.id: t.task for t in bank.sessions(limit=1 << 30)}
        problems += [f"verify: {damage}" for damage in bank.verify()]
    taught = Counter(memory.source for memory in memories)
    innocent_dead = 0
    for item in items:
        poisoned = tasks[item.job.subject].startswith("poison")
        effects, tried = taught.get(item.job.subject, 0), runs.get(item.job.subject, 0)
        if poisoned:
            if item.standing != "dead" or item.job.attempts != MOST_ATTEMPTS or effects:
                problems.append(f"{item.job.id} is poison and {item.standing} after {item.job.attempts} attempts")
        elif item.standing == "dead":
            # Killed five times by chance: given up, visible and replayable, but not done.
            innocent_dead += 1
        elif item.standing != "done" or effects != 1 or tried < 1:
            problems.append(f"{item.job.id} is {item.standing} with {effects} memories after {tried} runs")
    if len(items) != jobs:
        problems.append(f"{jobs} jobs were accepted, {len(items)} are there")
    good = sum(number for source, number in runs.items() if not tasks[source].startswith("poison"))
    if good > jobs + kills:
        problems.append(f"{good} runs for {jobs} jobs and {kills} deaths of workers")
    return {"runs": sum(runs.values()), "innocent_dead": innocent_dead, "violations": problems[:20]}


def _apart(deed: Any, *arguments: Any) -> Any:
    """In a process of its own, so that the one that forks workers never has the bank open."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        try:
            result = deed(*arguments)
        except BaseException as error:  # noqa: BLE001 - a child of fork must end here, and what it met is the finding
            result = {"violations": [f"{deed.__name__} met {type(error).__name__}: {error}"]}
        os.write(writing, json.dumps(result).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(pid, 0)
    return json.loads(answer) if answer else {"violations": [f"{deed.__name__} died"]}


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
