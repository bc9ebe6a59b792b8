"""What is refused is told with whose it was, where, and the command that does something about it."""

from __future__ import annotations

import logging
import math
from contextlib import ExitStack

import pytest

from bench.bus.attacks import Scene
from bench.bus.simulator import EPOCH_MS, NAMESPACE, YEAR_MS
from reasoningbank.core.errors import Refused
from reasoningbank_bus.authority.intent import intent_id, sign_intent
from reasoningbank_bus.json_view import status_json
from reasoningbank_bus.wire.entry import encode_entry
from reasoningbank_bus.wire.frame import CONTROL, Digest, NamespaceSum, encode_frame
from reasoningbank_bus.wire.signing import SigningKey
from tests.bus.laptops import Laptop, befriend, until

pytest.importorskip("qh3")
HERE = "127.0.0.1:0"


def test_an_author_whom_nobody_let_in_is_named_and_the_remedy_that_is_told_lets_it_in(tmp_path, caplog, monkeypatch):
    # In which Ben does not send Carl again what he refused.
    monkeypatch.setattr("reasoningbank_bus.node.node.REFUSED_SECONDS", 1.0)
    caplog.set_level(logging.WARNING, logger="reasoningbank.bus")
    with (
        Laptop(tmp_path / "anna.db") as anna,
        Laptop(tmp_path / "ben.db") as ben,
        Laptop(tmp_path / "carl.db") as carl,
    ):
        befriend(anna, ben)
        befriend(ben, carl)
        anna.learn("of anna")
        with ben.up(HERE) as running:
            for one in (anna, carl):
                one.bus.add_peer(running.listen, ben.key, name="ben")
            with anna.up(), carl.up():
                # Until Ben's grant to her has come by another way too, it is refused for another reason.
                told, *_ = until(lambda: [r for r in carl.bus.status().refusals if r.namespace == "n"], "the refusal")
                assert (told.is_ours, told.author, told.count >= 1) == (False, anna.bus.fingerprint, True)
                command = f"reasoningbank bus grant {anna.key}"
                assert f"`{command}" in told.remedy
                assert told.sentence.count(anna.bus.fingerprint) == 1
                rows = status_json(carl.bus.status())["refusals"]
                [shown] = [row for row in rows if (row["namespace"], row["code"]) == ("n", told.code)]
                assert (shown["fingerprint"], shown["remedy"]) == (anna.bus.fingerprint, told.remedy)
                until(lambda: [r for r in caplog.messages if anna.bus.fingerprint in r and command in r], "the log")
                carl.bus.grant(anna.key)
                until(lambda: carl.titles() == {"of anna"}, "what was refused")
                assert not any(peer.refuses for peer in ben.bus.status().peers), "nothing of his own was refused"


def test_who_may_not_is_told_which_key_the_other_side_would_have_to_let_in(tmp_path):
    with Laptop(tmp_path / "anna.db") as anna, Laptop(tmp_path / "ben.db") as ben:
        anna.bus.grant(ben.key, name="ben", actions=("search",), namespaces=("elsewhere",))
        ben.bus.grant(anna.key, name="anna")
        ben.learn("of ben")
        with anna.up(HERE) as running:
            ben.bus.add_peer(running.listen, anna.key)
            with ben.up():
                [here] = until(lambda: anna.bus.status().refusals, "what anna refuses")
                assert (here.code, here.author, here.namespace) == ("no_right", "ben", "n")
                assert here.remedy == "`reasoningbank bus grant ben --in n` allows it."
                [there] = until(lambda: [p for p in ben.bus.status().peers if p.refuses], "what ben is told")
                assert dict(there.refuses) == {"no_right": 1}
            with pytest.raises(Refused, match=f"anna refuses to search in 'n' for you: .*bus grant {ben.key}"):
                ben.bus.ask("anna", "anything", namespace="n")


def test_a_hostile_peer_does_not_grow_what_is_told():
    scene = Scene(seed=11, shut_out_below=-math.inf, refused_entries_per_second=1e9)
    for number in range(50):
        stranger = SigningKey(number.to_bytes(32, "big"))
        scene.deliver(scene.insider, *scene.batch(encode_entry(scene.entry(stranger))))
    status = scene.node.status(scene.now)
    assert status.refused == {"unknown_author": 50}
    [(code, latest)] = status.latest_refused.items()
    assert (code, latest.author, latest.namespace) == ("unknown_author", stranger.public, NAMESPACE)


def test_nobody_is_behind_by_what_it_will_not_take():
    scene = Scene(seed=13, shut_out_below=-math.inf, refused_entries_per_second=1e9)
    scene.deliver(scene.insider, *scene.batch(encode_entry(scene.entry(SigningKey(bytes(32))))))
    digest = Digest((NamespaceSum(f"team:{NAMESPACE}", 1_000, bytes(16)),))
    scene.deliver(scene.insider, CONTROL, encode_frame(digest))
    assert [peer.behind for peer in scene.node.status(scene.now).peers if peer.key == scene.insider.public] == [0]


def test_an_entry_that_is_sent_again_and_again_is_counted_once():
    scene = Scene(seed=12, shut_out_below=-math.inf)
    capped = sign_intent(
        scene.root,
        scene.insider.public,
        actions=("record",),
        namespaces=("elsewhere",),
        caps={"records": 1},
        not_before=EPOCH_MS - YEAR_MS,
        expires=EPOCH_MS + YEAR_MS,
    )
    scene.rights.add(capped)
    written = [
        encode_entry(scene.entry(scene.insider, namespace="elsewhere", intent=intent_id(capped))) for _ in range(3)
    ]
    for _ in range(4):
        scene.deliver(scene.insider, *scene.batch(*written))
        scene.now += 61
        scene.node.change_rights(scene.now)
    status = scene.node.status(scene.now)
    assert status.refused == {"cap_spent": 2}
    assert [peer.refused for peer in status.peers if peer.key == scene.insider.public] == [{"cap_spent": 2}]


def test_what_strangers_allow_each_other_is_nothing_to_mend(tmp_path):
    laptops = [Laptop(tmp_path / f"{name}.db") for name in ("anna", "office", "ben")]
    with ExitStack() as stack:
        anna, office, ben = map(stack.enter_context, laptops)
        running = stack.enter_context(office.up("127.0.0.1:0"))
        for one in (anna, ben):
            befriend(one, office)
            one.bus.add_peer(running.listen, office.key, name="office")
            stack.enter_context(one.up())
        office.learn("of the office")
        until(lambda: anna.titles() == ben.titles() == {"of the office"}, "what the office learned")
        # Grants go in one set and are reconciled: what anna lacks of it for good she has been offered by then.
        until(lambda: all(peer.behind == 0 for peer in anna.bus.status().peers), "that anna lacks nothing")
        assert anna.bus.status().refused == {}
