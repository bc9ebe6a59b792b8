"""How long a search takes with everything in it, and whether the vector side finds what an exact scan finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from bench.banks import Built, built, ids_of, local_vectors
from bench.corpus import Corpus, Question
from bench.report import Report
from bench.rivals import Chroma, NumpyScan
from bench.timing import in_turns
from reasoningbank.core.types import EVERY_NAMESPACE
from reasoningbank.ports import Embedder, Filter, Probe
from reasoningbank.wiring import ReasoningBank
from reasoningbank.wiring.embedders import identity_of, make_embedder

LIMIT_MS = {10_000: 3.0, 100_000: 6.0, 1_000_000: 40.0}
ROUNDS, BLOCK, WARM_UP = 300, 25, 20
TOP = 10
RECALL_QUESTIONS = 200
RECALL_LIMIT = 0.99
RIVALS_AT_MOST = 100_000
CHROMA_EFS = (1_000, 10_000)
"""Its default is 100."""
EQUAL_RECALL = 0.95
VECTORS_ALONE = "vectors alone"
_CHUNK = 20_000


def measure(report: Report, corpus: Corpus, scales: list[int], embedders: tuple[str, ...] = ("hash", "local")) -> None:
    for embedder in embedders:
        for scale in scales:
            if embedder == "local" and scale > RIVALS_AT_MOST:
                report.note(f"local is not measured at {scale:,}: its vectors are made up to {RIVALS_AT_MOST:,}")
                continue
            bank = built(corpus, scale, embedder)
            if bank.seconds is not None:
                report.add("speed", f"{embedder} {scale:,}: building the bank", bank.seconds, "s")
            _search(report, corpus, bank)
            _recall(report, corpus, bank)


def _search(report: Report, corpus: Corpus, bank: Built) -> None:
    name = f"{bank.embedder} {bank.scale:,}"
    model = make_embedder(identity_of(bank.embedder), _no_config())
    with bank.open() as opened:
        # Whatever the index still owes is made up for first: following the feed is not what is measured here.
        opened.catch_up()
        asked = {
            key: corpus.questions(ROUNDS + WARM_UP, bank.scale, seed)
            for seed, key in enumerate(("search", "search in a namespace", "embedding the query"))
        }
        contestants: dict[str, Callable[[int], object]] = {
            "search": _searching(opened, asked["search"], own=False),
            "search in a namespace": _searching(opened, asked["search in a namespace"], own=True),
            "embedding the query": lambda i: model.embed([asked["embedding the query"][i].text]),
        }
        if bank.scale <= RIVALS_AT_MOST:
            contestants |= _rivals(report, corpus, bank, model)
            contestants[VECTORS_ALONE] = _by_vector(opened, corpus, bank, model)
        times = in_turns(contestants, ROUNDS, BLOCK, WARM_UP)
        if bank.embedder == "hash":
            _right_answers(report, opened, bank, asked["search"])
    limit = LIMIT_MS.get(bank.scale) if bank.embedder == "hash" else None
    for key, taken in times.items():
        promised = limit if key.startswith("search") else None
        detail = f"p95 {taken.p95_ms:.2f} ms, own thread {taken.running_ms:.2f} ms"
        report.add("speed", f"{name}: {key}, p50", taken.p50_ms, "ms", limit=promised, detail=detail)
    for rival in times:
        if rival.startswith(("NumPy", "Chroma")):
            ours = "search in a namespace" if rival.endswith("in a namespace") else "search"
            _compare(report, name, times[ours].p50_ms / times[rival].p50_ms, rival, promised=bank.scale == 100_000)
            # A rival gets its vector for nothing, and whoever asks it must embed the question too.
            whole = times[rival].p50_ms + times["embedding the query"].p50_ms
            _compare(report, name, times[ours].p50_ms / whole, f"embedding and {rival}", promised=False)
            if ours == "search":
                ratio = times[VECTORS_ALONE].p50_ms / times[rival].p50_ms
                report.add("speed", f"{name}: {VECTORS_ALONE} / {rival}", ratio, "×")


def _compare(report: Report, name: str, ratio: float, rival: str, *, promised: bool) -> None:
    report.add("speed", f"{name}: search / {rival}", ratio, "×", limit=1.0 if promised else None)


def _searching(bank: ReasoningBank, questions: list[Question], *, own: bool) -> Callable[[int], object]:
    def search(number: int) -> object:
        question = questions[number]
        namespace = question.namespace if own else EVERY_NAMESPACE
        # Without a floor nothing is abstained from, so every search ranks and fetches: the dear case.
        return bank.search(question.text, limit=TOP, namespace=namespace, floor=0.0)

    return search


def _by_vector(bank: ReasoningBank, corpus: Corpus, built_bank: Built, model: Embedder) -> Callable[[int], object]:
    """What the rivals do and no more: from a vector to the ids of the nearest."""
    asked = model.embed([question.text for question in corpus.questions(ROUNDS + WARM_UP, built_bank.scale, 9)])
    index, where = _index(bank), Filter(tenant=bank.tenant)
    return lambda i: index.search(Probe(vector=asked[i], text="", where=where, depth=TOP))


def _right_answers(report: Report, opened: ReasoningBank, bank: Built, questions: list[Question]) -> None:
    """For information: quality has a harness of its own, but a fast search that finds nothing would be no feat."""
    ids = ids_of(bank)
    search = _searching(opened, questions, own=False)
    found = [
        ids[question.answer] in {hit.id for hit in search(number)}
        for number, question in enumerate(questions)
        if question.answer is not None
    ]
    report.add(
        "speed", f"{bank.embedder} {bank.scale:,}: the memory asked about is in the top {TOP}", np.mean(found), ""
    )


def _rivals(report: Report, corpus: Corpus, bank: Built, model: Embedder) -> dict[str, Callable[[int], object]]:
    vectors = np.concatenate(list(_vectors(corpus, bank)))
    namespaces = [str(draft["namespace"]) for draft in corpus.drafts(bank.scale)]
    questions = corpus.questions(ROUNDS + WARM_UP, bank.scale, 9)
    asked = model.embed([question.text for question in questions])
    scan = NumpyScan(vectors, namespaces)
    rivals: dict[str, Callable[[int], object]] = {
        "NumPy exact scan": lambda i: scan.top(asked[i], TOP),
        "NumPy exact scan in a namespace": lambda i: scan.top(asked[i], TOP, questions[i].namespace),
    }
    try:
        chroma = Chroma(_chroma_place(bank), vectors, namespaces)
    except ImportError:
        report.note("chromadb is not installed, so it is not compared with: pip install 'reasoningbank[bench]'")
        return rivals
    rivals |= {
        "Chroma": lambda i: chroma.top(asked[i], TOP),
        "Chroma in a namespace": lambda i: chroma.top(asked[i], TOP, questions[i].namespace),
    }
    # Half of speed is what is found: an approximate index may be fast because it misses. So it is also asked to look as
    # far as it takes to find most, or as far as it is tried.
    best = [scan.top(vector, TOP) for vector in asked[:RECALL_QUESTIONS]]

    def recall_of(rival: Chroma) -> float:
        return float(np.mean([np.isin(rows, rival.top(asked[i], TOP)).mean() for i, rows in enumerate(best)]))

    name, recall = "Chroma", recall_of(chroma)
    _chroma_recall(report, bank, name, recall)
    for ef in CHROMA_EFS:
        if recall >= EQUAL_RECALL:
            break
        further = chroma.looking_further(ef)
        name, recall = f"Chroma with ef {ef:,}", recall_of(further)
        _chroma_recall(report, bank, name, recall)
        rivals.pop(f"Chroma with ef {CHROMA_EFS[0]:,}", None)
        rivals[name] = lambda i, further=further: further.top(asked[i], TOP)
    return rivals


def _chroma_recall(report: Report, bank: Built, name: str, recall: float) -> None:
    what = f"{bank.embedder} {bank.scale:,}: recall@{TOP} of {name} against an exact scan"
    report.add("speed", what, recall, "")


def _chroma_place(bank: Built) -> Path:
    # Chroma's own files depend on the vectors only, so they outlive a change of our sources.
    return bank.path.parent.parent / f"chroma-{bank.path.parent.name.rpartition('-')[0]}"


def _vectors(corpus: Corpus, bank: Built) -> Iterator[np.ndarray]:
    """The vectors in full precision, in the order of the corpus."""
    if bank.embedder == "local":
        yield from local_vectors(corpus, bank.scale)
        return
    model = make_embedder(identity_of(bank.embedder), _no_config())
    for start in range(0, bank.scale, _CHUNK):
        yield model.embed([corpus.text(number) for number in range(start, min(bank.scale, start + _CHUNK))])


# ---------------------------------------------------------------- recall


def _recall(report: Report, corpus: Corpus, bank: Built) -> None:
    """Of the ten best by an exact scan in full precision, how many the index brings back among its ten best."""
    questions = corpus.questions(RECALL_QUESTIONS, bank.scale, 5)
    with bank.open() as opened:
        asked = opened.embed([question.text for question in questions])
        index = _index(opened)
        number = {memory_id: row for row, memory_id in enumerate(ids_of(bank))}
        got = []
        for vector in asked:
            found = index.search(Probe(vector=vector, text="", where=Filter(tenant=opened.tenant), depth=100))
            best = np.argsort(-found.cosine, kind="stable")[:TOP]
            got.append([number[found.ids[row]] for row in best])
    wanted = set().union(*got)
    best = np.full((len(asked), TOP), -2.0, np.float32)
    scored: dict[int, np.ndarray] = {}
    start = 0
    for rows in _vectors(corpus, bank):
        scores = asked @ rows.T
        best = -np.sort(-np.concatenate([best, scores], axis=1), axis=1)[:, :TOP]
        scored |= {row: scores[:, row - start].copy() for row in range(start, start + len(rows)) if row in wanted}
        start += len(rows)
    # Equal scores are equally right, whichever of them comes back.
    right = [sum(scored[row][i] >= best[i, -1] - 1e-6 for row in found_rows) / TOP for i, found_rows in enumerate(got)]
    what = f"{bank.embedder} {bank.scale:,}: recall@{TOP} of the vector side against an exact scan"
    report.add("speed", what, np.mean(right), "", limit=RECALL_LIMIT, at_least=True)


def _index(bank: ReasoningBank):
    return bank._engine.using(lambda searcher: searcher._index)  # noqa: SLF001 - the bank's own, so that what is measured is what is used


def _no_config():
    from reasoningbank.config import from_environment

    return from_environment()
