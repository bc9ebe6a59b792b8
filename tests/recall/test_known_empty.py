"""Whoever looked in vain does not look again before something has changed."""

from __future__ import annotations

from reasoningbank.recall import known_empty
from reasoningbank.recall.known_empty import Absence


class Look:
    def __init__(self) -> None:
        self.there, self.times = False, 0

    def __call__(self) -> bool:
        self.times += 1
        return self.there


def test_it_looks_once_for_each_change():
    none, look = Absence(), Look()
    assert [none.holds("t", change, look) for change in (7, 7, 7, 8)] == [True] * 4
    assert look.times == 2


def test_what_is_there_is_never_looked_for_again():
    none, look = Absence(), Look()
    none.holds("t", 7, look)
    look.there = True
    assert not none.holds("t", 8, look)
    assert not none.holds("t", 9, look)
    assert look.times == 2


def test_it_looks_every_time_when_nobody_knows_what_has_changed():
    none, look = Absence(), Look()
    assert none.holds("t", None, look)
    assert none.holds("t", 7, look)
    assert none.holds("t", None, look)
    assert look.times == 3


def test_one_tenants_absence_says_nothing_of_anothers():
    none, look = Absence(), Look()
    none.holds("one", 7, look)
    look.there = True
    assert not none.holds("other", 7, look)
    assert none.holds("one", 7, look)


def test_it_remembers_so_many_tenants_and_no_more(monkeypatch):
    monkeypatch.setattr(known_empty, "MOST_TENANTS", 3)
    none, look = Absence(), Look()
    for number in range(20):
        none.holds(f"tenant {number}", 7, look)
    assert len(none._absent) <= 4
