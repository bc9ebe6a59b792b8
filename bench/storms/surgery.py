"""Operate on a bank's files with a hand that knows nothing of SQLite, and prove that nothing is promised in vain.

Backups and older copies are copied or moved over the bank while it is open, closed or left by a crash; its log is
deleted, emptied, cut, or swapped for an older one or another bank's; what processes share is deleted; the index is
removed, or taken from another bank; the whole folder is moved. Processes that had the bank open go on storing, then it
is opened anew. Either somebody says in a typed sentence what is wrong, or everything that was acknowledged is there. In
the end `recover` puts a backup in the bank's place, now and then killed on the way, and that is whole.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.storms._actors import Actor, bank_deeds
from bench.storms._weather import Promise, Weather

SLICE = 3
"""Rounds in the test command."""
SITUATIONS = ("open", "open twice", "closed", "crashed")
SIZES = (20, 2_000, 30_000)
KILLED_WITHIN_S = 0.08
Hand = Callable[["Table"], None]


@dataclass(slots=True)
class Table:
    """The files of one round."""

    folder: Path
    acknowledged: list[str] = field(default_factory=list)
    """Before the surgery."""
    since: list[str] = field(default_factory=list)
    in_backup: list[str] = field(default_factory=list)

    @property
    def bank(self) -> Path:
        return self.folder / "here" / "bank.db"

    @property
    def log(self) -> Path:
        return Path(f"{self.bank}-wal")

    @property
    def shared(self) -> Path:
        return Path(f"{self.bank}-shm")

    def beside(self, name: str) -> Path:
        return self.folder / name


def _copied(name: str) -> Hand:
    return lambda table: shutil.copyfile(table.beside(name), table.bank) and None


def _moved(name: str) -> Hand:
    def move(table: Table) -> None:
        fresh = table.beside("fresh.db")
        shutil.copyfile(table.beside(name), fresh)
        fresh.replace(table.bank)

    return move


def _log_from(name: str) -> Hand:
    return lambda table: shutil.copyfile(table.beside(name), table.log) and None


def _cut(which: str, share: float) -> Hand:
    def cut(table: Table) -> None:
        path: Path = getattr(table, which)
        if path.exists():
            with path.open("r+b") as file:
                file.truncate(int(path.stat().st_size * share))

    return cut


def _removed(*which: str) -> Hand:
    def remove(table: Table) -> None:
        for name in which:
            getattr(table, name).unlink(missing_ok=True)

    return remove


def _index_gone(table: Table) -> None:
    shutil.rmtree(f"{table.bank}.index", ignore_errors=True)


def _index_of_another(table: Table) -> None:
    """Every build of ours holds what another bank's does."""
    theirs = next(table.beside("other.db.index").iterdir(), None)
    for ours in list(Path(f"{table.bank}.index").glob("*")):
        if theirs is not None and ours.is_dir():
            shutil.rmtree(ours)
            shutil.copytree(theirs, ours)


def _moved_away_and_back(table: Table) -> None:
    away = table.beside("away")
    table.bank.parent.rename(away)
    shutil.copytree(away, table.bank.parent)


SURGERIES: dict[str, tuple[Hand, bool]] = {
    "the backup was copied over it": (_copied("backup.db"), True),
    "an older copy was copied over it": (_copied("copy.db"), True),
    "another bank was copied over it": (_copied("other.db"), True),
    "the backup was moved over it": (_moved("backup.db"), True),
    "an older copy was moved over it": (_moved("copy.db"), True),
    "it was cut in half": (_cut("bank", 0.5), False),
    "it was emptied": (_cut("bank", 0.0), True),
    "it was deleted": (_removed("bank"), True),
    "its log was deleted": (_removed("log"), False),
    "its log was emptied": (_cut("log", 0.0), False),
    "its log was cut": (_cut("log", 0.6), False),
    "its log was swapped for an older one": (_log_from("old-log"), False),
    "its log was swapped for another bank's": (_log_from("other-log"), False),
    "its log and the shared file were deleted": (_removed("log", "shared"), False),
    "the shared file was deleted": (_removed("shared"), False),
    "the index was deleted": (_index_gone, False),
    "the index is another bank's": (_index_of_another, False),
    "its folder was moved away and a copy put there": (_moved_away_and_back, False),
}
"""What is done, and whether the records from before are then taken away by the very hand that did it."""


def storm(weather: Weather) -> list[Promise]:
    there = Promise("whatever is acknowledged is there when the bank is opened next, or somebody says what is wrong")
    seen = Promise("no damage by a foreign hand goes unseen: an error, a finding of `verify`, or a whole bank")
    typed = Promise("what callers are told is a typed error")
    put_back = Promise("`recover` puts the backup in the place of whatever is left, killed on the way or not")
    names = list(SURGERIES)
    noticed = 0
    for number in weather.rounds():
        surgery = names[number % len(names)]
        situation = SITUATIONS[(number // len(names) + number) % len(SITUATIONS)]
        table = Table(weather.folder / str(number))
        table.bank.parent.mkdir(parents=True)
        case = f"round {number}, {situation}, {surgery}"
        actors = [Actor(bank_deeds(table.bank)) for _ in range(5)]
        try:
            noticed += _round(table, situation, surgery, actors, weather, (there, seen, typed), case)
            _recovered(table, actors, weather, put_back, case)
        finally:
            for actor in actors:
                actor.kill()
        if not any(promise.broken for promise in (there, seen, typed, put_back)):
            shutil.rmtree(table.folder)
    there.measured = f"{noticed:,} noticed"
    return [there, seen, typed, put_back]


def _round(
    table: Table,
    situation: str,
    surgery: str,
    actors: list[Actor],
    weather: Weather,
    promises: tuple[Promise, Promise, Promise],
    case: str,
) -> bool:
    there, seen, typed = promises
    writer, second, checker = actors[0], actors[1], actors[2]
    _history(table, writer, actors[4], weather)
    if situation == "open twice":
        table.acknowledged.append(_must(second.tell("write", "storm second", 100)))
    elif situation == "closed":
        _must(writer.tell("close"))
    elif situation == "crashed":
        writer.kill()
        actors[0] = Actor(bank_deeds(table.bank))
    hand, takes_away = SURGERIES[surgery]
    hand(table)
    told: list[str] = []
    if situation.startswith("open"):
        for actor in (writer, second) if situation == "open twice" else (writer,):
            for turn in range(2):
                _note(
                    actor.tell("write", f"storm after {turn}", weather.chance.choice(SIZES)),
                    table.since,
                    told,
                    typed,
                    case,
                )
        for actor in (writer, second):
            # One that closes in good order, or one that dies.
            if weather.chance.random() < 0.7:
                _note(actor.tell("close"), [], told, typed, case)
            else:
                actor.kill()
                actors[actors.index(actor)] = Actor(bank_deeds(table.bank))
    _checked(table, checker, told, takes_away, (there, seen, typed), case)
    return bool(told)


def _history(table: Table, writer: Actor, another: Actor, weather: Weather) -> None:
    """A life with a plain copy, a backup, an older log and another bank to be mistaken for this one."""
    chance = weather.chance

    def write(times: int) -> None:
        for _ in range(times):
            title = f"storm {chance.getrandbits(40):x}"
            table.acknowledged.append(_must(writer.tell("write", title, chance.choice(SIZES))))

    write(chance.randrange(1, 6))
    _must(writer.tell("close"))
    shutil.copyfile(table.bank, table.beside("copy.db"))
    write(chance.randrange(1, 12))
    _must(writer.tell("search", "storm"))
    table.in_backup = list(table.acknowledged)
    _must(writer.tell("backup", str(table.beside("backup.db"))))
    write(chance.randrange(1, 6))
    shutil.copyfile(table.log, table.beside("old-log"))
    write(chance.randrange(1, 20))
    _must(another.tell("elsewhere", str(table.beside("other.db"))))
    shutil.copyfile(f"{table.beside('other.db')}-wal", table.beside("other-log"))
    another.tell("close elsewhere")


def _must(answer: Any) -> Any:
    if answer is None or isinstance(answer, dict):
        raise RuntimeError(f"the storm could not prepare itself: {answer}")
    return answer


def _note(answer: Any, kept: list[str], told: list[str], typed: Promise, case: str) -> None:
    match answer:
        case {"error": error}:
            told.append(error)
            typed.held()
        case {"raw": error}:
            told.append(error)
            typed.violated(f"{case}: {error}")
        case None:
            told.append("died")
            typed.violated(f"{case}: the process died")
        case str():
            kept.append(answer)


def _checked(
    table: Table,
    checker: Actor,
    told: list[str],
    takes_away: bool,
    promises: tuple[Promise, Promise, Promise],
    case: str,
) -> None:
    there, seen, typed = promises
    ids = checker.tell("ids")
    if not isinstance(ids, list):
        _note(ids, [], told, typed, case)
        there.held()
        seen.held()
        return
    damage = checker.tell("verify")
    if damage:
        there.held()
        seen.held()
        told.append(str(damage))
        return
    lost = set(table.since) - set(ids)
    if not takes_away and not told:
        lost |= set(table.acknowledged) - set(ids)
    there.check(
        not lost, f"{case}: {len(lost)} of {len(table.acknowledged)}+{len(table.since)} are gone; told {told[:2]}"
    )
    found = checker.tell("found")
    shown = ids[:1_000] if len(ids) <= 1_000 else ids
    seen.check(
        found == shown, f"{case}: {len(ids)} listed and {found if isinstance(found, dict) else len(found or ())} found"
    )
    checker.tell("close")


def _recovered(table: Table, actors: list[Actor], weather: Weather, promise: Promise, case: str) -> None:
    for actor in actors[:3]:
        actor.tell("close")
    helper, last = actors[3], actors[2]
    if weather.chance.random() < 0.5:
        helper.start("recover", str(table.beside("backup.db")))
        time.sleep(weather.chance.random() * KILLED_WITHIN_S)
        helper.kill()
        actors[3] = helper = Actor(bank_deeds(table.bank))
    answer = helper.tell("recover", str(table.beside("backup.db")))
    ids = last.tell("ids")
    damage = last.tell("verify")
    found = last.tell("found")
    whole = ids == sorted(table.in_backup) == found and damage == []
    promise.check(whole, f"{case}: recover said {answer}, then {str(ids)[:200]}, verify {str(damage)[:200]}")
    last.tell("close")
