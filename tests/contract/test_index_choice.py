"""Where a bank keeps its index: chosen once, changed by a reindex, and built anew when somebody spoils it; of every
engine in `index_engines`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.drafts import memory_from
from reasoningbank.core.errors import BankUnavailable, IndexUnavailable, InvalidInput
from reasoningbank.core.types import Draft, EmbedderIdentity
from reasoningbank.lexical.word_rows import word_rows
from reasoningbank.ports import Halves
from tests.contract.index_engines import ENGINES, builds_behind
from tests.contract.plain_index import SERVER, PlainHalf, PlainVectors, PlainWords

SERVERS = [name for name in ENGINES if name != "embedded"]


@pytest.fixture(params=SERVERS)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def _shared(engine: str) -> None:
    """For a test in which somebody else looks into the engine meanwhile."""
    if "share" in ENGINES[engine].cannot:
        pytest.skip(ENGINES[engine].cannot["share"])


@pytest.fixture
def url(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return ENGINES[engine].url(request, tmp_path)


@pytest.fixture
def opened(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., ReasoningBank]:
    """Opens the bank of a test; its index is where the caller says, or where it was."""
    place = ENGINES[engine].bank(request, tmp_path)
    return lambda **options: ReasoningBank.open(place, embedder="hash", namespace="n", **options)


def teach(bank: ReasoningBank) -> None:
    bank.record(title="Signing", content="Rotate the signing certificates before they expire.")
    bank.record(title="Harbour", content="A long walk to the harbour on a rainy morning.")


def is_soon(holds: Callable[[], bool]) -> bool:
    """Whether it holds within a while: what one has written, another one may see a moment later."""
    until = time.monotonic() + 300.0
    while not (found := holds()) and time.monotonic() < until:
        time.sleep(0.02)
    return found


def titles(bank: ReasoningBank, text: str) -> list[str]:
    return [hit.title for hit in bank.search(text)]


def test_the_engine_is_chosen_once_and_kept_with_the_bank(opened: Callable[..., ReasoningBank], url: str) -> None:
    with opened(index=url) as bank:
        teach(bank)
        assert titles(bank, "rotate the signing certificates") == ["Signing"]
    with opened() as bank:
        assert titles(bank, "rotate the signing certificates") == ["Signing"]
        assert bank.status().index.engine == url
    with pytest.raises(InvalidInput, match="reindex --index embedded"):
        opened(index="embedded")


@pytest.mark.usefixtures("_shared")
def test_a_reindex_moves_the_index_to_another_engine_and_back_and_leaves_nothing_behind(
    opened: Callable[..., ReasoningBank], url: str
) -> None:
    with opened() as bank:
        teach(bank)
        assert titles(bank, "rotate the signing certificates") == ["Signing"]
        folder = bank.status().store.location.folder("index")
        with opened() as other:
            assert titles(other, "harbour") == ["Harbour"]
            bank.reindex(index=url)
            assert bank.status().index.engine == url
            assert (bank.status().index.memories, bank.status().index.awaiting_vectors) == (2, 0)
            assert titles(bank, "rotate the signing certificates") == ["Signing"]
            assert titles(other, "harbour") == ["Harbour"]
            assert other.status().index.engine == url
        assert not any(folder.glob("*"))
        with builds_behind(bank) as (builds, name):
            assert builds.is_there(name)
            bank.reindex(index="embedded")
            assert not builds.is_there(name)
        assert bank.status().index.engine == "embedded"
        assert titles(bank, "rotate the signing certificates") == ["Signing"]


def test_a_move_that_was_interrupted_goes_on_and_another_one_removes_what_it_left(
    opened: Callable[..., ReasoningBank], url: str
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with opened() as bank:
        teach(bank)
        with pytest.raises(KeyboardInterrupt):
            bank.reindex(index=url, progress=interrupt)
        begun = bank.context.store.setting("reindex")
        assert url in begun
        assert titles(bank, "harbour") == ["Harbour"]
        assert bank.status().index.engine == "embedded"
        bank.reindex(index=url)
        assert bank.context.store.setting("index") == begun
        assert titles(bank, "harbour") == ["Harbour"]
        with pytest.raises(KeyboardInterrupt):
            bank.reindex(index="embedded", progress=interrupt)
        back = bank.context.store.setting("reindex")
        with pytest.raises(KeyboardInterrupt):
            bank.reindex(index="embedded", progress=interrupt)
        assert bank.context.store.setting("reindex") == back
        bank.reindex()
        assert (bank.status().index.engine, bank.context.store.setting("reindex")) == (url, "")
        assert titles(bank, "harbour") == ["Harbour"]


@pytest.mark.usefixtures("_shared")
def test_an_index_that_somebody_removed_is_built_anew_by_itself_and_one_sentence_told(
    opened: Callable[..., ReasoningBank], url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(index=url) as bank:
        teach(bank)
        assert titles(bank, "harbour") == ["Harbour"]
        with builds_behind(bank) as (builds, _):
            assert builds.remove_all()
        teach_more(bank)
        assert titles(bank, "harbour") == ["Harbour"]
        assert titles(bank, "grafana") == ["Grafana"]
    with opened() as bank:
        with builds_behind(bank) as (builds, _):
            assert builds.remove_all()
        assert not bank.verify()
        caplog.clear()
        assert titles(bank, "grafana") == ["Grafana"]
        [told] = sentences(caplog)
        assert told == f"The index in {url} was not there any more, and is built anew."
        assert (bank.status().index.memories, bank.status().index.awaiting_vectors) == (3, 0)
        assert not bank.verify()
    caplog.clear()
    with opened() as bank:
        assert titles(bank, "grafana") == ["Grafana"]
        assert not sentences(caplog)


def sentences(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "reasoningbank"]


@pytest.mark.usefixtures("_shared")
def test_a_first_index_is_built_without_a_word(
    opened: Callable[..., ReasoningBank], url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(index=url) as bank:
        teach(bank)
        assert titles(bank, "harbour") == ["Harbour"]
    assert not sentences(caplog)


@pytest.mark.usefixtures("_shared")
def test_what_an_engine_files_under_another_tenant_is_damage_until_it_is_mended(
    opened: Callable[..., ReasoningBank], url: str
) -> None:
    with opened(index=url) as bank:
        teach(bank)
        [found] = bank.search("harbour").memories
        memory = bank.get(found.id).memory
        with builds_behind(bank) as (builds, name):
            halves = builds.open(name, bank.status().embedder, "text")
            assert isinstance(halves, Halves)
            vector = halves.vectors.fetch([memory.id])[memory.id]
            stolen = replace(memory, tenant="evil")
            halves.words.upsert(word_rows([stolen]))
            halves.vectors.upsert([(stolen, vector)])
        assert is_soon(lambda: any("tenant" in damage.problem for damage in bank.verify()))
    with opened() as bank:
        assert bank.mend_index()
        assert bank.catch_up()
        assert is_soon(lambda: not bank.verify())
        assert titles(bank, "harbour") == ["Harbour"]


def teach_more(bank: ReasoningBank) -> None:
    bank.record(title="Grafana", content="The dashboard of the turbines.")


@pytest.mark.usefixtures("_shared")
def test_an_index_that_somebody_filled_with_other_dimensions_is_built_anew_and_one_sentence_told(
    opened: Callable[..., ReasoningBank], url: str, caplog: pytest.LogCaptureFixture
) -> None:
    other = EmbedderIdentity(name="hash", model="else", dimension=8, revision="1")
    draft = Draft(title="Foreign", content="Not of this bank.")
    foreign = memory_from(draft, memory_id="mem_x", tenant="default", namespace="n", initial_confidence=0.5, now=1.0)
    with opened(index=url) as bank:
        teach(bank)
        assert titles(bank, "harbour") == ["Harbour"]
        with builds_behind(bank) as (builds, name):
            builds.remove_all()
            halves = builds.open(name, other, "text")
            assert isinstance(halves, Halves)
            halves.vectors.clear()
            halves.words.upsert(word_rows([foreign]))
            halves.vectors.upsert([(foreign, np.ones(8, np.float32))])
        with caplog.at_level(logging.WARNING, "reasoningbank"):
            assert titles(bank, "harbour") == ["Harbour"]
        [told] = sentences(caplog)
        assert f"The index in {url} was" in told
        assert "built anew" in told
        assert (bank.status().index.memories, bank.status().index.awaiting_vectors) == (2, 0)


@pytest.mark.usefixtures("_shared")
def test_a_bank_that_is_only_read_searches_what_is_indexed_and_writes_nothing_there(
    opened: Callable[..., ReasoningBank], url: str
) -> None:
    with opened(index=url) as bank:
        teach(bank)
        assert bank.catch_up()
        teach_more(bank)
        with opened(read_only=True) as reader:
            assert is_soon(lambda: titles(reader, "harbour") == ["Harbour"])
            found = reader.search("grafana")
            assert (len(found.memories), found.not_yet_indexed > 0) == (0, True)
        assert bank.status().index.memories == 2
        assert titles(bank, "grafana") == ["Grafana"]


@pytest.mark.usefixtures("_shared")
def test_an_erased_memory_is_gone_from_the_engine_too(opened: Callable[..., ReasoningBank], url: str) -> None:
    with opened(index=url) as bank:
        teach(bank)
        kept = bank.record(title="Grafana", content="The dashboard of the turbines.")
        assert titles(bank, "grafana") == ["Grafana"]
        bank.erase(kept.id)
        with builds_behind(bank) as (builds, name):

            def look() -> Halves:
                halves = builds.open(name, bank.status().embedder, "text")
                assert isinstance(halves, Halves)
                return halves

            assert is_soon(lambda: look().words.count() == 2)
            assert is_soon(lambda: not look().vectors.fetch([kept.id]))


def test_a_copy_of_a_bank_begins_an_index_of_its_own(tmp_path: Path) -> None:
    one, copy = tmp_path / "one.db", tmp_path / "copy.db"
    with ReasoningBank.open(one, index="plain", embedder="hash", namespace="n") as bank:
        teach(bank)
        assert titles(bank, "harbour") == ["Harbour"]
        bank.backup(copy)
        with ReasoningBank.open(copy, read_only=True, namespace="n") as reader:
            assert titles(reader, "harbour") == ["Harbour"]
            assert reader.status().index.engine == "embedded"
        with ReasoningBank.open(copy, namespace="n") as other:
            teach_more(other)
            assert titles(other, "grafana") == ["Grafana"]
            assert other.status().index.engine == "plain"
            assert not titles(bank, "grafana")
            bank.record(title="Kibana", content="The log of the turbines.")
            assert titles(bank, "kibana") == ["Kibana"]
            assert not titles(other, "kibana")


def test_a_bank_that_was_moved_keeps_its_index(tmp_path: Path) -> None:
    with ReasoningBank.open(tmp_path / "one.db", index="plain", embedder="hash", namespace="n") as bank:
        teach(bank)
        assert titles(bank, "harbour") == ["Harbour"]
        before = bank.context.store.setting("index")
    (tmp_path / "one.db").rename(tmp_path / "moved.db")
    with ReasoningBank.open(tmp_path / "moved.db", namespace="n") as bank:
        assert titles(bank, "harbour") == ["Harbour"]
        assert bank.context.store.setting("index") == before


def test_a_bank_in_memory_leaves_nothing_in_a_server() -> None:
    with ReasoningBank.open(":memory:", index="plain", embedder="hash", namespace="n") as bank:
        teach(bank)
        assert titles(bank, "harbour") == ["Harbour"]
        mark = bank.context.store.setting("index").partition('"mark": "')[2].partition('"')[0]
        assert any(name.startswith(mark) for name in SERVER)
    assert not any(name.startswith(mark) for name in SERVER)


def test_the_variable_and_the_file_choose_for_a_new_bank_and_are_refused_by_one_that_has_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REASONINGBANK_INDEX", "plain")
    with ReasoningBank.open(tmp_path / "one.db", embedder="hash", namespace="n") as bank:
        teach(bank)
        assert titles(bank, "harbour") == ["Harbour"]
        assert bank.status().index.engine == "plain"
    monkeypatch.setenv("REASONINGBANK_INDEX", "embedded")
    with ReasoningBank.open(tmp_path / "one.db", namespace="n") as bank:
        teach_more(bank)
        with pytest.raises(InvalidInput, match=r"keeps its index in plain, and REASONINGBANK_INDEX asks for embedded"):
            bank.search("harbour")
        bank.reindex(index="embedded")
        assert titles(bank, "harbour") == ["Harbour"]
    monkeypatch.delenv("REASONINGBANK_INDEX")
    settings = {"storage": {"index": "plain"}}
    with ReasoningBank.open(tmp_path / "two.db", embedder="hash", namespace="n", config=settings) as bank:
        teach(bank)
        assert titles(bank, "harbour") == ["Harbour"]
        assert bank.status().index.engine == "plain"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("nowhere://host", "There is no index 'nowhere': choose one of embedded"),
        ("plain://ann:geheim@host", "belongs into the environment variable REASONINGBANK_INDEX_KEY"),
    ],
)
def test_an_engine_that_makes_no_sense_is_refused_with_a_sentence(tmp_path: Path, url: str, says: str) -> None:
    with pytest.raises(InvalidInput, match="index") as refused:
        ReasoningBank.open(tmp_path / "bank.db", index=url)
    assert says in str(refused.value)
    assert "geheim" not in str(refused.value)


def test_while_the_engine_is_away_storing_and_erasing_go_on_and_searches_go_by_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with ReasoningBank.open(tmp_path / "bank.db", index="plain", embedder="hash", namespace="n") as bank:
        teach(bank)
        assert titles(bank, "harbour") == ["Harbour"]
        asked: list[str] = []

        def away(self: PlainHalf, *_: object) -> None:
            asked.append(type(self).__name__)
            raise IndexUnavailable("plain does not answer: start it, or wait until it does.")

        with monkeypatch.context() as patch:
            for half, call in ((PlainWords, "upsert"), (PlainWords, "frequencies"), (PlainVectors, "search")):
                patch.setattr(half, call, away)
            kept = bank.record(title="Grafana", content="The dashboard of the turbines.")
            found = bank.search("grafana")
            assert (found.index_away, [hit.id for hit in found]) == (True, [kept.id])
            assert "start it, or wait" in caplog.text
            assert len(asked) == 1, "a server that hangs is waited for once"
            patch.setattr("tests.contract.plain_index.PlainBuilds.info", away)
            assert bank.status().index.trouble == "plain does not answer: start it, or wait until it does."
            bank.erase(bank.record(title="Kibana", content="The log of the turbines.").id)
        assert [hit.id for hit in bank.search("grafana")] == [kept.id]


def test_a_bank_leaves_an_engine_that_is_gone_for_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with ReasoningBank.open(tmp_path / "bank.db", index="plain", embedder="hash", namespace="n") as bank:
        teach(bank)
        assert titles(bank, "harbour") == ["Harbour"]

        def away(*_: object) -> None:
            raise BankUnavailable("plain does not answer.")

        with monkeypatch.context() as patch:
            patch.setattr("tests.contract.plain_index.PlainBuilds._remove", away)
            bank.reindex(index="embedded")
        assert titles(bank, "harbour") == ["Harbour"]
        [told] = [record.getMessage() for record in caplog.records]
        assert told.startswith("What plain holds under names with rb")


def test_the_docs_print_what_each_engine_was_tested_on_and_cannot_do() -> None:
    page = (Path(__file__).parents[2] / "docs" / "indexes.md").read_text("utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ") and line.count("|") == 4]
    for name, entry in ENGINES.items():
        if name != "plain":
            assert f"| {name} | {entry.tested_on} | {'; '.join(entry.cannot.values()) or '–'} |" in rows
