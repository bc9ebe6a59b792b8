"""What an index in the bank's own PostgreSQL costs beside a bare query of pgvector, and what it finds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import psycopg

from bench.banks import NAMESPACE
from bench.engines.place import Place
from bench.report import Report
from bench.timing import in_turns
from reasoningbank import ReasoningBank
from reasoningbank.ports import Filter, Halves
from reasoningbank_postgres.pgvector.nearest import SearchWay
from reasoningbank_postgres.pgvector.packing import vector_text

QUERIES, BLOCK, WARM_UP = 200, 10, 20
NEIGHBOURS = 64
"""As many as a search for ten hits asks of the vectors."""
ASKED = 100
NARROW_NAMESPACE = "lab"
"""That one memory in a hundred is in."""


def measure_pgvector(report: Report, place: Place) -> None:
    for embedder in place.embedders:
        _, there = place.bank(embedder)
        with ReasoningBank.open(there, namespace=NAMESPACE) as bank:
            began = time.perf_counter()
            bank.reindex(index="pgvector")
            took = time.perf_counter() - began
            report.add("engines", f"pgvector: {place.scale:,} memories indexed ({embedder})", place.scale / took, "/s")
            with _halves(bank) as halves:
                _measure_recall(report, place, embedder, bank, halves)
                _measure_searches(report, place, embedder, bank, halves, there)


@contextmanager
def _halves(bank: ReasoningBank) -> Iterator[Halves]:
    bank.search("anything")
    yield bank._engine.using(lambda searcher: searcher.index).halves  # noqa: SLF001


def _questions(place: Place, bank: ReasoningBank, count: int) -> tuple[list[str], np.ndarray]:
    texts = [question.text for question in place.corpus.questions(count, place.scale)]
    return texts, bank._engine.using(lambda searcher: searcher.embed(texts))  # noqa: SLF001


def _measure_recall(report: Report, place: Place, embedder: str, bank: ReasoningBank, halves: Halves) -> None:
    """Of the ten nearest by comparing every vector at full precision."""
    build = halves.vectors._build  # noqa: SLF001
    [rows] = build.ask(None, (f"SELECT id, namespace, scope, vector::real[] FROM {build.tables.vectors}", ()))
    ids, vectors = [row[0] for row in rows], np.array([row[3] for row in rows], np.float32)
    within = np.array([row[1] == NARROW_NAMESPACE or row[2] != "project" for row in rows])
    _, asked = _questions(place, bank, ASKED)
    for name, namespace, mask in (
        ("no filter", None, np.ones(len(ids), bool)),
        (f"a filter that passes {100 * within.mean():.1f} %", NARROW_NAMESPACE, within),
    ):
        where, found = Filter(tenant=bank.tenant, namespace=namespace), 0
        for vector in asked:
            cosines = np.where(mask, vectors @ vector, -np.inf)
            best = {ids[n] for n in np.argpartition(-cosines, 10)[:10].tolist()}
            found += len(best & {i for i, _ in halves.vectors.search(vector, where, NEIGHBOURS)[:10]})
        what = f"pgvector: recall@10 at {place.scale:,} ({embedder}), {name}"
        report.add("engines", what, found / (10 * len(asked)), "", limit=0.98, at_least=True)


def _measure_searches(
    report: Report, place: Place, embedder: str, bank: ReasoningBank, halves: Halves, url: str
) -> None:
    texts, vectors = _questions(place, bank, QUERIES + WARM_UP)
    embed = bank._engine.using(lambda searcher: searcher.embed)  # noqa: SLF001
    build = halves.vectors._build  # noqa: SLF001
    where = Filter(tenant=bank.tenant, namespace=NAMESPACE)
    reach = build.fresh_stamp().reach
    with psycopg.connect(url.partition("&schema")[0], autocommit=True) as bare:
        query = _bare_query(bare, build, where, url.partition("&schema=")[2])
        times = in_turns(
            {
                "bare": lambda n: query(vectors[n]),
                "embed": lambda n: embed([f"{texts[n]} {n}"]),
                "vectors": lambda n: halves.vectors.search(vectors[n], where, NEIGHBOURS),
                "ours": lambda n: bank.search(texts[n]),
            },
            QUERIES,
            BLOCK,
            WARM_UP,
        )
    bare_ms, embed_ms, ours = times["bare"].p50_ms, times["embed"].p50_ms, times["ours"]
    way = f"HNSW, reach {reach}" if reach else "every vector compared: no graph finds enough of these"
    detail = (
        f"{ours.p50_ms:.2f} ms, p95 {ours.p95_ms:.2f}, own thread {ours.running_ms:.2f}; bare {bare_ms:.2f}, embedder "
        f"{embed_ms:.2f} ms; {way}"
    )
    what = f"pgvector: search at {place.scale:,} ({embedder}) / (bare query for the same neighbours + embedder)"
    # As the issue says it: within 1.5 times the bare query, plus the embedder.
    report.add("engines", what, (ours.p50_ms - embed_ms) / bare_ms, "×", limit=1.5, detail=detail)
    alone = times["vectors"].p50_ms
    what = f"pgvector: the nearest {NEIGHBOURS} at {place.scale:,} ({embedder}), no words, no ranking / the same"
    report.add("engines", what, alone / bare_ms, "×", detail=f"{alone:.2f} ms")


def _bare_query(bare: psycopg.Connection, build, where: Filter, schema: str) -> Callable[[np.ndarray], object]:
    """The same statement as ours under the same settings, and nothing else."""
    bare.execute(f"SET search_path = {schema}, public")
    bare.execute(f"SELECT set_config('reasoningbank.tenant', '{where.tenant}', false)")
    bare.execute("SET jit = off; SET hnsw.iterative_scan = 'relaxed_order'")
    census = build.last_census(where.tenant)
    way = SearchWay(build.tables, where, NEIGHBOURS, *build.counts([where], census), census.reach)
    for terms, values in way.terms:
        bare.execute(terms.replace(", true)", ", false)"), values)
    bare.prepare_threshold = 1

    def ask(vector: np.ndarray) -> object:
        return bare.execute(*way.query("id", vector_text(vector)), binary=True).fetchall()

    return ask
