"""A derived grant gives less than the one above it, in everything; what gives more in anything is refused by name."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasoningbank.core.errors import BankError, InvalidInput
from reasoningbank_bus.authority.intent import ACTIONS, CAPS, covers, intent_id, intent_line, narrow, parse_intent_line
from reasoningbank_bus.wire.refusals import BusRefusal
from tests.bus.people import DAY, LAPTOP, NOW, OFFICE, STRANGER, grant

WIDE: dict[str, Any] = {
    "actions": ["record", "search"],
    "namespaces": ["team/*", "lab"],
    "scopes": ["team"],
    "caps": {"records": 100, "bytes": 1000},
    "period": 3600,
    "delegable": True,
}
PARENT = grant(**WIDE)


def child(issuer=OFFICE, **other: Any):
    return grant(issuer, LAPTOP, **WIDE | {"parent": intent_id(PARENT)} | other)


@pytest.mark.parametrize(
    ("wider", "dimension"),
    [
        ({"actions": ["record", "search", "erase"]}, "actions"),
        ({"actions": ["bus:admin"]}, "actions"),
        ({"namespaces": ["*"]}, "namespaces"),
        ({"namespaces": ["team"]}, "namespaces"),
        ({"namespaces": ["teams/x"]}, "namespaces"),
        ({"namespaces": ["team/web", "lab/x"]}, "namespaces"),
        ({"namespaces": ["lab/*"]}, "namespaces"),
        ({"scopes": ["team", "org"]}, "scopes"),
        ({"caps": {"records": 101, "bytes": 1000}}, "caps"),
        ({"caps": {"records": 100}}, "caps"),
        ({"caps": {}}, "caps"),
        ({"period": 3599}, "period"),
        ({"period": 1}, "period"),
        ({"not_before": NOW - DAY - 1}, "life"),
        ({"expires": NOW + DAY + 1}, "life"),
    ],
)
def test_a_delegation_that_widens_is_refused_and_says_in_what(wider, dimension):
    with pytest.raises(BusRefusal, match=f"more in: {dimension}") as refusal:
        narrow(PARENT, child(**wider))
    assert refusal.value.code == "widened"


@pytest.mark.parametrize(
    "narrower",
    [
        {},
        {"actions": ["search"]},
        {"namespaces": ["team/web", "team/web/*"]},
        {"scopes": []},
        {"caps": {"records": 1, "bytes": 1, "searches": 5}},
        {"period": 7200},
        {"period": 0},
        {"not_before": NOW, "expires": NOW + 1},
        {"delegable": False},
    ],
)
def test_a_delegation_that_gives_the_same_or_less_is_taken(narrower):
    narrow(PARENT, child(**narrower))


def test_what_may_not_be_passed_on_is_not_whatever_the_child_says():
    closed = grant(**WIDE | {"delegable": False})
    with pytest.raises(BusRefusal, match="may not be passed on"):
        narrow(closed, child(parent=intent_id(closed)))


def test_only_the_holder_derives_from_a_grant_and_from_no_other():
    with pytest.raises(BusRefusal, match="by its holder"):
        narrow(PARENT, child(issuer=STRANGER))
    with pytest.raises(BusRefusal, match="by its holder"):
        narrow(PARENT, child(parent=bytes(32)))


def test_a_period_counts_only_where_something_is_capped():
    free = grant(**WIDE | {"caps": {}, "period": 0})
    narrow(free, child(parent=intent_id(free), period=60))


names = st.sampled_from(["lab", "team", "team/web", "team/web/css", "teams", "team/", "a/b", "ä"])
patterns = st.one_of(st.just("*"), names, names.map(lambda name: f"{name}/*"))


@given(wide=patterns, narrow_=patterns, name=names)
def test_whatever_lies_within_a_pattern_that_lies_within_another_lies_within_that(wide, narrow_, name):
    if covers(wide, narrow_) and covers(narrow_, name):
        assert covers(wide, name)


ways = st.fixed_dictionaries(
    {
        "actions": st.sets(st.sampled_from(ACTIONS), min_size=1),
        "namespaces": st.sets(patterns, min_size=1, max_size=3),
        "scopes": st.sets(st.sampled_from(["team", "org"])),
        "caps": st.dictionaries(st.sampled_from(CAPS), st.integers(0, 3)),
        "period": st.integers(0, 3),
        "not_before": st.integers(NOW, NOW + 3),
        "expires": st.integers(NOW + 4, NOW + 7),
    }
)


@given(wide=ways, less=ways, name=names, action=st.sampled_from(ACTIONS), scope=st.sampled_from(["team", "org"]))
def test_what_a_child_allows_its_parent_allows(wide, less, name, action, scope):
    """Whatever two grants say: either the child is refused, or nothing is allowed by it that the parent does not."""
    parent = grant(**wide, delegable=True)
    derived = grant(OFFICE, LAPTOP, **less, parent=intent_id(parent))
    try:
        narrow(parent, derived)
    except BusRefusal:
        return
    if action in derived.actions:
        assert action in parent.actions
    if scope in derived.scopes:
        assert scope in parent.scopes
    if any(covers(pattern, name) for pattern in derived.namespaces):
        assert any(covers(pattern, name) for pattern in parent.namespaces)
    assert parent.not_before <= derived.not_before < derived.expires <= parent.expires
    life_s = 1000
    for what, cap in parent.caps.items():
        # Over any stretch of time, by whole periods.
        for seconds in (1, 2, 3, 6, 12, life_s):
            allowed = cap * (seconds // parent.period + 1 if parent.period else 1)
            assert derived.caps[what] * (seconds // derived.period + 1 if derived.period else 1) <= allowed


def test_a_grant_is_pasted_as_one_word_with_those_above_it_whatever_breaks_its_lines():
    line = intent_line([child(), PARENT])
    assert parse_intent_line(line) == (child(), PARENT)
    assert parse_intent_line(f"  {line[:50]}\n{line[50:]}  \n") == (child(), PARENT)


def test_a_line_that_was_cut_or_changed_is_refused_with_a_sentence():
    line = intent_line([child(), PARENT])
    for wrong in ("", "rbi1", line[4:], line[:-1], line[:-30], line[:40], line.replace(line[60:64], "AAAA"), "rbi1ä"):
        with pytest.raises(BankError):
            parse_intent_line(wrong)
    with pytest.raises(InvalidInput, match="bus grant"):
        parse_intent_line("hello")
    with pytest.raises(BusRefusal, match="less"):
        parse_intent_line(intent_line([child(actions=["erase"]), PARENT]))
