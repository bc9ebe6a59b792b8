"""What storing in PostgreSQL costs beside a bare psycopg INSERT and COMMIT of the same bytes; threads, processes."""

from __future__ import annotations

import json
import multiprocessing
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing

import numpy as np
import psycopg

from bench.banks import NAMESPACE
from bench.engines.place import Place
from bench.report import Report
from bench.timing import in_turns
from reasoningbank import ReasoningBank
from reasoningbank.location import parse_location
from reasoningbank.wiring.embedders import HASH_DIMENSION
from reasoningbank_postgres.store import PostgresStore

ROUNDS, BLOCK, WARM_UP = 300, 20, 40
THREADS, STORES_PER_THREAD = 16, 60
PROCESSES, THREADS_EACH, STORES_EACH = 4, 4, 40
_BARE_COLUMNS = "num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text, vector bytea"
_AROUND = 330
"""Bytes of a memory's row and its line in the feed besides its texts."""


def measure_store(report: Report, place: Place) -> None:
    total = ROUNDS + WARM_UP
    drafts = list(place.corpus.drafts(total))
    vectors = np.abs(np.random.default_rng(3).standard_normal((total, HASH_DIMENSION))).astype(np.float32)
    bodies = [
        json.dumps([draft[name] for name in ("title", "description", "content")]) + "x" * _AROUND for draft in drafts
    ]
    with (
        psycopg.connect(place.url) as bare,
        ReasoningBank.open(place.schema("one"), embedder="hash", namespace=NAMESPACE) as bank,
    ):
        bare.execute(f"CREATE TABLE bare ({_BARE_COLUMNS})")
        bare.commit()

        def insert(number: int) -> None:
            values = (bodies[number], vectors[number].tobytes())
            bare.execute("INSERT INTO bare (body, vector) VALUES (%s, %s)", values)
            bare.commit()

        times = in_turns(
            {"bare": insert, "ours": lambda number: bank.record(**drafts[number], vector=vectors[number])},
            ROUNDS,
            BLOCK,
            WARM_UP,
        )
    bare_times, ours = times["bare"], times["ours"]
    report.add("engines", "bare psycopg INSERT and COMMIT of the same bytes, p50", bare_times.p50_ms, "ms")
    detail = f"p95 {ours.p95_ms:.2f} ms, own thread {ours.running_ms:.2f} ms"
    report.add("engines", "durable store in PostgreSQL, vector given, p50", ours.p50_ms, "ms", detail=detail)
    report.add("engines", "store / bare INSERT and COMMIT", ours.p50_ms / bare_times.p50_ms, "×", limit=2.0)


def measure_threads(report: Report, place: Place) -> None:
    """16 threads beside one; and the same of bare psycopg, a connection for each thread, in the same run: what this
    machine and its disk let anybody gain.
    """
    drafts = list(place.corpus.drafts(THREADS * STORES_PER_THREAD))
    vector = np.abs(np.random.default_rng(4).standard_normal(HASH_DIMENSION)).astype(np.float32)
    rates: dict[tuple[str, int], list[float]] = {(who, n): [] for n in (1, THREADS) for who in ("bare", "ours")}
    commits, running_ms = list[float](), list[float]()
    with (
        ExitStack() as stack,
        psycopg.connect(place.url, autocommit=True) as watch,
        ReasoningBank.open(place.schema("threads"), embedder="hash", namespace=NAMESPACE) as bank,
    ):
        watch.execute(f"CREATE TABLE bare_threads ({_BARE_COLUMNS})")
        bare = [stack.enter_context(psycopg.connect(place.url)) for _ in range(THREADS)]

        def insert(thread: int, number: int) -> None:
            body = json.dumps([drafts[number][name] for name in ("title", "description", "content")]) + "x" * _AROUND
            bare[thread].execute("INSERT INTO bare_threads (body, vector) VALUES (%s, %s)", (body, vector.tobytes()))
            bare[thread].commit()

        calls = {"bare": insert, "ours": lambda _, number: bank.record(**drafts[number], vector=vector)}
        for _ in range(3):
            for (who, count), found in rates.items():
                before, ran = _transactions(watch), time.process_time()
                found.append(_rate(calls[who], count))
                if (who, count) == ("ours", THREADS):
                    commits.append(_transactions(watch) - before)
                    running_ms.append(1e3 * (time.process_time() - ran) / (THREADS * STORES_PER_THREAD))
    bare_one, ours_one, bare_many, ours_many = (float(np.median(found)) for found in rates.values())
    each = THREADS * STORES_PER_THREAD / float(np.median(commits))
    report.add("engines", "bare psycopg, one thread", bare_one, "/s")
    report.add("engines", f"bare psycopg, {THREADS} threads, a connection each", bare_many, "/s")
    report.add("engines", f"bare {THREADS} threads / bare one", bare_many / bare_one, "×")
    report.add("engines", "one thread storing", ours_one, "/s")
    own_ms = float(np.median(running_ms))
    detail = f"{each:.1f} memories a commit; {own_ms:.2f} ms of this process each, so {1e3 / own_ms:,.0f}/s at most"
    report.add("engines", f"{THREADS} threads storing at once", ours_many, "/s", detail=detail)
    report.add("engines", f"{THREADS} threads / one", ours_many / ours_one, "×", limit=5.0, at_least=True)


def _transactions(connection: psycopg.Connection) -> int:
    """The number of the last one that wrote something."""
    row = connection.execute("SELECT pg_current_xact_id()::text::bigint").fetchone()
    assert row is not None
    return int(row[0])


def _rate(call: Callable[[int, int], object], count: int) -> float:
    def work(thread: int) -> None:
        for number in range(thread * STORES_PER_THREAD, (thread + 1) * STORES_PER_THREAD):
            call(thread, number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return count * STORES_PER_THREAD / (time.perf_counter() - began)


def _store_many(url: str, number: int) -> None:
    with ReasoningBank.open(url, embedder="hash", namespace=NAMESPACE) as bank:

        def work(thread: int) -> None:
            for one in range(STORES_EACH):
                bank.store(f"k-{number}-{thread}-{one}", f"value {number} {thread} {one}")

        threads = [threading.Thread(target=work, args=(thread,)) for thread in range(THREADS_EACH)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def measure_processes(report: Report, place: Place) -> None:
    there = place.schema("processes")
    ReasoningBank.open(there, embedder="hash").close()
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_store_many, args=(there, number)) for number in range(PROCESSES)]
    began = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    took = time.perf_counter() - began
    expected = PROCESSES * THREADS_EACH * STORES_EACH
    with closing(PostgresStore(parse_location(there, "/nowhere"))) as store:
        numbers = [change.seq for change in store.changes(0, 10 * expected) if change.kind == "memory"]
        damage = store.verify()
    detail = f"{took:.1f} s with the start of the processes"
    report.add("engines", "4 processes × 4 threads: memories lost", expected - len(numbers), "", limit=0, detail=detail)
    report.add("engines", "feed numbers repeated", len(numbers) - len(set(numbers)), "", limit=0)
    report.add("engines", "damage that verify finds", len(damage), "", limit=0)
