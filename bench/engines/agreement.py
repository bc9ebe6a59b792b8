"""How far the answers from another index agree with those from the embedded one: the same memories, the same questions.

    python -m bench engines agreement --index pgvector qdrant milvus [--questions N]

`pgvector` is asked of a bank in PostgreSQL, any other of a copy of the bank in a file. `qdrant` alone is Qdrant's own
engine behind REST on a socket of this machine (`bench/qdrant_edge_server.py`), `milvus` alone milvus-lite in a file; a
URL is a server of yours. milvus-lite reads every row for each question, so it is asked fewer.

A hit that the other index does not have among its first ten is put down to a reason: `never came up` (there, neither
its vectors nor its words found it among hundreds), `another score`; or, where both give it the same one, `nearly the
score of what took its place` and `another choice for variety`: what is shown is chosen to be unlike one another among
the two dozen best, so one more or less at the end of the candidates may change which of them are.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from bench.banks import NAMESPACE
from bench.engines.place import Place
from bench.report import Report
from reasoningbank import ReasoningBank
from reasoningbank.recall.query import Recalled

SCALE, HITS, DEEPER = 20_000, 10, 60
LITE_QUESTIONS = 30
SAME = 0.005
"""Of a score: what half precision and ties can make of it."""
LEAST = 0.97
ASKED = {"plain": {}, "by tag": {"tags": ("go",)}, "everywhere": {"namespace": "*"}}


def measure_agreement(report: Report, place: Place) -> None:
    smaller = place.at(min(SCALE, place.scale))
    for embedder in place.embedders:
        for url in place.indexes:
            with smaller.file(embedder).open() as embedded, _indexed_by(smaller, embedder, url) as other:
                count = min(place.questions, LITE_QUESTIONS if url == "milvus" else place.questions)
                texts = [question.text for question in place.corpus.questions(count, smaller.scale)]
                for name, options in ASKED.items():
                    _compare(
                        report, f"at {smaller.scale:,} ({url}, {embedder}, {name})", embedded, other, texts, options
                    )


@contextmanager
def _indexed_by(place: Place, embedder: str, url: str) -> Iterator[ReasoningBank]:
    if url == "pgvector":
        _, there = place.bank(embedder)
    else:
        copy = place.folder / f"agreement-{embedder}-{url.partition(':')[0]}.db"
        shutil.copy(place.file(embedder).path, copy)
        there = str(copy)
    with (
        _engine_at(url, place.folder / f"engine-{url.partition(':')[0]}-{embedder}") as index,
        ReasoningBank.open(there, namespace=NAMESPACE) as bank,
    ):
        bank.reindex(index=index)
        yield bank


@contextmanager
def _engine_at(url: str, folder: Path) -> Iterator[str]:
    """The URL of an engine, started here where only its name is given."""
    if url == "milvus":
        folder.mkdir()
        yield f"milvus://{folder}/lite.db"
    elif url == "qdrant":
        from bench.qdrant_edge_server import EdgeServer

        with closing(EdgeServer(folder)) as server:
            yield server.url
    else:
        yield url


def _compare(
    report: Report, what: str, embedded: ReasoningBank, other: ReasoningBank, texts: Sequence[str], options: dict
) -> None:
    shared = total = 0
    reasons: Counter[str] = Counter()
    for text in texts:
        one, two = (bank.search(text, limit=HITS, floor=0.0, **options).memories for bank in (embedded, other))
        common = {hit.id for hit in one} & {hit.id for hit in two}
        shared += len(common)
        total += max(len(one), len(two))
        if missing := [hit for hit in one if hit.id not in common]:
            deeper = other.search(text, limit=DEEPER, floor=0.0, **options).memories
            last = two[-1].parts.score if two else 0.0
            reasons.update(_reason(hit, {found.id: found.parts.score for found in deeper}, last) for hit in missing)
    said = ", ".join(f"{why}: {count}" for why, count in reasons.most_common()) or "no difference"
    report.add(
        "engines", f"agreement of the top {HITS} {what}", shared / max(1, total), "", limit=LEAST, at_least=True,
        detail=f"{len(texts)} questions; {said}",
    )  # fmt: skip


def _reason(hit: Recalled, found: dict[str, float], last: float) -> str:
    """Why a hit is not among the first of another index, the last of which has that score."""
    if hit.id not in found:
        return "never came up"
    if abs(hit.parts.score - found[hit.id]) > SAME:
        return "another score"
    near = abs(hit.parts.score - last) <= SAME
    return "nearly the score of what took its place" if near else "another choice for variety"
