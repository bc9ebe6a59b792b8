"""Past tasks like this one speak for what they taught, and only they do."""

from __future__ import annotations

import shutil
import zlib
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.learning import Episode, EpisodeStep
from reasoningbank.recall.experience import Taught, add_votes, votes_of_tasks

BOATS = "How many boats sail on Sunday from the old harbour?"
TABLE = "[('xq_id', 'int', 'NO'), ('zz_ref', 'int', 'NO')]"


def learn(bank: ReasoningBank, task: str, action: str = "DESCRIBE qqq", result: str = TABLE) -> str:
    """What is learned shares no word with the task."""
    kept = bank.keep(Episode(task=task, namespace=bank.namespace, steps=(EpisodeStep(action=action, result=result),)))
    bank.distill()
    return kept.trajectory.id


def test_a_task_finds_what_a_task_like_it_taught(bank: ReasoningBank) -> None:
    learn(bank, BOATS)
    learn(
        bank, "Which flower grows fastest in the shade?", "DESCRIBE rrr", "[('ff', 'int', 'NO'), ('gg', 'int', 'NO')]"
    )
    (hit,) = bank.search("How many boats sail from the old harbour on Monday?").memories
    assert hit.content == "qqq: xq_id, zz_ref"
    assert "qqq: xq_id" in bank.inject("How many boats sail from the old harbour on Monday?")


def test_the_first_task_of_a_bank_is_heard_by_the_next_search(bank: ReasoningBank) -> None:
    bank.record(title="Knots", content="A bowline holds a mast.")
    assert not bank.search(BOATS).memories
    learn(bank, BOATS)
    assert [hit.content for hit in bank.search(BOATS)] == ["qqq: xq_id, zz_ref"]


def test_without_experience_what_shares_no_word_is_not_found(bank: ReasoningBank) -> None:
    learn(bank, BOATS)
    assert not bank.search(BOATS, experience=False).memories
    with pytest.raises(InvalidInput, match="experience"):
        bank.search(BOATS, experience="perhaps")


def test_a_task_does_not_find_its_own_memory_when_asked_not_to(bank: ReasoningBank) -> None:
    source = learn(bank, BOATS)
    assert bank.search(BOATS).memories
    assert not bank.search(BOATS, exclude=(source,)).memories


def test_tasks_of_another_namespace_or_tenant_say_nothing(path: Path, bank: ReasoningBank) -> None:
    learn(bank, BOATS)
    assert not bank.search(BOATS, namespace="elsewhere").memories
    with ReasoningBank.open(path, tenant="stranger", namespace="n") as stranger:
        assert not stranger.search(BOATS).memories
        learn(stranger, BOATS, "DESCRIBE sss")
        assert [hit.title for hit in stranger.search(BOATS)] == ["Names in sss"]


def test_what_was_forgotten_stays_forgotten(bank: ReasoningBank) -> None:
    learn(bank, BOATS)
    bank.forget(bank.list()[0].id)
    assert not bank.search(BOATS).memories


def test_filters_hold_for_what_past_tasks_bring(bank: ReasoningBank) -> None:
    learn(bank, BOATS)
    assert bank.search(BOATS, tags=("fact",)).memories
    for narrowed in ({"tags": ("other",)}, {"outcome": "failure"}, {"agent": "nobody"}, {"scope": "org"}):
        assert not bank.search(BOATS, **narrowed).memories


def test_a_session_still_running_says_nothing_and_speaks_once_it_has_ended(bank: ReasoningBank) -> None:
    kept = bank.record(title="zz", content="yy")
    session = bank.start_session(BOATS)
    assert not bank.search(BOATS).memories
    bank.end_session(session.id, "success", used=[kept.id])
    assert [hit.id for hit in bank.search(BOATS)] == [kept.id]


def test_what_hurt_in_a_past_task_is_not_vouched_for(bank: ReasoningBank) -> None:
    kept = bank.record(title="zz", content="yy")
    session = bank.start_session(BOATS)
    bank.end_session(session.id, "failure", used=[kept.id])
    assert not bank.search(BOATS).memories


def test_to_have_been_shown_while_a_past_task_went_well_is_no_reason_to_be_shown_again(bank: ReasoningBank) -> None:
    memory = bank.record(title="Unrelated", content="polish the brass handles")
    for used in ([], [memory.id]):
        for _ in range(3):
            session = bank.start_session("rotate signing certificates").id
            bank.search("polish the brass handles", floor=0.0, session=session)
            bank.end_session(session, "success", used=used, distil=False)
        found = [hit.id for hit in bank.search("rotate signing certificates")]
        assert found == used


def test_however_often_a_memory_was_used_it_is_of_use_once() -> None:
    often = [(Taught({"a": 1.0}, {}), 0.8), (Taught({}, {"b": 1.0, "a": 1.0}), 0.8), (Taught({}, {"b": 1.0}), 0.8)]
    assert votes_of_tasks(often) == [({"a": 1.0}, 0.8), ({"b": 1.0}, 0.8), ({}, 0.8)]


def test_the_index_of_tasks_is_a_view_that_may_vanish_or_rot(path: Path, bank: ReasoningBank) -> None:
    learn(bank, BOATS)
    assert bank.search(BOATS).memories
    (tasks,) = Path(f"{path}.index").glob("*-tasks")
    shutil.rmtree(tasks)
    bank.search(BOATS)
    assert bank.search(BOATS).memories
    bank.close()
    for file in tasks.rglob("*"):
        if file.is_file() and file.name not in ("CURRENT", "LOCK"):
            file.write_bytes(b"rot")
    with ReasoningBank.open(path, namespace="n") as again:
        again.search(BOATS)
        assert again.search(BOATS).memories


def test_an_index_of_tasks_of_an_older_build_is_built_anew(path: Path, bank: ReasoningBank) -> None:
    learn(bank, BOATS)
    assert bank.search(BOATS).memories
    bank.close()
    (tasks,) = Path(f"{path}.index").glob("*-tasks")
    (about,) = tasks.rglob("about.json")
    _, _, facts = about.read_bytes().partition(b"\n")
    older = facts.replace(b'"content"', b'"body"')
    assert older != facts
    about.write_bytes(b"%08x\n%s" % (zlib.crc32(older), older))
    with ReasoningBank.open(path, namespace="n") as again:
        again.search(BOATS)
        assert again.search(BOATS).memories


def test_a_bank_open_for_reading_answers_without_an_index_of_tasks(path: Path, bank: ReasoningBank) -> None:
    learn(bank, BOATS)
    bank.record(title="boats in the old harbour", content="boats sail from the old harbour on Sunday")
    bank.catch_up()
    bank.close()
    with ReasoningBank.open(path, namespace="n", read_only=True) as reader:
        assert "boats in the old harbour" in [hit.title for hit in reader.search(BOATS)]


def test_a_reindex_brings_the_tasks_along(bank: ReasoningBank) -> None:
    learn(bank, BOATS)
    assert bank.search(BOATS).memories
    bank.reindex()
    assert bank.search(BOATS).memories


def test_a_bank_without_sessions_has_no_index_of_tasks(path: Path, bank: ReasoningBank) -> None:
    bank.record(title="boats", content="boats sail")
    assert bank.search("boats").memories
    assert not list(Path(f"{path}.index").glob("*-tasks"))


def test_near_tasks_vote_for_their_memories() -> None:
    heard = [({"a": 1.0, "b": 1.0}, 0.8), ({"a": 1.0}, 0.8), ({"c": 0.5}, 0.8)]
    assert add_votes(heard) == {
        "a": pytest.approx(0.8 * 2 / 3),
        "b": pytest.approx(0.8 / 3),
        "c": pytest.approx(0.8 / 6),
    }
    assert add_votes([]) == {}
    assert add_votes([({"a": 1.0}, 1.0)]) == {"a": pytest.approx(1.0)}


def test_tasks_that_differ_in_a_number_alone_are_of_one_kind_however_many_there_are(path: Path) -> None:
    """By the rarity of their words they would be less alike with each of them."""
    with ReasoningBank.open(path.with_name("many.db"), namespace="n", embedder="hash") as bank:
        way = bank.record(title="Switch off the cache", content="To deploy the gateway, switch off the cache.").id
        deeds = ("deploy the gateway", "migrate the ledger", "restore the archive", "tune the scheduler")
        for number in range(240):
            task = f"{deeds[number % 4]} behind a proxy for customer {number}"
            session = bank.start_session(task).id
            tried = number % 60 == 0
            bank.end_session(session, "failure" if tried else "success", used=[way] if tried else [], distil=False)
        hits = bank.search("deploy the gateway behind a proxy for customer 999", min_confidence=0.0).memories
        (hit,) = (hit for hit in hits if hit.id == way)
        assert hit.parts.confidence < hit.confidence.mean
