"""What a search finds, leaves out, counts and explains."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.ranking import profiles
from reasoningbank.core.types import Draft
from reasoningbank.recall.query import Query

QUESTION = "how do I configure the retry policy of the http client"


def ids(found: object) -> set[str]:
    return {hit.id for hit in found.memories}  # type: ignore[attr-defined]


@pytest.fixture
def varied(bank: ReasoningBank) -> dict[str, str]:
    """Memories that differ in one respect each and match the question equally well."""
    text = "configure the retry policy of the http client"
    made = {
        "plain": {},
        "failure": {"outcome": "failure"},
        "team": {"scope": "team", "namespace": "m"},
        "org": {"scope": "org", "namespace": "m"},
        "elsewhere": {"namespace": "m"},
        "tagged": {"tags": ["go", "http"]},
        "agent": {"agent": "coder"},
        "task": {"task_type": "debug"},
        "doubtful": {"initial_confidence": 0.1},
    }
    return {
        name: bank.record(title=f"{name} advice", content=f"{text}, variant {name}", **options).id  # type: ignore[arg-type]
        for name, options in made.items()
    }


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"plain", "failure", "team", "org", "tagged", "agent", "task"}),
        ({"scope": "project"}, {"plain", "failure", "tagged", "agent", "task"}),
        ({"scope": "team"}, {"team"}),
        ({"scope": "org"}, {"org"}),
        ({"scope": "all"}, {"plain", "failure", "team", "org", "tagged", "agent", "task"}),
        ({"outcome": "failure"}, {"failure"}),
        ({"outcome": "success"}, {"plain", "team", "org", "tagged", "agent", "task"}),
        ({"namespace": "m"}, {"elsewhere", "team", "org"}),
        ({"namespace": "m", "scope": "project"}, {"elsewhere"}),
        ({"namespace": "*"}, {"plain", "failure", "team", "org", "elsewhere", "tagged", "agent", "task"}),
        ({"namespace": "nobody"}, {"team", "org"}),
        ({"tags": ["go"]}, {"tagged"}),
        ({"tags": ["go", "http"]}, {"tagged"}),
        ({"tags": ["go", "rust"]}, set()),
        ({"agent": "coder"}, {"agent"}),
        ({"task_type": "debug"}, {"task"}),
        ({"agent": "coder", "task_type": "debug"}, set()),
        (
            {"min_confidence": 0.0, "scope": "project", "outcome": "success"},
            {"plain", "tagged", "agent", "task", "doubtful"},
        ),
        ({"min_confidence": 0.9}, set()),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_a_filter_keeps_what_it_names_and_nothing_else(
    bank: ReasoningBank, varied: dict[str, str], options: dict[str, object], expected: set[str]
) -> None:
    found = bank.search(QUESTION, floor=0.0, limit=50, **options)
    assert ids(found) == {varied[name] for name in expected}
    assert found.total_found == len(expected)
    assert found.abstained == (not expected)
    assert sum(found.filtered_out.values()) == len(varied) - len(expected)


def test_what_was_left_out_is_counted_by_its_reason(bank: ReasoningBank, varied: dict[str, str]) -> None:
    found = bank.search(QUESTION, floor=0.0, limit=50, outcome="success")
    assert found.filtered_out == {"namespace": 1, "outcome": 1, "min_confidence": 1}
    found = bank.search(QUESTION, floor=0.0, limit=50, exclude=[varied["plain"]])
    assert found.filtered_out["excluded"] == 1


def test_a_filter_on_confidence_never_costs_recall(bank: ReasoningBank) -> None:
    bank.record_many(
        {"title": f"low {n}", "content": "configure the retry policy of the http client", "initial_confidence": 0.1}
        for n in range(500)
    )
    wanted = bank.record(title="high", content="the http client has a policy", initial_confidence=0.9)
    found = bank.search("configure the retry policy of the http client", min_confidence=0.5, floor=0.0)
    assert ids(found) == {wanted.id}
    assert found.filtered_out["min_confidence"] == 500


def test_a_filter_on_a_tag_never_costs_recall(bank: ReasoningBank) -> None:
    bank.record_many(
        {"title": f"n {n}", "content": "configure the retry policy of the http client"} for n in range(500)
    )
    wanted = bank.record(title="rare", content="some policy", tags=["rare"])
    assert ids(bank.search("configure the retry policy of the http client", tags=["rare"], floor=0.0)) == {wanted.id}


def test_excluding_a_source_or_ids_never_costs_recall(bank: ReasoningBank) -> None:
    own = bank.record_many(
        {"title": f"own {n}", "content": "configure the retry policy of the http client", "source": "trj_1"}
        for n in range(300)
    )
    wanted = bank.record(title="other", content="the http client has a policy", source="trj_2")
    for exclude in (["trj_1"], own):
        found = bank.search("configure the retry policy of the http client", exclude=exclude, floor=0.0)
        assert ids(found) == {wanted.id}
        assert found.total_found == 1
        assert found.filtered_out["excluded"] == 300


def test_nonsense_finds_nothing_and_says_so(bank: ReasoningBank, varied: dict[str, str]) -> None:
    found = bank.search("xylophone quantum marmalade zeppelin")
    assert found.abstained
    assert found.memories == ()
    assert found.total_found == 0
    assert bank.inject("xylophone quantum marmalade zeppelin") == ""


def test_an_empty_bank_abstains(bank: ReasoningBank) -> None:
    found = bank.search("anything at all")
    assert (found.memories, found.abstained, found.not_yet_indexed) == ((), True, 0)


@pytest.mark.parametrize("profile", profiles())
def test_every_score_is_explained_by_its_parts(bank: ReasoningBank, varied: dict[str, str], profile: str) -> None:
    found = bank.search(QUESTION, floor=0.0, limit=50, profile=profile, min_confidence=0.0)
    assert found.profile == profile
    assert len(found) == len(varied) - 1
    scores = [hit.parts.score for hit in found]
    assert scores == sorted(scores, reverse=True)
    weights = profiles()[profile]
    for hit in found:
        parts = hit.parts
        assert parts.relevance == pytest.approx(hit.relevance)
        assert parts.confidence == pytest.approx(hit.confidence.mean)
        assert parts.confidence == pytest.approx(bank.get(hit.id).confidence.mean)
        match = parts.relevance if weights.match == "relevance" else parts.cosine
        if weights.combine == "sum":
            score = (
                weights.match_weight * match
                + weights.confidence * parts.confidence
                + weights.recency * parts.recency
                + weights.usage * parts.usage
                + weights.diversity * parts.diversity
            ) * parts.scope_weight
        else:
            product = match * parts.scope_weight
            for weight, part in (
                (weights.confidence, parts.confidence),
                (weights.recency, parts.recency),
                (weights.usage, parts.usage),
            ):
                product *= 1 - weight + weight * part
            repeated = max(0.0, 1 - parts.diversity - weights.redundant_from) / (1 - weights.redundant_from)
            score = weights.mmr_lambda * product - (1 - weights.mmr_lambda) * repeated
        assert parts.score == pytest.approx(score, abs=1e-5)


def test_scopes_weigh_less_the_wider_they_are(bank: ReasoningBank, varied: dict[str, str]) -> None:
    weights = {hit.scope: hit.parts.scope_weight for hit in bank.search(QUESTION, floor=0.0, limit=50)}
    assert weights == {"project": 1.0, "team": 0.9, "org": 0.8}


def test_a_token_budget_is_kept(bank: ReasoningBank, varied: dict[str, str]) -> None:
    everything = bank.search(QUESTION, floor=0.0, limit=50)
    assert everything.tokens_used == sum(hit.tokens for hit in everything)
    for budget in (1, 20, 40, 60, 1_000):
        found = bank.search(QUESTION, floor=0.0, limit=50, max_tokens=budget)
        assert found.tokens_used == sum(hit.tokens for hit in found) <= budget
        assert found.total_found == everything.total_found
    assert len(bank.search(QUESTION, floor=0.0, limit=50, max_tokens=1_000)) == len(everything)


@pytest.mark.parametrize("limit", [1, 2, 3, 1_000])
def test_a_limit_is_kept(bank: ReasoningBank, varied: dict[str, str], limit: int) -> None:
    assert len(bank.search(QUESTION, floor=0.0, limit=limit)) == min(limit, 7)


def test_a_query_value_and_options_say_the_same(bank: ReasoningBank, varied: dict[str, str]) -> None:
    by_value = bank.search(Query(text=QUESTION, limit=3, floor=0.0))
    by_options = bank.search(QUESTION, limit=3, floor=0.0)
    assert [hit.id for hit in by_value] == [hit.id for hit in by_options]
    assert len(bank.search(Query(text=QUESTION, limit=3, floor=0.0), limit=1)) == 1


def test_feedback_changes_what_a_search_says_at_once(bank: ReasoningBank) -> None:
    kept = bank.record(title="Advice", content="configure the retry policy", initial_confidence=0.5)
    before = bank.search("configure the retry policy").memories[0].confidence.mean
    after = bank.feedback(kept.id, helpful=False).mean
    hit = bank.search("configure the retry policy", min_confidence=0.0).memories[0]
    assert hit.confidence.mean == pytest.approx(after)
    assert after < before
    assert hit.usage_count == 1


def test_an_edit_is_found_by_its_new_words_only(bank: ReasoningBank) -> None:
    kept = bank.record(title="Advice", content="penguins swim in cold water")
    assert ids(bank.search("penguins swim in cold water", floor=0.3)) == {kept.id}
    bank.edit(kept.id, content="elephants walk through dry savannah")
    assert ids(bank.search("penguins swim in cold water", floor=0.3)) == set()
    assert ids(bank.search("elephants walk through dry savannah", floor=0.3)) == {kept.id}
    bank.edit(kept.id, namespace="m")
    assert ids(bank.search("elephants walk through dry savannah")) == set()
    assert ids(bank.search("elephants walk through dry savannah", namespace="m")) == {kept.id}


def test_searches_in_many_threads_while_others_store_never_fail(bank: ReasoningBank) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def work(worker: int) -> int:
        for number in range(15):
            kept = bank.record(title=f"thread {worker}", content=f"advice number {number} of worker{worker}")
            found = bank.search(f"advice number {number} of worker{worker}", floor=0.0, limit=500)
            assert found.not_yet_indexed or kept.id in ids(found)
        return worker

    with ThreadPoolExecutor(6) as pool:
        assert sorted(pool.map(work, range(6))) == list(range(6))
    assert bank.search("advice", floor=0.0, limit=500).total_found == 90


def test_a_damaged_row_is_counted_and_does_not_keep_the_others_from_being_found(tmp_path) -> None:
    path = tmp_path / "bank.db"
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        whole, broken = (bank.record(title=f"retry {n}", content="retry the request with backoff").id for n in range(2))
        assert len(bank.search("retry with backoff")) == 2
        raw = apsw.Connection(str(path))
        raw.execute("UPDATE memories SET content = 'something else' WHERE id = ?", (broken,))
        raw.close()
        found = bank.search("retry with backoff")
        assert [hit.id for hit in found] == [whole]
        assert found.filtered_out["damaged"] == 1


@pytest.fixture(params=["local", "hash"])
def named(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ReasoningBank]:
    """Memories under names, as `store` makes them."""
    with ReasoningBank.open(tmp_path / "named.db", embedder=request.param, namespace="n") as bank:
        bank.store("bread_recipe", "Knead the dough for ten minutes.")
        bank.store("db_host", "Postgres lives on kraken.")
        bank.store("auth_jwt", "JWT tokens are signed with RS256.")
        yield bank


@pytest.mark.parametrize("name", ["ERR_OSSL_EVP", "E4711", "restart server_7"])
def test_a_name_that_nobody_knows_finds_nothing(named: ReasoningBank, name: str) -> None:
    assert named.search(name).abstained


def test_a_name_finds_what_holds_it_and_no_other_name(named: ReasoningBank) -> None:
    assert [hit.title for hit in named.search("bread_recipe").memories] == ["bread_recipe"]
    assert [hit.title for hit in named.search("JWT").memories] == ["auth_jwt"]


def test_a_name_is_found_among_many_however_little_the_model_makes_of_it(named: ReasoningBank) -> None:
    words = [
        "retry",
        "cache",
        "deploy",
        "token",
        "server",
        "queue",
        "lock",
        "page",
        "user",
        "test",
        "build",
        "parse",
        "merge",
        "branch",
        "route",
        "shard",
    ]
    named.record_many(
        Draft(title=f"{one} and {other}", content=f"Mind the {third} when you {one} a {other}.")
        for one, other, third in itertools.islice(itertools.permutations(words, 3), 0, 3000, 20)
    )
    named.catch_up()
    assert [hit.title for hit in named.search("RS256").memories] == ["auth_jwt"]
    assert named.search("RS512").abstained
