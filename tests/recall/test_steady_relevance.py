"""A relevance means the same in a small bank and in a large one, orders the hits, and tells long texts apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank

NOTES = (
    (
        "Roll back a bad deployment",
        "Point the load balancer at the previous release first and look for the cause afterwards.",
        "how do I roll back a deployment that went bad",
    ),
    (
        "Index the columns of the WHERE clause",
        "Explain showed a sequential scan; a composite index made the report fast.",
        "the SQL report does a sequential scan, which index helps",
    ),
    (
        "Set a timeout on every HTTP call",
        "Without one a silent peer blocks the thread forever.",
        "which timeout should an HTTP call have",
    ),
)


@pytest.mark.parametrize(("embedder", "sizes"), [("hash", (40, 150, 300, 600)), ("local", (40, 120, 300))])
def test_a_bank_that_grows_many_times_over_hardly_moves_the_relevance_of_a_right_answer(
    path: Path, everyday: Callable[[int], Sequence[str]], embedder: str, sizes: Sequence[int]
) -> None:
    with ReasoningBank.open(path, embedder=embedder, namespace="n") as bank:
        bank.record_many({"title": title, "content": content} for title, content, _ in NOTES)
        kept = len(NOTES)
        seen: dict[str, list[float]] = {question: [] for _, _, question in NOTES}
        for size in sizes:
            texts = everyday(size - len(NOTES))[kept - len(NOTES) :]
            bank.record_many({"title": text[:-1], "content": text} for text in texts)
            kept = size
            assert bank.catch_up()
            for title, _, question in NOTES:
                best = bank.search(question).memories[0]
                assert best.title == title
                seen[question].append(best.relevance)
        assert bank.candidates("anything").considered == sizes[-1]
        for question, relevances in seen.items():
            assert max(relevances) - min(relevances) < 0.1, question
            assert min(relevances) > 0.5


@pytest.mark.parametrize("embedder", ["hash", "local"])
def test_the_relevance_that_is_printed_orders_hits_of_equal_confidence_and_age(path: Path, embedder: str) -> None:
    texts = (
        "Roll back a bad deployment with the previous release",
        "Roll back a migration of the database",
        "A deployment needs a release note",
        "Release the previous lock of the load balancer",
        "Bad disks in the load balancer",
    )
    with ReasoningBank.open(path, embedder=embedder, namespace="n", clock=lambda: 1_790_000_000.0) as bank:
        bank.record_many({"title": text, "content": f"{text}."} for text in texts)
        found = bank.search("how do I roll back a bad deployment to the previous release", floor=0.0, limit=5)
        relevances = [hit.relevance for hit in found.memories]
        assert len(set(relevances)) == len(texts)
        assert len({(hit.parts.confidence, hit.parts.recency) for hit in found.memories}) == 1
        assert relevances == sorted(relevances, reverse=True)


NAMES = (
    *("quorum", "ballot", "ledger", "snapshot", "follower", "election", "heartbeat", "lease", "shard", "replica"),
    *("commit", "term", "gossip", "vote", "partition", "segment", "offset", "leader", "epoch", "fence"),
)


@pytest.mark.parametrize("embedder", ["hash", "local"])
def test_two_long_memories_never_tie_for_a_long_error_message(path: Path, embedder: str) -> None:
    message = "error: " + " ".join(f"{name}_{n}.go:{n * 13}" for n, name in enumerate(NAMES))
    with ReasoningBank.open(path, embedder=embedder, namespace="n") as bank:
        # The one that fits less comes first: a tie would leave it there.
        bank.record(title="Second crash", content=message.replace("_18.go:234", "") + " came when the disk was full")
        bank.record(title="First crash", content=f"{message} came after the upgrade")
        first, second = bank.search(message).memories
        assert (first.title, second.title) == ("First crash", "Second crash")
        assert 1.0 > first.relevance > second.relevance > 0.99
