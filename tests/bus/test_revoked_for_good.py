"""A peer that was revoked stays so, whichever of bank and log is put back to before that."""

from __future__ import annotations

import shutil

import pytest

from reasoningbank.core.errors import Refused
from reasoningbank.core.types import State
from tests.bus.laptops import Laptop, befriend, until


@pytest.fixture
def ben(tmp_path):
    with Laptop(tmp_path / "ben.db") as one:
        yield one


def put_back(path, copy):
    for file in path.parent.glob(f"{path.name}*"):
        if file.is_file():
            file.unlink()
    if copy is not None:
        shutil.copy(copy, path)


@pytest.mark.parametrize("is_lost", [False, True], ids=["an older log", "a lost log"])
def test_a_log_from_before_a_revocation_lets_the_peer_in_no_more_until_it_gets_a_new_grant(tmp_path, ben, is_lost):
    place = tmp_path / "anna.db"
    with Laptop(place) as anna:
        befriend(anna, ben)
        anna.learn("for friends")
    copy = shutil.copy(tmp_path / "anna.db.bus" / "bus.db", tmp_path / "older.db")
    with Laptop(place) as anna:
        anna.bus.revoke(ben.key)
    put_back(tmp_path / "anna.db.bus" / "bus.db", None if is_lost else copy)
    with Laptop(place) as anna, anna.up("127.0.0.1:0") as running:
        ben.bus.add_peer(running.listen, anna.key, name="anna")
        with pytest.raises(Refused):
            ben.bus.ask("anna", "for friends", namespace="n")
        assert [grant.state for grant in anna.bus.grants() if grant.direction == "given"] == ["revoked"] * (not is_lost)
        ben.bus.accept(anna.bus.grant(ben.key).line)
        with ben.up():
            until(lambda: ben.titles() == {"for friends"}, "what the new grant gives")


def test_a_bank_from_before_a_revocation_shows_nothing_of_the_peer_unless_its_user_takes_that_back(tmp_path, ben):
    place = tmp_path / "anna.db"
    with Laptop(place) as anna:
        befriend(anna, ben)
        ben.learn("of ben")
        with anna.up("127.0.0.1:0") as running:
            ben.bus.add_peer(running.listen, anna.key)
            with ben.up():
                until(lambda: anna.titles() == {"of ben"}, "what ben wrote")
        anna.bank.backup(tmp_path / "backup.db")
        anna.bus.revoke(ben.key)
    put_back(place, tmp_path / "backup.db")
    with Laptop(place) as anna:
        assert anna.titles() == {"of ben"}
        with anna.up():
            assert anna.titles() == set()
        assert [one.memory.title for one in anna.bank.list(state=State.QUARANTINED.value)] == ["of ben"]
        anna.bank.trust.undo(anna.bank.trust.rulings()[0].id)
        with anna.up():
            assert anna.titles() == {"of ben"}
