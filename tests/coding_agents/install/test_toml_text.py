"""Somebody else's TOML keeps its comments, and a change that cannot be made safely is not made."""

from __future__ import annotations

import tomllib

import pytest

from reasoningbank.core.errors import InvalidInput
from reasoningbank_coding_agents.install.toml_text import with_key, with_table, without_table

SERVER = {"command": 'C:\\Program Files\\"x"', "args": ["serve", "--mcp"]}
NAME = ["mcp_servers", "reasoningbank"]
LIVED_IN = """# mine
model = "gpt" # fast

[features]
# experiments
goals = true # try

# other servers
[mcp_servers.docs]
command = "docs" # local
[[rules]]
text = \"\"\"
[features]
\"\"\"
"""


@pytest.mark.parametrize(
    "text", ["", 'model = "x"\n', LIVED_IN, LIVED_IN.replace("\n", "\r\n"), '[mcp_servers]\na = {command = "b"}\n']
)
def test_a_table_comes_and_goes_without_a_trace_and_a_key_is_one_line_more(text):
    switched = with_key(text, "features", "codex_hooks", value=True)
    changed = with_table(switched, NAME, SERVER)
    read = tomllib.loads(changed)
    assert read["features"]["codex_hooks"] is True
    assert read["mcp_servers"]["reasoningbank"] == SERVER
    assert with_table(changed, NAME, SERVER) == changed
    assert without_table(changed, NAME) == switched
    assert without_table(with_table(text, NAME, SERVER), NAME) == text
    assert [line for line in switched.splitlines() if line not in [*text.splitlines(), "", "[features]"]] == [
        "codex_hooks = true"
    ]


def test_a_table_that_is_there_is_replaced_where_it_stands_and_keeps_its_own_tables():
    text = '[mcp_servers.reasoningbank]\ncommand = "old"\n\n[mcp_servers.reasoningbank.env]\nA = "1"\n\n[last]\nx = 1\n'
    changed = with_table(text, NAME, SERVER)
    assert tomllib.loads(changed) == {
        "mcp_servers": {"reasoningbank": {**SERVER, "env": {"A": "1"}}},
        "last": {"x": 1},
    }
    assert changed.endswith("\n[last]\nx = 1\n")


@pytest.mark.parametrize("text", ["features = {goals = true}\n", "features.goals = true\n", "features = 1\n"])
def test_a_layout_that_is_not_understood_is_refused(text):
    with pytest.raises(InvalidInput):
        with_key(text, "features", "codex_hooks", value=True)


def test_broken_toml_says_where():
    with pytest.raises(InvalidInput, match="line 2"):
        with_key("a = 1\nb = \n", "features", "codex_hooks", value=True)
