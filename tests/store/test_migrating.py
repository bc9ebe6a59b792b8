"""A bank on its way to another store while others write it: whatever comes at whatever stage is taken along."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reasoningbank.core.errors import BankBusy, BankMoved, Conflict, InvalidInput
from reasoningbank.core.types import Edge, Memory
from reasoningbank.location import parse_location
from reasoningbank.store import migrating, row_copy
from reasoningbank.store.catching_up import OWN_SETTINGS
from reasoningbank.store.memory import MemoryEngine, MemoryTables
from reasoningbank.store.migrating import Migrated, Migration, undo
from reasoningbank.store.record_store import RecordStore
from reasoningbank.store.row_copy import pages_of
from reasoningbank.store.sqlite.store import SqliteStore
from reasoningbank.store.tables import SETTINGS, TABLES
from reasoningbank_postgres.store import PostgresStore
from tests.contract.test_engines_agree import ACTS, Act, answer
from tests.contract.test_store import a_gap, a_memory, a_node, a_reply, a_token, add, an_edge, exposure, revise

LAST = "the last changes"


class Meddler:
    """Whoever watches a migration writes to its source meanwhile: the next act at each step that is told."""

    def __init__(self, store: RecordStore, acts: list[Callable[[RecordStore], Any]]) -> None:
        self._store = store
        self._acts = iter(acts)
        self.stages: list[str] = []

    def rename(self, label: str) -> None:
        self._act()
        self.stages.append(label)

    def __call__(self, done: int, total: int) -> None:
        assert 0 <= done <= total
        if self.stages[-1] not in (LAST, "opening"):
            self._act()

    def _act(self) -> None:
        act = next(self._acts, None)
        if act is not None and self.stages[-1:] != ["opening"]:
            act(self._store)

    def finish(self) -> int:
        """How many had no step left to be done at."""
        return len(list(self._acts))


def rows_of(store: RecordStore) -> dict[str, list[Any]]:
    with store.engine.read(None) as rows:
        found = {table.name: [row for page, _ in pages_of(rows, table) for row in page] for table in TABLES}
    found[SETTINGS.name] = [row for row in found[SETTINGS.name] if row[0] not in OWN_SETTINGS]
    return found


def move(source: RecordStore, target: RecordStore, watch: Any = None) -> Migrated:
    return Migration(source.engine, target.engine, {}, watch=watch).run()


@pytest.fixture(autouse=True)
def _small_pages_and_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_copy, "PAGE", 2)
    # However slow the machine is, one round brings over what is little: the stages are the same in every run.
    monkeypatch.setattr(migrating, "LITTLE_S", 300.0)
    monkeypatch.setattr(migrating, "KEEP_WAITING_S", 300.0)


BEFORE, MEANWHILE_EACH = st.lists(ACTS, max_size=20), st.lists(st.lists(ACTS, max_size=3), max_size=20)


def assert_taken_along(source: RecordStore, writer: RecordStore, before: list[Act], meanwhile: list[list[Act]]) -> None:
    target = RecordStore(MemoryEngine())
    for act in before:
        answer(act, source)
    several = [lambda store, acts=acts: [answer(act, store) for act in acts] for acts in meanwhile]
    move(source, target, Meddler(writer, several))  # type: ignore[arg-type]
    assert rows_of(source) == rows_of(target)
    with pytest.raises(BankMoved):
        writer.set_setting("colour", "red")


@settings(max_examples=40)
@given(before=BEFORE, meanwhile=MEANWHILE_EACH)
def test_whatever_is_written_at_whatever_stage_is_at_the_target_too(before: list[Act], meanwhile: Any) -> None:
    tables = MemoryTables()
    assert_taken_along(RecordStore(MemoryEngine(tables)), RecordStore(MemoryEngine(tables)), before, meanwhile)


@settings(max_examples=4)
@given(before=BEFORE, meanwhile=MEANWHILE_EACH)
def test_what_a_file_gives_the_number_of_a_dropped_row_comes_over_too(before: list[Act], meanwhile: Any) -> None:
    with TemporaryDirectory() as folder, ExitStack() as stack:
        source, writer = (
            stack.enter_context(closing(SqliteStore(Path(folder) / "bank.db", durability="normal"))) for _ in "ab"
        )
        assert_taken_along(source, writer, before, meanwhile)


# ---------------------------------------------------------------- by hand, between the real stores


@pytest.fixture(params=["to postgres", "to sqlite"])
def stores(request, postgres, postgres_url, tmp_path) -> Iterator[tuple[RecordStore, RecordStore, RecordStore]]:
    """A source, another opening of it, and a target."""
    server = [PostgresStore(parse_location(postgres_url, "/nowhere")) for _ in "ab"]
    file = [SqliteStore(tmp_path / "bank.db", durability="normal") for _ in "ab"]
    source, target = (file, server) if request.param == "to postgres" else (server, file)
    yield source[0], source[1], target[0]
    for one in (*server, *file):
        one.close()


def swap_keys(store: RecordStore) -> None:
    """Two memories change their keys, through a third one."""
    first, second = a_memory(1, key="a"), a_memory(2, key="b")
    for record in (
        replace(first, key="c", revision=2), replace(second, key="a", revision=2), replace(first, key="b", revision=3),
    ):  # fmt: skip
        revise(store, record)


def swap_names(store: RecordStore) -> None:
    for node in (
        replace(a_node(1), name="N9"), replace(a_node(2), name="N1", revision=2), replace(a_node(1), name="N2", revision=3),
    ):  # fmt: skip
        revise(store, node)


def erase_the_last_and_show_others(store: RecordStore) -> None:
    """In a file, what is shown next gets the numbers of what is gone."""
    store.write("t", lambda w: w.remove(Memory, "mem_t_000004"))
    store.log_shown([exposure("mem_t_000003", rank=number) for number in (7, 8)])


def trust_without_a_word_in_the_feed(store: RecordStore) -> None:
    store.write("t", lambda w: w.keep_trust(a_memory(3, parents=("mem_t_000001",)), 1, [5, 6, 7]))


def rewrite_what_was_shown(store: RecordStore) -> None:
    before = exposure("mem_t_000003", rank=7)
    store.write("t", lambda w: w.rewrite_side_record(before, replace(before, query_hash="cleaned")))


def state_of_a_server(store: RecordStore) -> None:
    store.keep_token(a_token(revoked_at=5.0))
    store.keep_token(a_token(id="new", tenant="u"))
    store.write("t", lambda w: w.keep_reply(a_reply(key="2", at=200.0), drop_before=150.0))
    store.log_gaps([a_gap("gap_1", 9.0), a_gap("gap_2", 3.0, tenant="u")])
    store.set_setting("colour", "blue")


MEANWHILE = [
    swap_keys,
    swap_names,
    erase_the_last_and_show_others,
    trust_without_a_word_in_the_feed,
    state_of_a_server,
    lambda store: add(store, a_memory(4, content="back again"), a_memory(5, tenant="t")),
    rewrite_what_was_shown,
    lambda store: store.drop_gaps("t", ["gap_1"]),
    lambda store: store.write("t", lambda w: w.remove(Edge, "edg_t_2")),
    lambda store: add(store, a_memory(1, tenant="u"), tenant="u"),
]


def fill(store: RecordStore) -> None:
    add(store, a_memory(1, key="a"), a_memory(2, key="b"), a_memory(3), a_memory(4), a_node(1), a_node(2))
    add(store, an_edge(1, "mem_t_000001", "mem_t_000004"), an_edge(2, "mem_t_000001", "mem_t_000002"))
    store.log_shown([exposure(f"mem_t_00000{number}") for number in (1, 2, 3, 4)])
    store.keep_token(a_token())
    store.write("t", lambda w: w.keep_reply(a_reply(), drop_before=0.0))
    store.log_gaps([a_gap("gap_1")])
    store.set_setting("colour", "red")


@pytest.mark.parametrize("steps_ahead", [pytest.param(0, marks=pytest.mark.storm), 5])
def test_keys_names_erasures_and_state_that_change_on_the_way_come_over(stores, steps_ahead, postgres) -> None:
    source, writer, target = stores
    fill(source)
    watch = Meddler(writer, [lambda _: None] * steps_ahead + MEANWHILE)
    done = move(source, target, watch)
    assert watch.finish() == 0, "there was a step for each of them"
    assert watch.stages[0] == "copying"
    assert watch.stages[-4:] == ["comparing", "catching up", LAST, "opening"]
    assert rows_of(source) == rows_of(target)
    assert (done.went_on, done.meanwhile > 5, target.verify()) == (False, True, source.verify())


def test_a_bank_that_was_moved_names_the_other_and_takes_neither_writes_nor_logs(stores) -> None:
    source, writer, target = stores
    fill(source)
    move(source, target)
    before = rows_of(source)
    for write in (
        lambda: add(writer, a_memory(9)),
        lambda: writer.write("t", lambda w: w.revise(replace(a_memory(1), revision=2))),
        lambda: writer.set_setting("colour", "green"),
        lambda: writer.keep_token(a_token(id="other")),
    ):
        with pytest.raises(BankMoved, match=r"was moved to .*: name that bank") as moved:
            write()
    assert str(target.info.location) in str(moved.value)
    writer.log_shown([exposure("mem_t_000001")])
    writer.log_gaps([a_gap("gap_9")])
    assert rows_of(source) == before
    add(target, a_memory(9))
    kept = rows_of(target)
    assert move(source, target).was_done
    assert rows_of(target) == kept


def test_a_move_is_undone_while_the_other_holds_nothing_new_and_else_made_back_again(stores) -> None:
    source, writer, target = stores
    fill(source)
    with pytest.raises(InvalidInput, match="was not moved"):
        undo(source.engine, target.engine, {})
    move(source, target)
    undo(source.engine, target.engine, {})
    add(writer, a_memory(8))
    with pytest.raises(BankMoved):
        add(target, a_memory(8))
    move(source, target)
    add(target, a_memory(9))
    with pytest.raises(Conflict, match="has changed since"):
        undo(source.engine, target.engine, {})
    with pytest.raises(BankMoved):
        add(source, a_memory(9))
    # Back again, into the very bank that it came from.
    move(target, source)
    assert rows_of(source) == rows_of(target)
    add(writer, a_memory(10))
    with pytest.raises(BankMoved):
        add(target, a_memory(10))


def test_a_bank_that_is_being_filled_takes_no_writes_of_others(stores, postgres) -> None:
    source, _, target = stores
    fill(source)

    def write_to_target(_: RecordStore) -> None:
        with pytest.raises(BankBusy, match=r"being filled from .* try again"):
            add(target, a_memory(99))
        target.log_shown([exposure("mem_t_000001")])

    move(source, target, Meddler(source, [lambda _: None, write_to_target, write_to_target]))
    assert rows_of(source) == rows_of(target)


def test_writers_do_not_wait_for_long_and_it_is_tried_again(stores, monkeypatch) -> None:
    source, writer, target = stores
    fill(source)
    with monkeypatch.context() as patch:
        patch.setattr(migrating, "KEEP_WAITING_S", -1.0)
        with pytest.raises(BankBusy, match="it stays the bank"):
            move(source, target, Meddler(writer, []))
    add(writer, a_memory(9))
    assert move(source, target).went_on
    assert rows_of(source) == rows_of(target)
