"""The plugin in this repository says what the installer writes, in the shapes that Claude Code asks for."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import reasoningbank
from reasoningbank.cli.table import COMMANDS
from reasoningbank_coding_agents.hosts import host_named
from reasoningbank_coding_agents.install.program import Program, is_ours
from reasoningbank_coding_agents.install.targets import Places

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "plugin"
WRAPPER = '"${CLAUDE_PLUGIN_ROOT}/scripts/reasoningbank"'
CODEX_WRAPPER = '"${PLUGIN_ROOT}/scripts/reasoningbank"'
KEBAB = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
CLAUDE = shutil.which("claude")

pytestmark = pytest.mark.skipif(not PLUGIN.is_dir(), reason="not a checkout")


def read(*parts):
    return json.loads(PLUGIN.joinpath(*parts).read_text("utf-8"))


def front_matter(path):
    head = re.match(r"---\n(.*?)\n---\n", path.read_text("utf-8"), re.DOTALL)
    assert head, f"{path.name} has no front matter"
    return dict(line.split(": ", 1) for line in head[1].splitlines())


def test_the_marketplace_points_to_the_plugin():
    market = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text("utf-8"))
    assert KEBAB.fullmatch(market["name"])
    assert market["owner"]["name"]
    [plugin] = market["plugins"]
    assert (ROOT / plugin["source"]).resolve() == PLUGIN
    manifest = read(".claude-plugin", "plugin.json")
    assert plugin["name"] == manifest["name"]
    assert KEBAB.fullmatch(manifest["name"])
    assert manifest["version"] == reasoningbank.__version__


def test_its_hooks_are_those_that_install_writes():
    target = host_named("claude-code").targets(Places(home=Path("/nowhere")), Program(words=("PROGRAM",)))[0]
    wanted = json.loads(target.add("{}"))["hooks"]
    ours = json.loads(json.dumps(read("hooks", "hooks.json")["hooks"]).replace(json.dumps(WRAPPER)[1:-1], "PROGRAM"))
    assert ours == wanted
    assert all(is_ours(call["command"]) for groups in read("hooks", "hooks.json")["hooks"].values()
               for group in groups for call in group["hooks"])  # fmt: skip


def test_for_codex_it_says_the_same_in_the_words_of_codex():
    manifest = read(".codex-plugin", "plugin.json")
    assert {manifest[name] for name in ("name", "version")} == {"reasoningbank", reasoningbank.__version__}
    for name in ("skills", "mcpServers", "hooks"):
        assert (PLUGIN / manifest[name]).exists()
    target = host_named("codex").targets(Places(home=Path("/nowhere")), Program(words=("PROGRAM",)))[0]
    told = json.dumps(read(".codex-plugin", "hooks.json"))
    assert json.loads(told.replace(json.dumps(CODEX_WRAPPER)[1:-1], "PROGRAM")) == json.loads(target.add("{}"))
    # Codex puts the folder of a plugin into its hooks, and not into its servers.
    assert read(".codex-plugin", "mcp.json")["mcpServers"]["reasoningbank"]["command"] == "reasoningbank"


def test_its_server_is_the_one_that_install_registers():
    server = read(".mcp.json")["mcpServers"]["reasoningbank"]
    assert server["command"] == WRAPPER.strip('"')
    assert server["args"] == ["serve", "--mcp"]


def test_skills_and_commands_say_what_they_are_for_and_name_only_what_there_is():
    for path in PLUGIN.glob("skills/*/SKILL.md"):
        told = front_matter(path)
        assert told["name"] == path.parent.name
        assert 20 < len(told["description"]) <= 1024
    commands = sorted(path.stem for path in PLUGIN.glob("commands/*.md"))
    assert commands == ["off", "recall", "reflect", "report"]
    for path in PLUGIN.glob("commands/*.md"):
        assert front_matter(path)["description"]
        for name in re.findall(r"reasoningbank ([a-z-]+)", front_matter(path).get("allowed-tools", "")):
            assert name in COMMANDS
        for tool in re.findall(r"`(memory_\w+)`", path.read_text("utf-8")):
            assert tool in (ROOT / "docs" / "mcp.md").read_text("utf-8")


@pytest.mark.skipif(os.name != "posix", reason="a shell script")
def test_without_the_program_a_hook_is_silent_and_a_server_says_what_to_do(tmp_path):
    def run(*words, path):
        script = str(PLUGIN / "scripts" / "reasoningbank")
        environment = {"PATH": path, "HOME": str(tmp_path)}
        return subprocess.run([script, *words], env=environment, capture_output=True, text=True, timeout=30)

    assert os.access(PLUGIN / "scripts" / "reasoningbank", os.X_OK)
    empty = tmp_path / "bin"
    empty.mkdir()
    (empty / "sh").symlink_to("/bin/sh")
    hook = run("hook", "claude-code", path=str(empty))
    assert (hook.returncode, hook.stdout, hook.stderr) == (0, "", "")
    serve = run("serve", "--mcp", path=str(empty))
    assert serve.returncode == 127
    assert "pipx install" in serve.stderr
    program = empty / "reasoningbank"
    program.write_text('#!/bin/sh\necho "ran $*"\n')
    program.chmod(0o755)
    assert run("hook", "claude-code", path=str(empty)).stdout == "ran hook claude-code\n"


@pytest.mark.skipif(CLAUDE is None, reason="needs Claude Code")
@pytest.mark.parametrize("folder", [PLUGIN, ROOT])
def test_claude_code_itself_finds_it_valid(folder, tmp_path):
    done = subprocess.run(
        [CLAUDE, "plugin", "validate", str(folder)],
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Validation passed" in done.stdout
