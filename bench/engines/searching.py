"""What it costs that the records lie in PostgreSQL and the index beside whoever searches: a search, the first fold."""

from __future__ import annotations

import shutil
import time

from bench.banks import NAMESPACE
from bench.engines.place import Place
from bench.report import Report
from bench.timing import in_turns
from reasoningbank import ReasoningBank

QUERIES, BLOCK, WARM_UP = 300, 10, 30


def measure_follow(report: Report, place: Place) -> None:
    """A follower that starts empty, beside one that reads the same memories from a file.

    With `hash` only: the vectors of `local` would have to be made first, or lie with the records.
    """
    file, there = place.bank("hash")
    copy = place.folder / "follow.db"
    shutil.copy(file.path, copy)
    rates = {}
    for name, where in (("file", copy), ("server", there)):
        with ReasoningBank.open(where, namespace=NAMESPACE) as bank:
            began, ran = time.perf_counter(), time.process_time()
            bank.reindex()
            rates[name] = place.scale / (time.perf_counter() - began), place.scale / (time.process_time() - ran)
    detail = f"{rates['server'][1]:,.0f}/s of own processor time; {rates['file'][0]:,.0f}/s from a file"
    what = f"a follower that starts empty folds {place.scale:,} (hash)"
    report.add("engines", what, rates["server"][0], "/s", limit=3_000, at_least=True, detail=detail)


def measure_search(report: Report, place: Place) -> None:
    """The same searches in turns; the embedded index on both sides."""
    for embedder in place.embedders:
        _measure_searches(report, place, embedder)


def _measure_searches(report: Report, place: Place, embedder: str) -> None:
    file, there = place.bank(embedder)
    asked = [question.text for question in place.corpus.questions(QUERIES + WARM_UP, place.scale)]
    with file.open() as ours, ReasoningBank.open(there, namespace=NAMESPACE) as theirs:
        theirs.catch_up()
        times = in_turns(
            {"file": lambda n: ours.search(asked[n]), "server": lambda n: theirs.search(asked[n])},
            QUERIES,
            BLOCK,
            WARM_UP,
        )
        pairs = [(ours.search(text).memories, theirs.search(text).memories) for text in asked[:WARM_UP]]
    same = sum([hit.id for hit in one] == [hit.id for hit in other] for one, other in pairs)
    at_file, at_server = times["file"], times["server"]
    detail = (
        f"p50 {at_file.p50_ms:.2f} ms in a file, {at_server.p50_ms:.2f} ms in PostgreSQL; own thread "
        f"{at_file.running_ms:.2f} and {at_server.running_ms:.2f} ms"
    )
    what = f"search at {place.scale:,} ({embedder}), slower than in a file by"
    report.add("engines", what, at_server.p50_ms - at_file.p50_ms, "ms", limit=3.0, detail=detail)
    what = f"searches with the same hits in the same order ({embedder})"
    report.add("engines", what, same / len(pairs), "", limit=1.0, at_least=True)
