"""The index is a view: lost, damaged, stale or of another model, it is put right without losing a record."""

from __future__ import annotations

import random
import shutil
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.confidence import policies
from reasoningbank.core.errors import EmbedderMismatch, InvalidInput
from reasoningbank.index.header import FORMAT
from reasoningbank.wiring.embedders import identity_of, make_embedder


def opened(path: Path, **options: object) -> ReasoningBank:
    return ReasoningBank.open(path, **{"embedder": "hash", "namespace": "n", **options})  # type: ignore[arg-type]


def index_of(path: Path) -> Path:
    return path.parent / f"{path.name}.index"


def found(bank: ReasoningBank) -> set[str]:
    return {hit.id for hit in bank.search("advice about number", floor=0.0, limit=1_000)}


@pytest.fixture
def filled(path: Path) -> set[str]:
    with opened(path) as bank:
        ids = {bank.record(title=f"t{n}", content=f"advice about number {n}").id for n in range(30)}
        bank.edit(min(ids), content="advice about number 0, edited")
        assert found(bank) == ids
    return ids


def test_a_deleted_index_is_built_again(path: Path, filled: set[str]) -> None:
    shutil.rmtree(index_of(path))
    with opened(path) as bank:
        assert found(bank) == filled


def test_an_index_deleted_while_the_bank_is_open_is_built_again(path: Path, filled: set[str]) -> None:
    with opened(path) as bank:
        assert found(bank) == filled
        shutil.rmtree(index_of(path))
        assert found(bank) == filled
        new = bank.record(title="new", content="advice about number 99")
        assert found(bank) == {*filled, new.id}


@pytest.mark.parametrize("damage", ["emptied", "halved", "scrambled", "removed"])
def test_a_damaged_file_of_the_index_costs_nothing(path: Path, filled: set[str], damage: str) -> None:
    rng = random.Random(3)
    whole = index_of(path).with_name("whole")
    shutil.copytree(index_of(path), whole)
    files = [p.relative_to(whole) for p in whole.rglob("*") if p.is_file() and p.name != "LOCK"]
    assert len(files) > 6
    for name in files:
        shutil.rmtree(index_of(path))
        shutil.copytree(whole, index_of(path))
        victim = index_of(path) / name
        content = victim.read_bytes()
        match damage:
            case "emptied":
                victim.write_bytes(b"")
            case "halved":
                victim.write_bytes(content[: len(content) // 2])
            case "scrambled" if name.name in ("header", "CURRENT", "about.json", "rotation"):
                victim.write_bytes(rng.randbytes(len(content)))
            case "removed":
                victim.unlink()
        with opened(path) as bank:
            assert found(bank) == filled, f"after {name} was {damage}"


@pytest.mark.parametrize("lacking", ["second-bits-*", "nothing"])
def test_an_index_of_an_older_format_is_built_again(
    path: Path, filled: set[str], monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    shutil.rmtree(index_of(path))
    with monkeypatch.context() as older:
        older.setattr("reasoningbank.index.header.FORMAT", FORMAT - 1)
        with opened(path) as bank:
            assert found(bank) == filled
    # The format before had one bit a dimension.
    for file in index_of(path).rglob(lacking):
        file.unlink()
    (header,) = index_of(path).rglob("header")
    older_header = header.read_bytes()
    with opened(path) as bank:
        assert found(bank) == filled
    (header,) = index_of(path).rglob("header")
    assert header.read_bytes()[:8] != older_header[:8]


def test_an_index_left_by_another_bank_at_the_same_path_is_not_believed(path: Path, filled: set[str]) -> None:
    for leftover in path.parent.glob("bank.db*"):
        if leftover.is_file():
            leftover.unlink()
    with opened(path) as bank:
        ids = {bank.record(title=f"t{n}", content=f"advice about number {n}").id for n in range(60)}
        assert found(bank) == ids


def test_a_backup_put_back_and_written_past_the_old_end_is_indexed_anew(path: Path, tmp_path: Path) -> None:
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        bank.record(title="first", content="the common beginning")
        bank.backup(tmp_path / "copy.db")
        for number in range(3):
            bank.record(title=f"lost {number}", content="zeppelin")
        assert len(bank.search("zeppelin")) == 3
    shutil.copy(tmp_path / "copy.db", path)
    for ending in ("-wal", "-shm"):
        Path(f"{path}{ending}").unlink(missing_ok=True)
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        for number in range(5):
            bank.record(title=f"new {number}", content="submarine")
        assert len(bank.search("submarine")) == 5
        assert len(bank.search("zeppelin")) == 0


def test_a_backup_put_back_is_searched_as_it_was(path: Path, filled: set[str], tmp_path: Path) -> None:
    with opened(path) as bank:
        bank.backup(tmp_path / "copy.db")
        late = bank.record(title="late", content="advice about number 31")
        assert late.id in found(bank)
    (tmp_path / "copy.db").replace(path)
    with opened(path) as bank:
        assert found(bank) == filled
        new = bank.record(title="new", content="advice about number 32")
        assert found(bank) == {*filled, new.id}


def test_naming_another_embedder_for_an_existing_bank_is_an_error(path: Path, filled: set[str]) -> None:
    for options in ({"embedder": "local"}, {"dimension": 77}):
        with pytest.raises(EmbedderMismatch, match="reindex"):
            opened(path, **options)
    with pytest.raises(InvalidInput):
        opened(path.with_name("other.db"), embedder="magic")
    with ReasoningBank.open(path, namespace="n") as bank:
        assert bank.status().embedder.name == "hash"


def test_reindexing_to_another_embedder_and_back_loses_nothing(path: Path, filled: set[str]) -> None:
    with opened(path) as bank:
        before = list(bank.export_lines())[1:]
        for embedder in ("local", "hash", None):
            bank.reindex(embedder)
            assert found(bank) == filled
        after = list(bank.export_lines())[1:]
    records = [line for line in before if '"type":"shown"' not in line]
    assert [line for line in after if '"type":"shown"' not in line] == records
    assert len(list(index_of(path).iterdir())) == 1


def test_threads_go_on_searching_while_another_thread_reindexes(path: Path, filled: set[str]) -> None:
    with opened(path) as bank:
        found(bank)
        done = threading.Event()

        def search() -> int:
            searches = 0
            while not done.is_set():
                assert found(bank) == filled
                searches += 1
            return searches

        with ThreadPoolExecutor(3) as pool:
            watching = [pool.submit(search) for _ in range(3)]
            try:
                for dimension in range(64, 76):
                    bank.reindex("hash", dimension=dimension)
            finally:
                done.set()
            assert all(watcher.result() for watcher in watching)
        assert bank.status().embedder.dimension == 75


def test_a_vector_given_for_one_embedder_is_not_used_by_another(path: Path) -> None:
    with opened(path) as bank:
        penguins = bank.embed(["a tale of penguins"])[0]
        kept = bank.record(title="Alpha", content="beta gamma delta", vector=penguins)
        assert [m.id for m in bank.search("a tale of penguins")] == [kept.id]
        bank.reindex("hash", dimension=512)
        assert bank.search("a tale of penguins", floor=0.3).memories == ()
        bank.reindex("hash", dimension=1_024)
        assert [m.id for m in bank.search("a tale of penguins")] == [kept.id]


@pytest.mark.parametrize(
    "name",
    [
        "hash",
        "local",
    ],
)
def test_an_embedder_is_what_its_name_promised(name: str) -> None:
    from reasoningbank.config import from_environment

    identity = identity_of(name)
    embedder = make_embedder(identity, from_environment())
    assert embedder.identity == identity


@pytest.mark.parametrize("policy", [name for name in policies() if name != "bayes"])
def test_another_confidence_policy_reads_the_same_signals_in_searches_too(path: Path, policy: str) -> None:
    now = 1_790_000_000.0
    with opened(path, clock=lambda: now) as bank:
        kept = bank.record(title="t", content="advice about number 1", initial_confidence=0.6)
        for helpful in (True, True, False):
            bank.feedback(kept.id, helpful=helpful)
        assert bank.search("advice about number 1").memories
    with opened(path, policy=policy, clock=lambda: now) as bank:
        hit = bank.search("advice about number 1", min_confidence=0.0).memories[0]
        # By itself a memory fits; `factors` asks how well it fits the question.
        fits = bank.history(kept.id, context_match=hit.relevance) if policy == "factors" else bank.history(kept.id)
        assert hit.confidence.mean == pytest.approx(fits.remembered.confidence.mean)
        assert bank.get(kept.id).confidence == bank.history(kept.id).remembered.confidence
    with ReasoningBank.open(path, namespace="n") as bank:
        assert bank.status().policy == policy


def test_an_index_with_the_vectors_of_other_texts_is_built_anew(path: Path, filled: set[str]) -> None:
    with opened(path) as bank:
        assert found(bank) == filled
    (about,) = Path(f"{path}.index").rglob("about.json")
    _, _, facts = about.read_bytes().partition(b"\n")
    older = facts.replace(b'"text"', b'"body"')
    assert older != facts
    about.write_bytes(b"%08x\n%s" % (zlib.crc32(older), older))
    with opened(path) as bank:
        assert found(bank) == filled


@pytest.mark.parametrize("blob_bytes", [4 * 1024, 8])
def test_a_kept_vector_that_is_no_longer_of_use_does_not_leave_a_memory_without_one(path, blob_bytes):
    with opened(path) as bank:
        kept = bank.record(title="boats", content="moor the boats before the storm")
        identity, facet = identity_of("hash"), "text" if blob_bytes == 8 else "facet-of-an-older-version"
        bank.context.store.write(
            bank.tenant, lambda writer: writer.keep_vectors(identity, kept.id, {facet: bytes(blob_bytes)})
        )
        (hit,) = bank.search("moor the boats before the storm", floor=0.0)
        assert hit.parts.cosine > 0.5


def test_what_is_erased_does_not_live_on_in_an_index_that_was_never_finished(tmp_path: Path) -> None:
    class Interrupted(Exception):
        pass

    def interrupt(done: int, total: int) -> None:
        raise Interrupted

    path = tmp_path / "bank.db"
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        kept = bank.record(title="Kept", content="knead the dough for ten minutes")
        erased = bank.record(title="Erased", content="a word about zanzibar")
        bank.search("zanzibar")
        in_force = {place.name for place in Path(f"{path}.index").iterdir()}
        with pytest.raises(Interrupted):
            bank.reindex("hash", dimension=64, progress=interrupt)
        assert {place.name for place in Path(f"{path}.index").iterdir()} > in_force
        bank.erase(erased.id)
        assert {place.name for place in Path(f"{path}.index").iterdir()} == in_force
        bank.reindex("hash", dimension=64)
        assert [hit.id for hit in bank.search("knead the dough").memories] == [kept.id]


def test_an_index_that_somebody_is_building_is_left_to_him_by_an_erasure(tmp_path: Path) -> None:
    path = tmp_path / "bank.db"
    with (
        ReasoningBank.open(path, embedder="hash", namespace="n") as bank,
        ReasoningBank.open(path, namespace="n") as other,
    ):
        kept = bank.record(title="Kept", content="knead the dough for ten minutes")
        erased = bank.record(title="Erased", content="a word about zanzibar")
        bank.search("zanzibar")
        erase = iter([lambda: other.erase(erased.id)])
        bank.reindex("hash", dimension=64, progress=lambda done, total: next(erase, lambda: None)())
        assert [hit.id for hit in bank.search("knead the dough").memories] == [kept.id]
        assert bank.search("zanzibar").abstained
