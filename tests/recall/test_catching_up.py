"""What is stored in bulk is found: by its words at once, by its meaning once the index has followed."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

from reasoningbank import ReasoningBank

Child = Callable[..., "subprocess.Popen[str]"]
MANY = 200


def store_many(bank: ReasoningBank, count: int = MANY) -> None:
    notes = ({"title": f"Note {n}", "content": f"shelf {n} of the archive holds box {n * 7}"} for n in range(count))
    bank.record_many(notes)
    bank.record(title="zanzibar", content="Check the tuples of the zanzibar namespace before the cache is asked.")


def test_a_search_that_is_out_of_time_gives_what_the_words_find_and_says_what_is_owed(path: Path) -> None:
    with ReasoningBank.open(path, namespace="n", embedder="local") as bank:
        store_many(bank)
        found = bank.search("does the cache know zanzibar tuples", catch_up_s=0.0)
        assert 0 < found.not_yet_indexed < MANY
        assert [hit.title for hit in found.memories] == ["zanzibar"]
        assert found.memories[0].parts.cosine == 0.0, "its vector is owed"


def test_what_the_words_do_not_find_is_not_shown_while_vectors_are_owed(path: Path) -> None:
    with ReasoningBank.open(path, namespace="n", embedder="hash") as bank:
        store_many(bank)
        found = bank.search("quantum chromodynamics lattice", catch_up_s=0.0)
        assert found.not_yet_indexed
        assert found.abstained


def test_a_floor_that_was_asked_for_is_kept_while_vectors_are_owed(path: Path) -> None:
    with ReasoningBank.open(path, namespace="n", embedder="local") as bank:
        store_many(bank)
        found = bank.search("zanzibar tuples", catch_up_s=0.0, floor=0.99)
        assert found.not_yet_indexed
        assert found.abstained


def test_a_question_asked_while_vectors_are_owed_is_no_gap(bank: ReasoningBank) -> None:
    store_many(bank)
    assert bank.search("quantum chromodynamics lattice", catch_up_s=0.0).abstained
    assert bank.gaps.list().open == ()


def test_progress_goes_from_nothing_to_all_and_never_back(bank: ReasoningBank) -> None:
    store_many(bank)
    seen: list[tuple[int, int]] = []
    assert bank.index_lag() == MANY + 1
    assert bank.catch_up(progress=lambda done, total: seen.append((done, total)))
    assert {total for _, total in seen} == {MANY + 1}
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (MANY + 1, MANY + 1)
    assert bank.index_lag() == 0


def test_past_tasks_are_caught_up_with_too(bank: ReasoningBank) -> None:
    for number in range(20):
        session = bank.start_session(f"build part {number} of the harbour crane")
        bank.end_session(session.id, "success", distil=False)
    totals: list[int] = []
    assert bank.catch_up(progress=lambda _, total: totals.append(total))
    totals.clear()
    assert bank.catch_up(progress=lambda _, total: totals.append(total))
    assert totals == [], "nothing is owed, of memories or of tasks"
    folder = bank.status().store.location.folder("index")
    assert any(place.name.endswith("-tasks") for place in folder.iterdir())


def test_catching_up_in_an_idle_moment_ends_when_it_is_told_to_and_goes_on_from_there(bank: ReasoningBank) -> None:
    store_many(bank)
    assert not bank.catch_up(give_way=lambda: True)
    left = bank.index_lag()
    assert 0 < left <= MANY + 1, "the words are in"
    while not bank.catch_up(give_way=lambda: True):
        assert bank.index_lag() < left, "each time a batch at least"
        left = bank.index_lag()
    assert bank.search("zanzibar").not_yet_indexed == 0


def test_catching_up_in_an_idle_moment_lets_whoever_needs_the_index_go_first(bank: ReasoningBank) -> None:
    store_many(bank, 2_000)
    needed: list[bool] = []
    other = threading.Thread(target=lambda: needed.append(bank.catch_up()))

    def somebody_comes() -> bool:
        if not other.ident:
            other.start()
        return False

    assert not bank.catch_up(give_way=somebody_comes)
    other.join(60)
    assert needed == [True]
    assert bank.index_lag() == 0


IMPORTING = """
import os, signal, sys
from reasoningbank import ReasoningBank

def die(done, total):
    if done >= total // 2:
        os.kill(os.getpid(), signal.SIGKILL)

with ReasoningBank.open(sys.argv[1], namespace="n", embedder="hash") as bank:
    bank.import_from(sys.argv[2], restore=True)
    print("acknowledged", flush=True)
    bank.catch_up(progress=die)
"""


def test_a_process_that_is_killed_while_it_makes_vectors_loses_nothing_and_the_next_goes_on(
    tmp_path: Path, path: Path, child: Child
) -> None:
    with ReasoningBank.open(tmp_path / "first.db", namespace="n", embedder="hash") as bank:
        store_many(bank, 1_500)
        exported = tmp_path / "all.jsonl"
        exported.write_text("".join(f"{line.rstrip()}\n" for line in bank.export_lines()), encoding="utf-8")
    killed = child(IMPORTING, path, exported)
    out, _ = killed.communicate(timeout=600)
    assert (killed.returncode, out) == (-9, "acknowledged\n")
    with ReasoningBank.open(path, namespace="n", embedder="hash") as bank:
        assert 0 < bank.index_lag() < 1_501, "what was done stays done"
        assert bank.catch_up()
        found = bank.search("zanzibar tuples", limit=1)
        assert ([hit.title for hit in found.memories], found.not_yet_indexed) == (["zanzibar"], 0)
        assert bank.search("shelf of the archive", floor=0.0, limit=1).total_found > 100
