"""Damage to the index is seen by `verify`, costs no search an answer, and is built again from the records."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.types import EmbedderIdentity
from reasoningbank.index import generation
from reasoningbank.index.embedded import EmbeddedIndex
from reasoningbank.index.policy import SegmentPolicy
from reasoningbank.index.rows import COLUMNS, STARTS
from reasoningbank.index.segments import merge_ranges
from tests.everyday import some_every_day

IDENTITY = EmbedderIdentity(name="hash", model="ngram-1-2-3", dimension=64, revision="1")
COUNT = 30


def opened(path: Path, **options: object) -> ReasoningBank:
    return ReasoningBank.open(path, **{"embedder": "hash", "dimension": 64, "namespace": "n", **options})  # type: ignore[arg-type]


def found(bank: ReasoningBank, text: str = "advice about number") -> set[str]:
    return {hit.id for hit in bank.search(text, floor=0.0, min_confidence=0.0, limit=1_000)}


@pytest.fixture
def filled(path: Path) -> list[str]:
    with opened(path) as bank:
        ids = [bank.record(title=f"t{n}", content=f"advice about number {n}").id for n in range(COUNT)]
        bank.feedback(ids[3], helpful=True)
        assert found(bank) == set(ids)
        assert bank.catch_up()
    return ids


def file_of(path: Path, name: str) -> Path:
    (file,) = Path(f"{path}.index").rglob(name)
    return file


def flip(file: Path, at: int, bit: int = 2) -> None:
    raw = bytearray(file.read_bytes())
    raw[at] ^= 1 << bit
    file.write_bytes(raw)


PLACES = [
    ("rows", STARTS["id"] + 7),
    ("rows", STARTS["id"] + 40 * 5 + 9),
    ("rows", STARTS["tenant"] + 8 * 4),
    ("rows", STARTS["namespace"] + 8 * 4),
    ("rows", STARTS["text"] + 8 * 2),
    ("rows", STARTS["standing"] + 80 * 3 + 17),
    ("rows", STARTS["entry"] + 8 * 6),
    ("rows", STARTS["entry"] + 8 * 6 + 6),
    ("rows", STARTS["length"] + 4 * 6),
    ("rows", STARTS["scope"] + 5),
    ("rows", STARTS["state"] + 5),
    ("rows", STARTS["alive"] + 5),
    ("rows", STARTS["check"] + 4 * 5),
    ("rows", STARTS["vectors"] + 4 * 5),
    ("entries", 33),
    ("bits-0", 17),
    ("second-bits-0", 17),
    ("vectors-0", 1_001),
    ("header", 30),
    ("header", 4096 + 30),
    ("rotation", 100),
    ("about.json", 12),
    ("CURRENT", 1),
]
EVERY_DAY = some_every_day(PLACES, 3)


@pytest.mark.parametrize(("name", "at"), EVERY_DAY)
def test_a_flipped_bit_of_the_index_is_named_by_verify_until_it_is_mended(
    path: Path, filled: list[str], name: str, at: int
) -> None:
    flip(file_of(path, name), at)
    with opened(path) as bank:
        damage = bank.verify()
        assert damage
        assert {item.kind for item in damage} == {"index"}
        assert bank.verify() == damage, "to look at it repairs nothing"
        bank.mend_index()
        assert bank.catch_up()
        assert bank.verify() == []
        assert found(bank) == set(filled)


@pytest.mark.parametrize("column", COLUMNS)
def test_a_flipped_bit_of_any_column_is_named_or_changes_nothing(path: Path, filled: list[str], column: str) -> None:
    """Nothing depends on `changed` but whether a row is looked at once more, so it has no checksum."""
    with opened(path) as bank:
        whole = [(hit.id, hit.confidence.mean) for hit in bank.search("advice about number", floor=0.0).memories]
    width = COLUMNS[column].itemsize
    for byte in range(0, width, max(1, width // 4)):
        flip(file_of(path, "rows"), STARTS[column] + width * 4 + byte)
    with opened(path) as bank:
        if column != "changed":
            assert bank.verify() != []
        answers = [(hit.id, hit.confidence.mean) for hit in bank.search("advice about number", floor=0.0).memories]
        assert answers == whole
        bank.mend_index()
        assert bank.verify() == []


@pytest.mark.parametrize(("name", "at"), EVERY_DAY)
def test_a_search_on_a_damaged_index_raises_nothing_and_tells_the_evidence_of_the_records(
    path: Path, filled: list[str], name: str, at: int
) -> None:
    flip(file_of(path, name), at)
    with opened(path) as bank:
        for hit in bank.search("advice about number", floor=0.0, limit=1_000):
            assert hit.content == bank.get(hit.id).content
            assert hit.usage_count == bank.get(hit.id).usage_count
        late = bank.record(title="late", content="advice about number 99")
        assert late.id in found(bank)


@pytest.mark.parametrize(("name", "at"), EVERY_DAY)
def test_a_bank_that_may_only_be_read_is_searched_without_the_damaged_parts(
    path: Path, filled: list[str], name: str, at: int
) -> None:
    flip(file_of(path, name), at)
    with opened(path, read_only=True) as bank:
        assert len(found(bank)) >= COUNT - 2


def test_words_in_sealed_segments_are_checked_too(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    soon = SegmentPolicy(tail_rows=20)
    monkeypatch.setattr(generation, "merge_ranges", lambda ranges, rows: merge_ranges(ranges, rows, soon))
    with opened(path) as bank:
        bank.record_many({"title": f"t{n}", "content": f"advice about number {n}"} for n in range(100))
        assert bank.catch_up()
        assert bank.verify() == []
    segment = next(Path(f"{path}.index").rglob("words-*"))
    flip(segment, segment.stat().st_size // 2)
    with opened(path) as bank:
        # Which memories that hides depends on where the bit is.
        assert f"{segment.name} does not match its checksum" in [item.problem for item in bank.verify()]
        assert bank.mend_index()
        assert bank.verify() == []


def test_verify_names_what_the_index_lacks_has_too_much_or_knows_otherwise(path: Path, filled: list[str]) -> None:
    with opened(path) as bank:
        bank.edit(filled[0], content="advice about number 0, edited")
        bank.forget(filled[1])
        assert bank.catch_up()
        index = EmbeddedIndex.open(file_of(path, "CURRENT").parent, IDENTITY, "text")
        with index.writing(wait_s=600) as granted:
            assert granted
            content = index._latest()
            content.snapshot().rows.put("state", np.array([4]), 1)
            content.snapshot().rows.seal(np.array([4]))
        index.close()
        (damage,) = bank.verify()
        assert (damage.kind, damage.id, damage.problem) == ("index", filled[4], "the index knows another state of it")
        assert bank.mend_index()
        assert bank.verify() == []


def test_damage_that_hides_a_memory_is_found_while_the_index_is_followed(path: Path, filled: list[str]) -> None:
    flip(file_of(path, "entries"), 33)
    flip(file_of(path, "rows"), STARTS["namespace"] + 8 * 4)
    with opened(path) as bank:
        bank.record(title="late", content="something else")
        bank.search("something else")
        assert bank.catch_up()
        assert bank.verify() == []
        assert set(filled) <= found(bank)


# ------------------------------------------------------------ nobody is waited for


def test_what_is_stored_while_another_process_writes_the_index_is_found_at_once(path: Path, filled: list[str]) -> None:
    with opened(path) as bank:
        assert found(bank) == set(filled)
        other = EmbeddedIndex.open(file_of(path, "CURRENT").parent, IDENTITY, "text")
        with other.writing(wait_s=600) as granted:
            assert granted
            fresh = bank.record(title="fresh", content="advice about zanzibar")
            bank.edit(filled[2], content="advice about quagga")
            bank.forget(filled[5])
            hits = bank.search("zanzibar", floor=0.0)
            assert hits.memories[0].id == fresh.id
            assert hits.memories[0].parts.cosine > 0.0, "by its meaning as well"
            assert hits.not_yet_indexed == 0
            assert bank.search("quagga", floor=0.0).memories[0].id == filled[2]
            assert filled[5] not in found(bank)
            assert other.position.applied < bank.context.store.head(), "the index itself was left alone"
        other.close()
        assert bank.catch_up()
        assert found(bank) == {*filled, fresh.id} - {filled[5]}
        assert bank.verify() == []


# ------------------------------------------------------------ another history


def test_what_a_power_loss_took_back_from_the_records_is_not_missing_from_the_index(
    path: Path, filled: list[str], tmp_path: Path
) -> None:
    """The index had put out an old version whose successor the records then lost; its own header was lost as well."""
    with opened(path) as bank:
        bank.backup(tmp_path / "before.db")
    header = file_of(path, "header")
    before = header.read_bytes()
    with opened(path) as bank:
        bank.edit(filled[7], content="advice about number 7, edited")
        assert bank.catch_up()
    header.write_bytes(before)
    (tmp_path / "before.db").replace(path)
    with opened(path) as bank:
        assert found(bank) == set(filled)
        new = bank.record(title="new", content="advice about number 77")
        assert found(bank) == {*filled, new.id}
        assert bank.catch_up()
        assert bank.verify() == []


def test_records_put_back_under_an_open_bank_are_indexed_anew(path: Path, filled: list[str], tmp_path: Path) -> None:
    with opened(path) as bank:
        bank.backup(tmp_path / "before.db")
        lost = bank.record(title="lost", content="advice about number 31")
        assert lost.id in found(bank)
    (tmp_path / "before.db").replace(path)
    with opened(path) as bank:
        new = bank.record(title="new", content="advice about number 32")
        assert bank.verify(index_only=True), "as many changes as before, and others"
        assert found(bank) == {*filled, new.id}
        assert bank.catch_up()
        assert bank.verify() == []


# ------------------------------------------------------------ several at once


def test_two_reindexes_at_once_both_end_well(path: Path, filled: list[str]) -> None:
    with opened(path) as one, opened(path) as other, ThreadPoolExecutor(3) as pool:
        first = pool.submit(one.reindex, "hash", dimension=96)
        second = pool.submit(other.reindex, "hash", dimension=32)
        third = pool.submit(one.reindex, "hash", dimension=48)
        assert {each.result(60).dimension for each in (first, second, third)} == {96, 32, 48}
        assert found(one) == found(other) == set(filled)
        assert len([place for place in Path(f"{path}.index").iterdir() if place.is_dir()]) == 1
        assert one.verify() == []


def test_a_reindex_to_another_dimension_reaches_no_searcher_as_an_error(path: Path, filled: list[str]) -> None:
    problems: list[str] = []
    stop = threading.Event()

    begun = threading.Barrier(3)

    def look() -> None:
        with opened(path) as bank:
            begun.wait()
            while not stop.is_set():
                try:
                    if found(bank) != set(filled):
                        problems.append("something is not found")
                except Exception as error:  # noqa: BLE001 - whatever it is, it is the finding
                    problems.append(repr(error))

    searchers = [threading.Thread(target=look) for _ in range(2)]
    with opened(path) as bank:
        for searcher in searchers:
            searcher.start()
        begun.wait()
        for dimension in (32, 96, 16, 64):
            bank.reindex("hash", dimension=dimension)
        stop.set()
        for searcher in searchers:
            searcher.join()
    assert problems == []


def test_an_erasure_during_a_reindex_disturbs_nobody_and_is_final(path: Path, filled: list[str]) -> None:
    with opened(path) as bank, opened(path) as other:
        secret = bank.record(title="secret", content="advice about quetzalcoatlus")
        assert secret.id in found(bank)
        erased: list[bool] = []

        def erase(done: int, total: int) -> None:
            if not erased:
                erased.append(True)
                other.erase(secret.id)

        bank.reindex("hash", dimension=96, progress=erase)
        assert erased
        assert found(bank) == found(other) == set(filled)
        assert bank.verify() == []
    assert secret.id.encode() not in b"".join(p.read_bytes() for p in Path(f"{path}.index").rglob("*") if p.is_file())


def test_what_was_stored_last_is_found_while_the_index_lacks_nearly_everything(path: Path) -> None:
    with opened(path) as bank:
        bank.record(title="first", content="advice about beginnings")
        assert bank.catch_up()
        other = EmbeddedIndex.open(file_of(path, "CURRENT").parent, IDENTITY, "text")
        with other.writing(wait_s=600) as granted:
            assert granted
            bank.record_many({"title": f"t{n}", "content": f"advice about number {n}"} for n in range(3_000))
            last = bank.record(title="last", content="advice about zanzibar")
            hits = bank.search("zanzibar", floor=0.0, catch_up_s=0.0)
            assert hits.memories[0].id == last.id
            assert hits.not_yet_indexed
        other.close()


def test_a_reindex_that_was_begun_with_another_history_is_begun_again(
    path: Path, filled: list[str], tmp_path: Path
) -> None:
    class Interrupted(Exception):
        pass

    def interrupt(done: int, total: int) -> None:
        raise Interrupted

    with opened(path) as bank:
        bank.backup(tmp_path / "before.db")
        bank.record(title="lost", content="advice about number 31")
        with pytest.raises(Interrupted):
            bank.reindex("hash", dimension=96, progress=interrupt)
        begun = bank.context.store.setting("reindex")
        assert begun
    (tmp_path / "before.db").replace(path)
    with opened(path) as bank:
        bank.context.store.set_setting("reindex", begun)
        new = bank.record(title="new", content="advice about number 32")
        bank.reindex("hash", dimension=96)
        assert found(bank) == {*filled, new.id}
        assert bank.verify() == []
