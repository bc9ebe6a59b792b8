"""What the two halves of an index must do, asked of the embedded one and of a plain one in dictionaries; and that a
bank answers alike whichever it searches with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from reasoningbank import ReasoningBank
from reasoningbank.core.drafts import memory_from
from reasoningbank.core.errors import BankUnavailable
from reasoningbank.core.types import Draft, EmbedderIdentity, Memory, Outcome, Scope, State
from reasoningbank.index.embedded import EmbeddedIndex
from reasoningbank.lexical.bm25 import length_terms
from reasoningbank.lexical.entries import query_terms
from reasoningbank.ports import Filter, Frequencies, Halves, IndexInfo, IndexPosition, WordRow
from reasoningbank.recall.reach import is_allowed
from reasoningbank.recall.two_halves import word_rows
from reasoningbank.wiring import indexes

Floats = NDArray[np.float32]
IDENTITY = EmbedderIdentity(name="hash", model="m", dimension=32, revision="1")


class PlainHalf:
    def __init__(self) -> None:
        self.clear()

    def advance(self, position: IndexPosition) -> None:
        self.position = position

    def delete(self, ids: Sequence[str]) -> None:
        for memory_id in ids:
            self.rows.pop(memory_id, None)

    def clear(self) -> None:
        self.position, self.rows = IndexPosition(), dict[str, Any]()

    def close(self) -> None:
        pass


class PlainVectors(PlainHalf):
    """Every vector in a dictionary, compared with all of them."""

    def __init__(self, identity: EmbedderIdentity) -> None:
        super().__init__()
        self.identity = identity

    def upsert(self, rows: Sequence[tuple[Memory, Floats]]) -> None:
        self.rows.update({memory.id: (memory, vector / np.linalg.norm(vector)) for memory, vector in rows})

    def search(self, vector: Floats, where: Filter, k: int) -> list[tuple[str, float]]:
        allowed = [(memory.id, kept) for memory, kept in self.rows.values() if is_allowed(memory, where)]
        near = [(memory_id, float(kept @ vector / np.linalg.norm(vector))) for memory_id, kept in allowed]
        return sorted(near, key=lambda pair: -pair[1])[:k]

    def fetch(self, ids: Sequence[str]) -> dict[str, Floats]:
        return {memory_id: self.rows[memory_id][1] for memory_id in ids if memory_id in self.rows}


class PlainWords(PlainHalf):
    """Every memory's terms in a dictionary, scored by the book."""

    def upsert(self, rows: Sequence[WordRow]) -> None:
        self.rows.update({row.memory.id: row for row in rows})

    def search(self, terms: Mapping[int, float], where: Filter, k: int) -> list[str]:
        base, slope = length_terms(self.frequencies(where.tenant, ()).mean_length)
        scores = {
            memory_id: sum(
                worth * row.terms[term] / (row.terms[term] + base + slope * row.length)
                for term, worth in terms.items()
                if term in row.terms
            )
            for memory_id, row in self.rows.items()
            if is_allowed(row.memory, where)
        }
        return sorted((i for i, score in scores.items() if score > 0), key=lambda i: -scores[i])[:k]

    def frequencies(self, tenant: str, terms: Sequence[int]) -> Frequencies:
        own = [row for row in self.rows.values() if row.memory.tenant == tenant]
        return Frequencies(
            rows=len(own),
            mean_length=sum(row.length for row in own) / max(1, len(own)),
            holding=[sum(term in row.terms for row in own) for term in terms],
        )

    def count(self, where: Filter | None = None) -> int:
        return sum(where is None or is_allowed(row.memory, where) for row in self.rows.values())


def plain_halves(identity: EmbedderIdentity) -> Halves:
    return Halves(PlainVectors(identity), PlainWords(), lambda _: nullcontext(True))


class PlainBuilds:
    """Builds in dictionaries: gone with the process, and nobody else's to remove."""

    def __init__(self, folder: Path | None, *, read_only: bool) -> None:
        del folder, read_only
        self._kept: dict[str, Halves] = {}

    def place(self, name: str) -> str:
        return name

    def is_there(self, name: str) -> bool:
        return name in self._kept

    def open(self, name: str, identity: EmbedderIdentity, facet: str) -> Halves:
        del facet
        return self._kept.setdefault(name, plain_halves(identity))

    def open_beside(self, name: str, of: str, identity: EmbedderIdentity, facet: str, *, anew: bool) -> Halves:
        del anew
        return self.open(f"{name}-{of}", identity, facet)

    def inspect(self, name: str, identity: EmbedderIdentity, facet: str) -> None:
        """A dictionary is not damaged."""

    def info(self, name: str) -> IndexInfo | None:
        if name not in self._kept:
            return None
        words = self._kept[name].words
        awaiting = words.count() - len(self._kept[name].vectors.fetch(list(words.rows)))  # type: ignore[attr-defined]
        return IndexInfo(
            kind="plain",
            memories=words.count(),
            awaiting_vectors=awaiting,
            applied=words.position.applied,
            bytes_on_disk=0,
        )

    def distrust(self) -> None:
        pass

    def building(self, wait_s: float) -> AbstractContextManager[bool]:
        del wait_s
        return nullcontext(True)

    def remove(self, build: int) -> None:
        self._kept = {name: kept for name, kept in self._kept.items() if not name.startswith(f"{build}-")}

    def remove_left_over(self, keep: str) -> None:
        self._kept = {name: kept for name, kept in self._kept.items() if name.startswith(keep)}

    def remove_all(self) -> bool:
        self._kept = {}
        return True

    def close(self) -> None:
        pass


HALVES: dict[str, Callable[[Path], Halves]] = {
    "embedded": lambda folder: EmbeddedIndex.open(folder / "index", IDENTITY, "text").halves,
    "plain": lambda _: plain_halves(IDENTITY),
}


@pytest.fixture(params=HALVES)
def halves(request: pytest.FixtureRequest, tmp_path: Path) -> Halves:
    return HALVES[request.param](tmp_path)


def a_memory(number: int, **changes: Any) -> Memory:
    draft = Draft(title=f"title{number}", content="shared words")
    plain = memory_from(draft, memory_id=f"mem_{number:05}", tenant="t", namespace="n", initial_confidence=0.5, now=1.0)
    return replace(plain, **changes)


def direction(number: int) -> Floats:
    vector = np.random.default_rng(number).standard_normal(IDENTITY.dimension).astype(np.float32)
    made: Floats = vector / np.linalg.norm(vector)
    return made


def fill(halves: Halves, *memories: Memory) -> None:
    halves.words.upsert(word_rows(memories))
    halves.vectors.upsert([(memory, direction(int(memory.id[-5:]))) for memory in memories])


def numbers(ids: Sequence[str]) -> list[int]:
    return [int(memory_id[-5:]) for memory_id in ids]


def said(halves: Halves, text: str, where: Filter, k: int = 100) -> list[int]:
    return numbers(halves.words.search(dict.fromkeys(query_terms(text), 1.0), where, k))


FILTERS: list[tuple[dict[str, Any], list[int]]] = [
    ({}, [1, 2, 3, 4, 5, 6, 7]),
    ({"namespace": "n"}, [1, 2, 4, 5, 6, 7]),
    ({"namespace": "m"}, [3, 4]),
    ({"scopes": (Scope.TEAM,)}, [4]),
    ({"outcome": Outcome.FAILURE}, [2]),
    ({"tags": ("go",)}, [5]),
    ({"tags": ("go", "rust")}, []),
    ({"agent": "coder"}, [6]),
    ({"task_type": "debug"}, [7]),
    ({"states": (State.ARCHIVED,)}, [8]),
    ({"states": (State.ACTIVE, State.ARCHIVED)}, [1, 2, 3, 4, 5, 6, 7, 8]),
    ({"tenant": "u"}, [9]),
    ({"tenant": "v"}, []),
]


@pytest.mark.parametrize(("where", "expected"), FILTERS, ids=str)
def test_a_filter_is_exact_on_both_sides_and_for_counting(
    halves: Halves, where: dict[str, Any], expected: list[int]
) -> None:
    fill(
        halves,
        a_memory(1),
        a_memory(2, outcome=Outcome.FAILURE),
        a_memory(3, namespace="m"),
        a_memory(4, namespace="m", scope=Scope.TEAM),
        a_memory(5, tags=("go",)),
        a_memory(6, agent="coder"),
        a_memory(7, task_type="debug"),
        a_memory(8, state=State.ARCHIVED),
        a_memory(9, tenant="u"),
    )
    asked = Filter(**{"tenant": "t", **where})
    assert sorted(said(halves, "shared words", asked)) == expected
    assert sorted(numbers([i for i, _ in halves.vectors.search(direction(1), asked, 100)])) == expected
    assert halves.words.count(asked) == len(expected)
    assert halves.words.count() == 9


def test_the_nearest_vectors_come_first_with_their_cosines_and_no_more_than_asked_for(halves: Halves) -> None:
    fill(halves, *(a_memory(number) for number in range(60)))
    every = np.stack([direction(number) for number in range(60)])
    for number in (0, 17, 59):
        cosines = every @ direction(number)
        near = halves.vectors.search(direction(number) * 3, Filter(tenant="t"), 5)
        assert numbers([i for i, _ in near]) == np.argsort(-cosines)[:5].tolist()
        assert [cosine for _, cosine in near] == pytest.approx(np.sort(cosines)[::-1][:5], abs=2e-3)


def test_vectors_are_fetched_by_id_and_those_that_are_not_there_are_left_out(halves: Halves) -> None:
    fill(halves, a_memory(1), a_memory(2))
    halves.words.upsert(word_rows([a_memory(3)]))
    kept = halves.vectors.fetch(["mem_00002", "mem_00003", "mem_none"])
    assert list(kept) == ["mem_00002"]
    assert kept["mem_00002"] == pytest.approx(direction(2), abs=2e-3)


def test_words_find_what_holds_the_worthiest_terms_and_short_memories_first(halves: Halves) -> None:
    fill(
        halves,
        a_memory(1, content="alpha and a great deal besides that has nothing to do with it at all"),
        a_memory(2, content="alpha"),
        a_memory(3, content="beta"),
        a_memory(4, content="gamma"),
    )
    [alpha], [beta] = query_terms("alpha"), query_terms("beta")
    assert numbers(halves.words.search({alpha: 1.0, beta: 5.0}, Filter(tenant="t"), 10)) == [3, 2, 1]
    assert numbers(halves.words.search({alpha: 1.0, beta: 5.0}, Filter(tenant="t"), 1)) == [3]
    assert halves.words.search({}, Filter(tenant="t"), 10) == []


def test_frequencies_are_those_of_one_tenant(halves: Halves) -> None:
    fill(halves, a_memory(1, content="alpha"), a_memory(2, content="alpha beta"), a_memory(3, state=State.ARCHIVED))
    fill(halves, *(a_memory(number, tenant="u", content="alpha") for number in range(10, 20)))
    terms = [*query_terms("alpha"), *query_terms("beta"), *query_terms("unheardof")]
    known = halves.words.frequencies("t", terms)
    assert (known.rows, list(known.holding)) == (3, [2, 1, 0])
    assert known.mean_length == pytest.approx(sum(row.length for row in word_rows([a_memory(1)] * 3)) / 3, rel=0.5)
    assert halves.words.frequencies("nobody", terms).rows == 0


def test_what_is_given_again_replaces_and_what_is_deleted_is_gone(halves: Halves) -> None:
    fill(halves, a_memory(1), a_memory(2))
    halves.vectors.delete(["mem_00001"])
    fill(halves, a_memory(1, content="other terms", namespace="m"))
    assert said(halves, "shared", Filter(tenant="t")) == [2]
    assert said(halves, "other", Filter(tenant="t", namespace="m")) == [1]
    for half in (halves.vectors, halves.words):
        half.delete(["mem_00001", "mem_none"])
    assert said(halves, "other", Filter(tenant="t")) == []
    assert halves.vectors.fetch(["mem_00001"]) == {}
    assert halves.words.count() == 1


def test_the_same_rows_given_twice_change_nothing(halves: Halves) -> None:
    for _ in range(2):
        fill(halves, a_memory(1), a_memory(2))
    assert sorted(said(halves, "shared", Filter(tenant="t"))) == [1, 2]
    assert len(halves.vectors.search(direction(1), Filter(tenant="t"), 10)) == 2


def test_each_half_remembers_how_far_it_has_come_and_forgets_it_with_everything_else(halves: Halves) -> None:
    assert halves.vectors.position.applied == halves.words.position.applied == 0
    fill(halves, a_memory(1))
    for half in (halves.words, halves.vectors):
        half.advance(IndexPosition(applied=7, mark=11))
        assert (half.position.applied, half.position.mark) == (7, 11)
    for half in (halves.words, halves.vectors):
        half.clear()
        assert half.position.applied == 0
    assert halves.words.count() == 0
    assert halves.vectors.search(direction(1), Filter(tenant="t"), 10) == []


# ---------------------------------------------------------------- a bank


QUESTIONS = [
    "how do I retry a flaky request without hammering the server",
    "rotate the signing certificates",
    "zanzibar",
    "Keep migrations small",
    "when did you collect the turbine",
    "the the the",
    "something that nobody ever wrote about quantum cheese",
]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"floor": 0.0, "limit": 30},
    {"floor": 0.0, "limit": 30, "namespace": "other"},
    {"floor": 0.0, "limit": 30, "tags": ("net",)},
    {"floor": 0.0, "limit": 30, "outcome": "failure"},
    {"floor": 0.0, "limit": 5, "profile": "four-factor"},
    {"floor": 0.0, "limit": 30, "scope": "org"},
    {"min_confidence": 0.55},
]


def fill_bank(bank: ReasoningBank) -> None:
    kept = [
        bank.record(title=f"Retry {word}", content=f"Back off {word} before a request is sent again.", tags=("net",))
        for word in ("exponentially", "with jitter", "at most thrice", "after a timeout", "quietly")
    ]
    bank.record(title="Keep migrations small", content="One table in a migration, and a test that goes back.")
    bank.record(title="Signing", content="Rotate the signing certificates before they expire.", scope="org")
    bank.record(title="Elsewhere", content="Retry a flaky request by hand.", namespace="other")
    bank.record(title="Zanzibar", content="The trip is booked.", outcome="failure")
    for said in ("Ann: When did you collect the turbine?", "Bob: On Friday, after lunch.", "Ann: So late!"):
        bank.record(title="Talk", content=said)
    for word in ("harbour", "orchard", "violin", "bakery", "stairs"):
        bank.record(title=f"The {word}", content=f"A long walk to the {word} on a rainy morning.")
    bank.forget(bank.record(title="Retry never", content="A flaky request is never sent again.").id)
    bank.erase(bank.record(title="Retry erased", content="A flaky request erased.").id)
    bank.edit(kept[0].id, content="Back off exponentially and with a limit before a flaky request is sent again.")
    for _ in range(3):
        bank.feedback(kept[1].id, helpful=True)
        bank.feedback(kept[2].id, helpful=False)
    for task in ("renew the certificates of the gateway", "renew the certificates of the mail server"):
        bank.end_session(bank.start_session(task).id, "success", used=[kept[3].id], distil=False)


@pytest.fixture(params=["hash", "local"])
def filled(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], ReasoningBank]:
    def opened() -> ReasoningBank:
        return ReasoningBank.open(tmp_path / "bank.db", embedder=request.param, namespace="n")

    with opened() as bank:
        fill_bank(bank)
    return opened


def answers(bank: ReasoningBank) -> list[Any]:
    asked = [*QUESTIONS, "renew the certificates of the printer"]
    return [bank.search(text, **options) for options in OPTIONS for text in asked]


def search_with_plain_halves(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(indexes.INDEXES, indexes.DEFAULT_INDEX, PlainBuilds)


def search_without_the_fast_path(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(EmbeddedIndex, "fused", None)


@pytest.mark.parametrize("other_way", [search_with_plain_halves, search_without_the_fast_path])
def test_a_bank_answers_alike_whichever_index_it_searches_with(
    filled: Callable[[], ReasoningBank],
    monkeypatch: pytest.MonkeyPatch,
    other_way: Callable[[pytest.MonkeyPatch], None],
) -> None:
    with filled() as bank:
        assert bank.catch_up()
        expected = answers(bank)
    other_way(monkeypatch)
    with filled() as bank:
        assert bank.catch_up()
        found = answers(bank)
    assert sum(len(result.memories) for result in expected) > 200
    for one, other in zip(expected, found, strict=True):
        assert {hit.id for hit in one.memories} == {hit.id for hit in other.memories}
        told = {hit.id: hit for hit in other.memories}
        for hit in one.memories:
            assert told[hit.id].relevance == pytest.approx(hit.relevance, abs=3e-3)
            assert told[hit.id].confidence.mean == pytest.approx(hit.confidence.mean, abs=1e-4)
            assert told[hit.id].parts.keyword == pytest.approx(hit.parts.keyword, abs=1e-3)
        assert one.filtered_out == other.filtered_out
        assert (one.total_found, one.not_yet_indexed) == (other.total_found, other.not_yet_indexed)


def test_halves_follow_what_is_stored_changed_and_erased_while_a_bank_is_open(
    filled: Callable[[], ReasoningBank], monkeypatch: pytest.MonkeyPatch
) -> None:
    search_with_plain_halves(monkeypatch)
    with filled() as bank:
        kept = bank.record(title="Grafana", content="The dashboard of the turbines.")
        assert [hit.id for hit in bank.search("grafana")] == [kept.id]
        assert bank.status().index.kind == "plain"
        bank.edit(kept.id, title="Kibana")
        assert not bank.search("grafana").memories
        assert [hit.id for hit in bank.search("kibana")] == [kept.id]
        bank.erase(kept.id)
        assert not bank.search("kibana").memories
        assert not bank.verify()
        bank.reindex(embedder="hash", dimension=64)
        assert bank.search("rotate the signing certificates").memories


def test_while_the_server_of_an_index_is_away_storing_goes_on_and_searching_says_so(
    filled: Callable[[], ReasoningBank], monkeypatch: pytest.MonkeyPatch
) -> None:
    search_with_plain_halves(monkeypatch)
    with filled() as bank:
        assert bank.search("rotate the signing certificates").memories

        def away(self: PlainHalf, *_: object) -> None:
            del self
            raise BankUnavailable("The server of the index does not answer: start it, or wait until it does.")

        with monkeypatch.context() as patch:
            for half, call in ((PlainWords, "upsert"), (PlainWords, "search"), (PlainVectors, "search")):
                patch.setattr(half, call, away)
            kept = bank.record(title="Grafana", content="The dashboard of the turbines.")
            with pytest.raises(BankUnavailable, match="start it, or wait"):
                bank.search("grafana")
        assert [hit.id for hit in bank.search("grafana")] == [kept.id]
