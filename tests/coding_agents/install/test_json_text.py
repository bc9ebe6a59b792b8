"""Somebody else's JSON keeps every byte that is not ours."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasoningbank.core.errors import InvalidInput
from reasoningbank_coding_agents.install.json_text import parse, with_item, with_member, without, without_if_bare

COMMENTED = """{
  // models
  "model": "opus", // the good one
  /* hooks of mine */
  "hooks": {
    "Stop": [
      {"hooks": [{"type": "command", "command": "mine"}]}
    ] // end
  },
}
"""


def test_comments_order_and_spacing_of_the_rest_stay():
    changed = with_item(COMMENTED, ["hooks", "Stop"], {"command": "ours"})
    assert changed.replace(',\n      {\n        "command": "ours"\n      }', "") == COMMENTED
    assert parse(changed)["hooks"]["Stop"][-1] == {"command": "ours"}


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "{}\n",
        '{"a":1}',
        '{\n  "a": 1\n}\n',
        '{\r\n    "a": {"b": []}\r\n}\r\n',
        '{\n\t"a": 1\n}',
        '{\n  "a": 1, // why\n  "b": 2 // and why\n}\n',
        '{"a": "}], // no comment", "ü": "\\ud83d\\ude00"}',
    ],
)
def test_what_is_added_can_be_taken_out_again_to_the_byte(text):
    changed = with_member(text, ["servers", "ours"], {"command": "é", "args": ["a b"]})
    changed = with_item(changed, ["events", "Stop"], {"n": 1})
    assert parse(changed) == {
        **parse(text),
        "servers": {"ours": {"command": "é", "args": ["a b"]}},
        "events": {"Stop": [{"n": 1}]},
    }
    back = without(changed, ["events", "Stop", 0])
    for path in (["events", "Stop"], ["events"]):
        back = without_if_bare(back, path)
    back = without_if_bare(without(back, ["servers", "ours"]), ["servers"])
    assert back == text


def test_a_list_that_holds_a_comment_is_not_thrown_away():
    text = '{"hooks": { // mine, later\n }}'
    assert without_if_bare(text, ["hooks"]) == text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "nothing in it"),
        ('{"a": 1', "comma or '}' is missing at line 1, column 8"),
        ('{\n  "a" 1\n}', "colon is missing at line 2"),
        ('{"a": tru}', "'tru' is no value"),
        ('{"a": 1} x', "follows the end"),
        ('{"a": 1, "a": 2}', "twice"),
        ("[" * 5_000, "nested too deeply"),
        ("[1]", "not an object"),
        ('{"a": 1}', "a is not an object"),
    ],
)
def test_what_cannot_be_changed_says_where_and_why(text, says):
    with pytest.raises(InvalidInput, match=says):
        with_member(text, ["a", "b"], 1)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(max_size=8), VALUES, max_size=5), VALUES, st.sampled_from([None, 1, 2, "\t"]))
def test_any_json_is_changed_as_the_plain_value_would_be(before, value, indent):
    before.pop("ours", None)
    text = json.dumps(before, indent=indent, ensure_ascii=False)
    changed = with_member(text, ["ours", "entry"], value)
    assert json.loads(changed) == {**before, "ours": {"entry": value}}
    assert json.loads(without(changed, ["ours"])) == before
