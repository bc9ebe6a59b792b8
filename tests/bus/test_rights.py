"""Who may do what: an entry is taken only under a grant that reaches a root here, in its time, place and measure."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasoningbank_bus.authority import rights as rights_module
from reasoningbank_bus.authority.intent import MAX_CHAIN, encode_intent, encode_revocation, intent_id, sign_revocation
from reasoningbank_bus.authority.rights import LATE_MS, SKEW_MS, Rights
from reasoningbank_bus.wire.entry import RecordName
from reasoningbank_bus.wire.refusals import BusRefusal
from reasoningbank_bus.wire.signing import SigningKey
from tests.bus.people import DAY, LAPTOP, NOW, OFFICE, ROOT, STRANGER, entry, grant

OPEN = grant(delegable=True)
DERIVED = grant(OFFICE, LAPTOP, parent=intent_id(OPEN), actions=["record", "search"], namespaces=["team/web"])


def knowing(*intents, roots=()) -> Rights:
    rights = Rights(ROOT.public, [key.public for key in roots])
    for intent in intents:
        rights.add(intent)
    return rights


def refusal_of(rights: Rights, written, now: int = NOW) -> str:
    with pytest.raises(BusRefusal) as refusal:
        rights.check(written, now)
    return refusal.value.code


def test_a_root_may_do_everything_and_is_not_metered():
    rights = knowing(roots=[OFFICE])
    for kind in ("memory", "node", "edge", "signal"):
        assert rights.check(entry(OFFICE, kind=kind, namespace="anything"), NOW) == ()
    assert rights.may(OFFICE.public, "search", "anything", "org", NOW)
    assert not rights.may(STRANGER.public, "search", "anything", "org", NOW)
    rights.set_roots([])
    assert refusal_of(rights, entry(OFFICE)) == "unknown_author"


def test_a_holder_may_do_what_its_grant_says_and_nothing_else():
    given_ = grant(actions=["record", "signal"], scopes=["team"])
    rights = knowing(given_)
    assert rights.check(entry(OFFICE, given_), NOW) == (given_,)
    assert rights.check(entry(OFFICE, given_, kind="node"), NOW)
    assert rights.check(entry(OFFICE, given_, kind="signal"), NOW)
    assert refusal_of(rights, entry(OFFICE, given_, kind="edge")) == "no_right"
    assert refusal_of(rights, entry(OFFICE, given_, namespace="teams")) == "wrong_namespace"
    assert refusal_of(rights, entry(OFFICE, given_, scope="org")) == "wrong_scope"
    assert refusal_of(rights, entry(LAPTOP, given_)) == "no_right"
    assert refusal_of(rights, entry(STRANGER)) == "unknown_author"
    assert not rights.may(OFFICE.public, "search", "team/web", "team", NOW)


def test_a_record_of_another_is_revised_only_with_admin_and_erased_only_with_erase():
    others = RecordName(LAPTOP.public, "mem_1")
    plain, admin, eraser = grant(), grant(actions=["record", "bus:admin"]), grant(actions=["erase"])
    revised = {"record": others, "revision": 2}
    erased = {"record": others, "kind": "erased", "body": b""}
    assert refusal_of(knowing(plain), entry(OFFICE, plain, **revised)) == "no_right"
    assert refusal_of(knowing(plain), entry(OFFICE, plain, **erased)) == "no_right"
    assert knowing(admin).check(entry(OFFICE, admin, **revised), NOW)
    assert refusal_of(knowing(admin), entry(OFFICE, admin, **erased)) == "no_right"
    assert knowing(eraser).check(entry(OFFICE, eraser, **erased), NOW)
    own = entry(OFFICE, plain, kind="erased", body=b"")
    assert knowing(plain).check(own, NOW), "its own needs no more than to write"


def test_before_and_after_its_life_a_grant_gives_nothing():
    given_ = grant(not_before=NOW, expires=NOW + DAY)
    rights = knowing(given_)
    assert refusal_of(rights, entry(OFFICE, given_, at=NOW - 1), NOW - 1) == "not_yet_valid"
    assert rights.check(entry(OFFICE, given_, at=NOW - DAY), NOW), "what was written before it was given"
    assert refusal_of(rights, entry(OFFICE, given_, at=NOW + DAY), NOW + DAY) == "expired"
    assert rights.check(entry(OFFICE, given_, at=NOW + DAY - 1), NOW + DAY - 1)
    for moment, may in ((NOW - 1, False), (NOW, True), (NOW + DAY - 1, True), (NOW + DAY, False)):
        assert rights.may(OFFICE.public, "search", "team/web", "team", moment) is may


def test_what_was_written_in_time_is_taken_thirty_days_late_and_no_longer():
    given_ = grant(expires=NOW + DAY)
    rights = knowing(given_)
    assert rights.check(entry(OFFICE, given_), NOW + DAY + LATE_MS - 1)
    assert refusal_of(rights, entry(OFFICE, given_), NOW + DAY + LATE_MS) == "expired"


@pytest.mark.parametrize("years", [1, 30, 200])
def test_a_clock_that_is_years_ahead_is_refused_for_now_and_one_behind_is_taken(years):
    far = years * 365 * DAY
    given_ = grant(not_before=0, expires=NOW + 300 * 365 * DAY)
    rights = knowing(given_)
    written = entry(OFFICE, given_, at=NOW + far)
    assert refusal_of(rights, written) == "from_the_future"
    assert rights.check(written, NOW + far)
    assert rights.check(entry(OFFICE, given_, at=NOW + SKEW_MS), NOW)
    assert refusal_of(rights, entry(OFFICE, given_, at=NOW + SKEW_MS + 1)) == "from_the_future"
    assert rights.check(entry(OFFICE, given_, at=0), NOW)


def test_an_entry_that_names_no_grant_or_one_that_gives_nothing_here_is_taken_under_another_of_its_author():
    """Who exchanges with several banks holds a grant of each, and an entry can name only one."""
    elsewhere = grant(STRANGER, OFFICE)
    here = grant(namespaces=["team/web"])
    rights = knowing(elsewhere, here)
    for named in (None, elsewhere, grant(nonce=bytes([9]) * 16)):
        assert rights.check(entry(OFFICE, named), NOW) == (here,)
        assert refusal_of(rights, entry(OFFICE, named, namespace="team/other")) in (
            "wrong_namespace",
            "no_right",
            "unknown_intent",
        )
    rights.revoke(sign_revocation(ROOT, at=NOW, holder=OFFICE.public))
    for named in (None, elsewhere, here):
        assert refusal_of(rights, entry(OFFICE, named)) in ("revoked", "no_right")


def test_grants_made_in_ones_own_right_are_kept_of_those_who_have_a_right_here_or_gave_one_to_this_node():
    nowhere = {"kind": "grant", "namespace": "", "scope": ""}
    body = encode_intent(grant(OFFICE, LAPTOP))
    assert refusal_of(knowing(), entry(OFFICE, **nowhere, body=body)) == "unknown_author"
    assert knowing(OPEN).check(entry(OFFICE, **nowhere, body=body), NOW) == (OPEN,)
    assert knowing(grant(OFFICE, ROOT)).check(entry(OFFICE, **nowhere, body=body), NOW) == ()
    rights = knowing(OPEN)
    rights.add(grant(OFFICE, LAPTOP))
    assert not rights.may(LAPTOP.public, "search", "team/web", "team", NOW), "it counts where that one is a root"


def test_a_derived_grant_counts_once_all_above_it_are_known_in_any_order():
    written = entry(LAPTOP, DERIVED)
    rights = knowing(DERIVED)
    assert refusal_of(rights, written) == "unknown_intent"
    rights.add(OPEN)
    assert rights.check(written, NOW) == (DERIVED, OPEN)
    assert rights.chain_of(intent_id(DERIVED)) == (DERIVED, OPEN)
    assert rights.may(LAPTOP.public, "record", "team/web", "team", NOW)
    assert not rights.may(LAPTOP.public, "record", "team/other", "team", NOW)


def test_a_grant_that_no_root_stands_behind_gives_nothing():
    own = grant(STRANGER, STRANGER)
    assert refusal_of(knowing(own), entry(STRANGER, own)) == "no_right"
    assert not knowing(own).may(STRANGER.public, "search", "team/web", "team", NOW)


def test_a_child_that_widens_is_refused_whether_it_comes_before_its_parent_or_after():
    wider = grant(OFFICE, LAPTOP, parent=intent_id(OPEN), namespaces=["*"])
    with pytest.raises(BusRefusal) as refusal:
        knowing(OPEN, wider)
    assert refusal.value.code == "widened"
    assert refusal_of(knowing(wider, OPEN), entry(LAPTOP, wider)) == "widened"
    assert not knowing(wider, OPEN).may(LAPTOP.public, "record", "team/web", "team", NOW)


def test_a_forged_grant_or_revocation_is_refused():
    forged = msgspec.structs.replace(OPEN, holder=STRANGER.public)
    with pytest.raises(BusRefusal) as refusal:
        knowing(forged)
    assert refusal.value.code == "signature"
    ended = sign_revocation(ROOT, at=NOW, intent=intent_id(OPEN))
    with pytest.raises(BusRefusal):
        knowing().revoke(msgspec.structs.replace(ended, target=bytes(32)))
    with pytest.raises(BusRefusal):
        knowing().revoke(msgspec.structs.replace(ended, issuer=OFFICE.public))


def test_a_chain_that_is_too_long_gives_nothing():
    keys = [ROOT, *(SigningKey(bytes([number]) * 32) for number in range(100, 100 + MAX_CHAIN + 1))]
    chain, above = [], b""
    for issuer, holder in pairwise(keys):
        chain.append(grant(issuer, holder, parent=above, delegable=True))
        above = intent_id(chain[-1])
    rights = knowing(*chain)
    assert len(rights.check(entry(keys[MAX_CHAIN], chain[MAX_CHAIN - 1]), NOW)) == MAX_CHAIN
    assert refusal_of(rights, entry(keys[MAX_CHAIN + 1], chain[MAX_CHAIN])) == "widened"


@pytest.mark.parametrize("issuer", [OFFICE, ROOT], ids=["its issuer", "one above"])
def test_after_a_revocation_nothing_more_is_taken_under_a_grant_or_what_was_derived_from_it(issuer):
    rights = knowing(OPEN, DERIVED)
    rights.revoke(sign_revocation(issuer, at=NOW, intent=intent_id(DERIVED)))
    assert refusal_of(rights, entry(LAPTOP, DERIVED, at=NOW - 1)) == "revoked"
    assert not rights.may(LAPTOP.public, "search", "team/web", "team", NOW)
    assert rights.check(entry(OFFICE, OPEN), NOW)
    rights.revoke(sign_revocation(ROOT, at=NOW, intent=intent_id(OPEN)))
    assert refusal_of(rights, entry(OFFICE, OPEN)) == "revoked"


def test_nobody_else_ends_a_grant():
    sideways = grant(ROOT, STRANGER, delegable=True)
    rights = knowing(OPEN, DERIVED, sideways)
    for outsider in (STRANGER, LAPTOP):
        rights.revoke(sign_revocation(outsider, at=NOW, intent=intent_id(DERIVED)))
        rights.revoke(sign_revocation(outsider, at=NOW, holder=OFFICE.public))
    rights.revoke(sign_revocation(OFFICE, at=NOW, intent=intent_id(OPEN)))
    assert rights.check(entry(LAPTOP, DERIVED), NOW)
    assert rights.check(entry(OFFICE, OPEN), NOW)


def test_a_revocation_that_comes_before_its_grant_counts():
    rights = knowing()
    rights.revoke(sign_revocation(ROOT, at=NOW, intent=intent_id(OPEN)))
    rights.add(OPEN)
    assert refusal_of(rights, entry(OFFICE, OPEN)) == "revoked"


def test_a_holder_that_was_revoked_gets_new_rights_from_the_revoker_alone():
    rights = knowing(OPEN, DERIVED)
    rights.revoke(sign_revocation(ROOT, at=NOW, holder=LAPTOP.public))
    assert refusal_of(rights, entry(LAPTOP, DERIVED)) == "revoked"
    around = grant(OFFICE, LAPTOP, parent=intent_id(OPEN), not_before=NOW + 1, nonce=bytes([1]) * 16)
    rights.add(around)
    assert refusal_of(rights, entry(LAPTOP, around), NOW + 1) == "revoked"
    anew = grant(ROOT, LAPTOP, not_before=NOW + 1)
    rights.add(anew)
    assert rights.check(entry(LAPTOP, anew), NOW + 1) == (anew,)


def test_grants_spread_as_entries_of_their_issuer_under_the_one_they_were_derived_from():
    rights = knowing(OPEN)
    nowhere = {"kind": "grant", "namespace": "", "scope": "", "body": encode_intent(DERIVED)}
    assert rights.check(entry(OFFICE, OPEN, **nowhere), NOW) == (OPEN,)
    assert refusal_of(rights, entry(STRANGER, OPEN, **nowhere)) == "no_right"
    wider = grant(OFFICE, LAPTOP, parent=intent_id(OPEN), namespaces=["*"])
    assert refusal_of(rights, entry(OFFICE, OPEN, **nowhere | {"body": encode_intent(wider)})) == "widened"
    forged = msgspec.structs.replace(DERIVED, expires=DERIVED.expires - 1)
    assert refusal_of(rights, entry(OFFICE, OPEN, **nowhere | {"body": encode_intent(forged)})) == "signature"
    assert refusal_of(rights, entry(OFFICE, OPEN, **nowhere | {"body": b"\x01"})) == "malformed"
    closed = grant()
    rights = knowing(closed)
    from_closed = encode_intent(grant(OFFICE, LAPTOP, parent=intent_id(closed)))
    assert refusal_of(rights, entry(OFFICE, closed, **nowhere | {"body": from_closed})) == "no_right"


def test_revocations_spread_as_entries_of_their_issuer():
    rights = knowing(OPEN)
    ended = sign_revocation(OFFICE, at=NOW, intent=intent_id(DERIVED))
    nowhere = {"kind": "revoked", "namespace": "", "scope": ""}
    assert rights.check(entry(OFFICE, OPEN, **nowhere, body=encode_revocation(ended)), NOW) == (OPEN,)
    assert refusal_of(rights, entry(STRANGER, **nowhere, body=encode_revocation(ended))) == "unknown_author"
    others = encode_revocation(sign_revocation(ROOT, at=NOW, intent=intent_id(OPEN)))
    assert refusal_of(rights, entry(OFFICE, OPEN, **nowhere, body=others)) == "no_right"
    later = encode_revocation(sign_revocation(OFFICE, at=NOW + DAY, intent=intent_id(DERIVED)))
    assert refusal_of(rights, entry(OFFICE, OPEN, **nowhere, body=later)) == "from_the_future"


def test_grants_of_strangers_take_bounded_room_and_push_out_none_that_counts(monkeypatch):
    monkeypatch.setattr(rights_module, "MAX_KEPT", 10)
    rights = knowing(OPEN)
    mine = grant(STRANGER, ROOT)
    rights.add(mine)
    for number in range(50):
        rights.add(grant(STRANGER, STRANGER, nonce=bytes([number]) * 16))
    assert len(rights.intents()) == 10
    assert rights.held_by(ROOT.public) == [mine]
    assert rights.check(entry(OFFICE, OPEN), NOW)


def test_a_node_names_the_grant_that_it_was_given_even_if_its_giver_is_no_root_of_its_own():
    rights = Rights(LAPTOP.public)
    assert rights.intent_to_name("record", "team/web", "team", NOW) == b""
    rights.add(OPEN)
    rights.add(DERIVED)
    assert rights.intent_to_name("record", "team/web", "team", NOW) == intent_id(DERIVED)
    assert rights.intent_to_name("record", "elsewhere", "team", NOW) == b""
    assert rights.intent_to_name("record", "team/web", "team", NOW + 2 * DAY) == b""


keys = st.sampled_from([ROOT, OFFICE, LAPTOP, STRANGER])
steps = st.lists(
    st.tuples(keys, keys, st.integers(-1, 6), st.sampled_from([("team/*",), ("team/web",), ("*",)]), st.booleans()),
    min_size=1,
    max_size=7,
)


@given(steps=steps, order=st.randoms(use_true_random=False))
def test_rights_are_the_same_in_whatever_order_grants_and_revocations_come(steps, order):
    """And nobody has a right that does not go back to the root, step by step, through delegable grants."""
    intents = []
    for number, (issuer, holder, above, namespaces, delegable) in enumerate(steps):
        parent = intent_id(intents[above]) if 0 <= above < len(intents) else b""
        nonce = bytes([number]) * 16
        intents.append(grant(issuer, holder, parent=parent, namespaces=namespaces, delegable=delegable, nonce=nonce))
    revoked = [sign_revocation(steps[0][0], at=NOW, intent=intent_id(intents[0]))] if len(steps) > 4 else []
    views = []
    for _ in range(2):
        rights = Rights(ROOT.public)
        acts = [(rights.add, intent) for intent in intents] + [(rights.revoke, one) for one in revoked]
        order.shuffle(acts)
        for act, what in acts:
            # What widens may be refused at once, or give nothing later.
            with suppress(BusRefusal):
                act(what)
        views.append(
            {key.public: rights.may(key.public, "record", "team/web", "team", NOW) for key in (OFFICE, LAPTOP)}
        )
    assert views[0] == views[1]
    reached = {ROOT.public}
    for _ in intents:
        reached |= {intent.holder for intent in intents if intent.issuer in reached}
    for key, may in views[0].items():
        assert not may or key in reached
