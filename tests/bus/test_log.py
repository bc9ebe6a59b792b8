"""The durable log: a set of entries, what was spent, what is remembered; the same after every kind of end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from reasoningbank.core.errors import BankDamaged, BankForeign, BankReplaced, BankTooNew, StoreError
from reasoningbank_bus.authority.intent import intent_id
from reasoningbank_bus.authority.metering import fitting, make_spend, period_of, spends_of
from reasoningbank_bus.authority.rights import Rights
from reasoningbank_bus.log import durable
from reasoningbank_bus.log.durable import DurableLog
from reasoningbank_bus.ports import LogChanged
from reasoningbank_bus.wire.entry import encode_entry, entry_id, place_of
from reasoningbank_bus.wire.refusals import BusRefusal
from tests.bus.people import LAPTOP, NOW, OFFICE, entry, grant

CAPPED = grant(caps={"records": 3, "bytes": 100_000}, period=3600)


@pytest.fixture
def log(tmp_path: Path):
    with DurableLog(tmp_path / "bus") as opened:
        yield opened


def spends(written):
    return spends_of(written, entry_id(written), len(encode_entry(written)), (CAPPED,))


def test_entries_are_kept_once_in_the_order_in_which_they_came(log: DurableLog):
    first, second, third = (entry(OFFICE, number=number) for number in range(3))
    assert log.add([second, first, second]) == [second, first]
    assert log.add([first, third]) == [third]
    assert [kept for _, kept in log.after(0, 10)] == [second, first, third]
    number, _ = log.after(0, 1)[0]
    assert [kept for _, kept in log.after(number, 1)] == [first]
    assert log.namespaces_of(first.record) == {first.namespace}
    assert log.namespaces_of(entry(OFFICE, number=9).record) == set()
    assert set(log.places()) == {
        ("team", "team/web", place_of(kept), entry_id(kept)) for kept in (first, second, third)
    }
    places = [place_of(third), bytes(32), place_of(first)]
    assert log.encoded("team/web", places) == [encode_entry(third), encode_entry(first)]
    assert log.encoded("team/other", places) == []


def test_many_are_asked_for_at_once_and_answered_as_one_by_one(log: DurableLog):
    written = [entry(OFFICE, number=number) for number in range(1_200)]
    by_author = entry(OFFICE, number=3, kind="erased", body=b"", namespace="team/other")
    elsewhere = entry(LAPTOP, kind="erased", body=b"", namespace="team/other", record=written[700].record)
    there = entry(LAPTOP, kind="erased", body=b"", record=written[1_100].record)
    every = [*written, by_author, elsewhere, there]
    log.add(every, encoded=list(map(encode_entry, every)))
    log.erase((), [written[900].record])
    asked = [(one.record, one.namespace) for one in written]
    assert log.erased(asked) == {asked[number] for number in (3, 900, 1_100)}
    assert log.erased(asked) == {one for one in asked if log.erased([one])}
    assert log.erased([(written[700].record, "team/other")]) == {(written[700].record, "team/other")}
    kept = {f"name {number}": b"%d" % number for number in range(1_200)}
    log.keep_state({**kept, "name 7": None})
    del kept["name 7"]
    assert log.states([*kept, "name 7", "nobody's"]) == kept


def test_what_was_judged_before_somebody_else_wrote_is_not_added(log: DurableLog, tmp_path: Path):
    first, second = entry(OFFICE, number=1), entry(OFFICE, number=2)
    judged_by = log.change_number()
    assert log.add([first], if_still=judged_by) == [first]
    with DurableLog(tmp_path / "bus") as other:
        other.keep_state({"a": b"decision"})
    with pytest.raises(LogChanged):
        log.add([second], if_still=judged_by)
    assert [kept for _, kept in log.after(0, 10)] == [first]
    assert log.add([second], if_still=log.change_number()) == [second]


def test_an_entry_signed_twice_is_one(log: DurableLog, monkeypatch: pytest.MonkeyPatch):
    first = entry(OFFICE)
    # Whoever signs with chance in it makes another signature of the same bytes.
    again = type(first)(*(*(getattr(first, name) for name in first.__struct_fields__[:-1]), bytes(64)))
    assert log.add([first]) == [first]
    assert log.add([again]) == []
    other = entry(OFFICE, number=1)
    twice = type(other)(*(*(getattr(other, name) for name in other.__struct_fields__[:-1]), bytes(64)))
    [kept] = log.add([other, twice])
    assert kept.signature == other.signature


def test_what_was_added_counted_and_remembered_is_there_after_a_restart(tmp_path: Path):
    written = entry(OFFICE, CAPPED)
    with DurableLog(tmp_path) as log:
        log.add([written], spent=spends(written), state={"cursor": b"7", "gone": b"x"})
        log.keep_state({"gone": None, "peers": b"\x90"})
    with DurableLog(tmp_path) as log:
        assert [kept for _, kept in log.after(0, 10)] == [written]
        assert (log.state("cursor"), log.state("gone"), log.state("peers")) == (b"7", None, b"\x90")
        assert log.spent(intent_id(CAPPED), period_of(CAPPED, NOW))["records"] == 1
    assert (tmp_path / "bus.db").stat().st_mode & 0o777 == 0o600


def test_an_erasure_takes_every_entry_of_its_record_and_stays(log: DurableLog):
    word = b"\x81\xa1t\xb0sesquipedalian!!"
    versions = [entry(OFFICE, revision=revision, body=word, at=NOW + revision) for revision in range(3)]
    other = entry(OFFICE, number=1)
    gone = entry(OFFICE, kind="erased", body=b"", revision=9)
    log.add([*versions, other])
    assert log.add([gone]) == [gone]
    assert [kept for _, kept in log.after(0, 10)] == [other, gone]
    reached = (gone.record, gone.namespace)
    assert log.erased([(other.record, other.namespace), reached]) == {reached}
    assert log.add([*versions, gone]) == []
    assert {place for _, _, place, _ in log.places()} == {place_of(other), place_of(gone)}
    assert [p for p in log.path.parent.iterdir() if b"sesquipedalian" in p.read_bytes()] == []


def test_an_erasure_in_the_same_batch_leaves_nothing_of_its_record_whatever_the_order(log: DurableLog):
    written, gone = entry(OFFICE), entry(OFFICE, kind="erased", body=b"")
    assert log.add([written, gone]) == [gone]


def test_erasing_tells_where_those_stood_that_went(log: DurableLog):
    written, gone = entry(OFFICE, scope="org"), entry(OFFICE, kind="erased", body=b"")
    log.add([written])
    assert log.erase([gone]) == [("org", "team/web", place_of(written), entry_id(written))]
    assert log.erase([gone]) == []


def test_over_a_cap_nothing_of_a_batch_is_written(log: DurableLog):
    written = [entry(OFFICE, CAPPED, number=number) for number in range(4)]
    with pytest.raises(BusRefusal, match="records: 4 of 3") as refusal:
        log.add(written, spent=[spend for one in written for spend in spends(one)], state={"cursor": b"1"})
    assert (refusal.value.code, refusal.value.about) == ("cap_spent", intent_id(CAPPED))
    assert log.after(0, 10) == []
    assert log.state("cursor") is None
    assert log.spent(intent_id(CAPPED), period_of(CAPPED, NOW)) == {}
    fits = fitting([spends(one) for one in written], log.spent)
    assert fits == [True, True, True, False]
    assert len(log.add(written[:3], spent=[spend for one in written[:3] for spend in spends(one)])) == 3
    assert fitting([spends(written[3])], log.spent) == [False]


def test_what_is_known_already_spends_nothing_again(log: DurableLog):
    written = entry(OFFICE, CAPPED)
    for _ in range(9):
        log.add([written], spent=spends(written))
    assert log.spent(intent_id(CAPPED), period_of(CAPPED, NOW))["records"] == 1


def test_a_cap_begins_anew_with_its_period_by_the_clock_of_the_author(log: DurableLog):
    hours = [[entry(OFFICE, CAPPED, number=n, at=NOW + hour * 3_600_000) for n in range(3)] for hour in range(2)]
    for hour in hours:
        assert len(log.add(hour, spent=[spend for one in hour for spend in spends(one)])) == 3
    late = entry(OFFICE, CAPPED, number=9)
    with pytest.raises(BusRefusal):
        log.add([late], spent=spends(late))


def test_siblings_share_the_cap_of_the_grant_above_them(log: DurableLog):
    above = grant(caps={"records": 3}, delegable=True)
    siblings = [grant(OFFICE, holder, parent=intent_id(above), caps={"records": 3}) for holder in (LAPTOP, OFFICE)]
    for number in range(3):
        log.spend([make_spend((siblings[number % 2], above), "records", 1, NOW)])
    for sibling in siblings:
        with pytest.raises(BusRefusal) as refusal:
            log.spend([make_spend((sibling, above), "records", 1, NOW)])
        assert refusal.value.about == intent_id(above)


def test_searches_are_counted_without_an_entry_and_refused_when_spent(log: DurableLog):
    asked = make_spend((grant(caps={"searches": 2}),), "searches", 1, NOW)
    log.spend([asked])
    log.spend([asked])
    with pytest.raises(BusRefusal):
        log.spend([asked])


def test_another_process_that_writes_is_noticed_and_oneself_is_not(tmp_path: Path):
    with DurableLog(tmp_path) as log, DurableLog(tmp_path) as other:
        before = log.change_number()
        log.keep_state({"mine": b"1"})
        assert log.change_number() == before
        other.keep_state({"theirs": b"1"})
        assert log.change_number() != before
        assert log.state("theirs") == b"1"


def test_an_older_log_put_back_gives_no_cap_back_for_what_peers_still_have(tmp_path: Path):
    """What this node wrote comes back from its peers, and counts again, even beyond the cap."""
    mine = [entry(OFFICE, CAPPED, number=number) for number in range(3)]
    with DurableLog(tmp_path) as log:
        log.keep_state({"cursor": b"0"})
    older = (tmp_path / "bus.db").read_bytes()
    with DurableLog(tmp_path) as log:
        log.add(mine, spent=[spend for one in mine for spend in spends(one)])
    (tmp_path / "bus.db").write_bytes(older)
    rights = Rights(OFFICE.public)
    rights.add(CAPPED)
    with DurableLog(tmp_path) as log:
        assert log.after(0, 10) == []
        fresh = entry(OFFICE, CAPPED, number=7)
        log.add([fresh], spent=spends(fresh))
        returned = [
            spend
            for one in mine
            for spend in rights.spends(one, entry_id(one), len(encode_entry(one)), rights.check(one, NOW))
        ]
        assert log.add(mine, spent=returned) == mine
        assert log.spent(intent_id(CAPPED), period_of(CAPPED, NOW))["records"] == 4
        with pytest.raises(BusRefusal):
            log.add([entry(OFFICE, CAPPED, number=8)], spent=spends(entry(OFFICE, CAPPED, number=8)))


def test_a_log_that_was_replaced_while_open_is_not_written_to(tmp_path: Path):
    with DurableLog(tmp_path) as log:
        log.keep_state({"a": b"1"})
        (tmp_path / "bus.db").rename(tmp_path / "away.db")
        with pytest.raises(BankReplaced, match="Nothing was written"):
            log.add([entry(OFFICE)])
        (tmp_path / "away.db").rename(tmp_path / "bus.db")
        assert len(log.add([entry(OFFICE)])) == 1


def test_a_file_of_something_else_or_of_a_newer_version_is_refused_and_left_as_it_is(tmp_path: Path):
    for name, make in (("text", b"hello, world\n" * 100), ("newer", None), ("foreign", None)):
        folder = tmp_path / name
        folder.mkdir()
        path = folder / "bus.db"
        if make:
            path.write_bytes(make)
        else:
            with_tables = apsw.Connection(str(path))
            with_tables.execute("CREATE TABLE other (x)")
            if name == "newer":
                with_tables.execute(f"PRAGMA application_id = {0x52427573}; PRAGMA user_version = 99")
            with_tables.close()
        before = path.read_bytes()
        with pytest.raises(BankTooNew if name == "newer" else BankForeign):
            DurableLog(folder)
        assert path.read_bytes() == before


def test_what_a_bad_disk_has_changed_is_neither_applied_nor_sent(tmp_path: Path):
    written = entry(OFFICE, body=b"\x81\xa1t\xa5hello")
    with DurableLog(tmp_path) as log:
        log.add([written])
    database = apsw.Connection(str(tmp_path / "bus.db"))
    flipped = encode_entry(written).replace(b"hello", b"hellp")
    for damaged in (flipped, flipped[:-1]):
        database.execute("UPDATE entries SET encoded = ?", (damaged,))
        with DurableLog(tmp_path) as log, pytest.raises(BankDamaged, match="from the bank and the peers"):
            log.encoded("team/web", [place_of(written)])
    with DurableLog(tmp_path) as log, pytest.raises(BankDamaged):
        log.after(0, 10)
    database.close()


def test_an_erasure_does_not_wait_long_for_somebody_who_reads(tmp_path: Path):
    """And what it left in the journal goes with the next one."""
    with DurableLog(tmp_path) as log:
        for number in range(2):
            log.add([entry(OFFICE, number=number, body=b"\x81\xa1t\xb0sesquipedalian!!")])
        reader = apsw.Connection(str(tmp_path / "bus.db"))
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM entries").get == 2
        assert log.erase([entry(OFFICE, kind="erased", body=b"")])
        reader.close()
        assert log.erase([entry(OFFICE, number=1, kind="erased", body=b"")])
        assert [p for p in tmp_path.iterdir() if b"sesquipedalian" in p.read_bytes()] == []


def test_a_closed_log_says_so(tmp_path: Path):
    log = DurableLog(tmp_path)
    log.close()
    log.close()
    with pytest.raises(StoreError, match="closed"):
        log.state("x")


def test_reading_takes_bounded_memory_and_always_goes_on(log: DurableLog, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(durable, "MAX_READ_BYTES", 1000)
    written = [entry(OFFICE, number=number, body=bytes(600)) for number in range(4)]
    log.add(written)
    at, seen = 0, []
    while batch := log.after(at, 100):
        assert len(batch) == 1
        at = batch[-1][0]
        seen += [kept for _, kept in batch]
    assert seen == written
    assert log.encoded("team/web", [place_of(one) for one in written]) == [encode_entry(written[0])]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_reads_and_writes_with_a_connection_of_its_own(tmp_path: Path):
    with DurableLog(tmp_path) as log:
        log.keep_state({"parent": b"1"})
        child = os.fork()
        if not child:
            try:
                log.keep_state({"child": log.state("parent") or b""})
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        log.keep_state({"after": b"1"})
        assert log.state("child") == b"1"


# ---------------------------------------------------------------- several real processes

BEGIN = f"""
import sys
from pathlib import Path
sys.path[:0] = {[str(Path(__file__).parents[2]), *(p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p)]!r}
from reasoningbank_bus.authority.intent import intent_id
from reasoningbank_bus.authority.metering import spends_of
from reasoningbank_bus.log.durable import DurableLog
from reasoningbank_bus.wire.entry import encode_entry, entry_id
from reasoningbank_bus.wire.refusals import BusRefusal
from tests.bus.people import NOW, OFFICE, entry, grant
capped = grant(caps={{"records": 50}})
log = DurableLog(Path(sys.argv[1]))
"""
SPEND = """
print("ready", flush=True)
sys.stdin.readline()
taken = 0
for number in range(40):
    one = entry(OFFICE, capped, number=int(sys.argv[2]) + number)
    try:
        taken += len(log.add([one], spent=spends_of(one, entry_id(one), 1, (capped,))))
    except BusRefusal as refusal:
        assert refusal.code == "cap_spent"
print(taken, flush=True)
"""
ADD_FOR_EVER = """
print("ready", flush=True)
for start in range(0, 10**9, 50):
    batch = [entry(OFFICE, capped, number=start + number) for number in range(50)]
    log.add(batch, state={"cursor": str(start + 50).encode()})
    print(start + 50, flush=True)
"""


def process(code: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", BEGIN + code, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_a_cap_spent_by_two_processes_at_once_is_spent_exactly(tmp_path: Path):
    both = [process(SPEND, tmp_path, number * 1000) for number in range(2)]
    for one in both:
        assert one.stdout.readline() == "ready\n"
    for one in both:
        one.stdin.write("go\n")
        one.stdin.flush()
    taken = [int(one.communicate(timeout=300)[0]) for one in both]
    assert sum(taken) == 50
    capped = grant(caps={"records": 50})
    with DurableLog(tmp_path) as log:
        assert log.spent(intent_id(capped), 0)["records"] == 50
        assert len(log.after(0, 100)) == 50


def test_processes_that_make_the_log_at_once_make_one(tmp_path: Path):
    code = "log.keep_state({sys.argv[2]: b'1'})"
    many = [process(code, tmp_path / "bus", number) for number in range(4)]
    for one in many:
        one.communicate(timeout=300)
    assert [one.returncode for one in many] == [0] * 4
    with DurableLog(tmp_path / "bus") as log:
        assert [log.state(str(number)) for number in range(4)] == [b"1"] * 4


def test_a_process_killed_amid_adding_loses_nothing_that_it_was_told_and_halves_no_batch(tmp_path: Path):
    for acknowledged in (50, 150, 300):
        folder = tmp_path / str(acknowledged)
        adding = process(ADD_FOR_EVER, folder)
        told = 0
        while told < acknowledged:
            line = adding.stdout.readline()
            told = told if line == "ready\n" else int(line)
        adding.kill()
        rest = adding.communicate(timeout=300)[0].split()
        told = max([told, *map(int, rest)])
        with DurableLog(folder) as log:
            there = len(list(log.places()))
            assert there >= told
            assert there % 50 == 0
            assert int(log.state("cursor")) == there
            assert log.add([entry(OFFICE, number=10**6)])
