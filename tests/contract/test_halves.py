"""What the two halves of an index must do, asked of every engine in `index_engines`; and that a bank answers alike
whichever it searches with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from reasoningbank import ReasoningBank
from reasoningbank.core.drafts import memory_from
from reasoningbank.core.errors import IndexUnavailable
from reasoningbank.core.teams import TeamReach
from reasoningbank.core.types import Draft, Memory, Outcome, Scope, State
from reasoningbank.index.embedded import EmbeddedIndex
from reasoningbank.lexical.entries import query_terms
from reasoningbank.lexical.word_rows import word_rows
from reasoningbank.ports import Filter, Halves, IndexPosition
from reasoningbank.wiring import index_or_words
from tests.contract.index_engines import ENGINES, IDENTITY, open_halves
from tests.contract.plain_index import PlainHalf, PlainVectors, PlainWords

Floats = NDArray[np.float32]
OTHER_ENGINES = [name for name in ENGINES if name != "embedded"]


@pytest.fixture(params=ENGINES)
def halves(request: pytest.FixtureRequest, tmp_path: Path) -> Halves:
    return open_halves(request.param, request, tmp_path)


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
    [ids] = halves.words.search([dict.fromkeys(query_terms(text), 1.0)], where, k)
    return numbers(ids)


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


def test_a_filter_is_exact_on_both_sides_and_for_counting(halves: Halves) -> None:
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
    everything = Filter(tenant="t", states=tuple(State))
    for where, expected in FILTERS:
        asked = Filter(**{"tenant": "t", **where})
        assert sorted(said(halves, "shared words", asked)) == expected, where
        assert sorted(numbers([i for i, _ in halves.vectors.search(direction(1), asked, 100)])) == expected, where
        assert halves.words.counts([asked, everything, asked]) == [len(expected), 8, len(expected)], where
    assert halves.words.counts([]) == []
    assert halves.words.count() == 9


def test_a_team_shares_what_is_scoped_to_it_and_those_in_no_team_are_one_too(halves: Halves) -> None:
    fill(
        halves,
        a_memory(1, namespace="a"),
        a_memory(2, namespace="a", scope=Scope.TEAM),
        a_memory(3, namespace="b"),
        a_memory(4, namespace="b", scope=Scope.TEAM),
        a_memory(5, namespace="c"),
        a_memory(6, namespace="c", scope=Scope.TEAM),
        a_memory(7, namespace="d", scope=Scope.TEAM),
        a_memory(8, namespace="c", scope=Scope.ORG),
        a_memory(9, tenant="u", namespace="a", scope=Scope.TEAM),
    )
    of_a_and_b = TeamReach(namespaces=("a", "b"), inside=True)
    of_the_others = TeamReach(namespaces=("a", "b"), inside=False)
    of_nobody, of_all = TeamReach(namespaces=(), inside=True), TeamReach(namespaces=(), inside=False)
    for asked, expected in (
        (Filter(tenant="t", namespace="a"), [1, 2, 4, 6, 7, 8]),
        (Filter(tenant="t", namespace="a", team=of_a_and_b), [1, 2, 4, 8]),
        (Filter(tenant="t", namespace="b", team=of_a_and_b), [2, 3, 4, 8]),
        (Filter(tenant="t", namespace="c", team=of_the_others), [5, 6, 7, 8]),
        (Filter(tenant="t", namespace="new", team=of_the_others), [6, 7, 8]),
        # Its own counts wherever the team is: a hook asks for what the user keeps in the name of a project.
        (Filter(tenant="t", namespace="c", team=of_a_and_b), [2, 4, 5, 6, 8]),
        (Filter(tenant="t", namespace="a", team=of_nobody), [1, 2, 8]),
        (Filter(tenant="t", namespace="a", team=of_all), [1, 2, 4, 6, 7, 8]),
        (Filter(tenant="t", namespace="a", team=of_a_and_b, scopes=(Scope.TEAM,)), [2, 4]),
        (Filter(tenant="t", team=of_a_and_b), [1, 2, 3, 4, 5, 6, 7, 8]),
        (Filter(tenant="u", namespace="b", team=of_a_and_b), [9]),
    ):
        assert sorted(said(halves, "shared words", asked)) == expected, asked
        assert sorted(numbers([i for i, _ in halves.vectors.search(direction(1), asked, 100)])) == expected, asked
        assert halves.words.counts([asked]) == [len(expected)], asked


def test_what_has_an_unwanted_tag_is_left_out(halves: Halves) -> None:
    fill(halves, a_memory(1), a_memory(2, tags=("go",)), a_memory(3, tags=("rust", "go")), a_memory(4, tags=("rust",)))
    for unwanted, expected in ((("go",), [1, 4]), (("go", "rust"), [1]), (("python",), [1, 2, 3, 4])):
        asked = Filter(tenant="t", without_tags=unwanted)
        assert sorted(said(halves, "shared words", asked)) == expected
        assert sorted(numbers([i for i, _ in halves.vectors.search(direction(1), asked, 100)])) == expected
        assert halves.words.counts([asked]) == [len(expected)]


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
    both, one = {alpha: 1.0, beta: 5.0}, {alpha: 1.0}
    found = halves.words.search([both, {}, one], Filter(tenant="t"), 10)
    assert [numbers(ids) for ids in found] == [[3, 2, 1], [], [2, 1]]
    assert [numbers(ids) for ids in halves.words.search([both, one], Filter(tenant="t"), 1)] == [[3], [2]]
    assert halves.words.search([{}], Filter(tenant="t"), 10) == [[]]
    assert halves.words.search([], Filter(tenant="t"), 10) == []


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


@pytest.fixture(scope="module", params=["hash", "local"])
def embedder(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def expected(embedder: str, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """What a bank in a file with the embedded index answers."""
    with ReasoningBank.open(tmp_path_factory.mktemp("embedded") / "bank.db", embedder=embedder, namespace="n") as bank:
        fill_bank(bank)
        assert bank.catch_up()
        return answers(bank)


@pytest.fixture(params=OTHER_ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def opened(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., ReasoningBank]:
    """Opens the bank of a test, with its index in the engine."""
    entry = ENGINES[engine]
    place, url = entry.bank(request, tmp_path), entry.url(request, tmp_path)
    return lambda embedder="hash", **options: ReasoningBank.open(
        place, index=url, embedder=embedder, namespace="n", **options
    )


def answers(bank: ReasoningBank) -> list[Any]:
    asked = [*QUESTIONS, "renew the certificates of the printer"]
    # Every question in the common ways, and some in each of the others.
    pairs = [(text, options) for number, options in enumerate(OPTIONS) for text in (asked[:3] if number > 1 else asked)]
    return [bank.search(text, **options) for text, options in pairs]


def assert_alike(expected: Sequence[Any], found: Sequence[Any]) -> None:
    """The same memories with the same figures; ids are those of two banks, so titles and contents are compared."""
    assert sum(len(result.memories) for result in expected) > 100
    for one, other in zip(expected, found, strict=True):
        told = {(hit.title, hit.content): hit for hit in other.memories}
        assert {(hit.title, hit.content) for hit in one.memories} == told.keys()
        for hit in one.memories:
            same = told[hit.title, hit.content]
            assert same.relevance == pytest.approx(hit.relevance, abs=3e-3)
            assert same.confidence.mean == pytest.approx(hit.confidence.mean, abs=1e-4)
            assert same.parts.keyword == pytest.approx(hit.parts.keyword, abs=1e-3)
        assert one.filtered_out == other.filtered_out
        assert (one.total_found, one.not_yet_indexed) == (other.total_found, other.not_yet_indexed)


# What an engine does with vectors does not hang on who made them.
@pytest.mark.parametrize(
    ("embedder", "engine"),
    [
        *(("hash", name) for name in OTHER_ENGINES),
        ("local", "plain"),
        *(pytest.param("local", name, marks=pytest.mark.storm) for name in OTHER_ENGINES if name != "plain"),
    ],
    indirect=True,
)
def test_a_bank_answers_alike_whichever_engine_it_searches_with(
    opened: Callable[..., ReasoningBank], embedder: str, expected: list[Any]
) -> None:
    with opened(embedder) as bank:
        fill_bank(bank)
        assert bank.catch_up()
        assert_alike(expected, answers(bank))


def test_a_bank_answers_alike_without_the_fast_path_of_the_embedded_index(
    embedder: str, expected: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EmbeddedIndex, "fused", None)
    with ReasoningBank.open(tmp_path / "bank.db", embedder=embedder, namespace="n") as bank:
        fill_bank(bank)
        assert bank.catch_up()
        assert_alike(expected, answers(bank))


def test_halves_follow_what_is_stored_changed_and_erased_while_a_bank_is_open(
    engine: str, opened: Callable[..., ReasoningBank]
) -> None:
    with opened() as bank:
        bank.record(title="Signing", content="Rotate the signing certificates before they expire.")
        kept = bank.record(title="Grafana", content="The dashboard of the turbines.")
        assert [hit.id for hit in bank.search("grafana")] == [kept.id]
        assert bank.status().index.kind.startswith(engine)
        bank.edit(kept.id, title="Kibana")
        assert not bank.search("grafana").memories
        assert [hit.id for hit in bank.search("kibana")] == [kept.id]
        bank.erase(kept.id)
        assert not bank.search("kibana").memories
        assert not bank.verify()
        bank.reindex(embedder="hash", dimension=64)
        assert bank.search("rotate the signing certificates").memories


def test_an_index_goes_on_where_it_was_when_a_bank_is_opened_again(opened: Callable[..., ReasoningBank]) -> None:
    with opened() as bank:
        bank.record(title="Signing", content="Rotate the signing certificates before they expire.")
        assert bank.catch_up()
        before = bank.status().index
    with opened() as bank:
        assert bank.status().index == before
        assert (before.memories, before.awaiting_vectors) == (1, 0)
        assert [hit.title for hit in bank.search("rotate the signing certificates")] == ["Signing"]


def test_while_the_server_of_an_index_is_away_storing_goes_on_and_searches_go_by_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with ReasoningBank.open(tmp_path / "bank.db", index="plain", embedder="hash", namespace="n") as bank:
        bank.record(title="Signing", content="Rotate the signing certificates before they expire.")
        assert bank.search("rotate the signing certificates").memories

        def away(self: PlainHalf, *_: object) -> None:
            del self
            raise IndexUnavailable("The server of the index does not answer: start it, or wait until it does.")

        with monkeypatch.context() as patch:
            for half, call in ((PlainWords, "upsert"), (PlainWords, "search"), (PlainVectors, "search")):
                patch.setattr(half, call, away)
            kept = bank.record(title="Grafana", content="The dashboard of the turbines.")
            found = bank.search("grafana")
            assert (found.index_away, [hit.id for hit in found]) == (True, [kept.id])
            assert "start it, or wait" in caplog.text
        assert [hit.id for hit in bank.search("grafana")] == [kept.id]


def test_an_engine_that_refuses_at_once_is_asked_again_by_the_next_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[str]()

    def refuse(self: PlainHalf, *_: object) -> None:
        asked.append(type(self).__name__)
        raise IndexUnavailable("The server of the index refuses.")

    # No time passes while it refuses, nor until the next search.
    monkeypatch.setattr(index_or_words, "monotonic", lambda: 1.0)
    with ReasoningBank.open(tmp_path / "bank.db", index="plain", embedder="hash", namespace="n") as bank:
        kept = bank.record(title="Signing", content="Rotate the signing certificates before they expire.")
        assert not bank.search("rotate the signing certificates").index_away
        with monkeypatch.context() as patch:
            patch.setattr(PlainWords, "search", refuse)
            for times in (1, 2, 3):
                found = bank.search("rotate the signing certificates")
                assert (found.index_away, [hit.id for hit in found]) == (True, [kept.id])
                assert len(asked) == times
        found = bank.search("rotate the signing certificates")
        assert (found.index_away, [hit.id for hit in found]) == (False, [kept.id])
