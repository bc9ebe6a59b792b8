"""Two machines with one key at once: one is turned away and told so, nothing is lost, and nothing goes to and fro."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from reasoningbank_bus.views import PeerView
from tests.bus.laptops import Laptop, befriend, until

pytest.importorskip("qh3")
HERE = "127.0.0.1:0"
ALL = {"of anna", "of her twin", "meanwhile"}


@pytest.fixture
def anna(tmp_path: Path) -> Iterator[Laptop]:
    with Laptop(tmp_path / "anna.db") as one:
        yield one


@pytest.fixture
def ben(tmp_path: Path, anna: Laptop) -> Iterator[Laptop]:
    with Laptop(tmp_path / "ben.db") as one:
        befriend(anna, one)
        yield one


@pytest.fixture
def twin(tmp_path: Path, ben: Laptop) -> Iterator[Laptop]:
    """A bank of its own, with Anna's key and what her bus knows."""
    shutil.copytree(tmp_path / "anna.db.bus", tmp_path / "twin.db.bus")
    with Laptop(tmp_path / "twin.db") as one:
        yield one


def peer_at(of: Laptop, who: Laptop) -> PeerView:
    return next(peer for peer in of.bus.status().peers if peer.fingerprint == who.bus.fingerprint)


def test_the_second_machine_is_turned_away_told_so_and_heard_when_the_first_is_gone(anna, ben, twin):
    anna.learn("of anna")
    twin.learn("of her twin")
    with ben.up(HERE) as running:
        for one in (anna, twin):
            one.bus.add_peer(running.listen, ben.key)
        with anna.up():
            until(lambda: "of anna" in ben.titles(), "of the first")
            with twin.up():
                told = until(lambda: peer_at(twin, ben).problem, "what the second is told")
                assert told.startswith("It ended the connection: This key is connected already.")
                told = until(lambda: peer_at(ben, anna).problem, "what the third says")
                assert told.startswith("Another machine with the same key was turned away")
                anna.learn("meanwhile")
                until(lambda: "meanwhile" in ben.titles(), "the first goes on undisturbed")
                assert peer_at(ben, anna).state == "connected"
                told = until(lambda: peer_at(anna, ben).problem, "what the first is told")
                assert told.startswith("It turned another machine away that came with the key of this bank.")
        with twin.up():
            until(lambda: ben.titles() == ALL, "of the second")
            until(lambda: twin.titles() == ALL, "and what the first had written")
        with anna.up():
            until(lambda: anna.titles() == ALL, "what the second had written")
        until(lambda: peer_at(ben, anna).state == "away", "that both are gone")
        assert peer_at(ben, anna).problem == "It ended the connection: This node stops."


def test_both_are_heard_through_different_peers(anna, ben, twin, tmp_path):
    with Laptop(tmp_path / "carl.db") as carl:
        for one in (anna, ben):
            befriend(carl, one)
        with ben.up(HERE) as at_ben, carl.up(HERE) as at_carl:
            ben.bus.add_peer(at_carl.listen, carl.key)
            anna.bus.add_peer(at_ben.listen, ben.key)
            twin.bus.add_peer(at_carl.listen, carl.key)
            with anna.up(), twin.up():
                anna.learn("of anna", "meanwhile")
                twin.learn("of her twin")
                for one in (ben, carl, anna, twin):
                    until(lambda one=one: one.titles() == ALL, f"all at {one.path.name}")
