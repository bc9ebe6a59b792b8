"""Backups, lost files, kills, full disks, secrets and tenants: nothing twice, nothing lost, nothing told to the wrong."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import BankFull, NotFound
from reasoningbank.core.frozen import replace
from reasoningbank.core.record_kinds import kind_of
from reasoningbank.core.types import Edge, Memory, Node, Record, Signal
from reasoningbank.ports import Writer
from reasoningbank_bus.exchange.applying import Applier
from reasoningbank_bus.exchange.policy import keep_policy
from reasoningbank_bus.exchange.publishing import Publisher
from reasoningbank_bus.log.durable import DurableLog
from reasoningbank_bus.wire.entry import encode_entry
from reasoningbank_bus.wire.refusals import BusRefusal
from tests.bus.sides import EVERYTHING, Side
from tests.conftest import Clock

ADVICE = "Run the migrations before the service is started, or it reads tables that are not there yet."
SECRET = "ghp_" + "q7Xv2LmN9RtB4KcW8ZsY1DfG6HjP3aQe5UoT"  # shaped like a token, and none
FRAGMENT = b"ghp_q7Xv2LmN"


def bytes_below(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file())


def titles(side: Side) -> list[str]:
    return sorted(one.memory.title for one in side.bank.list(limit=1_000))


# ---------------------------------------------------------------- secrets


def with_secret(record: Record, name: str) -> Record:
    """The same with a secret in one of its texts, as one that was kept before anybody knew it for a secret."""
    value = getattr(record, name)
    if isinstance(value, tuple):
        return replace(record, **{name: (*value, SECRET)})
    if isinstance(value, dict):
        return replace(record, **{name: {**value, "note": f"it is {SECRET}"}})
    return replace(record, **{name: f"{value or ''} {SECRET}".strip()})


def rewrite(record: Record, writer: Writer) -> None:
    writer.rewrite(record)


def test_no_secret_leaves_by_any_text_of_any_record(side: Callable[..., Side], tmp_path: Path) -> None:
    here = side(1)
    one, other = here.learn(ADVICE), here.learn("Watch the queue while it starts.")
    here.bank.link(one.id, other.id, "requires", text="why")
    here.bank.feedback(one.id, helpful=True)
    here.bank.graph.add([{"id": "N1", "label": "AgentAnswer", "conv_id": "c", "text": "done", "metrics": ["m"]}])
    store, tenant = here.bank.context.bare_store, here.bank.tenant
    with store.read(tenant) as reader:
        records = [reader.select(kind, {}, limit=1)[0] for kind in (Memory, Node, Edge, Signal)]
    for record in records:
        for name in set(kind_of(type(record)).texts) - {"origin", "parents", "namespace"}:
            store.write(tenant, partial(rewrite, with_secret(record, name)))
            with DurableLog(tmp_path / f"{type(record).__name__}-{name}") as log:
                keep_policy(log, EVERYTHING)
                entries = Publisher(here.bank, log, here.key, here.rights).publish()
            assert len(entries) == 5
            told = b"".join(encode_entry(entry) for entry in entries)
            assert FRAGMENT not in told, (type(record).__name__, name)
        store.write(tenant, partial(rewrite, record))


def test_a_secret_that_a_careless_peer_signed_is_not_kept(side: Callable[..., Side]) -> None:
    here, there = side(1), side(2)
    kept = here.learn(ADVICE)
    (entry,) = here.publish()
    careless = here.forge(entry, content=f"The token is {SECRET}, use it.", tags=(SECRET,), metadata={"t": SECRET})
    there.take([careless])
    taken = there.memory(there.here(here, kept.id))
    assert taken is not None
    assert "SECRET" in taken.content
    there.close()
    assert FRAGMENT not in (there.folder / "bank.db").read_bytes()


# ---------------------------------------------------------------- erasure


def test_what_is_erased_at_home_is_gone_elsewhere_from_bank_and_log_and_stays_gone(side: Callable[..., Side]) -> None:
    here, there = side(1), side(2)
    kept = here.learn("The vault of the northern office opens with a blue card.")
    first = here.publish()
    here.bank.edit(kept.id, content="The vault of the northern office opens with a green card.")
    second = here.publish()
    there.take([*first, *second])
    here.bank.erase(kept.id)
    (tombstone,) = here.publish()
    assert (tombstone.kind, tombstone.record.id, tombstone.body) == ("erased", kept.id, b"")
    applied = there.take([tombstone])
    assert applied.erased == 1
    with pytest.raises(NotFound):
        there.bank.get(there.here(here, kept.id))
    assert there.take([*first, *second]).added == {}
    assert [entry.kind for entry in there.entries()] == ["erased"]
    for one in (here, there):
        assert one.publish() == []
        one.close()
        assert b"northern office" not in bytes_below(one.folder)


def test_what_is_erased_here_of_a_peers_stays_away_here_and_nowhere_else(side: Callable[..., Side]) -> None:
    here, there = side(1), side(2)
    kept = here.learn(ADVICE)
    entries = here.publish()
    there.take(entries)
    there.bank.erase(there.here(here, kept.id))
    assert there.publish() == []
    assert there.entries() == []
    here.bank.edit(kept.id, content=f"{ADVICE} Always.")
    there.take(here.publish())
    assert titles(there) == []
    there.lose_log()
    there.take(here.entries())
    assert titles(there) == []
    there.close()
    assert ADVICE[:40].encode() not in bytes_below(there.folder)
    assert here.bank.get(kept.id)


def test_what_was_erased_while_the_log_was_lost_is_erased_everywhere_when_it_comes_back(
    side: Callable[..., Side],
) -> None:
    here, there = side(1), side(2)
    kept = here.learn(ADVICE)
    there.take(here.publish())
    here.lose_log()
    here.bank.erase(kept.id)
    assert here.publish() == []
    here.take(there.entries())
    (tombstone,) = here.publish()
    assert tombstone.kind == "erased"
    assert there.take([tombstone]).erased == 1


# ---------------------------------------------------------------- backups and lost files


def test_a_bank_from_an_old_backup_gets_its_own_and_others_back_and_says_nothing_twice(
    side: Callable[..., Side], tmp_path: Path
) -> None:
    here, there = side(1), side(2)
    first = here.learn(ADVICE, key="order")
    entries = here.publish()
    here.bank.backup(tmp_path / "backup.db")
    here.bank.edit(first.id, content=f"{ADVICE} In a transaction.")
    second = here.learn("Watch the queue while it starts.")
    there.learn("Restart the worker after a change of its settings.")
    entries += here.publish()
    here.take(there.publish())
    before = [(one.memory.title, one.memory.content, one.memory.origin) for one in here.bank.list(limit=10)]
    here.put_back(tmp_path / "backup.db")
    assert titles(here) == [ADVICE[:40]]
    # As a node does: it looks for what is new here before it looks at what it had.
    assert here.publish() == []
    applied = here.applier.apply_new()
    assert (applied.added["memory"], applied.revised) == (2, 1)
    after = [(one.memory.title, one.memory.content, one.memory.origin) for one in here.bank.list(limit=10)]
    assert sorted(after) == sorted(before)
    assert here.bank.get("order").id == first.id
    assert here.publish() == []
    # And what it learns from here on has numbers that were there before.
    here.bank.edit(second.id, content="Watch the queue and the log while it starts.")
    (edited,) = here.publish()
    there.take([*entries, edited])
    assert there.memory(there.here(here, second.id)).content == "Watch the queue and the log while it starts."  # type: ignore[union-attr]


def test_a_bank_from_a_backup_that_is_edited_before_it_hears_of_its_own_later_versions_agrees_with_the_others(
    side: Callable[..., Side], tmp_path: Path
) -> None:
    here, there = side(1), side(2)
    kept = here.learn(ADVICE)
    entries = here.publish()
    here.bank.backup(tmp_path / "backup.db")
    here.bank.edit(kept.id, content=f"{ADVICE} Before the backup was put back.")
    entries += here.publish()
    here.put_back(tmp_path / "backup.db")
    here.bank.edit(kept.id, content=f"{ADVICE} After it.")
    entries += here.publish()
    here.applier.apply_new()
    there.take(entries)
    assert here.bank.get(kept.id).content == f"{ADVICE} After it."
    assert there.memory(there.here(here, kept.id)).content == f"{ADVICE} After it."  # type: ignore[union-attr]


def test_a_log_that_is_lost_gives_the_same_entries_again(side: Callable[..., Side]) -> None:
    here, there = side(1), side(2)
    for number in range(3):
        here.learn(f"{ADVICE} {number}")
    here.take(_first_of(there))
    here.bank.outcome(here.here(there, there.bank.list()[0].id), succeeded=True)
    there.take(here.publish())
    before = {encode_entry(entry) for entry in here.entries() if entry.author == here.key.public}
    here.lose_log()
    again = here.publish()
    # What it said of the other's memory is said again once the name of that is known again.
    here.take(there.entries())
    again += here.publish()
    assert {encode_entry(entry) for entry in again} <= before
    assert there.take(again).added == {}
    assert len(here.bank.list(limit=10)) == 4


def test_a_bank_that_is_lost_is_filled_from_its_log(side: Callable[..., Side]) -> None:
    here, there = side(1), side(2)
    kept = here.learn(ADVICE)
    here.take(_first_of(there))
    here.publish()
    here.close()
    for file in here.folder.glob("bank.db*"):
        shutil.rmtree(file) if file.is_dir() else file.unlink()
    here.open()
    applied = here.applier.apply_new()
    assert applied.added == {"memory": 2}
    assert here.bank.get(kept.id).memory.origin == "user"
    assert here.publish() == []


def test_two_machines_with_one_key_are_one_author(side: Callable[..., Side], clock: Clock) -> None:
    desk, laptop, other = side(1, clock=clock), side(1, clock=clock), side(2, clock=clock)
    kept = desk.learn(ADVICE, key="order")
    laptop.take(desk.publish())
    twin = laptop.bank.get(kept.id)
    assert (twin.memory.origin, twin.memory.key, str(twin.trust)) == ("user", "order", "trusted")
    laptop.bank.feedback(kept.id, helpful=True)
    laptop.bank.edit(kept.id, content=f"{ADVICE} Said on the laptop.")
    clock.forward(seconds=1)
    desk.bank.edit(kept.id, content=f"{ADVICE} Said at the desk, later.")
    from_desk, from_laptop = desk.publish(), laptop.publish()
    desk.take(from_laptop)
    laptop.take(from_desk)
    other.take([*desk.entries()])
    assert desk.publish() == laptop.publish() == []
    contents = {one.bank.get(kept.id).content for one in (desk, laptop)}
    assert contents == {f"{ADVICE} Said at the desk, later."}
    assert other.memory(other.here(desk, kept.id)).content == f"{ADVICE} Said at the desk, later."  # type: ignore[union-attr]
    assert [signal.kind for signal in desk.signals(kept.id)] == ["feedback"]


def _first_of(side: Side) -> list:
    side.learn("Restart the worker after a change of its settings.")
    return side.publish()


# ---------------------------------------------------------------- kills and disks

KILLED = """
import os, sys
from pathlib import Path
from reasoningbank.ports import Writer
from tests.bus.sides import EVERYTHING, Side

folder, what, calls = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
side = Side(folder, 1 if what == "publish" else 2)

def die_after(target, name):
    plain, left = getattr(target, name), [calls]
    def counted(*given, **named):
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), 9)
        done = plain(*given, **named)
        return done
    setattr(target, name, counted)

if what == "publish":
    import reasoningbank_bus.exchange.publishing as module
    module.CHANGES_AT_ONCE = 7
    die_after(side.log, "add")
    side.publish()
else:
    import reasoningbank_bus.exchange.applying as module
    module.ENTRIES_AT_ONCE = 7
    die_after(side.log, "keep_state")
    side.applier.apply_new()
print("done")
"""


def test_kills_amid_publishing_and_applying_leave_nothing_out_and_double_nothing(
    side: Callable[..., Side], child: Callable[..., subprocess.Popen[str]]
) -> None:
    here, there = side(1), side(2)
    ids = [here.learn(f"{ADVICE} {number}").id for number in range(20)]
    for one in ids[:10]:
        here.bank.outcome(one, succeeded=True)
    here.close()
    for calls in (1, 3):
        assert child(KILLED, here.folder, "publish", calls).wait(300) == -9
    here.open()
    here.publish()
    entries = here.entries()
    assert len(entries) == len({entry.record.id for entry in entries}) == 30
    there.log.add(entries)
    there.close()
    for calls in (2, 2, 2):
        assert child(KILLED, there.folder, "apply", calls).wait(300) == -9
    there.open()
    there.applier.apply_new()
    assert len(there.bank.list(limit=100)) == 20
    assert sorted(len(there.signals(there.here(here, one))) for one in ids) == [0] * 10 + [1] * 10
    assert there.bank.verify() == []


def test_a_full_disk_halves_nothing_and_all_is_there_when_there_is_room(
    side: Callable[..., Side], small_disk: Path
) -> None:
    here = side(1)
    for number in range(100):
        here.learn(f"{ADVICE} {number} " + f"and so on {number} " * 400)
    entries = here.publish()
    ballast = small_disk / "ballast"
    with Side(small_disk, 2) as there:
        taken = 0
        ballast.write_bytes(bytes(shutil.disk_usage(small_disk).free - 1_000_000))
        with pytest.raises(BankFull):  # noqa: PT012 - whichever file is full first
            for start in range(0, 100, 10):
                taken += there.take(entries[start : start + 10]).added["memory"]
        assert len(there.bank.list(limit=500)) == taken
        ballast.unlink()
        there.take(entries)
        assert len(there.bank.list(limit=500)) == 100
        assert there.bank.verify() == []


# ---------------------------------------------------------------- tenants and back ends


def test_a_bus_belongs_to_one_tenant_and_the_others_are_not_in_it(side: Callable[..., Side]) -> None:
    here, there = side(1, tenant="red"), side(2, tenant="blue")
    here.bank.for_tenant("green").record(title="green", content="what another tenant knows", scope="team")
    kept = here.learn(ADVICE)
    entries = here.publish()
    assert [entry.record.id for entry in entries] == [kept.id]
    there.take(entries)
    assert [one.memory.tenant for one in there.bank.list()] == ["blue"]
    assert there.bank.for_tenant("red").list() == []
    for door in (
        lambda: Publisher(there.bank.for_tenant("red"), there.log, there.key, there.rights),
        lambda: Applier(there.bank.for_tenant("red"), there.log, there.key.public),
    ):
        with pytest.raises(BusRefusal, match="another tenant"):
            door()


def test_a_bank_in_postgresql_takes_part(side: Callable[..., Side], tmp_path: Path, postgres_url: str) -> None:
    here = side(1)
    kept = here.learn(ADVICE)
    here.bank.feedback(kept.id, helpful=True)
    folder = tmp_path / "served"
    folder.mkdir()
    with Side(folder, 2, place=postgres_url) as there:
        applied = there.take(here.publish())
        assert applied.added == {"memory": 1, "signal": 1}
        there.bank.outcome(there.here(here, kept.id), succeeded=True)
        back = there.publish()
        assert [entry.kind for entry in back] == ["signal"]
        here.take(back)
        here.bank.erase(kept.id)
        assert there.take(here.publish()).erased == 1


def test_nothing_changes_when_entries_are_applied_again(side: Callable[..., Side], path: Path) -> None:
    here, there = side(1), side(2)
    here.learn(ADVICE)
    there.take(here.publish())
    with ReasoningBank.open(there.folder / "bank.db", embedder="hash", namespace="n") as looking:
        head = looking.context.store.head()
        there.log.keep_state({"log id": b"another"})
        assert there.applier.apply_new().unchanged == 1
        assert looking.context.store.head() == head
