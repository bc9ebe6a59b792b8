"""The examples run as they are, each against the real framework, and the second task profits from the first."""

from __future__ import annotations

import asyncio
import runpy
import sys
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = {
    "remember": ("reasoningbank", "build the client: found out\nbuild the client again: known\n"),
    "memory_for_langgraph": ("langgraph", "found out\nas before: install libfoo-dev, then build the client\n"),
    "memory_for_openai_agents": ("agents", "I found out\nI knew it\n"),
    "memory_for_pydantic_ai": ("pydantic_ai", "I found out\nI knew it\n"),
    "memory_for_claude_agent_sdk": ("claude_agent_sdk", "nothing yet\nLessons from earlier work:"),
}
MODULES = {"langgraph": "langgraph", "openai_agents": "agents", "pydantic_ai": "pydantic_ai"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs_as_it_is(name, tmp_path, monkeypatch, capsys):
    package, expected = EXAMPLES[name]
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "")
    with closing(asyncio.new_event_loop()) as loop:
        # What a framework makes itself where there is none, and leaves open.
        asyncio.set_event_loop(loop)
        runpy.run_path(str(ROOT / "examples" / f"{name}.py"), run_name="__main__")
        asyncio.set_event_loop(None)
    assert capsys.readouterr().out.startswith(expected)


def test_every_example_is_run():
    there = {path.stem for path in (ROOT / "examples").glob("*.py")} - {"loop"}
    assert there == EXAMPLES.keys()


WITHOUT = """
import sys
sys.modules[sys.argv[2]] = None
import importlib
try:
    importlib.import_module("reasoningbank.adapters." + sys.argv[1])
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize("adapter", MODULES)
def test_a_missing_framework_names_its_extra(adapter, child, finished):
    said = finished(child(WITHOUT, adapter, MODULES[adapter]))
    assert said.startswith("MissingExtra")
    assert f"pip install 'reasoningbank[{adapter.replace('_', '-')}]'" in said


def test_the_hooks_say_which_extra_they_need(bank, monkeypatch):
    from reasoningbank.adapters.claude_agent_sdk import memory_hooks
    from reasoningbank.core.errors import MissingExtra

    monkeypatch.setitem(sys.modules, "claude_agent_sdk", None)
    with pytest.raises(MissingExtra, match=r"reasoningbank\[claude-agent-sdk\]"):
        memory_hooks(bank)
