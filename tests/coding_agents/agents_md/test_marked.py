"""Everything outside the marks stays, to the byte."""

from __future__ import annotations

import pytest

from reasoningbank.core.errors import InvalidInput
from reasoningbank_coding_agents.agents_md.marked import END, START, with_block, without_block

BLOCK = f"{START}\n- one\n{END}"


@pytest.mark.parametrize("text", ["# Mine\n", "# Mine\n\n", "a\r\nb\r\n", "\ttabs  \n\n\nend\n"])
def test_a_block_comes_and_goes_without_a_trace(text):
    changed = with_block(text, ["- one"])
    assert changed.startswith(text)
    assert with_block(changed, ["- one"]) == changed
    assert without_block(changed).rstrip() == text.rstrip()


def test_a_block_is_updated_where_it_stands():
    text = f"before  \n{BLOCK}\n\nafter, no end of line"
    changed = with_block(text, ["- two", "- three"])
    assert changed == f"before  \n{START}\n- two\n- three\n{END}\n\nafter, no end of line"
    assert without_block(changed) == "before  \n\nafter, no end of line"


def test_marks_in_a_code_block_are_text():
    text = f"```html\n{BLOCK}\n```\n"
    assert with_block(text, ["- x"]).startswith(text)
    assert without_block(text) == text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"a\n{START}\nb\n", "line 2 starts"),
        (f"{END}\n", "line 1 ends"),
        (f"{BLOCK}\n{BLOCK}\n", "line 1 starts, line 3 ends, line 4 starts"),
        (f"{START}\n{START}\n{END}\n{END}\n", "line 2 starts"),
        (f"{END}\n{START}\n", "line 1 ends, line 2 starts"),
    ],
)
def test_marks_that_do_not_pair_are_not_guessed_at(text, says):
    with pytest.raises(InvalidInput, match=says):
        with_block(text, [])
    with pytest.raises(InvalidInput, match=says):
        without_block(text)
