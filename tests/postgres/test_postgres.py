"""What only a bank in PostgreSQL can show: many writers, lost connections, row-level security, refusals, erasure."""

from __future__ import annotations

import hashlib
import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest

from reasoningbank.core.errors import (
    BankForeign,
    BankFull,
    BankReadOnly,
    BankTooNew,
    BankTooOld,
    BankUnavailable,
    InvalidInput,
)
from reasoningbank.core.types import Memory
from reasoningbank.location import parse_location
from reasoningbank.ports import Reader, Writer
from reasoningbank.store.engine import RowTransaction
from reasoningbank.store.selection import Selection
from reasoningbank.store.sqlite.store import SqliteStore
from reasoningbank.store.tables import TABLES, TOMBSTONES
from reasoningbank_postgres import connections, migrations, opening
from reasoningbank_postgres.address import parse_address
from reasoningbank_postgres.ddl import create_table
from reasoningbank_postgres.store import PostgresStore
from tests.contract.test_store import a_memory, a_signal, add, assert_dense
from tests.postgres_server import GUEST, PASSWORD, Server
from tests.socket_proxy import PORT, SocketProxy

PATIENCE_S = 120.0


def opened(url: str, **options: object) -> PostgresStore:
    return PostgresStore(parse_location(url, "/nowhere"), **options)  # type: ignore[arg-type]


@pytest.fixture
def store(postgres_url: str) -> Iterator[PostgresStore]:
    made = opened(postgres_url)
    yield made
    made.close()


@pytest.fixture
def proxy(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SocketProxy]:
    made = SocketProxy(tmp_path_factory.mktemp("p"), postgres.socket)
    yield made
    made.close()


def through(proxy: SocketProxy, url: str) -> str:
    socket = url.partition("host=")[2].partition("&")[0]
    return url.replace(socket, str(proxy.folder))


def ids(store: PostgresStore, tenant: str = "t") -> list[str]:
    with store.read(tenant) as reader:
        return [memory.id for memory in reader.select(Memory, {})]


def await_lock_wait(postgres: Server, act: Future[object]) -> None:
    """Until somebody waits for a lock of the bank's; whoever is expected to must not have ended before."""
    asked = """SELECT 1 FROM pg_locks JOIN pg_database d ON d.oid = database
      WHERE locktype = 'advisory' AND NOT granted AND datname = current_database()"""
    with postgres.raw() as connection:
        while not connection.execute(asked).fetchone():
            assert not act.done(), f"nobody waits: {act.exception() or act.result()}"


# ---------------------------------------------------------------- the feed


def test_a_writer_with_the_lower_number_that_commits_later_is_never_skipped(store, postgres, postgres_url) -> None:
    other, follower = opened(postgres_url), opened(postgres_url)
    numbered, go = threading.Event(), threading.Event()
    seen: list[str] = []

    def follow() -> None:
        position = 0
        while len(seen) < 2:
            for change in follower.changes(position, 10):
                seen.append(change.id)
                position = change.seq

    def slow(writer: Writer) -> None:
        writer.add(a_memory(1))
        assert writer.count(Memory, {}) == 1  # it is written, with its number, and not committed
        numbered.set()
        assert go.wait(PATIENCE_S)

    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(store.write, "t", slow)
        assert numbered.wait(PATIENCE_S)
        second = pool.submit(add, other, a_memory(2))
        following = pool.submit(follow)
        await_lock_wait(postgres, second)
        assert (follower.head(), seen) == (0, []), "no later number is to be seen while a lower one may still come"
        go.set()
        for done in (first, second, following):
            done.result(PATIENCE_S)
    assert seen == ["mem_t_000001", "mem_t_000002"]
    assert_dense(follower)
    for one in (other, follower):
        one.close()


def test_a_commit_of_another_wakes_whoever_listens(store, postgres_url) -> None:
    other, woken = opened(postgres_url), threading.Event()
    with store.listen(woken.set):
        assert woken.wait(PATIENCE_S), "once it hears anything"
        for number in (1, 2):
            woken.clear()
            add(other, a_memory(number))
            assert woken.wait(PATIENCE_S)
            assert store.head() == number
    other.close()


def test_a_connection_on_which_no_commit_was_told_of_in_time_is_kept(postgres_url) -> None:
    with closing(connections.connect(parse_address(parse_location(postgres_url, "/nowhere")))) as connection:
        assert list(connection.notifies(timeout=0.01)) == []
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_several_processes_lose_nothing_and_repeat_no_number(store, postgres_url, child, finished) -> None:
    code = """if True:
        import sys
        from concurrent.futures import ThreadPoolExecutor
        sys.path.insert(0, sys.argv[3])
        from tests.contract.test_store import a_memory, add
        from tests.postgres.test_postgres import opened
        store = opened(sys.argv[1])
        first = int(sys.argv[2]) * 1000
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(lambda n: add(store, a_memory(first + n)), range(30)))
        store.close()
    """
    root = Path(__file__).parents[2]
    for process in [child(code, postgres_url, number, root) for number in range(2)]:
        finished(process)
    assert ids(store) == [f"mem_t_{first + n:06}" for first in (0, 1000) for n in range(30)]
    assert len(assert_dense(store)) == 60
    assert store.verify() == []


def test_changes_that_wait_together_share_a_transaction(store, postgres) -> None:
    running, go = threading.Event(), threading.Event()

    def slow(_: Writer) -> None:
        running.set()
        assert go.wait(PATIENCE_S)

    def commits() -> int:
        with postgres.raw() as connection:
            return connection.execute("SELECT count(*) FROM shared.commits").fetchone()[0]

    before = commits()
    with ThreadPoolExecutor(17) as pool:
        first = pool.submit(store.write, "t", slow)
        assert running.wait(PATIENCE_S)
        waiting = [pool.submit(add, store, a_memory(n)) for n in range(16)]
        while len(store.engine._commits.queue) < 16:
            pass
        go.set()
        for one in (first, *waiting):
            one.result(PATIENCE_S)
    assert commits() - before == 2
    assert len(ids(store)) == 16


# ---------------------------------------------------------------- tenants


def test_a_role_that_forgets_its_filter_sees_nothing_foreign(store, postgres) -> None:
    add(store, a_memory(1), a_signal(1, "mem_t_000001"))
    store.write("t", lambda w: w.keep_trust(a_memory(1), 1, [7, 8]))
    add(store, a_memory(1, tenant="u"), tenant="u")
    with postgres.raw() as connection:
        connection.execute("SET search_path = shared")
        scoped = [table.name for table in TABLES if table.has_tenant or table.by_number_of]
        for name in scoped:
            assert connection.execute(f"SELECT count(*) FROM {name}").fetchone() == (0,), name
            assert connection.execute(f"DELETE FROM {name}").rowcount == 0, name
        connection.execute("BEGIN")
        connection.execute("SET LOCAL reasoningbank.tenant = 'u'")
        assert connection.execute("SELECT id, tenant FROM memories").fetchall() == [("mem_u_000001", "u")]
        assert connection.execute("SELECT tenant FROM feed").fetchall() == [("u",)]
        assert connection.execute("SELECT count(*) FROM marks").fetchone() == (0,)
        assert connection.execute("UPDATE memories SET title = 'stolen' WHERE tenant = 't'").rowcount == 0
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
            connection.execute("UPDATE memories SET tenant = 't'")
        connection.execute("ROLLBACK")
        assert connection.execute("SELECT count(*) FROM memories").fetchone() == (0,), "and forgets whose it was"


def test_rows_of_several_tenants_that_were_made_ahead_are_written_at_the_first_try(store) -> None:
    made = []

    def change(rows: RowTransaction) -> None:
        made.append(rows.tenant)
        rows.put(TOMBSTONES, [(f"mem_{rows.tenant}", rows.tenant, "memory", 1.0)])
        rows.of_all_tenants().put(TOMBSTONES, [(f"mem_for_{rows.tenant}", "another", "memory", 2.0)])

    # Many names: of a set of two, the hash of a name decides which is the first.
    tenants = [f"t{number}" for number in range(64)]
    for tenant in tenants:
        store.engine.write(tenant, change, adds_only=True)
    assert made == tenants, "rows that a server refused are made again"
    kept = store.engine.scan(Selection(TOMBSTONES, ("id", "tenant")))
    assert sorted(kept) == sorted(
        [*((f"mem_{tenant}", tenant) for tenant in tenants), *((f"mem_for_{tenant}", "another") for tenant in tenants)]
    )


def test_every_table_that_has_a_tenant_forces_row_level_security_on_its_owner(postgres, postgres_tables) -> None:
    with postgres.raw() as connection:
        rows = connection.execute(
            "SELECT relname, relrowsecurity AND relforcerowsecurity FROM pg_class "
            "WHERE relnamespace = 'shared'::regnamespace AND relkind = 'r' AND relname NOT LIKE 'index\\_%'"
        ).fetchall()
    forced = {name for name, is_forced in rows if is_forced}
    assert forced == {table.name for table in TABLES if table.has_tenant or table.by_number_of}
    assert {name for name, _ in rows} - forced == {"bank", "commits", "settings"}


# ---------------------------------------------------------------- faults


def end_sessions(postgres: Server) -> None:
    with postgres.raw("postgres") as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'reasoningbank' "
            "AND datname = %s",
            (postgres.database,),
        )


def test_a_terminated_backend_costs_neither_a_write_nor_the_next_read(store, postgres) -> None:
    add(store, a_memory(1))
    end_sessions(postgres)
    assert ids(store) == ["mem_t_000001"]
    end_sessions(postgres)
    assert store.head() == 1
    looks: list[int] = []

    def ended_once(writer: Writer) -> None:
        writer.add(a_memory(2))
        looks.append(writer.count(Memory, {}))
        if len(looks) == 1:
            end_sessions(postgres)

    store.write("t", ended_once)
    assert (looks, len(ids(store))) == ([2, 2], 2)

    def read_on() -> None:
        with store.read("t") as reader:
            assert reader.count(Memory, {}) == 2
            end_sessions(postgres)
            reader.count(Memory, {})

    with pytest.raises(BankUnavailable):
        read_on()
    assert_dense(store)


def test_a_process_with_thousands_of_files_open_goes_on(postgres_url) -> None:
    """Descriptors from 1,024 on are beyond what select() knows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard not in (resource.RLIM_INFINITY, max(hard, 2_000)):
        pytest.skip("a process may not open so many files here")
    with ExitStack() as files:
        files.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2_000), hard))
        for _ in range(1_100):
            files.enter_context(Path(os.devnull).open("rb"))
        store = opened(postgres_url)
        files.callback(store.close)
        for number in range(3):
            add(store, a_memory(number))
        assert len(ids(store)) == 3


def test_what_was_to_run_alone_is_not_run_again(store, postgres) -> None:
    runs: list[int] = []

    def ended(writer: Writer) -> None:
        runs.append(1)
        writer.add(a_memory(1))
        end_sessions(postgres)
        writer.count(Memory, {})

    with pytest.raises(BankUnavailable, match="Nothing was written"):
        store.write("t", ended, alone=True)
    assert (runs, ids(store)) == ([1], [])


def test_a_connection_that_is_lost_right_after_a_commit_was_heard_of_costs_nothing(store, postgres_url, proxy) -> None:
    there = opened(through(proxy, postgres_url))
    add(there, a_memory(1))
    heard: list[int] = []

    def listen(piece: bytes) -> bytes:
        heard.extend([1] * (b"COMMIT\0" in piece))
        return piece

    proxy.to_client = listen
    proxy.to_server = lambda piece: None if len(heard) == 1 and not heard.append(1) else piece
    add(there, a_memory(2))
    assert ids(store) == ["mem_t_000001", "mem_t_000002"]
    there.close()


@pytest.mark.parametrize("arrives", [True, False])
def test_a_commit_of_which_nobody_heard_is_looked_for_and_never_guessed(store, postgres_url, proxy, arrives) -> None:
    there = opened(through(proxy, postgres_url))
    add(there, a_memory(1))
    runs: list[int] = []

    def change(writer: Writer) -> str:
        runs.append(1)
        writer.add(a_memory(2))
        return "done"

    cuts = iter([True])

    def cut_at_commit(piece: bytes) -> bytes | None:
        return None if b"COMMIT\0" in piece and next(cuts, False) else piece

    # Either the server's answer is lost, or already what it was told.
    setattr(proxy, "to_client" if arrives else "to_server", cut_at_commit)
    assert there.write("t", change) == "done"
    assert len(runs) == (1 if arrives else 2)
    assert ids(store) == ["mem_t_000001", "mem_t_000002"]
    assert len(assert_dense(store)) == 2
    there.close()


def test_a_session_that_is_lost_before_it_has_read_anything_commits_nothing_later(
    store, postgres, postgres_url, proxy
) -> None:
    there = opened(through(proxy, postgres_url))
    add(there, a_memory(1))
    with postgres.raw("postgres") as admin:
        ((session,),) = admin.execute(
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'reasoningbank' AND datname = %s "
            "AND query = 'COMMIT' ORDER BY state_change DESC LIMIT 1",
            (postgres.database,),
        ).fetchall()
        # All of a transaction lies before it, unread.
        os.kill(session, signal.SIGSTOP)
        runs: list[int] = []
        cuts = iter([True])
        proxy.after_cut = bytes
        proxy.to_server = lambda piece: None if b"COMMIT" in piece and next(cuts, False) else piece

        def change(writer: Writer) -> None:
            runs.append(1)
            writer.add(a_memory(1 + len(runs)))

        writing = threading.Thread(target=there.write, args=("t", change))
        writing.start()
        asked = """SELECT 1 FROM pg_stat_activity
          WHERE wait_event = 'BackendTermination' AND datname = current_database()"""
        deadline = time.monotonic() + PATIENCE_S
        while not admin.execute(asked).fetchall() and writing.is_alive() and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(session, signal.SIGCONT)
        writing.join(PATIENCE_S)
        gone = "SELECT 1 FROM pg_stat_activity WHERE pid = %s"
        while admin.execute(gone, (session,)).fetchall() and time.monotonic() < deadline + 10.0:
            time.sleep(0.01)
    assert ids(store) == ["mem_t_000001", "mem_t_000003"]
    assert len(assert_dense(store)) == 2
    there.close()


def test_a_server_that_keeps_silent_is_given_up_within_its_time(postgres_url, proxy, monkeypatch) -> None:
    there = opened(through(proxy, postgres_url))
    add(there, a_memory(1))
    # Only while nothing is answered: a busy machine may take longer for what is.
    with monkeypatch.context() as patch:
        patch.setattr(connections.TimedConnection, "answers_within_s", 0.3)
        patch.setattr(connections, "PATIENCE_S", 0.5)
        proxy.to_client = lambda _: b""
        with pytest.raises(BankUnavailable, match="timeout"), there.read("t") as reader:
            reader.count(Memory, {})
        proxy.to_client = bytes
    assert ids(there) == ["mem_t_000001"]
    there.close()


def test_a_server_that_stays_away_keeps_the_first_waiting_and_not_everybody_in_turn(
    postgres, postgres_url, proxy, monkeypatch, clock
) -> None:
    there = opened(through(proxy, postgres_url))
    tries: list[int] = []
    connect = connections.connect
    monkeypatch.setattr(connections, "connect", lambda address: tries.append(1) or connect(address))
    # However long a try takes on a busy machine: the clock moves while somebody waits for the next one.
    waiting = SimpleNamespace(monotonic=clock, sleep=lambda seconds: clock.forward(seconds=seconds))
    monkeypatch.setattr(connections, "time", waiting)
    proxy.close()
    tried = []
    for _ in range(4):
        with pytest.raises(BankUnavailable, match="cannot be reached"):
            there.head()
        tried.append(len(tries))
        tries.clear()
    assert tried[0] > 10
    assert tried[1:] == [1, 1, 1]
    (proxy.folder / PORT).unlink()
    back = SocketProxy(proxy.folder, postgres.socket)
    assert there.head() == 0
    there.close()
    back.close()


def raising(postgres: Server, code: str, times: int) -> None:
    """The next inserts of a memory fail so many times, as they would for a reason of the server's."""
    with postgres.raw() as connection:
        connection.execute("SET search_path = shared")
        connection.execute("CREATE SEQUENCE faults")
        connection.execute(
            f"CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF nextval('shared.faults') <= {times} "
            f"THEN RAISE EXCEPTION 'as told' USING ERRCODE = '{code}'; END IF; RETURN NEW; END $$"
        )
        connection.execute("CREATE TRIGGER fault BEFORE INSERT ON memories FOR EACH ROW EXECUTE FUNCTION fault()")


@pytest.fixture
def faults(postgres, postgres_tables) -> Iterator[Callable[[str, int], None]]:
    yield lambda code, times: raising(postgres, code, times)
    with postgres.raw() as connection:
        connection.execute("SET search_path = shared")
        connection.execute("DROP FUNCTION IF EXISTS fault CASCADE; DROP SEQUENCE IF EXISTS faults")


@pytest.mark.parametrize("code", ["40001", "40P01"])
def test_a_serialization_failure_and_a_deadlock_are_tried_again(store, faults, code) -> None:
    faults(code, 2)
    add(store, a_memory(1))
    assert ids(store) == ["mem_t_000001"]
    assert_dense(store)


def test_a_full_disk_is_told_and_leaves_nothing_half_written(store, faults) -> None:
    faults("53100", 1)
    with pytest.raises(BankFull, match="make room"):
        add(store, a_memory(1), a_signal(1, "mem_t_000001"))
    assert (ids(store), store.head()) == ([], 0)
    add(store, a_memory(1))
    assert ids(store) == ["mem_t_000001"]


# ---------------------------------------------------------------- opening


def test_many_open_a_new_bank_at_once_and_one_makes_its_tables(postgres) -> None:
    with ThreadPoolExecutor(6) as pool:
        stores = list(pool.map(opened, [postgres.url("many")] * 6))
    add(stores[0], a_memory(1))
    assert ids(stores[5]) == ["mem_t_000001"]
    for one in stores:
        one.close()


def test_two_schemas_of_a_database_are_two_banks(store, postgres) -> None:
    with postgres.raw() as connection:
        connection.execute("DROP SCHEMA IF EXISTS other CASCADE")
    other = opened(postgres.url("other"))
    add(store, a_memory(1))
    assert (ids(other), other.head()) == ([], 0)
    add(other, a_memory(1))
    assert store.head() == other.head() == 1
    other.close()


def test_a_bank_of_a_newer_or_an_older_version_and_tables_of_others_are_refused(postgres) -> None:
    opened(postgres.url("newer")).close()
    with postgres.raw() as connection:
        connection.execute("UPDATE newer.bank SET version = version + 1")
        connection.execute("CREATE SCHEMA theirs")
        connection.execute("CREATE TABLE theirs.memories (id int)")
    with pytest.raises(BankTooNew, match="Upgrade"):
        opened(postgres.url("newer"))
    with postgres.raw() as connection:
        connection.execute("UPDATE newer.bank SET version = 1")
    for read_only in (False, True):
        with pytest.raises(BankTooOld, match=r"with that version .*export FILE.* import FILE"):
            opened(postgres.url("newer"), read_only=read_only)
    with pytest.raises(BankForeign, match=r"\?schema="):
        opened(postgres.url("theirs"))
    with pytest.raises(BankUnavailable, match="no bank"):
        opened(postgres.url("nothing_here"), create=False)


def test_what_an_older_version_lacks_is_added_when_it_is_opened(postgres, monkeypatch) -> None:
    url = postgres.url("older")
    store = opened(url)
    add(store, a_memory(1))
    store.close()
    with postgres.raw() as connection:
        connection.execute("SET search_path = older")
        connection.execute("DROP TABLE gaps; DROP INDEX memories_by_key; ALTER TABLE edges DROP COLUMN revision")
    add_migration(monkeypatch, "INSERT INTO settings SELECT 'filled', count(*) FROM memories")
    with pytest.raises(BankReadOnly, match="older"):
        opened(url, read_only=True)
    store = opened(url)
    assert ids(store) == ["mem_t_000001"]
    assert store.setting("filled") == "1"
    assert store.verify() == []
    with store.engine._connections.lend() as connection:
        assert migrations.missing_parts(connection) == []
    store.close()


def add_migration(monkeypatch: pytest.MonkeyPatch, *statements: str) -> None:
    """Make this program one of the next version."""
    monkeypatch.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, statements))
    for module in (migrations, opening):
        monkeypatch.setattr(module, "SCHEMA_VERSION", module.SCHEMA_VERSION + 1)


def test_an_older_server_goes_on_reading_a_bank_that_a_newer_one_brought_up_to_date_and_writes_nothing(
    postgres,
) -> None:
    older = opened(postgres.url("rolling"))
    add(older, a_memory(1))
    with postgres.raw() as newer:
        newer.execute("UPDATE rolling.bank SET version = version + 1")
        newer.execute("ALTER TABLE rolling.memories ADD COLUMN mood text NOT NULL DEFAULT 'calm'")
    with pytest.raises(BankTooNew, match="Upgrade reasoningbank here"):
        add(older, a_memory(2))
    assert ids(older) == ["mem_t_000001"]
    assert older.head() == 1
    with postgres.raw() as newer:
        newer.execute("UPDATE rolling.bank SET version = version - 1")
    add(older, a_memory(3))
    assert ids(older) == ["mem_t_000001", "mem_t_000003"]
    assert len(assert_dense(older)) == 2
    older.close()


def test_nobody_writes_while_the_tables_are_brought_up_to_date(postgres, monkeypatch) -> None:
    url = postgres.url("upgraded")
    older = opened(url)
    begun, go = threading.Event(), threading.Event()

    def slow(writer: Writer) -> None:
        writer.add(a_memory(1))
        assert writer.count(Memory, {}) == 1, "an answer: the server has the lock taken, and was not only told to"
        begun.set()
        assert go.wait(PATIENCE_S)

    with ThreadPoolExecutor(2) as pool:
        writing = pool.submit(older.write, "t", slow)
        assert begun.wait(PATIENCE_S)
        add_migration(monkeypatch)
        upgrading = pool.submit(opened, url)
        await_lock_wait(postgres, upgrading)
        go.set()
        writing.result(PATIENCE_S)
        upgrading.result(PATIENCE_S).close()
    assert ids(older) == ["mem_t_000001"]
    with pytest.raises(BankTooNew):
        add(older, a_memory(2))
    older.close()


def test_the_tables_of_this_version_are_those_that_were_written_down() -> None:
    statements = "\n".join(statement for table in TABLES for statement in create_table(table))
    assert hashlib.blake2b(statements.encode(), digest_size=8).hexdigest() == "07a52312cc235508", (
        "`store/tables.py` has changed: add a migration to `reasoningbank_postgres/migrations.py`, and write this shape "
        "down here. What is new is added by itself; what cannot be told from the tables belongs there as statements."
    )


def test_a_role_without_rights_is_told_what_an_administrator_must_say(postgres) -> None:
    with pytest.raises(BankReadOnly, match=f'AUTHORIZATION "{GUEST}"'):
        opened(guest_url(postgres, PASSWORD))


def guest_url(postgres: Server, password: str) -> str:
    """Odd characters as they are: nobody encodes them."""
    return f"postgresql://{GUEST}:{password}@/{postgres.database}?host={postgres.socket}&schema=guests"


def test_a_wrong_password_and_a_missing_database_are_told_without_the_password(postgres) -> None:
    with pytest.raises(BankUnavailable, match="Check the password") as wrong:
        opened(guest_url(postgres, "wrong%2Fsecret"))
    with pytest.raises(BankUnavailable, match="createdb") as missing:
        opened(postgres.url().replace(postgres.database, "nowhere"))
    nowhere = parse_address(parse_location("postgresql://ann:geheim@/db?host=/nowhere/at/all", "/nowhere"))
    with pytest.raises(BankUnavailable, match="Check that the server runs"):
        connections.patiently(lambda: connections.connect(nowhere), nowhere, within_s=0.1)
    assert "secret" not in f"{wrong.value!r} {wrong.value.__cause__} {missing.value!r}"


def test_too_old_a_server_is_refused(postgres_url, proxy) -> None:
    proxy.to_client = lambda piece: piece.replace(b"server_version\x0018.6", b"server_version\x0014.6")
    with pytest.raises(BankUnavailable, match="needs 15 or newer"):
        opened(through(proxy, postgres_url))


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://u:geh%eim@h/db", "u@h/db"),
        ("postgresql://u:geheim/x@h/db", "u@h/db"),
        ("postgresql://u:geheim?x@h/db", "u@h/db"),
        ("postgresql://u:ge@heim@h/db", "u@h/db"),
        ("postgresql://u:ge@he/im:x?&y@h/db?schema=s", "u@h/db?schema=s"),
        ("postgresql://h/db?user=u&password=geheim&schema=s", "h/db?user=u&schema=s"),
    ],
)
def test_odd_characters_of_a_password_reach_the_server_and_nobody_else(url, said) -> None:
    location = parse_location(url, "/home")
    address = parse_address(location)
    assert address.parameters["password"].startswith("ge")
    assert address.parameters["host"] == "h"
    shown = f"{location} {location!r} {address!r} {location.state}"
    assert said in shown
    assert "heim" not in shown
    assert "geh" not in shown


def test_a_url_that_cannot_be_meant_is_refused_without_repeating_its_password() -> None:
    for rest, word in (("?colour=geheim", "colour"), ("?schema=a-b", "schema"), ("?flag", "NAME=VALUE")):
        location = parse_location(f"postgresql://u:geheim@h/db{rest}", "/home")
        with pytest.raises(InvalidInput, match=word) as refused:
            connections.connect(parse_address(location))
        assert "geheim" not in str(refused.value).replace("colour=geheim", "")


# ---------------------------------------------------------------- keeping


def test_an_erased_record_is_gone_from_the_pages_of_its_table(store, postgres) -> None:
    add(store, a_memory(1, content="Zanzibar-canary-7f3a"))
    store.write("t", lambda w: w.remove(Memory, "mem_t_000001"))
    with postgres.raw("postgres") as admin:
        admin.execute("CREATE EXTENSION IF NOT EXISTS pageinspect")
        rows = admin.execute(
            "SELECT t_data FROM generate_series(0, pg_relation_size('shared.memories') / 8192 - 1) AS page, "
            "heap_page_items(get_raw_page('shared.memories', page::int)) WHERE t_data IS NOT NULL"
        ).fetchall()
    assert not any(b"Zanzibar" in data for (data,) in rows)


def test_a_backup_comes_back_into_postgresql_as_it_was_and_a_recovery_can_be_undone(store, postgres, tmp_path) -> None:
    from reasoningbank_postgres.recovering import recover

    def restored(from_what: Path, moment: str):
        return recover(place, from_what, kept_as=moment, settings={}, dry_run=False, progress=None)

    add(store, a_memory(1), a_signal(1, "mem_t_000001"))
    store.write("t", lambda w: w.keep_trust(a_memory(1), 1, [7, 8]))
    store.set_setting("colour", "red")
    store.backup(tmp_path / "copy.db")
    place = parse_location(postgres.url("moved"), "/nowhere")
    moved = PostgresStore(place)
    add(moved, a_memory(9))
    done = restored(tmp_path / "copy.db", "replaced-1")
    assert (done.before.memories, done.after.memories, done.kept) == (1, 1, "moved_replaced_1")
    with store.read("t") as ours, moved.read("t") as theirs:
        assert contents(ours) == contents(theirs)
    assert moved.changes(0, 10) == store.changes(0, 10)
    assert (moved.setting("colour"), moved.verify()) == ("red", [])
    assert restored(Path("moved_replaced_1"), "replaced-2").kept == "moved_replaced_2"
    assert ids(moved) == ["mem_t_000009"]
    moved.close()
    again = SqliteStore(tmp_path / "copy.db")
    assert ids(again) == ["mem_t_000001"]  # type: ignore[arg-type]
    again.close()


def contents(reader: Reader) -> list[object]:
    return [reader.select(Memory, {}), reader.trust_levels(["mem_t_000001"]), reader.matching_fingerprints([7, 8])]
