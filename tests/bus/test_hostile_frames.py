"""Hostile frames change nothing, end in a typed refusal, and cost their sender its place; villains stop nobody."""

from __future__ import annotations

import math

import msgspec
import pytest

from bench.bus.attacks import KINDS, Scene
from bench.bus.simulator import EPOCH_MS, NAMESPACE, YEAR_MS, Simulation
from bench.bus.villains import make_liar, make_spammer, make_withholder
from reasoningbank_bus.authority.intent import intent_id, sign_intent
from reasoningbank_bus.node.effects import Close
from reasoningbank_bus.wire.entry import encode_entry
from reasoningbank_bus.wire.frame import (
    CONTROL,
    MEMORIES,
    Digest,
    EntryBatch,
    Hello,
    NamespaceSum,
    Ranges,
    decode_frame,
    encode_frame,
)
from reasoningbank_bus.wire.signing import SigningKey

EXPECTED = {
    "replayed_batch": "replayed",
    "replayed_entry": "nothing new",
    "forged_author": "signature",
    "forged_signature": "signature",
    "stolen_grant": "no_right",
    "record_of_another": "no_right",
    "erasure_without_right": "no_right",
    "wrong_tenant": "unknown_intent",
    "stranger_entry": "unknown_author",
    "wrong_namespace": "wrong_namespace",
    "wrong_scope": "wrong_scope",
    "from_the_future": "from_the_future",
    "long_expired": "expired",
    "downgraded_entry": "version",
    "over_long_control": "too_long",
    "over_long_batch": "too_long",
    "too_many_wanted": "over_limit",
    "wanted_without_right": "no_right",
    "asked_without_right": "no_right",
    "unasked_entries": "malformed",
    "false_news": "over_limit",
}


@pytest.fixture(scope="module")
def scene() -> Scene:
    scene = Scene(seed=1, shut_out_below=-math.inf, refused_entries_per_second=1e9)
    scene.honest_work(2, 5)
    return scene


@pytest.mark.parametrize("attack", KINDS, ids=lambda attack: attack.__name__)
def test_a_hostile_frame_changes_nothing_and_is_refused_with_its_type(scene, attack):
    before = scene.state()
    for _ in range(5):
        codes, _ = scene.send(attack)
        assert codes
        if attack.__name__ in EXPECTED:
            assert set(codes) == {EXPECTED[attack.__name__]}
    assert scene.state() == before


def test_who_sends_what_is_malformed_is_shut_out_for_ten_minutes_also_if_it_comes_again():
    scene = Scene(seed=2)
    for _ in range(6):
        effects = scene.deliver(scene.insider, CONTROL, b"\xc1")
    assert [effect.code for effect in effects if isinstance(effect, Close)] == ["shut_out"]
    [refused] = scene.node.connected(scene.insider.public, scene.now + 599)
    assert isinstance(refused, Close)
    assert refused.code == "shut_out"
    effects = scene.node.connected(scene.insider.public, scene.now + 601)
    assert not any(isinstance(effect, Close) for effect in effects)


def test_who_has_no_right_and_was_not_named_is_sent_away():
    scene = Scene(seed=3)
    scene.node.connected(scene.stranger.public, scene.now)
    hello = Hello((1, 1), scene.stranger.public, now=0, incarnation=1)
    effects = scene.node.receive(scene.stranger.public, CONTROL, encode_frame(hello), scene.now)
    assert [effect.code for effect in effects if isinstance(effect, Close)] == ["unknown_author"]


def test_who_greets_with_the_key_of_another_is_sent_away():
    scene = Scene(seed=4)
    thief = SigningKey(bytes([9]) * 32)
    scene.node.connected(thief.public, scene.now)
    effects = scene.node.receive(thief.public, CONTROL, encode_frame(scene.hello(scene.honest)), scene.now)
    assert [effect.code for effect in effects if isinstance(effect, Close)] == ["not_authenticated"]


def test_a_newer_version_is_refused_with_a_sentence():
    scene = Scene(seed=5)
    scene.node.disconnected(scene.insider.public, scene.now)
    scene.node.connected(scene.insider.public, scene.now)
    hello = Hello((7, 9), scene.insider.public, now=0, incarnation=1)
    effects = scene.node.receive(scene.insider.public, CONTROL, encode_frame(hello), scene.now)
    [closed] = [effect for effect in effects if isinstance(effect, Close)]
    assert closed.code == "version"
    assert "update the older side" in closed.sentence


def test_more_than_a_peer_may_send_is_refused_as_too_much():
    scene = Scene(seed=6, frames_per_second=5, burst_seconds=1.0)
    frame = encode_frame(EntryBatch((), 1))
    for _ in range(30):
        scene.deliver(scene.honest, MEMORIES, frame)
    assert scene.node.status(scene.now).refused["over_limit"] >= 24


@pytest.mark.parametrize("make", [make_liar, make_spammer, make_withholder])
def test_two_villains_among_six_cannot_keep_the_others_from_agreeing(make):
    simulation = Simulation(6, seed=7)
    simulation.settle(5)
    for number in (1, 4):
        make(simulation, simulation.hosts[number])
    honest = [simulation.hosts[number] for number in (0, 2, 3, 5)]
    for host in honest:
        simulation.write(host, 3)
    assert simulation.run(20, until=lambda: all(len(host.ids) == 12 for host in honest)) is not None
    dead = [m for host in honest for m in host.node.members.members.values() if m.state == "dead"]
    assert not [m for m in dead if m.key in {host.key.public for host in honest}]


def test_early_or_forged_entries_of_an_author_do_not_keep_its_new_ones_away():
    scene = Scene(seed=8)
    early = encode_entry(scene.entry(scene.honest, at=EPOCH_MS + YEAR_MS))
    forged = encode_entry(
        msgspec.structs.replace(scene.entry(scene.honest, at=EPOCH_MS + YEAR_MS), signature=bytes(64))
    )
    scene.deliver(scene.insider, *scene.batch(early))
    scene.deliver(scene.insider, *scene.batch(forged))
    assert set(scene.node.status(scene.now).refused) == {"from_the_future", "signature"}
    # The honest peer reconciles: its author is not among those that are left out.
    digest = Digest((NamespaceSum(f"team:{NAMESPACE}", 1, bytes(16)),))
    effects = scene.deliver(scene.honest, CONTROL, encode_frame(digest))
    [answer] = [frame for effect in effects if isinstance(frame := decode_frame(effect.frame), Ranges)]
    assert answer.without == ()


def test_an_author_whose_every_entry_would_be_refused_is_left_out_of_reconciliation():
    scene = Scene(seed=9)
    scene.deliver(scene.insider, *scene.batch(encode_entry(scene.entry(scene.stranger))))
    digest = Digest((NamespaceSum(f"team:{NAMESPACE}", 1, bytes(16)),))
    effects = scene.deliver(scene.honest, CONTROL, encode_frame(digest))
    [answer] = [frame for effect in effects if isinstance(frame := decode_frame(effect.frame), Ranges)]
    assert [author[:8] for author in answer.without] == [scene.stranger.public[:8]]


def test_a_right_over_records_of_others_reaches_no_other_namespace():
    scene = Scene(seed=10)
    grant = sign_intent(
        scene.root,
        scene.insider.public,
        actions=("record", "bus:admin"),
        namespaces=("elsewhere",),
        not_before=EPOCH_MS - YEAR_MS,
        expires=EPOCH_MS + YEAR_MS,
    )
    scene.rights.add(grant)
    victim = scene.entry(scene.honest)
    scene.deliver(scene.honest, *scene.batch(encode_entry(victim)))
    before = scene.state()
    attack = scene.entry(
        scene.insider,
        namespace="elsewhere",
        record=victim.record,
        revision=9,
        intent=intent_id(grant),
    )
    scene.deliver(scene.insider, *scene.batch(encode_entry(attack)))
    assert scene.node.status(scene.now).refused == {"wrong_namespace": 1}
    assert scene.state() == before
