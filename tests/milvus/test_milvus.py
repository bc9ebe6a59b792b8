"""Milvus as an index: texts that mean something to it, and what becomes of a bank when it is away, hung or spoiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.teams import TeamReach
from reasoningbank.core.types import Scope
from reasoningbank.lexical.entries import query_terms
from reasoningbank.lexical.word_rows import word_rows
from reasoningbank.ports import Filter
from reasoningbank.recall.reach import is_allowed
from reasoningbank_milvus import collection, connection
from reasoningbank_milvus.address import parse_milvus_url
from tests.contract.index_engines import open_halves
from tests.contract.test_halves import a_memory, direction, numbers
from tests.contract.test_index_choice import is_soon
from tests.milvus_server import LiteServer
from tests.server.test_workers import until

HOSTILE = (
    'quo"te',
    "apo'strophe",
    "back\\slash",
    'ends with a backslash\\" or tenant != "',
    '" or tenant != "t',
    "{tenant}",
    "наставник 🦀 é % _",
    "#comment // -- /* */",
    "new\nline",
    "a" * 200,
)
"""Names that somebody could choose, and what an expression could take for something else."""


# ---------------------------------------------------------------- words that mean something to Milvus


def test_no_text_in_a_filter_is_taken_for_a_part_of_the_expression(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    halves = open_halves("milvus", request, tmp_path)
    memories = [
        a_memory(number, namespace=text, agent=text, task_type=text, tags=(text, "shared"))
        for number, text in enumerate(HOSTILE)
    ]
    memories.append(a_memory(90, tenant="u", tags=("shared",), scope=Scope.ORG))
    halves.words.upsert(word_rows(memories))
    others = TeamReach(namespaces=HOSTILE, inside=False)
    asked = [
        where
        for text in HOSTILE
        for where in (
            Filter(tenant="t", namespace=text),
            Filter(tenant="t", namespace="x", team=others, agent=text),
            Filter(tenant="t", agent=text),
            Filter(tenant="t", task_type=text),
            Filter(tenant="t", tags=(text,)),
            Filter(tenant="t", tags=("shared",), without_tags=(text, '"]')),
            Filter(tenant=text),
        )
    ]
    expected = [sum(is_allowed(memory, where) for memory in memories) for where in asked]
    assert expected[:7] == [1, 0, 1, 1, 1, len(HOSTILE) - 1, 0]
    assert halves.words.counts(asked) == expected


def test_what_is_said_about_nobody_and_by_half_a_letter_finds_nothing(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    halves = open_halves("milvus", request, tmp_path)
    halves.words.upsert(word_rows([a_memory(1)]))
    assert halves.words.counts([Filter(tenant="t", agent=""), Filter(tenant="t", tags=("\ud800",))]) == [0, 0]


def test_the_highest_terms_and_texts_longer_than_a_field_are_kept_and_found(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    halves = open_halves("milvus", request, tmp_path)
    [row] = word_rows([a_memory(1, content="é" * 70_000, description="ü" * 9_999)])
    [long] = word_rows([a_memory(2, content=" ".join(f"word{number}" for number in range(6_000)))])
    highest = type(row)(memory=row.memory, terms={**row.terms, 2**32 - 1: 255, 0: 1}, length=row.length)
    halves.words.upsert([highest, long])
    last = dict.fromkeys(query_terms("word5999"), 1.0)
    found = halves.words.search([{2**32 - 1: 1.0}, {0: 1.0}, last, {}], Filter(tenant="t"), 5)
    assert [numbers(ids) for ids in found] == [[1], [1], [2], []]
    # More terms than an array of Milvus holds: none of them counts as unheard of.
    assert list(halves.words.frequencies("t", [*last, *query_terms("word17")]).holding) == [1, 1]


def test_what_milvus_finds_by_its_own_index_are_the_nearest_that_pass_the_filter(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reasoningbank_milvus.halves._COMPARED_HERE", -1)
    halves = open_halves("milvus", request, tmp_path)
    memories = [a_memory(number, tags=("even",) if number % 2 == 0 else ()) for number in range(60)]
    memories.append(a_memory(60, tenant="u"))
    halves.vectors.upsert([(memory, 3 * direction(number)) for number, memory in enumerate(memories)])
    halves.words.upsert(word_rows([a_memory(61)]))
    cosines = np.stack([direction(number) for number in range(60)]) @ direction(17)
    near = halves.vectors.search(2 * direction(17), Filter(tenant="t"), 5)
    assert numbers([i for i, _ in near]) == np.argsort(-cosines)[:5].tolist()
    assert [cosine for _, cosine in near] == pytest.approx(np.sort(cosines)[::-1][:5], abs=1e-3)
    near = halves.vectors.search(direction(17), Filter(tenant="t", tags=("even",)), 4)
    assert numbers([i for i, _ in near]) == [2 * int(i) for i in np.argsort(-cosines[::2])[:4]]
    assert len(halves.vectors.search(direction(17), Filter(tenant="t"), 1_000)) == 60


ADDRESSES = {
    "milvus://host": ("http://host:19530", "", ""),
    "milvus://host:1/team": ("http://host:1", "team", ""),
    "milvuss://host:443": ("https://host:443", "", ""),
    "milvuss://host/db?ca=/etc/ca.pem": ("https://host:19530", "db", "/etc/ca.pem"),
    "milvus://[::1]:19530": ("http://[::1]:19530", "", ""),
    "milvus:///var/a%20b/index.db": ("/var/a b/index.db", "", ""),
}


@pytest.mark.parametrize("url", ADDRESSES)
def test_a_milvus_is_named_by_a_url(url: str) -> None:
    address = parse_milvus_url(url)
    assert (address.uri, address.database, address.ca) == ADDRESSES[url]


@pytest.mark.parametrize(
    "url",
    [
        "milvus://",
        "milvus:///folder",
        "milvus://host:port",
        "milvus://host/a/b",
        "milvus://host?ca=x",
        "milvuss:///a.db",
    ],
)
def test_a_url_that_names_no_milvus_is_refused_with_examples(url: str) -> None:
    with pytest.raises(InvalidInput, match=r"milvus://host:19530"):
        parse_milvus_url(url)


def test_a_password_in_the_url_is_refused_without_repeating_it() -> None:
    with pytest.raises(InvalidInput, match="REASONINGBANK_INDEX_KEY") as refused:
        parse_milvus_url("milvus://root:Milvus@host")
    assert "Milvus@" not in str(refused.value)


# ---------------------------------------------------------------- a server that is away, hung, or was meddled with


def test_a_file_is_waited_for_longer_than_a_server_and_counted_once_until_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from milvus_lite.server_manager import server_manager_instance

    monkeypatch.setattr(connection, "ANSWER_WITHIN_S", 1e-6)
    monkeypatch.setattr(collection, "_COUNTED_S", 0.0)
    counted, ask = list[str](), connection.MilvusConnection.ask

    def note(self: connection.MilvusConnection, verb: str, *arguments: Any, **named: Any) -> Any:
        if named.get("output_fields") == ["count(*)"]:
            counted.append(named["filter"])
        return ask(self, verb, *arguments, **named)

    monkeypatch.setattr(connection.MilvusConnection, "ask", note)
    index = f"milvus://{tmp_path}/lite.db"
    opening = ReasoningBank.open(tmp_path / "bank.db", index=index, embedder="hash", namespace="n")
    with ExitStack() as ending, opening as bank:
        # Whoever is the first to open a file serves it to all, until its process ends.
        ending.callback(server_manager_instance.release_server, f"{tmp_path}/lite.db")
        bank.record(title="Retry", content="Back off before a request is sent again.")
        assert [hit.title for hit in bank.search("a request is sent again", floor=0.0)] == ["Retry"]
        assert counted
        counted.clear()
        assert bank.search("a request", floor=0.0).memories
        assert counted == []
        bank.record(title="Retry later", content="Wait before a request is sent again.")
        assert len(bank.search("a request is sent again", floor=0.0)) == 2


@pytest.fixture
def bank(milvus: LiteServer, tmp_path: Path) -> Iterator[ReasoningBank]:
    with ReasoningBank.open(tmp_path / "bank.db", index=milvus.url, embedder="hash", namespace="n") as opened:
        for word in ("exponentially", "with jitter", "at most thrice"):
            opened.record(title=f"Retry {word}", content=f"Back off {word} before a request is sent again.")
        yield opened


def told(bank: ReasoningBank, question: str = "how is a request sent again") -> list[Any]:
    return [(hit.title, round(hit.relevance, 4)) for hit in bank.search(question, floor=0.0)]


@pytest.fixture
def briefly(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Any]:
    """While in its block nobody waits long for Milvus."""

    @contextmanager
    def waiting() -> Iterator[None]:
        with monkeypatch.context() as patch:
            for name in ("ANSWER_WITHIN_S", "CONNECT_WITHIN_S"):
                patch.setattr(connection, name, 0.2)
            yield

    return waiting


def test_while_milvus_hangs_storing_goes_on_searches_go_by_words_and_it_catches_up_later(
    milvus: LiteServer, bank: ReasoningBank, briefly: Callable[[], Any], caplog: pytest.LogCaptureFixture
) -> None:
    before = told(bank)
    assert len(before) == 3
    with milvus.hung(), briefly():
        bank.record(title="Grafana", content="The dashboard of the turbines.")
        found = bank.search("grafana")
        assert (found.index_away, [hit.title for hit in found]) == (True, ["Grafana"])
        assert "does not answer" in caplog.text
    until(lambda: not bank.search("grafana").index_away)
    assert [hit.title for hit in bank.search("grafana")] == ["Grafana"]


def test_after_milvus_was_killed_and_started_again_a_bank_goes_on_with_it(
    milvus: LiteServer, bank: ReasoningBank, briefly: Callable[[], Any]
) -> None:
    before = told(bank)
    milvus.kill()
    try:
        with briefly():
            bank.record(title="Kibana", content="Another dashboard.")
            found = bank.search("kibana")
            assert (found.index_away, [hit.title for hit in found]) == (True, ["Kibana"])
    finally:
        milvus.start()
    until(lambda: not bank.search("kibana").index_away)
    assert [hit.title for hit in bank.search("kibana")] == ["Kibana"]
    assert [title for title, _ in told(bank)][:3] == [title for title, _ in before]


def drop_it(client: Any, name: str) -> None:
    client.drop_collection(name)


def empty_it(client: Any, name: str) -> None:
    client.delete(name, filter='rb_id != ""')


def release_it(client: Any, name: str) -> None:
    client.release_collection(name)


def put_another_there(client: Any, name: str) -> None:
    client.drop_collection(name)
    client.create_collection(name, dimension=5)


@pytest.mark.parametrize("meddle", [drop_it, empty_it, release_it, put_another_there])
def test_a_collection_that_somebody_meddled_with_is_made_anew_by_itself(
    milvus: LiteServer, bank: ReasoningBank, meddle: Callable[[Any, str], None]
) -> None:
    before = told(bank)
    client = connection.load_client()(uri=f"http://127.0.0.1:{milvus.port}", dedicated=True)
    [name] = collections_of(client, bank)
    meddle(client, name)
    assert is_soon(lambda: told(bank) == before)
    kept = bank.record(title="Grafana", content="The dashboard of the turbines.")
    assert [hit.id for hit in bank.search("grafana")] == [kept.id]
    client.close()


def collections_of(client: Any, bank: ReasoningBank) -> list[str]:
    from reasoningbank.wiring.kept_index import SETTING, parse_kept_index

    mark = parse_kept_index(str(bank._engine._store.setting(SETTING))).mark
    return [name for name in client.list_collections() if name.startswith(mark)]


FOLDS_AND_DIES = """
import os, sys
from reasoningbank import ReasoningBank
from reasoningbank_milvus.collection import MilvusCollection

bank_path, url, last = sys.argv[1], sys.argv[2], int(sys.argv[3])
write = MilvusCollection.upsert

def write_and_die(self, rows):
    global last
    write(self, rows)
    last -= 1
    if last == 0:
        os._exit(9)

MilvusCollection.upsert = write_and_die
with ReasoningBank.open(bank_path, index=url, embedder="hash", namespace="n") as bank:
    bank.catch_up()
"""


def test_a_follower_that_is_killed_half_way_is_caught_up_with_by_the_next(
    milvus: LiteServer, bank: ReasoningBank, tmp_path: Path, child: Callable[..., Any]
) -> None:
    # Dies when it has written words and their position, and one batch of vectors without theirs.
    folding = child(FOLDS_AND_DIES, tmp_path / "bank.db", milvus.url, 3)
    assert folding.wait(300) == 9
    with ReasoningBank.open(tmp_path / "other.db", embedder="hash", namespace="n") as embedded:
        for memory in reversed(bank.list()):
            embedded.record(title=memory.title, content=memory.content)
        assert told(bank) == told(embedded)
    assert (bank.status().index.memories, bank.status().index.awaiting_vectors) == (3, 0)
