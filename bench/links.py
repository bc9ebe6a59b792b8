"""What recall with links costs: the same searches on a bank without links, and on one where all is linked.

    python -m bench links [--memories N] [--links N] [--questions N] [--embedder hash]

Prints the median of each and its ratio to that of the bank without links, measured in turns in one run.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from bench.corpus import Corpus
from bench.timing import in_turns
from reasoningbank.core.ids import derived_id
from reasoningbank.core.settings import LINKS
from reasoningbank.core.types import Edge, EdgeKind
from reasoningbank.wiring import ReasoningBank

KINDS = (EdgeKind.REQUIRES, EdgeKind.ENHANCES, EdgeKind.ANALOGY, EdgeKind.CONFLICTS, EdgeKind.RELATES)
EDGES_PER_WRITE = 1_000


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench links", description=__doc__)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--links", type=int, default=20_000)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--embedder", default="hash")
    asked = parser.parse_args(arguments)
    corpus = Corpus()
    with ExitStack() as opened:
        bare, linked = (_bank(opened, corpus, asked.memories, asked.embedder) for _ in range(2))
        _link(linked[0], linked[1], asked.links)
        questions = [
            corpus.draft(number)["title"] for number in range(0, asked.memories, max(1, asked.memories // 300))
        ]

        def ask(bank: ReasoningBank, links: str, number: int) -> object:
            return bank.search(questions[number % len(questions)], namespace="*", noted=False, links=links)

        contestants: dict[str, Callable[[int], object]] = {"no links": partial(ask, bare[0], "named")}
        contestants |= {f"links {way}": partial(ask, linked[0], way) for way in LINKS}
        times = in_turns(contestants, asked.questions, block=5, warm_up=20)
        found = {way: [ask(linked[0], way, n) for n in range(len(questions))] for way in LINKS}
    base = times["no links"]
    print(f"{asked.memories:,} memories, {asked.links:,} links, {asked.embedder}, {asked.questions} questions each")
    for name, taken in times.items():
        print(
            f"{name:16} p50 {taken.p50_ms:.2f} ms ({taken.p50_ms / base.p50_ms:.2f}×), "
            f"running {taken.running_ms:.2f} ms ({taken.running_ms / base.running_ms:.2f}×)"
        )
    for way, answers in found.items():
        hits = [hit for answer in answers for hit in answer]
        pulled = sum(hit.pulled_in is not None for hit in hits)
        print(f"links {way}: {pulled} of {len(hits)} hits pulled in, {sum(len(hit.see_also) for hit in hits)} named")
    return 0


def _bank(opened: ExitStack, corpus: Corpus, number: int, embedder: str) -> tuple[ReasoningBank, list[str]]:
    folder = opened.enter_context(tempfile.TemporaryDirectory(prefix="reasoningbank-bench-"))
    bank = opened.enter_context(
        ReasoningBank.open(Path(folder) / "bank.db", namespace="n", embedder=embedder, durability="normal")
    )
    ids = bank.record_many(corpus.draft(number) for number in range(number))
    while not bank.catch_up():
        pass
    return bank, ids


def _link(bank: ReasoningBank, ids: Sequence[str], number: int) -> None:
    rng = random.Random(7)
    ends = sorted({(*rng.sample(ids, 2), rng.choice(KINDS)) for _ in range(number)})
    edges = [
        Edge(
            id=derived_id("edg", f"{source} {target} {kind}"),
            tenant=bank.tenant,
            source_id=source,
            target_id=target,
            kind=kind,
            text="One of many.",
            weight=round(rng.uniform(0.3, 1.0), 2),
            tags=(),
            evidence="",
            created_at=1_790_000_000.0,
        )
        for source, target, kind in ends
    ]
    for start in range(0, len(edges), EDGES_PER_WRITE):
        page = edges[start : start + EDGES_PER_WRITE]
        bank.context.store.write(bank.tenant, lambda writer, page=page: [writer.add(edge) for edge in page])
