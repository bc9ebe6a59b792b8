"""A large bank for the page to show: memories, as many nodes, sessions with outcomes; and who writes to it."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

from bench import graph
from bench.banks import NAMESPACE, built, cache, source_digest
from bench.corpus import Corpus
from reasoningbank import ReasoningBank

SESSIONS = 200
EDGES_PER_NODE = 2
EVENTS_PER_S = 20


def make_large_bank(memories: int) -> Path:
    """Made once and kept; whoever writes takes a copy of its folder."""
    corpus = Corpus()
    folder = cache() / f"page-{corpus.name}-{memories}-{source_digest()}"
    if (folder / "done").exists():
        return folder / "bank.db"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(built(corpus, memories, "hash").path.parent, folder)
    (folder / "done").unlink()
    with ReasoningBank.open(folder / "bank.db", namespace=NAMESPACE, config="none") as bank:
        for number, question in enumerate(corpus.questions(SESSIONS, memories)):
            run = bank.start_session(f"Task {number % 40}: {question.text}")
            bank.search(question.text, session=run.id)
            bank.end_session(run.id, "failure" if number % 3 == 0 else "success")
        bank.flush_shown()
        for chunk in graph.batched(graph.make_nodes(memories), graph.CHUNK):
            bank.graph.add(nodes=chunk)
        for chunk in graph.batched(graph.make_edges(memories, EDGES_PER_NODE * memories), graph.CHUNK):
            bank.graph.add(edges=chunk)
        bank.catch_up()
    (folder / "done").touch()
    return folder / "bank.db"


def write_events(bank_path: Path, seconds: float) -> int:
    """Memories of a second process, as evenly over the time as the machine allows; how many."""
    corpus = Corpus(seed=8)
    with ReasoningBank.open(bank_path, namespace=NAMESPACE, config="none") as bank:
        began, number = time.monotonic(), 0
        while (passed := time.monotonic() - began) < seconds:
            if number > passed * EVENTS_PER_S:
                time.sleep(number / EVENTS_PER_S - passed)
            bank.record(**{**corpus.draft(number), "namespace": NAMESPACE})
            number += 1
    return number


if __name__ == "__main__":
    print(write_events(Path(sys.argv[1]), float(sys.argv[2])))
