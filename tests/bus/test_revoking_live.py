"""Revoking a peer while it is connected and sends: nothing more is taken from then on, and both sides are told why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reasoningbank_bus import Bus, service
from reasoningbank_bus.node import intake
from reasoningbank_bus.views import PeerView
from reasoningbank_bus.wire.entry import verify_entry
from tests.bus.laptops import Laptop, befriend, until

pytest.importorskip("qh3")
HERE = "127.0.0.1:0"
REASON = "The grant that this names was revoked."


@pytest.fixture
def anna(tmp_path: Path) -> Iterator[Laptop]:
    with Laptop(tmp_path / "anna.db") as one:
        yield one


@pytest.fixture
def ben(tmp_path: Path, anna: Laptop) -> Iterator[Laptop]:
    with Laptop(tmp_path / "ben.db") as one:
        befriend(anna, one)
        yield one


def peer_at(of: Laptop, who: Laptop) -> PeerView:
    return next(peer for peer in of.bus.status().peers if peer.fingerprint == who.bus.fingerprint)


def taken_at(ben: Laptop) -> int:
    return ben.bus.log.counts(ben.bus.key.public)[1]


def test_what_comes_after_a_revocation_is_not_taken_however_seldom_the_node_looks_around(anna, ben, monkeypatch):
    monkeypatch.setattr(service, "LOOK_S", 3600.0)
    with ben.up(HERE) as running:
        anna.bus.add_peer(running.listen, ben.key, name="ben")
        anna.learn("in time")
        with anna.up_elsewhere():
            until(lambda: taken_at(ben) == 1, "what is written in time")
            with Bus.open(ben.bank) as elsewhere:
                elsewhere.revoke(anna.key)
            anna.learn("too late")
            until(lambda: peer_at(anna, ben).problem == f"It ended the connection: {REASON}", "what anna is told")
            until(lambda: anna.bus.status().shared == 2, "the second entry")
    assert taken_at(ben) == 1
    assert ben.titles() == set()


def test_a_batch_in_hand_while_its_author_is_revoked_is_not_kept(anna, ben, monkeypatch):
    decided = []

    def revoke_amid(entry, *rest):
        if entry.author == anna.bus.key.public and entry.kind == "memory" and not decided:
            decided.append(entry)
            with Bus.open(ben.bank) as elsewhere:
                elsewhere.revoke(anna.key)
        verify_entry(entry, *rest)

    monkeypatch.setattr(intake, "verify_entry", revoke_amid)
    anna.learn("in hand")
    with ben.up(HERE) as running:
        anna.bus.add_peer(running.listen, ben.key, name="ben")
        with anna.up_elsewhere():
            until(lambda: peer_at(ben, anna).problem == f"We ended the connection: {REASON}", "what ben says")
    assert decided
    assert taken_at(ben) == 0


def test_a_revocation_amid_a_stream_ends_it_and_both_sides_say_why(anna, ben):
    anna.learn(*(f"title {number}" for number in range(2_000)))
    with ben.up(HERE) as running:
        anna.bus.add_peer(running.listen, ben.key, name="ben")
        with anna.up():
            until(lambda: taken_at(ben) > 0, "the first of them")
            ben.bus.revoke(anna.key)
            until(lambda: peer_at(ben, anna).problem == f"We ended the connection: {REASON}", "what ben says")
            until(lambda: peer_at(anna, ben).problem == f"It ended the connection: {REASON}", "what anna is told")
            until(lambda: ben.bus.status().refused.get("revoked"), "that she came again")
            [told] = ben.bus.status().refusals
            assert (told.code, told.author) == ("revoked", anna.bus.fingerprint)
    assert ben.titles() == set()
