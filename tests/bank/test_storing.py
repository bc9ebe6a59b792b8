"""Storing, changing and removing, through the verbs that users call."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reasoningbank import Draft, ReasoningBank
from reasoningbank.core.errors import Conflict, InvalidInput, NotFound
from reasoningbank.core.types import State


def test_what_was_stored_is_found_without_any_flag(bank: ReasoningBank) -> None:
    bank.store("deploy", "Run the migrations before the new containers start")
    kept = bank.record(title="Retry on 503", content="Back off with jitter when the server answers 503")
    assert bank.search("the server answers 503").memories[0].id == kept.id
    assert bank.search("run migrations before containers").memories[0].memory.key == "deploy"


def test_a_key_stored_again_makes_a_revision(bank: ReasoningBank) -> None:
    first = bank.store("k", "one", tags=["a"])
    second = bank.store("k", "two")
    assert second.id == first.id
    assert second.memory.revision == 2
    assert second.tags == ("a",)
    assert [m.content for m in bank.list()] == ["two"]
    assert [r.content for r in bank.history("k").revisions] == ["one", "two"]


def test_storing_the_same_value_again_changes_nothing(bank: ReasoningBank) -> None:
    bank.store("k", "one")
    before = bank.status().changes
    assert bank.store("k", "one").memory.revision == 1
    assert bank.status().changes == before


def test_a_title_given_once_survives_a_store_that_gives_none(bank: ReasoningBank) -> None:
    bank.store("k", "one", title="A good title", cognitive_pattern="lateral")
    again = bank.store("k", "two", cognitive_pattern="systems")
    assert again.title == "A good title"
    assert again.memory.cognitive_pattern == "systems"


def test_one_key_in_two_namespaces_is_two_memories(bank: ReasoningBank) -> None:
    here, there = bank.store("k", "here"), bank.store("k", "there", namespace="m")
    assert here.id != there.id
    assert bank.get("k").content == "here"
    assert bank.get("k", namespace="m").content == "there"
    assert bank.get(there.id).content == "there"


def test_two_tenants_in_one_file_never_meet(path: Path) -> None:
    with (
        ReasoningBank.open(path, embedder="hash", namespace="n", tenant="a") as a,
        ReasoningBank.open(path, embedder="hash", namespace="n", tenant="b") as b,
    ):
        mine = a.store("k", "the secret of tenant a", scope="org")
        yours = b.store("k", "the secret of tenant b", scope="org")
        a.feedback(mine.id, helpful=True)
        assert [m.id for m in a.search("the secret of tenant", namespace="*").memories] == [mine.id]
        assert [m.id for m in b.search("the secret of tenant", namespace="*").memories] == [yours.id]
        for verb in (
            b.get,
            b.forget,
            b.restore,
            b.erase,
            b.history,
            b.neighbours,
            lambda i: b.edit(i, title="x"),
            lambda i: b.feedback(i, helpful=True),
            lambda i: b.outcome(i, succeeded=True),
            lambda i: b.link(i, yours.id, "relates"),
            lambda i: b.link(yours.id, i, "relates"),
        ):
            with pytest.raises(NotFound):
                verb(mine.id)
        assert b.status().memories == {"active": 1}
        assert b.status().signals == 0
        assert not any("tenant a" in line for line in b.export_lines())


def test_an_edit_makes_a_revision_and_an_empty_one_does_not(bank: ReasoningBank) -> None:
    kept = bank.store("k", "one")
    assert bank.edit(kept.id, content="one").memory.revision == 1
    edited = bank.edit("k", content="two", tags=["x"], outcome="failure")
    assert (edited.memory.revision, edited.content, edited.tags, edited.outcome) == (2, "two", ("x",), "failure")


def test_an_edit_that_expects_an_older_revision_is_refused(bank: ReasoningBank) -> None:
    kept = bank.store("k", "one")
    bank.edit(kept.id, content="two", expected_revision=1)
    with pytest.raises(Conflict, match="revision 2"):
        bank.edit(kept.id, content="three", expected_revision=1)
    assert bank.get(kept.id).content == "two"


@pytest.mark.parametrize("field", ["id", "tenant", "revision", "key", "origin", "created_at", "colour"])
def test_what_is_fixed_at_writing_cannot_be_edited(bank: ReasoningBank, field: str) -> None:
    kept = bank.store("k", "one")
    with pytest.raises(InvalidInput, match="cannot be edited"):
        bank.edit(kept.id, **{field: "x"})


def test_a_forgotten_memory_is_gone_from_every_search_and_comes_back_when_restored(bank: ReasoningBank) -> None:
    kept = bank.store("k", "something to be forgotten")
    bank.search("something to be forgotten")
    bank.forget("k")
    assert bank.search("something to be forgotten", floor=0.0).memories == ()
    assert bank.list() == []
    assert bank.get(kept.id).memory.state is State.FORGOTTEN
    with pytest.raises(NotFound):
        bank.get("k")
    bank.restore(kept.id)
    assert [m.id for m in bank.search("something to be forgotten").memories] == [kept.id]


def test_a_memory_whose_key_was_taken_meanwhile_cannot_be_restored(bank: ReasoningBank) -> None:
    old = bank.store("k", "old")
    bank.forget("k")
    new = bank.store("k", "new")
    assert new.id != old.id
    with pytest.raises(Conflict):
        bank.restore(old.id)
    assert bank.get("k").content == "new"
    assert bank.get(old.id).memory.revision == 2


def test_an_erased_memory_is_gone_with_everything_about_it(bank: ReasoningBank) -> None:
    kept, other = bank.store("k", "to be erased"), bank.store("o", "to stay")
    bank.feedback(kept.id, helpful=True)
    bank.link(kept.id, other.id, "relates")
    bank.search("to be erased")
    bank.erase(kept.id)
    for verb in (bank.get, bank.history, bank.restore, bank.erase):
        with pytest.raises(NotFound):
            verb(kept.id)
    status = bank.status()
    assert (status.memories, status.signals, status.edges) == ({"active": 1}, 0, 0)
    assert bank.neighbours(other.id) == []
    assert kept.id not in {m.id for m in bank.search("to be erased", floor=0.0).memories}


@pytest.mark.parametrize("reference", [None, "", 5, b"x", "\udc80", ["k"], "no such thing"])
def test_a_reference_that_names_nothing_touches_nothing(bank: ReasoningBank, reference: object) -> None:
    bank.record(title="Without a key", content="must not be taken for the nameless one")
    for verb in (
        bank.get,
        bank.forget,
        bank.erase,
        bank.history,
        bank.neighbours,
        lambda r: bank.feedback(r, helpful=True),
    ):
        with pytest.raises((NotFound, InvalidInput)):
            verb(reference)  # type: ignore[operator]
    assert bank.status().memories == {"active": 1}
    assert bank.status().changes == 1


def test_many_are_recorded_at_once_and_what_was_kept_before_an_error_stays(bank: ReasoningBank) -> None:
    drafts = [Draft(title=f"t{n}", content="c") for n in range(700)]
    seen: list[int] = []
    ids = bank.record_many(drafts, progress=seen.append)
    assert len(set(ids)) == 700
    assert seen == [500, 700]
    with pytest.raises(InvalidInput):
        bank.record_many([*({"title": "x", "content": "y"} for _ in range(500)), {"title": "no content"}])
    assert bank.status().memories == {"active": 1_200}
    assert bank.record_many([]) == []


def test_a_list_is_newest_first_and_pages(bank: ReasoningBank) -> None:
    ids = [bank.record(title=f"t{n}", content="c", tags=["even"] if n % 2 == 0 else ["odd", "x"]).id for n in range(12)]
    assert [m.id for m in bank.list(limit=5)] == ids[::-1][:5]
    assert [m.id for m in bank.list(limit=50, before=ids[6])] == ids[:6][::-1]
    assert len(bank.list(tags="even")) == 6
    assert len(bank.list(tags=["odd", "x"])) == 6
    assert bank.list(tags=["odd", "even"]) == []
    assert bank.list(namespace="elsewhere") == []
    assert len(bank.list(namespace="*")) == 12
    with pytest.raises(InvalidInput):
        bank.list(colour="red")
    for limit in (0, -1, True, "5", 1.5, None):
        with pytest.raises(InvalidInput):
            bank.list(limit=limit)  # type: ignore[arg-type]
    assert len(bank.list(limit=10**30)) == 12


def test_the_vector_that_a_caller_gives_is_the_one_that_is_used(bank: ReasoningBank) -> None:
    vector = bank.embed(["a completely different subject about penguins"])[0]
    kept = bank.record(title="Alpha", content="beta gamma", vector=vector)
    hit = bank.search("a completely different subject about penguins").memories[0]
    assert hit.id == kept.id
    assert hit.parts.cosine == pytest.approx(1.0, abs=0.01)
    bank.reindex()
    assert bank.search("a completely different subject about penguins").memories[0].id == kept.id


@pytest.mark.parametrize(
    "vector",
    [
        [1.0, 2.0],
        np.zeros(1024),
        np.full(1024, np.nan),
        np.full(1024, np.inf),
        "text",
        [["a"]],
        np.ones((1, 1024)),
        [1j] * 1024,
    ],
    ids=["too short", "zero", "NaN", "infinite", "text", "ragged", "a row too many", "complex"],
)
def test_a_vector_that_cannot_be_one_is_refused(bank: ReasoningBank, vector: object) -> None:
    with pytest.raises(InvalidInput, match="1024"):
        bank.record(title="t", content="c", vector=vector)  # type: ignore[arg-type]
    assert bank.list() == []


def test_the_status_tells_the_truth(bank: ReasoningBank) -> None:
    first = bank.store("a", "one")
    second = bank.store("b", "two", namespace="m")
    bank.feedback(first.id, helpful=True)
    bank.link(first.id, second.id, "causes")
    bank.forget(bank.store("c", "three").id)
    with bank.session("task"):
        pass
    status = bank.status()
    assert status.memories == {"active": 2, "forgotten": 1}
    assert status.namespaces == {"n": 1, "m": 1}
    assert (status.signals, status.edges, status.trajectories) == (1, 1, 1)
    assert status.changes == 9
    assert status.jobs == {"waiting": 1}
    assert status.index is None
    assert status.embedder.name == "hash"
    bank.search("one")
    index = bank.status().index
    assert index is not None
    assert index.applied == status.changes
    assert index.awaiting_vectors == 0


def test_a_closed_bank_says_so(path: Path) -> None:
    bank = ReasoningBank.open(path, embedder="hash", namespace="n")
    kept = bank.store("k", "v")
    bank.search("v")
    bank.close()
    bank.close()
    from reasoningbank.core.errors import StoreError

    for verb in (
        lambda: bank.get(kept.id),
        lambda: bank.store("k", "w"),
        lambda: bank.search("v"),
        bank.list,
        bank.status,
        bank.verify,
        lambda: bank.start_session("t"),
    ):
        with pytest.raises(StoreError, match="closed"):
            verb()
