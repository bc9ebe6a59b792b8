"""What a durable store costs beside a bare SQLite commit of the same bytes, and how fast many go in."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from queue import SimpleQueue

import apsw
import numpy as np

from bench.banks import NAMESPACE, workplace
from bench.bare_store import PAGES_COUNTED, BankTables, BareTable, pages_in_a_commit
from bench.corpus import Corpus
from bench.report import Report
from bench.timing import in_turns
from reasoningbank import ReasoningBank
from reasoningbank.wiring.embedders import HASH_DIMENSION

PREFILLED = 10_000
ROUNDS, BLOCK, WARM_UP = 600, 30, 60
THREADS, STORES_PER_THREAD = 16, 150
SLOWER_BY_S = (0.001, 0.005)
BULK = 20_000


def measure(report: Report, corpus: Corpus) -> None:
    with workplace() as folder:
        _single(report, corpus, folder)
    with workplace() as folder:
        _threads(report, corpus, folder)
    with workplace() as folder:
        _bulk(report, corpus, folder)


# ---------------------------------------------------------------- one at a time


def _single(report: Report, corpus: Corpus, folder: Path) -> None:
    total = ROUNDS + WARM_UP
    drafts = list(corpus.drafts(total, first=PREFILLED))
    vectors = np.abs(np.random.default_rng(3).standard_normal((total, HASH_DIMENSION))).astype(np.float32)
    blobs = [vector.tobytes() for vector in vectors]
    with ReasoningBank.open(folder / "bank.db", embedder="hash", namespace=NAMESPACE) as bank:
        bank.record_many(corpus.drafts(PREFILLED))
        bodies = _same_bytes(folder / "bank.db", drafts)
        bare = BareTable(folder / "bare.db")
        bare.fill([(bodies[number % total], bytes(0)) for number in range(PREFILLED)])
        more = corpus.drafts(PAGES_COUNTED, first=PREFILLED + total)
        tables = BankTables(folder / "tables.db", [*corpus.drafts(PREFILLED), *drafts, *more])
        tables.fill(PREFILLED)
        times = in_turns(
            {
                "bare SQLite commit of the same bytes": lambda i: bare.store(bodies[i], blobs[i]),
                "the bank's tables without the bank": lambda i: tables.store(PREFILLED + i, blobs[i]),
                "durable store, vector given": lambda i: bank.record(**drafts[i], vector=vectors[i]),
            },
            ROUNDS,
            BLOCK,
            WARM_UP,
        )
        bare_pages = pages_in_a_commit(bare.connection, lambda i: bare.store(bodies[i], blobs[i]))
        pages = pages_in_a_commit(tables.connection, lambda i: tables.store(PREFILLED + total + i, blobs[i]))
        bare.close()
        tables.close()
    for name, taken in times.items():
        detail = f"p95 {taken.p95_ms:.3f} ms, mean {taken.mean_ms:.3f} ms, own thread {taken.running_ms:.3f} ms"
        report.add("store", f"{name}, p50", taken.p50_ms, "ms", detail=detail)
    ours, floor = times["durable store, vector given"], times["bare SQLite commit of the same bytes"]
    detail = f"means {ours.mean_ms / floor.mean_ms:.2f} ×, own thread {ours.running_ms / floor.running_ms:.2f} ×"
    alone = times["the bank's tables without the bank"]
    floor_detail = f"no line of our Python in it; {pages:.1f} pages a commit, bare {bare_pages:.1f}"
    report.add("store", "the bank's tables / bare commit", alone.p50_ms / floor.p50_ms, "×", detail=floor_detail)
    report.add("store", "store / bare commit", ours.p50_ms / floor.p50_ms, "×", limit=1.8, detail=detail)


def _same_bytes(path: Path, drafts: list[dict[str, object]]) -> list[str]:
    """Texts as long as everything the bank writes for a memory except the vector: the row and its line in the feed."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    lengths: dict[str, float] = {}
    for table in ("memories", "feed"):
        names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        texts = ", ".join(f"sum(length(cast({name} AS BLOB)))" for name in names)
        sums = connection.execute(f"SELECT {texts}, count(*) FROM {table}").fetchone()
        lengths[table] = sum(value or 0 for value in sums[:-1]) / sums[-1]
    text_fields = ("title", "description", "content")
    stored = connection.execute(
        "SELECT avg(length(title) + length(description) + length(content)) FROM memories"
    ).fetchone()[0]
    connection.close()
    around = int(sum(lengths.values()) - stored)
    return [json.dumps([draft[name] for name in text_fields]) + "x" * max(0, around - 12) for draft in drafts]


# ---------------------------------------------------------------- many at once


def _threads(report: Report, corpus: Corpus, folder: Path) -> None:
    drafts = list(corpus.drafts(THREADS * STORES_PER_THREAD))
    vector = np.abs(np.random.default_rng(4).standard_normal(HASH_DIMENSION)).astype(np.float32)
    rates: dict[int, list[float]] = {1: [], THREADS: []}
    with ReasoningBank.open(folder / "bank.db", embedder="hash", namespace=NAMESPACE) as bank:
        bank.record_many(corpus.drafts(PREFILLED))
        for _ in range(5):
            for count, found in rates.items():
                found.append(_rate(bank, drafts, vector, count))
        slower = {wait: _ratio_when_syncs_take_longer(bank, drafts, vector, wait) for wait in SLOWER_BY_S}
    one, many = (float(np.median(rates[count])) for count in (1, THREADS))
    report.add("store", "one thread storing", one, "/s")
    report.add("store", f"{THREADS} threads storing at once", many, "/s")
    report.add("store", f"{THREADS} threads / one", many / one, "×", limit=4.0, at_least=True)
    bare_one, bare_many = _bare_rates(corpus, folder)
    detail = f"{bare_one:,.0f} and {bare_many:,.0f} /s: one thread commits rows that lie ready in a queue"
    report.add(
        "store",
        f"{THREADS} threads / one, the bank's tables without the bank",
        bare_many / bare_one,
        "×",
        detail=detail,
    )
    # The gain is what a commit shared saves, so it depends on the disk: this one may be faster than most.
    for wait, ratio in slower.items():
        report.add("store", f"{THREADS} threads / one, were each sync {1e3 * wait:g} ms longer", ratio, "×")


def _bare_rates(corpus: Corpus, folder: Path) -> tuple[float, float]:
    """Stores a second of one thread and of many into the bank's tables: what sharing commits gives without the bank's
    own work, which is done under the interpreter's lock, one thread at a time.
    """
    count = THREADS * STORES_PER_THREAD
    tables = BankTables(folder / "tables.db", [*corpus.drafts(PREFILLED + count)])
    tables.fill(PREFILLED // 2)
    vector = bytes(4 * HASH_DIMENSION)
    came: SimpleQueue[tuple[int, threading.Lock] | None] = SimpleQueue()

    def commit() -> None:
        while (first := came.get()) is not None:
            waiting = [first, *(came.get() for _ in range(came.qsize()))]
            tables.store_all([(number, vector) for number, _ in waiting])
            for _, gate in waiting:
                gate.release()

    def work(first: int) -> None:
        gate = threading.Lock()
        gate.acquire()
        for number in range(first, first + STORES_PER_THREAD):
            came.put((number, gate))
            gate.acquire()

    began = time.perf_counter()
    for number in range(PREFILLED // 2, PREFILLED // 2 + 4 * STORES_PER_THREAD):
        tables.store(number, vector)
    one = 4 * STORES_PER_THREAD / (time.perf_counter() - began)
    committer = threading.Thread(target=commit)
    workers = [threading.Thread(target=work, args=(PREFILLED + n * STORES_PER_THREAD,)) for n in range(THREADS)]
    began = time.perf_counter()
    for thread in (committer, *workers):
        thread.start()
    for worker in workers:
        worker.join()
    many = count / (time.perf_counter() - began)
    came.put(None)
    committer.join()
    tables.close()
    return one, many


def _ratio_when_syncs_take_longer(
    bank: ReasoningBank, drafts: list[dict[str, object]], vector: np.ndarray, wait_s: float
) -> float:
    """With a wait in each commit in which other threads may run, as they may during a sync."""
    connection = bank.context.store.engine._connections.writer  # noqa: SLF001 - nothing else can make a real disk slower

    def wait() -> bool:
        time.sleep(wait_s)
        return False  # the commit goes on

    connection.set_commit_hook(wait)
    try:
        return _rate(bank, drafts, vector, THREADS) / _rate(bank, drafts, vector, 1)
    finally:
        connection.set_commit_hook(None)


def _rate(bank: ReasoningBank, drafts: list[dict[str, object]], vector: np.ndarray, threads: int) -> float:
    each = STORES_PER_THREAD if threads > 1 else 4 * STORES_PER_THREAD
    start = threading.Barrier(threads + 1)

    def work(first: int) -> None:
        start.wait()
        for draft in drafts[first : first + each]:
            bank.record(**draft, vector=vector)

    workers = [threading.Thread(target=work, args=(number * each,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    start.wait()
    began = time.perf_counter()
    for worker in workers:
        worker.join()
    return threads * each / (time.perf_counter() - began)


# ---------------------------------------------------------------- many in a row


def _bulk(report: Report, corpus: Corpus, folder: Path) -> None:
    drafts = list(corpus.drafts(BULK))
    lines = folder / "drafts.jsonl"
    lines.write_text("".join(json.dumps(draft) + "\n" for draft in drafts), "utf-8")
    ways = ("record_many of", "restore of", "import from others of")
    stored: dict[str, list[float]] = {way: [] for way in ways}
    searchable: dict[str, list[float]] = {way: [] for way in ways}
    running: dict[str, list[float]] = {way: [] for way in ways}
    for run in range(3):
        for number, way in enumerate(ways):
            with ReasoningBank.open(folder / f"bulk-{number}-{run}.db", embedder="hash", namespace=NAMESPACE) as bank:
                began, ran = time.perf_counter(), time.process_time()
                if way == "record_many of":
                    bank.record_many(drafts)
                else:
                    # An export of one's own is believed; what comes from others is examined line by line.
                    assert bank.import_from(lines, restore=way == "restore of").added.total() == BULK
                stored[way].append(BULK / (time.perf_counter() - began))
                running[way].append(BULK / (time.process_time() - ran))
                bank.catch_up()
                searchable[way].append(BULK / (time.perf_counter() - began))
    for way in ways:
        # On a machine that others use too, what the processor alone would allow says more than the clock.
        detail = f"{np.median(running[way]):,.0f} /s by processor time"
        what = f"{way} {BULK:,}, durable"
        report.add("store", what, np.median(stored[way]), "/s", limit=5000, at_least=True, detail=detail)
        report.add(
            "store", f"{what} and searchable (hash)", np.median(searchable[way]), "/s", limit=5000, at_least=True
        )
