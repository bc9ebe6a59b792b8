"""Two banks over real sockets: what one learns reaches the other, within rights, through restarts, kills and changes."""

from __future__ import annotations

import asyncio
import signal
import socket
from functools import partial

import pytest

from reasoningbank.core.errors import BankUnavailable, Conflict, Refused
from reasoningbank.core.types import State
from reasoningbank_bus.addresses import parse_address
from reasoningbank_bus.facade import Bus
from reasoningbank_bus.quic import endpoint
from reasoningbank_bus.quic.asking import ask_once
from reasoningbank_bus.quic.limits import TransportLimits
from reasoningbank_bus.wire.frame import Ask, Hello
from tests.bus.laptops import PATIENCE_S, Laptop, befriend, until

pytest.importorskip("qh3")
HERE = "127.0.0.1:0"


@pytest.fixture
def anna(tmp_path):
    with Laptop(tmp_path / "anna.db") as one:
        yield one


@pytest.fixture
def ben(tmp_path):
    with Laptop(tmp_path / "ben.db") as one:
        yield one


def test_what_one_learns_the_other_finds_and_the_other_way_round_and_nothing_of_a_project(anna, ben):
    befriend(anna, ben)
    anna.learn("written before")
    anna.learn("for the project alone", scope="project")
    with anna.up(HERE) as running:
        ben.bus.add_peer(running.listen, anna.key, name="anna")
        with ben.up():
            until(lambda: ben.titles() == {"written before"}, "what was there before")
            anna.learn("written meanwhile")
            ben.learn("of ben")
            until(lambda: ben.titles() == {"written before", "written meanwhile", "of ben"}, "what came meanwhile")
            until(lambda: "of ben" in anna.titles(), "the other way")
            found = next(one for one in ben.bank.list() if one.memory.title == "written before")
            assert found.memory.origin == anna.origin
            assert str(found.trust) == "untrusted"
            peer = until(lambda: [p for p in ben.bus.status().peers if p.received], "the status of a second later")[0]
            assert (peer.name, peer.state, peer.trust) == ("anna", "connected", "untrusted")
            hits = ben.bus.ask("anna", "written before it is", namespace="n")
            assert (hits[0].title, hits[0].origin) == ("written before", anna.origin)
        until(lambda: [p for p in anna.bus.status().peers if p.state == "away"], "that ben is gone")
        [gone] = anna.bus.status().peers
        assert (gone.seen_at is not None, gone.received > 0) == (True, True)
    assert not ben.bus.status().is_up


def test_a_grant_a_policy_and_a_peer_of_another_process_are_heeded_while_it_is_up(anna, ben):
    anna.learn("kept back")
    anna.bus.share(namespaces=[])
    with anna.up(HERE) as running, ben.up(), Bus.open(anna.bank) as elsewhere, Bus.open(ben.bank) as there:
        elsewhere.accept(there.grant(anna.key).line)
        there.accept(elsewhere.grant(ben.key).line)
        there.add_peer(running.listen, anna.key)
        until(lambda: [p for p in there.status().peers if p.state == "connected"], "the peer")
        assert ben.titles() == set()
        elsewhere.share(namespaces=["n"])
        until(lambda: ben.titles() == {"kept back"}, "what is shared since")


def test_a_revoked_peer_is_out_with_all_that_came_of_it(anna, ben):
    befriend(anna, ben)
    anna.learn("from anna")
    with anna.up(HERE) as running:
        ben.bus.add_peer(running.listen, anna.key, name="anna")
        with ben.up():
            until(lambda: ben.titles() == {"from anna"}, "the memory")
            until(lambda: [p for p in ben.bus.status().peers if p.state == "connected"], "word of the connection")
            done = ben.bus.revoke("anna")
            assert (len(done.grants), done.memories) == (1, 1)
            assert ben.titles() == set()
            until(lambda: not [p for p in ben.bus.status().peers if p.state == "connected"], "the end of it")
            anna.learn("too late")
            until(lambda: anna.bus.status().shared == 2, "the second entry")
    assert [one.memory.title for one in ben.bank.list(state=State.QUARANTINED.value)] == ["from anna"]
    ben.bank.trust.undo(done.ruling)
    assert ben.titles() == {"from anna"}


def test_a_cap_is_a_cap_before_and_after_a_restart(anna, ben):
    befriend(anna, ben, caps={"records": 2}, period_s=0)
    anna.learn("one", "two", "three")
    for _ in range(2):
        with anna.up(HERE) as running:
            ben.bus.add_peer(running.listen, anna.key)
            with ben.up():
                until(lambda: len(ben.titles()) == 2, "what the cap allows")
                until(lambda: anna.bus.status().refused.get("cap_spent"), "what it does not")
    [held] = [grant for grant in anna.bus.spend() if grant.direction == "held"]
    assert held.spent["records"] == 2
    assert len(ben.titles()) == 2


def test_a_second_grant_goes_on_where_the_first_is_spent(anna, ben):
    befriend(anna, ben, caps={"records": 1, "searches": 1}, period_s=0)
    anna.learn("one", "two", "three")
    with anna.up(HERE) as running:
        ben.bus.add_peer(running.listen, anna.key, name="anna")
        with ben.up():
            until(lambda: len(ben.titles()) == 1, "what the cap allows")
            until(lambda: anna.bus.status().refused.get("cap_spent"), "what it does not")
            befriend(anna, ben, caps={"records": 10, "searches": 10}, period_s=0)
            until(lambda: len(ben.titles()) == 3, "what the second grant allows")
            for _ in range(2):
                assert ben.bus.ask("anna", "one", namespace="n")


EVERY = {f"title {number}" for number in range(300)}


@pytest.fixture
def hasty(monkeypatch):
    """Nobody tells the other side that a killed one is gone: it finds out by silence, and soon."""
    limits = partial(TransportLimits, idle_seconds=2.0, keep_alive_seconds=0.5, flush_seconds=0.1)
    monkeypatch.setattr(endpoint, "TransportLimits", limits)


@pytest.mark.usefixtures("hasty")
def test_a_node_that_is_killed_while_it_sends_goes_on_where_it_was(anna, ben):
    befriend(anna, ben)
    anna.learn(*sorted(EVERY))
    with ben.up(HERE) as receiver:
        anna.bus.add_peer(receiver.listen, ben.key)
        with anna.up_elsewhere() as sender:
            until(lambda: anna.bus.status().shared > 0, "the first entries")
            sender.kill()
            sender.wait(PATIENCE_S)
        with anna.up():
            until(lambda: ben.titles() == EVERY, "all of it")
    assert len(ben.bank.list(limit=1000)) == len(EVERY), "none twice"


@pytest.mark.usefixtures("hasty")
def test_a_node_that_is_killed_while_it_receives_goes_on_where_it_was(anna, ben):
    befriend(anna, ben)
    anna.learn(*sorted(EVERY))
    with ben.up_elsewhere(HERE) as receiver:
        anna.bus.add_peer(receiver.listen, ben.key)
        with anna.up():
            until(lambda: anna.bus.status().shared > 0, "the first entries")
            receiver.kill()
            receiver.wait(PATIENCE_S)
            with ben.up(receiver.listen):
                until(lambda: ben.titles() == EVERY, "all of it")
    assert len(ben.bank.list(limit=1000)) == len(EVERY), "none twice"


def test_a_signal_ends_a_node_well_and_a_bank_has_one_at_a_time(anna):
    with anna.up_elsewhere(HERE) as up:
        with pytest.raises(Conflict, match=f"up already \\(process {up.pid}, listening at 127.0.0.1:"), anna.up():
            pass
        up.send_signal(signal.SIGTERM)
        assert up.wait(PATIENCE_S) == 0
    with anna.up():
        pass


def test_a_port_that_is_taken_is_named(anna, ben):
    taken = pytest.raises(BankUnavailable, match=r"Cannot listen at 127\.0\.0\.1")
    with anna.up(HERE) as running, taken, ben.up(running.listen):
        pass


def test_a_bank_from_an_old_backup_gets_back_what_it_had_shared_and_what_it_had_taken(anna, ben, tmp_path):
    befriend(anna, ben)
    backup = tmp_path / "backup.db"
    anna.learn("in the backup")
    anna.bank.backup(backup)
    anna.learn("after the backup")
    with anna.up(HERE) as running:
        ben.bus.add_peer(running.listen, anna.key, name="anna")
        with ben.up():
            until(lambda: len(ben.titles()) == 2, "both")
    # Another bank in the place of anna's, with her key and her log.
    folder = anna.path.with_name("anna.db.bus")
    restored = tmp_path / "restored.db"
    backup.rename(restored)
    folder.rename(restored.with_name("restored.db.bus"))
    with Laptop(restored) as again:
        again.learn("after the restoring")
        with again.up(HERE) as running:
            ben.bus.add_peer(running.listen, again.key)
            with ben.up():
                until(lambda: "after the restoring" in ben.titles(), "what is new")
    assert ben.titles() == {"in the backup", "after the backup", "after the restoring"}


def test_who_has_no_right_is_told_so_and_gets_nothing(anna, ben):
    anna.learn("for friends")
    with anna.up(HERE) as running:
        ben.bus.add_peer(running.listen, anna.key, name="anna")
        with pytest.raises(Refused):
            ben.bus.ask("anna", "for friends", namespace="n")
    assert ben.titles() == set()


def test_three_banks_with_grants_in_pairs_all_learn_from_each_other(anna, ben, tmp_path):
    with Laptop(tmp_path / "carl.db") as carl:
        for one, other in ((anna, ben), (ben, carl), (anna, carl)):
            befriend(one, other)
        anna.learn("of anna")
        with anna.up(HERE) as running:
            for other in (ben, carl):
                other.bus.add_peer(running.listen, anna.key)
            with ben.up(), carl.up():
                carl.learn("of carl")
                until(lambda: ben.titles() == {"of anna", "of carl"}, "both at ben's")
                until(lambda: carl.titles() == {"of anna", "of carl"}, "both at carl's")


def test_a_peer_that_an_office_let_in_is_named_believed_and_revoked_by_its_fingerprint(anna, ben, tmp_path):
    with Laptop(tmp_path / "office.db") as office:
        for one in (anna, ben):
            befriend(office, one)
            one.bus.trust(office.key)
        ben.learn("of ben")
        with office.up(HERE) as running:
            for one in (anna, ben):
                one.bus.add_peer(running.listen, office.key)
            with anna.up(HERE), ben.up():
                until(lambda: anna.titles() == {"of ben"}, "what ben learned")
                assert anna.bus.peer(ben.origin).trust == "untrusted"
                assert anna.bus.add_peer(None, ben.bus.fingerprint, name="ben", trust="working").trust == "working"
                assert anna.bus.revoke("ben").memories == 1


def test_an_address_that_answers_with_something_else_is_named_in_the_status(anna, ben, monkeypatch):
    monkeypatch.setattr(endpoint, "TransportLimits", partial(TransportLimits, handshake_seconds=0.5))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 0))
        other.settimeout(0.05)
        ben.bus.add_peer(f"127.0.0.1:{other.getsockname()[1]}", anna.key, name="anna")

        def told() -> str:
            try:
                _, sender = other.recvfrom(65536)
                other.sendto(b"HTTP/1.1 400 Bad Request\r\n\r\n", sender)
            except TimeoutError:
                pass
            return next(peer.problem for peer in ben.bus.status().peers)

        with ben.up():
            assert "something else listens there" in until(told, "what is wrong")


def test_another_node_at_the_address_of_a_peer_gets_nothing(anna, ben, tmp_path):
    befriend(anna, ben)
    with Laptop(tmp_path / "carl.db") as carl, carl.up(HERE) as running:
        ben.bus.add_peer(running.listen, anna.key, name="anna")
        with pytest.raises(Refused, match=f"{carl.bus.fingerprint}, not with {anna.bus.fingerprint}"):
            ben.bus.ask("anna", "anything")


def test_a_peer_of_a_newer_version_is_refused_with_the_reason(anna, ben):
    befriend(anna, ben)
    with anna.up(HERE) as running:
        hello = Hello(versions=(2, 3), key=ben.bus.key.public)
        asked = ask_once(
            parse_address(running.listen), anna.bus.key.public, Ask(1, "q", "n", 1), key=ben.bus.key, hello=hello
        )
        with pytest.raises(Refused, match="update the older side"):
            asyncio.run(asked)
        until(lambda: anna.bus.status().refused.get("version"), "that it is counted")


def test_two_processes_of_one_machine_spend_from_one_purse(anna, ben):
    befriend(anna, ben, caps={"searches": 3}, period_s=0)
    with anna.up(HERE) as running:
        ben.bus.add_peer(running.listen, anna.key, name="anna")
        anna.learn("asked for")
        with Bus.open(ben.bank) as elsewhere:
            for bus in (ben.bus, elsewhere, ben.bus):
                bus.ask("anna", "asked for", namespace="n")
            with pytest.raises(Refused, match="is spent"):
                elsewhere.ask("anna", "asked for", namespace="n")
