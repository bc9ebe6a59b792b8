"""The plugin that `install opencode` writes, run by Node as OpenCode runs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import reasoningbank
from reasoningbank import ReasoningBank
from reasoningbank.cli.main import main
from reasoningbank.config.environment import agent_around
from tests.clones import a_clone

NODE = shutil.which("node")
SOURCE = str(Path(reasoningbank.__file__).parents[1])
NAMESPACE = "example.com/team/app"
ASKED = "Run the test suite of the parser module, please"
SESSION = """
import { pathToFileURL } from "node:url"
const [, , file, directory] = process.argv
Object.assign(process.env, { OPENCODE: "1", AGENT: "1" })
const { ReasoningBank } = await import(pathToFileURL(file))
const hooks = await ReasoningBank({ client: {}, directory })
const sessionID = "ses_1"
await hooks.event({ event: { type: "session.created", properties: { sessionID, info: { id: sessionID } } } })
const message = { message: { id: "msg_1" }, parts: [{ id: "prt_1", type: "text", text: process.env.ASKED }] }
await hooks["chat.message"]({ sessionID }, message)
const said = { parts: message.parts, ran: [] }
for (const [number, command] of ["make deploy", "make deploy"].entries()) {
  const called = { tool: "bash", sessionID, callID: `call_${number}` }
  try {
    await hooks["tool.execute.before"](called, { args: { command } })
    const result = { output: "Deployed.", metadata: { exit: 0 } }
    await hooks["tool.execute.after"]({ ...called, args: { command } }, result)
    said.ran.push(result.output)
  } catch (error) {
    said.ran.push(`refused: ${error.message}`)
  }
}
await hooks.event({ event: { type: "session.idle", properties: { sessionID } } })
await hooks.dispose()
console.log(JSON.stringify(said))
"""

pytestmark = pytest.mark.skipif(NODE is None, reason="needs Node")


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    for name in ("XDG_CONFIG_HOME", "OPENCODE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("REASONINGBANK_HOME", str(tmp_path / "bank"))
    monkeypatch.setenv("REASONINGBANK_EMBEDDER", "hash")
    monkeypatch.setenv("REASONINGBANK_HOOKS", "helper=0,deadline_ms=300000")
    monkeypatch.setenv("PYTHONPATH", SOURCE)
    assert main(["install", "opencode"]) == 0
    path = tmp_path / ".config" / "opencode" / "plugin" / "reasoningbank.js"
    # However busy the machine is, an answer comes in time here.
    path.write_text(path.read_text().replace("LIMIT_MS = 5000", "LIMIT_MS = 60000"))
    return path


@pytest.fixture
def work(tmp_path):
    return a_clone(tmp_path / "work", f"https://{NAMESPACE}")


def session(plugin, work, asked: str = ASKED) -> dict:
    driver = work / "driver.mjs"
    driver.write_text(SESSION)
    done = subprocess.run(
        [NODE, driver, plugin, work], env={**os.environ, "ASKED": asked}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_lesson_follows_the_prompt_as_a_part_of_its_own(plugin, work):
    with ReasoningBank.open(namespace=NAMESPACE) as bank:
        bank.record(title="Test suite of the parser", content="The parser's test suite needs --db sqlite to run.")
        bank.catch_up()
    said = session(plugin, work)
    asked, ours = said["parts"]
    assert asked["text"] == ASKED
    assert "--db sqlite" in ours["text"]
    assert (ours["synthetic"], ours["messageID"], ours["id"] > asked["id"]) == (True, "msg_1", True)
    assert said["ran"] == ["Deployed.", "Deployed."]


@pytest.mark.skipif(agent_around() is not None, reason="an agent runs these tests: nobody types in its processes")
def test_what_is_typed_into_opencode_counts_though_it_marks_all_that_it_starts(plugin, work):
    session(plugin, work, "Never push to main.")
    with ReasoningBank.open(namespace=NAMESPACE) as bank:
        assert [rule.text for rule in bank.rules.in_force()] == ["Never push to main."]


def test_a_program_that_is_gone_costs_nothing_but_the_advice(plugin, work):
    plugin.write_text(plugin.read_text().replace("const COMMAND = [", 'const COMMAND = ["/gone/program", '))
    said = session(plugin, work)
    assert len(said["parts"]) == 1
    assert said["ran"] == ["Deployed.", "Deployed."]
