"""What every index must do: be a view of the feed that filters exactly and forgets what it is told to forget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reasoningbank.core.drafts import memory_from
from reasoningbank.core.types import Draft, EmbedderIdentity, Memory, Outcome, Scope, Standing, State
from reasoningbank.index.embedded import EmbeddedIndex
from reasoningbank.ports import Filter, Index, IndexBatch, Probe

IDENTITY = EmbedderIdentity(name="hash", model="m", dimension=32, revision="1")
BACKENDS: dict[str, Callable[[Path], Index]] = {
    "embedded": lambda folder: EmbeddedIndex.open(folder / "index", IDENTITY, "text"),
}


@pytest.fixture(params=BACKENDS)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Index]:
    return lambda: BACKENDS[request.param](tmp_path)


@pytest.fixture
def index(opened: Callable[[], Index]) -> Iterator[Index]:
    made = opened()
    yield made
    made.close()


def a_memory(number: int, **changes: Any) -> Memory:
    draft = Draft(title=f"title{number}", content="shared words")
    plain = memory_from(draft, memory_id=f"mem_{number:05}", tenant="t", namespace="n", initial_confidence=0.5, now=1.0)
    return replace(plain, **changes)


STANDING = Standing(initial=0.5, created_at=1.0)


def apply(index: Index, seq: int, **parts: object) -> None:
    with index.writing(wait_s=10.0) as granted:
        assert granted
        index.apply(IndexBatch(applied=seq, **parts))  # type: ignore[arg-type]


def add(index: Index, seq: int, *memories: Memory) -> None:
    apply(index, seq, added=[(memory, STANDING) for memory in memories])


def embed_all(index: Index, vector_of: Callable[[str], np.ndarray]) -> None:
    with index.writing(wait_s=10.0) as granted:
        assert granted
        while ids := index.awaiting_vectors(7):
            index.embed(ids, np.stack([vector_of(i) for i in ids]))


def found(index: Index, text: str = "shared words", **where: object) -> list[str]:
    probe = Probe(vector=None, text=text, where=Filter(**{"tenant": "t", **where}), depth=10_000)  # type: ignore[arg-type]
    return sorted(index.fused.search(probe).ids)


def numbers(ids: Sequence[str]) -> list[int]:
    return [int(i[-5:]) for i in ids]


def test_an_empty_index_finds_nothing_and_has_applied_nothing(index: Index) -> None:
    assert index.position.applied == 0
    assert found(index) == []
    assert index.awaiting_vectors(10) == []
    assert index.identity == IDENTITY


@pytest.mark.parametrize(
    ("where", "expected"),
    [
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
    ],
    ids=str,
)
def test_a_filter_is_exact(index: Index, where: dict[str, object], expected: list[int]) -> None:
    add(
        index,
        9,
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
    assert numbers(found(index, **where)) == expected


def test_a_revision_replaces_the_words_and_an_erasure_removes_them(index: Index) -> None:
    add(index, 2, a_memory(1), a_memory(2))
    apply(index, 3, revised=[(a_memory(1, content="other terms", revision=2), STANDING)])
    assert numbers(found(index)) == [2]
    assert numbers(found(index, "other terms")) == [1]
    apply(index, 4, revised=[(a_memory(1, content="other terms", namespace="m", revision=3), STANDING)])
    assert numbers(found(index, "other terms", namespace="m")) == [1]
    apply(index, 5, erased=["mem_00001", "mem_none"])
    assert found(index, "other terms") == []
    assert index.position.applied == 5
    assert index.info().memories == 1


def test_standings_are_given_back_as_they_were(index: Index) -> None:
    add(index, 1, a_memory(1))
    judged = Standing(
        initial=0.25, created_at=7.5, positive=1.5, negative=0.25, value=0.125, used=3, succeeded=2, last_used_at=9.5
    )
    apply(index, 2, standings={"mem_00001": judged, "mem_none": judged})
    probe = Probe(vector=None, text="shared", where=Filter(tenant="t"), depth=10)
    assert index.fused.search(probe).standings == [judged]


def test_the_nearest_vectors_come_first_and_nan_marks_those_without(index: Index) -> None:
    rng = np.random.default_rng(5)
    vectors = rng.standard_normal((60, 32)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    add(index, 60, *(a_memory(n) for n in range(60)))
    assert index.info().awaiting_vectors == 60
    embed_all(index, lambda i: vectors[int(i[-5:])])
    assert index.info().awaiting_vectors == 0
    add(index, 61, a_memory(60))
    for row in (0, 17, 59):
        probe = Probe(vector=vectors[row], text="nothing in common", where=Filter(tenant="t"), depth=10)
        candidates = index.fused.search(probe)
        cosine = np.nan_to_num(candidates.cosine, nan=-2.0)
        best = [candidates.ids[i] for i in np.argsort(-cosine)[:5]]
        expected = np.argsort(-(vectors @ vectors[row]))[:5]
        assert numbers(best) == expected.tolist()
        kept = index.fused.vectors_of(candidates, [candidates.ids.index(best[0])])[0]
        assert kept @ vectors[row] == pytest.approx(1.0, abs=0.01)
    probe = Probe(vector=vectors[0], text="title60", where=Filter(tenant="t"), depth=10)
    candidates = index.fused.search(probe)
    assert np.isnan(candidates.cosine[candidates.ids.index("mem_00060")])


def test_the_ceiling_tells_how_much_of_the_query_was_met(index: Index) -> None:
    add(index, 20, *(a_memory(n, title="x", content=f"word{n} common") for n in range(20)))
    probe = Probe(vector=None, text="word7 common", where=Filter(tenant="t"), depth=10)
    candidates = index.fused.search(probe)
    share = candidates.keyword / candidates.keyword_ceiling
    best = candidates.ids[int(np.argmax(share))]
    assert numbers([best]) == [7]
    assert float(share.max()) <= 1.0
    half = index.fused.search(replace(probe, text="word7 unheardof"))
    assert 0.0 < float(half.keyword.max()) / half.keyword_ceiling < 0.7 * float(share.max())


def test_replaying_a_batch_changes_nothing(index: Index) -> None:
    for _ in range(3):
        add(index, 2, a_memory(1), a_memory(2))
        apply(index, 3, revised=[(a_memory(1, content="other terms"), STANDING)])
        apply(index, 4, erased=["mem_00002"])
        add(index, 2, a_memory(1, content="other terms"))
    assert numbers(found(index, "other terms")) == [1]
    assert index.info().memories == 1
    assert index.position.applied == 4


def test_what_was_applied_is_there_after_opening_again_and_for_others_at_once(
    index: Index, opened: Callable[[], Index]
) -> None:
    other = opened()
    for number in range(30):
        add(index, number + 1, a_memory(number))
        assert other.position.applied == number + 1
        assert len(found(other)) == number + 1
    other.close()
    again = opened()
    assert len(found(again)) == 30
    assert again.position.applied == 30
    again.close()


def test_only_one_may_write_at_a_time(index: Index, opened: Callable[[], Index]) -> None:
    other = opened()
    with index.writing(wait_s=1.0) as granted:
        assert granted
        with other.writing(wait_s=0.0) as also:
            assert not also
    with other.writing(wait_s=1.0) as granted:
        assert granted
    other.close()


def test_what_was_filtered_out_is_counted(index: Index) -> None:
    add(
        index, 3, a_memory(1), a_memory(2, outcome=Outcome.FAILURE), a_memory(3, namespace="m"), a_memory(4, tenant="u")
    )
    where = Filter(tenant="t", namespace="n", outcome=Outcome.SUCCESS)
    candidates = index.fused.search(Probe(vector=None, text="shared", where=where, depth=10))
    assert candidates.considered == 1
    assert {k: v for k, v in candidates.filtered_out.items() if v} == {"namespace": 1, "outcome": 1}
    assert candidates.exhausted


def test_ids_that_are_asked_for_come_back_with_their_scores_where_the_filter_lets_them(index: Index) -> None:
    add(
        index,
        1,
        a_memory(1),
        a_memory(2, title="apart", description="", content="nothing alike"),
        a_memory(3, tenant="u"),
    )
    also = tuple(a_memory(number).id for number in (2, 3, 9))
    probe = Probe(vector=None, text="shared words", where=Filter(tenant="t"), depth=5, also=also)
    candidates = index.fused.search(probe)
    assert numbers(candidates.ids) == [1, 2]
    assert candidates.keyword[0] > 0.0 == candidates.keyword[1]


def columns(index: Index, text: str, depth: int = 100, **where: object) -> dict[int, tuple[bool, bool]]:
    """Of each memory that comes up, whether it is asked for by a rare word, and whether it is the very question."""
    probe = Probe(vector=None, text=text, where=Filter(**{"tenant": "t", **where}), depth=depth)  # type: ignore[arg-type]
    candidates = index.fused.search(probe)
    assert len(candidates.named) == len(candidates.exact) == len(candidates.beside) == len(candidates.ids)
    told = zip(candidates.named.tolist(), candidates.exact.tolist(), strict=True)
    return dict(zip(numbers(candidates.ids), told, strict=True))


def test_a_rare_word_names_what_holds_it_in_any_field_and_a_common_word_does_not(index: Index) -> None:
    add(
        index,
        5,
        a_memory(1, title="to zanzibar", content="shared words"),
        a_memory(2, key="zanzibar-trip"),
        a_memory(3, tags=("zanzibar",)),
        a_memory(4, content="shared words of zanzibar"),
        a_memory(5, description="on zanzibar"),
        *(a_memory(number) for number in range(6, 300)),
    )
    named = {number for number, (is_named, _) in columns(index, "the shared zanzibar", 300).items() if is_named}
    assert named == {1, 2, 3, 4, 5}
    assert not any(is_named for is_named, _ in columns(index, "shared words").values())


def test_a_word_names_nothing_that_more_than_one_in_fifty_hold(index: Index) -> None:
    add(index, 1, *(a_memory(number, content="zanzibar" if number < 3 else "plain") for number in range(149)))
    assert not any(is_named for is_named, _ in columns(index, "zanzibar").values())
    add(index, 2, a_memory(149))
    assert [number for number, (is_named, _) in columns(index, "zanzibar").items() if is_named] == [0, 1, 2]


def test_what_was_revised_or_erased_or_is_another_tenants_makes_no_word_common(index: Index) -> None:
    add(index, 1, a_memory(1, content="zanzibar"), a_memory(2, content="zanzibar"))
    add(index, 2, *(a_memory(number, tenant="u", content="zanzibar") for number in range(10, 40)))
    for revision in range(2, 6):
        text = f"zanzibar {revision}"
        apply(index, 1 + revision, revised=[(a_memory(1, content=text, revision=revision), STANDING)])
    apply(index, 7, erased=["mem_00002"])
    assert columns(index, "zanzibar") == {1: (True, False)}


@pytest.mark.parametrize("text", ["Keep THE door  shut", "title1", "the-door", "keep the door shut"])
def test_the_very_title_key_or_content_is_exact_however_it_is_spaced(index: Index, text: str) -> None:
    add(index, 2, a_memory(1, content="Keep the door shut", key="the-door"), a_memory(2, content="Keep the doors shut"))
    assert {number for number, (_, is_exact) in columns(index, text).items() if is_exact} == {1}
    assert not any(is_exact for _, is_exact in columns(index, f"{text} now").values())


def test_a_memory_is_named_and_exact_only_where_the_filter_lets_it(index: Index) -> None:
    add(index, 2, a_memory(1, key="zanzibar"), a_memory(2, key="zanzibar", namespace="m"))
    assert columns(index, "zanzibar", namespace="n") == {1: (False, True)}, "two hold it, so it is not rare"
    assert columns(index, "zanzibar", namespace="o") == {}


@pytest.mark.parametrize("changes", [{"key": "grafana-board"}, {"tags": ("grafana-board",)}], ids=str)
def test_a_revised_key_or_tag_is_found_and_the_old_one_no_more(index: Index, changes: dict[str, Any]) -> None:
    add(index, 1, a_memory(1, **{name: ("old-board",) if name == "tags" else "old-board" for name in changes}))
    assert numbers(found(index, "old")) == [1]
    apply(index, 2, revised=[(a_memory(1, revision=2, **changes), STANDING)])
    assert numbers(found(index, "grafana")) == [1]
    assert found(index, "old") == []
    assert columns(index, "old-board") == {1: (False, False)}, "by the other word of it"


def test_the_rarest_word_is_what_a_word_of_one_memory_counts_whatever_the_size(index: Index) -> None:
    before = 0.0
    for seq, upto in enumerate((20, 200, 2_000), start=1):
        add(index, seq, *(a_memory(number, content=f"only{number}") for number in range(upto)))
        probe = Probe(vector=None, text="only7", where=Filter(tenant="t"), depth=5)
        candidates = index.fused.search(probe)
        assert candidates.rarest_word > before
        before = candidates.rarest_word
        assert float(candidates.keyword.max()) / candidates.rarest_word == pytest.approx(1.1, abs=0.25)


def test_the_rarest_word_does_not_tell_how_many_memories_other_tenants_have(index: Index) -> None:
    add(index, 1, *(a_memory(number) for number in range(5)))
    probe = Probe(vector=None, text="shared", where=Filter(tenant="t"), depth=5)
    alone = index.fused.search(probe).rarest_word
    add(index, 2, *(a_memory(number, tenant="u") for number in range(100, 200)))
    assert index.fused.search(probe).rarest_word == pytest.approx(alone)


def test_a_turn_has_the_turns_before_and_after_it_beside_it(index: Index) -> None:
    add(
        index,
        7,
        a_memory(1, content="Ann: zanzibar"),
        a_memory(2, content="Bob: yes"),
        a_memory(3, content="Ann: fine"),
        a_memory(4, content="Note: zanzibar"),
        a_memory(5, content="Bob: apart"),
        a_memory(6, content="Ann: another talk", metadata={"conv_id": "two"}),
        a_memory(7, content="Bob: elsewhere", namespace="m", metadata={"conv_id": "two"}),
        a_memory(8, content="Ann: not mine", tenant="u", metadata={"conv_id": "two"}),
    )

    def beside(**where: object) -> dict[int, set[int]]:
        probe = Probe(vector=None, text="ann bob zanzibar", where=Filter(**{"tenant": "t", **where}), depth=50)  # type: ignore[arg-type]
        candidates = index.fused.search(probe)
        own = numbers(candidates.ids)
        pairs = candidates.beside.tolist()
        return {own[row]: {own[place] for place in pair if place >= 0} for row, pair in enumerate(pairs)}

    nobody: set[int] = set()
    assert beside() == {1: {2}, 2: {1, 3}, 3: {2}, 4: nobody, 5: nobody, 6: nobody, 7: nobody}
    apply(index, 8, erased=["mem_00002"])
    left = beside()
    assert 2 not in left
    assert all(2 not in near for near in left.values())


def test_a_turn_comes_up_with_its_neighbour_though_nothing_else_finds_it(index: Index) -> None:
    add(index, 2, a_memory(1, content="Ann: zanzibar"), a_memory(2, content="Bob: yes", tags=("kept",)))
    probe = Probe(vector=None, text="zanzibar", where=Filter(tenant="t"), depth=1)
    assert numbers(index.fused.search(probe).ids) == [1, 2]
    assert numbers(index.fused.search(replace(probe, where=Filter(tenant="t", tags=("kept",)))).ids) == []


def test_every_candidate_that_holds_a_rare_word_has_its_share_of_it_however_many_others_do(index: Index) -> None:
    long = "zanzibar and a great deal besides that has nothing to do with it at all"
    holders = [a_memory(0, content=long), a_memory(1, content=long), a_memory(2, content="zanzibar")]
    add(index, 200, *holders, a_memory(3, content="zanzibar"), *(a_memory(number) for number in range(4, 200)))
    besides = (holders[0].id, holders[1].id)
    probe = Probe(vector=None, text="zanzibar harbour", where=Filter(tenant="t"), depth=2, also=besides)
    candidates = index.fused.search(probe)
    assert dict(zip(numbers(candidates.ids), candidates.named.tolist(), strict=True)) == dict.fromkeys(range(4), 0.5)
