"""How far each engine reaches: bytes and writes measured here, and what follows from them at ten million and a billion.

`python -m bench reach [--memories N] [--save]`. Starts a PostgreSQL of its own, with every flush to disk, and prints
the part of docs/when-one-file-is-not-enough.md that follows from the figures; `--save` writes it there, and the figures
to `results/reach.json`. Latencies at scale are those of `results/` (`speed`): a million memories take minutes to build.
"""

from __future__ import annotations

import argparse
import json
import os
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from bench.banks import NAMESPACE, workplace
from bench.corpus import Corpus
from bench.own_postgres import OwnPostgres, own_postgres
from bench.reach_page import KEPT, PAGE, page_part, write_page
from bench.report import machine
from reasoningbank import ReasoningBank

DIMENSIONS = 384
"""Of the embedder `local`."""
THREADS, WRITES_EACH = 16, 40
VECTORS = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Of one memory, in bytes; of writes, a second."""

    sqlite_bytes: float
    postgres_bytes: float
    wal_bytes: float
    embedded_bytes: float
    hnsw_bytes: float
    words_bytes: float
    """In pgvector's tables beside the vectors."""
    writes_one: float
    writes_many: float
    fold: float
    restore: float
    """Rows of a backup read back into PostgreSQL a second, checked."""
    connections: int


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench reach", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--memories", type=int, default=20_000, help="in the measured bank (20000)")
    parser.add_argument("--save", action="store_true", help=f"keep the figures in {KEPT.name}, and write {PAGE.name}")
    parser.add_argument("--page", action="store_true", help=f"only write {PAGE.name} again, from {KEPT.name}")
    asked = parser.parse_args(arguments)
    if asked.page:
        write_page(json.loads(KEPT.read_text("utf-8")))
        return 0
    load = os.getloadavg()[0]
    found = asdict(_measure(asked.memories))
    figures = {name: float(f"{value:.4g}") if isinstance(value, float) else value for name, value in found.items()}
    figures |= {"memories": asked.memories, "cores": os.cpu_count(), "load": round(load, 1), "machine": machine()}
    print(page_part(figures))
    if asked.save:
        KEPT.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")
        write_page(figures)
    return 0


# ---------------------------------------------------------------- measured


def _measure(count: int) -> Measured:
    corpus = Corpus()
    with own_postgres() as postgres, workplace() as folder:
        url = postgres.url()
        with ReasoningBank.open(folder / "bank.db", embedder="hash", namespace=NAMESPACE) as bank:
            bank.record_many(corpus.drafts(count))
        with ReasoningBank.open(url, embedder="hash", namespace=NAMESPACE, config="none") as bank:
            before = _wal_bytes(postgres)
            bank.record_many(corpus.drafts(count))
            wal = _wal_bytes(postgres) - before
            began = time.perf_counter()
            while not bank.catch_up():
                pass
            fold = count / (time.perf_counter() - began)
            index = bank.context.store.info.location.folder("index")
            embedded = _folder_bytes(index) if index is not None else 0
            tables = _table_bytes(postgres)
            rates = [_rate(bank, corpus, threads) for threads in (1, THREADS)]
            connections = _connections(postgres)
            copy = folder / "copy.db"
            bank.backup(copy)
        with ReasoningBank.open(copy, namespace=NAMESPACE) as kept:
            rows = kept.context.store.head()
        began = time.perf_counter()
        _recover(postgres, copy)
        restore = rows / (time.perf_counter() - began)
        return Measured(
            sqlite_bytes=(folder / "bank.db").stat().st_size / count,
            postgres_bytes=tables / count,
            wal_bytes=wal / count,
            embedded_bytes=embedded / count,
            hnsw_bytes=_hnsw_bytes(postgres),
            words_bytes=_words_bytes(postgres, corpus, count // 4),
            writes_one=rates[0],
            writes_many=rates[1],
            fold=fold,
            restore=restore,
            connections=connections,
        )


def _asked(postgres: OwnPostgres, question: str) -> float:
    with postgres.admin() as admin:
        row = admin.execute(question).fetchone()  # type: ignore[arg-type]
    assert row is not None
    return float(row[0])


def _wal_bytes(postgres: OwnPostgres) -> float:
    return _asked(postgres, "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')")


def _table_bytes(postgres: OwnPostgres) -> float:
    return _asked(
        postgres,
        "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' "
        "AND relnamespace = 'reasoningbank'::regnamespace",
    )


def _connections(postgres: OwnPostgres) -> int:
    return int(_asked(postgres, "SELECT count(*) FROM pg_stat_activity WHERE usename = 'team'"))


def _folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _rate(bank: ReasoningBank, corpus: Corpus, threads: int) -> float:
    drafts = list(corpus.drafts(threads * WRITES_EACH, first=threads * 1_000_000))

    def work(first: int) -> None:
        for draft in drafts[first : first + WRITES_EACH]:
            bank.record(**draft)

    running = [threading.Thread(target=work, args=(number * WRITES_EACH,)) for number in range(threads)]
    began = time.perf_counter()
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return len(drafts) / (time.perf_counter() - began)


def _recover(postgres: OwnPostgres, copy: Path) -> None:
    ReasoningBank.recover(copy, postgres.url("restored"))


def _hnsw_bytes(postgres: OwnPostgres) -> float:
    """Of a row with a halfvec and its place in an HNSW index."""
    with postgres.admin() as admin:
        admin.execute(f"CREATE TABLE vectors (id text, vector halfvec({DIMENSIONS}))")
        vectors = np.random.default_rng(5).standard_normal((VECTORS, DIMENSIONS)).astype(np.float16)
        with admin.cursor().copy("COPY vectors (id, vector) FROM STDIN") as lines:
            for number, vector in enumerate(vectors):
                lines.write_row((f"mem_{number:026d}", json.dumps(vector.astype(float).round(4).tolist())))
        admin.execute("CREATE INDEX ON vectors USING hnsw (vector halfvec_cosine_ops)")
    return _asked(postgres, "SELECT pg_total_relation_size('vectors')") / VECTORS


def _words_bytes(postgres: OwnPostgres, corpus: Corpus, count: int) -> float:
    """Of a memory in all that the index `pgvector` keeps, but for its vectors."""
    url = postgres.url("words")
    with ReasoningBank.open(url, embedder="hash", namespace=NAMESPACE, config="none", index="pgvector") as bank:
        bank.record_many(corpus.drafts(count))
        while not bank.catch_up():
            pass
    tables = "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' "
    return (
        _asked(postgres, tables + "AND relname ~ '^index_.*(?<!vectors)$' AND relnamespace = 'words'::regnamespace")
        / count
    )
