"""Our entries go into an agent's settings and out again; what others wrote there stays."""

from __future__ import annotations

import json
import os
import re
import select
import stat
import subprocess
import sys
import tomllib
from contextlib import suppress
from shlex import quote

import pytest

from reasoningbank_coding_agents.hosts import NAMES, host_named
from reasoningbank_coding_agents.install import checking, targets, writing
from reasoningbank_coding_agents.install.program import Program
from reasoningbank_coding_agents.install.targets import Places

SETTINGS = """{
  "model": "opus", // the good one
  "hooks": {
    "Stop": [
      {"hooks": [{"type": "command", "command": "say done"}]}
    ]
  },
  "permissions": {"allow": ["Bash(ls:*)"]}
}
"""
AGENTS = NAMES


pytestmark = pytest.mark.usefixtures("user")


@pytest.fixture
def settings(user):
    (user / ".claude").mkdir()
    path = user / ".claude" / "settings.json"
    path.write_text(SETTINGS)
    return path


def files_under(folder):
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("agent", AGENTS)
def test_installing_twice_changes_nothing_and_uninstalling_leaves_nothing(rb, user, agent):
    assert rb("install", agent).code == 0
    first = files_under(user)
    assert first
    again = rb("install", agent)
    assert "Nothing to change" in again.err
    assert files_under(user) == first
    assert rb("uninstall", agent).code == 0
    assert files_under(user) == {}
    assert "Nothing to change" in rb("uninstall", agent).err


FOREIGN = """{
  // of somebody else
  "theme": "dark", "hooks": {"Notification": []}, "mcpServers": {"other": {"command": "x"}}, "mcp": {}
}"""


def targets_of(agent, user):
    return host_named(agent).targets(Places(home=user), Program(words=("reasoningbank",)))


@pytest.mark.parametrize("agent", AGENTS)
def test_what_others_wrote_stays_and_comes_back_to_the_byte(rb, user, agent):
    files = [target for target in targets_of(agent, user) if target.blank.startswith("{")]
    for target in files:
        target.path.parent.mkdir(parents=True, exist_ok=True)
        target.path.write_text(FOREIGN)
    before = files_under(user)
    rb("install", agent)
    for target in files:
        text = target.path.read_text()
        assert "reasoningbank" in text
        assert "// of somebody else" in text
        assert '"other": {"command": "x"}' in text
    rb("uninstall", agent)
    assert files_under(user) == before


@pytest.mark.parametrize("agent", AGENTS)
def test_a_file_that_is_not_what_it_should_be_is_refused_and_every_file_left_alone(rb, user, agent):
    last = targets_of(agent, user)[-1]
    last.path.parent.mkdir(parents=True, exist_ok=True)
    last.path.write_text('{"hooks": ' if last.blank else "#!/bin/sh\nexec my-own-hook [\n")
    before = files_under(user)
    result = rb("install", agent)
    assert result.code == 2
    assert str(last.path) in result.err
    assert "Nothing was written" in result.err
    assert files_under(user) == before


@pytest.mark.parametrize("agent", AGENTS)
def test_an_older_installation_is_brought_up_to_date_and_leaves_nothing_of_ours(rb, user, agent):
    rb("install", agent)
    first = files_under(user)
    for path, data in first.items():
        (user / path).write_bytes(data.replace(b"/reasoningbank", b"/older/reasoningbank"))
    assert rb("install", agent).code == 0
    assert not [path for path, data in files_under(user).items() if b"/older/" in data and "backup" not in path.name]
    assert "Nothing to change" in rb("install", agent).err
    rb("uninstall", agent)
    left = {path: data for path, data in files_under(user).items() if "backup" not in path.name}
    assert not [path for path, data in left.items() if b"reasoningbank" in data]


def test_short_names_are_understood(rb, user):
    assert rb("install", "gemini", "--dry-run").out.count("hook gemini-cli") > 3
    assert rb("install", "nobody").code == 2


def test_a_script_of_somebody_else_beside_ours_stays(rb, user):
    other = user / ".cline" / "hooks" / "PreToolUse"
    other.parent.mkdir(parents=True)
    other.write_text("#!/bin/sh\nmine\n")
    rb("install", "cline")
    ours = other.with_suffix(".bash")
    assert stat.S_IMODE(ours.stat().st_mode) == 0o700
    rb("uninstall", "cline")
    assert files_under(user) == {other.relative_to(user): b"#!/bin/sh\nmine\n"}


def test_the_time_that_a_hook_has_is_told_in_the_unit_of_each_agent(rb, user):
    rb("install", "gemini", "qwen", "copilot", "claude")
    gemini, qwen = (json.loads((user / name / "settings.json").read_text())["hooks"] for name in (".gemini", ".qwen"))
    assert gemini["BeforeAgent"][0]["hooks"][0]["timeout"] == 5_000
    assert qwen["UserPromptSubmit"][0]["hooks"][0]["timeout"] == 5_000
    copilot = json.loads((user / ".copilot" / "hooks" / "reasoningbank.json").read_text())["hooks"]
    assert copilot["userPromptSubmitted"][0]["timeoutSec"] == 5
    # It refuses every tool when a hook of it fails.
    assert all(call["bash"].endswith(" || true") for calls in copilot.values() for call in calls)
    claude = json.loads((user / ".claude" / "settings.json").read_text())["hooks"]
    assert claude["UserPromptSubmit"][0]["hooks"][0]["timeout"] == 5


def test_entries_of_others_and_comments_stay_and_a_copy_is_kept(rb, settings):
    result = rb("install", "claude-code")
    assert "+" in result.out
    text = settings.read_text()
    assert "// the good one" in text
    assert '{"hooks": [{"type": "command", "command": "say done"}]},' in text
    copies = list(settings.parent.glob("settings.json.reasoningbank-backup-*"))
    assert [copy.read_text() for copy in copies] == [SETTINGS]
    assert copies[0].name in result.err


def test_uninstalling_gives_back_the_very_bytes_when_nothing_else_changed(rb, settings, user):
    for text in (SETTINGS, '{"hooks":{},"a":[]}', "{\n}\n", ""):
        settings.write_text(text)
        before = files_under(user)
        rb("install", "claude-code")
        rb("uninstall", "claude-code")
        assert files_under(user) == before


def test_what_was_added_since_survives_uninstalling(rb, settings):
    rb("install", "claude-code")
    grown = settings.read_text().replace('"model": "opus"', '"model": "sonnet"')
    settings.write_text(grown)
    rb("uninstall", "claude-code")
    text = settings.read_text()
    assert text == SETTINGS.replace("opus", "sonnet")
    assert "reasoningbank" not in text


def test_an_installation_from_elsewhere_is_replaced_not_doubled(rb, settings):
    old = {"hooks": [{"type": "command", "command": "/old/bin/reasoningbank hook claude-code", "timeout": 9}]}
    mixed = {"hooks": [*old["hooks"], {"type": "command", "command": "mine"}]}
    settings.write_text(json.dumps({"hooks": {"Stop": [old], "Notification": [mixed]}}))
    rb("install", "claude-code")
    hooks = json.loads(settings.read_text())["hooks"]
    assert "/old/bin" not in settings.read_text()
    assert len(hooks["Stop"]) == 1
    assert hooks["Notification"] == [{"hooks": [{"type": "command", "command": "mine"}]}]
    # The copy from before holds entries of ours too: it must not be what uninstalling goes back to.
    rb("uninstall", "claude-code")
    assert "reasoningbank" not in settings.read_text()


def test_a_dry_run_shows_the_change_and_writes_nothing(rb, settings, user):
    before = files_under(user)
    result = rb("install", "claude-code", "codex", "cursor", "--dry-run")
    assert result.out.count("+++ ") == 6
    assert "Nothing was written" in result.err
    assert files_under(user) == before


@pytest.mark.parametrize("broken", ['{"hooks": ', '{"hooks": []}', '{"hooks": {"Stop": {}}}', "\xff", "[]"])
def test_settings_that_cannot_be_read_leave_every_file_alone(rb, settings, user, broken):
    settings.write_bytes(broken.encode("latin-1"))
    before = files_under(user)
    result = rb("install", "codex", "claude-code")
    assert result.code == 2
    assert str(settings) in result.err
    assert "Nothing was written" in result.err
    assert files_under(user) == before


def test_a_failing_write_takes_the_others_back(rb, settings, user, monkeypatch):
    before = files_under(user)
    write = writing._write

    def refuse(path, data, *more):
        if path.name == ".claude.json":
            raise OSError(28, "No space left on device")
        write(path, data, *more)

    monkeypatch.setattr(writing, "_write", refuse)
    result = rb("install", "claude-code")
    assert result.code == 1
    assert "No space left" in result.err
    left = {path: data for path, data in files_under(user).items() if "backup" not in path.name}
    assert left == before


def test_a_link_is_followed_and_the_mode_is_kept(rb, settings, tmp_path):
    real = tmp_path / "dotfiles.json"
    settings.rename(real)
    real.chmod(0o640)
    settings.symlink_to(real)
    rb("install", "claude-code")
    assert settings.is_symlink()
    assert "reasoningbank" in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    rb("uninstall", "claude-code")
    assert real.read_text() == SETTINGS


def test_the_folders_that_variables_name_are_used(rb, user, tmp_path, monkeypatch):
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "c"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "x"))
    rb("install", "claude-code", "codex")
    assert set(map(str, files_under(tmp_path / "c"))) == {"settings.json", ".claude.json"}
    assert set(map(str, files_under(tmp_path / "x"))) == {"hooks.json", "config.toml"}
    assert files_under(user) == {}


def test_a_project_has_settings_of_its_own(rb, user, tmp_path, monkeypatch):
    root = tmp_path / "repo"
    (root / ".git").mkdir(parents=True)
    (root / "src").mkdir()
    monkeypatch.chdir(root / "src")
    # Whoever runs the tests may have the program on the PATH.
    monkeypatch.setenv("PATH", os.defpath)
    result = rb("install", *AGENTS, "--project")
    names = {str(path) for path in files_under(root)}
    assert {name for name in names if not name.startswith(".cline/hooks/")} == {
        ".claude/settings.json", ".mcp.json", ".codex/hooks.json", ".codex/config.toml",
        ".cursor/hooks.json", ".cursor/mcp.json", ".gemini/settings.json", ".qwen/settings.json",
        ".github/hooks/reasoningbank.json", ".github/mcp.json", ".opencode/plugin/reasoningbank.js", "opencode.json",
    }  # fmt: skip
    assert "do not commit" in result.err
    assert files_under(user) == {}


def test_the_bank_that_is_named_is_the_bank_of_the_hooks(rb, settings, user, tmp_path):
    rb("install", "claude-code", "codex", "--bank", tmp_path / "my bank.db")
    assert f"--bank '{tmp_path}/my bank.db' hook claude-code" in settings.read_text()
    server = tomllib.loads((user / ".codex" / "config.toml").read_text())["mcp_servers"]["reasoningbank"]
    assert server["args"][-4:] == ["--bank", str(tmp_path / "my bank.db"), "serve", "--mcp"]


def test_a_bank_may_be_named_by_a_url(rb, settings, tmp_path):
    rb("install", "claude-code", "--bank", f"sqlite:///{tmp_path}/bank.db")
    assert f"--bank {quote(f'{tmp_path}/bank.db')} hook claude-code" in settings.read_text()


def test_without_the_extra_the_server_is_left_out_and_said_so(rb, user, monkeypatch):
    monkeypatch.setattr("reasoningbank_coding_agents.commands.install.find_spec", lambda name: None)
    result = rb("install", "claude-code", "codex", "cursor")
    assert "reasoningbank[mcp]" in result.err
    assert {str(path) for path in files_under(user)} == {
        ".claude/settings.json", ".codex/hooks.json", ".codex/config.toml", ".cursor/hooks.json",
    }  # fmt: skip
    assert tomllib.loads((user / ".codex" / "config.toml").read_text()) == {"features": {"codex_hooks": True}}


def test_a_secret_beside_our_entry_is_not_printed(rb, user):
    key = "ghp_" + "0123456789abcdefABCDEF0123456789abcd"
    (user / ".claude.json").write_text(json.dumps({"token": key, "mcpServers": {}}, indent=1))
    result = rb("install", "claude-code")
    assert key not in result.out
    assert key in (user / ".claude.json").read_text()


def test_a_file_that_changes_meanwhile_is_not_overwritten(rb, settings, monkeypatch):
    from reasoningbank_coding_agents.install import changing

    def late(was, now):
        settings.write_text('{"model": "newer"}')

    monkeypatch.setattr(changing, "back_up", late)
    result = rb("install", "claude-code")
    assert result.code == 4
    assert settings.read_text() == '{"model": "newer"}'


def test_the_lock_of_claude_code_is_waited_for(rb, user, monkeypatch):
    monkeypatch.setattr(writing, "_LOCK_WAIT_S", 0.1)
    (user / ".claude.json.lock").mkdir()
    assert rb("install", "claude-code").code == 4
    assert not (user / ".claude.json").exists()
    os.utime(user / ".claude.json.lock", (1, 1))
    assert rb("install", "claude-code").code == 0
    assert not (user / ".claude.json.lock").exists()


def test_copies_do_not_pile_up_and_the_first_one_stays(rb, settings):
    for number in range(8):
        settings.write_text(SETTINGS.replace("opus", f"m{number}"))
        rb("install", "claude-code")
    copies = sorted(settings.parent.glob("*backup*"))
    assert len(copies) == 5
    assert '"m0"' in copies[0].read_text()


def test_json_says_what_was_done(rb, user):
    said = rb("install", "cursor", "--json").json
    assert said["written"] is True
    assert [file["change"] for file in said["files"]] == ["created", "created"]
    assert rb("install", "cursor", "--json").json["written"] is False


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        ("codex_hooks  experimental  false", {"codex_hooks": True}),
        ("goals  stable  true\nhooks  stable  true", None),
        ("hooks  experimental  false", {"hooks": True}),
        ("", {"codex_hooks": True}),
    ],
)
@pytest.mark.skipif(os.name != "posix", reason="a shell script")
def test_the_switch_for_hooks_is_the_one_that_this_codex_knows(rb, user, tmp_path, monkeypatch, features, expected):
    program = tmp_path / "bin" / "codex"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{features}\nEND\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    rb("install", "codex")
    assert tomllib.loads((user / ".codex" / "config.toml").read_text()).get("features") == expected
    assert "Nothing to change" in rb("install", "codex").err


def test_a_user_who_switched_hooks_off_in_codex_has_decided(rb, user):
    (user / ".codex").mkdir()
    (user / ".codex" / "config.toml").write_text("[features]\nhooks = false # not yet\n")
    rb("install", "codex")
    assert tomllib.loads((user / ".codex" / "config.toml").read_text())["features"] == {"hooks": False}


# ---------------------------------------------------------------- what doctor says of it


@pytest.fixture
def patient(monkeypatch):
    """`doctor` waits for a hook and a server however busy the machine is."""
    monkeypatch.setattr(targets, "ANSWER_S", 300)
    monkeypatch.setattr(checking, "MCP_WAIT_S", 300.0)


def agent_lines(result):
    return [(check["name"], check["verdict"]) for check in result.json["checks"] if check["name"] in AGENTS]


@pytest.mark.parametrize("agents", [("claude-code", "cline"), pytest.param(AGENTS, marks=pytest.mark.storm)])
@pytest.mark.usefixtures("user", "memory", "patient")
def test_doctor_starts_what_the_settings_say(rb, agents):
    rb("install", *agents)
    result = rb("doctor", "--json")
    lines = [line for line in agent_lines(result) if line != ("codex", "warn")]
    assert {verdict for _, verdict in lines} == {"ok"}
    assert list(dict.fromkeys(name for name, _ in lines)) == list(agents)
    said = " ".join(check["says"] for check in result.json["checks"])
    assert said.count("the hook answers in") == len(agents)
    assert said.count("the MCP server reasoningbank answers in") == len(agents)


@pytest.mark.usefixtures("patient")
def test_doctor_says_whether_codex_trusts_its_hooks(rb, user):
    rb("install", "codex")
    (warned,) = [check for check in rb("doctor", "--json").json["checks"] if "trust" in check["says"]]
    assert warned["verdict"] == "warn"
    assert warned["says"].startswith("Codex runs 0 of 9 hooks")
    assert "/hooks" in warned["says"]


@pytest.mark.usefixtures("patient")
def test_the_configuration_that_is_named_is_that_of_the_hooks_and_doctor_knows_it(rb, settings, user, tmp_path):
    named = tmp_path / "named.toml"
    named.write_text("[search]\nmax_limit = 9\n")
    rb("install", "claude-code", "--config", named)
    assert f"--config {quote(str(named))} hook claude-code" in settings.read_text()
    assert set(agent_lines(rb("doctor", "--json"))) == {("claude-code", "ok")}


@pytest.mark.usefixtures("patient")
def test_doctor_knows_an_installation_for_another_bank(rb, user, tmp_path):
    rb("install", "claude-code", "--bank", tmp_path / "it's my bank.db")
    assert set(agent_lines(rb("doctor", "--json"))) == {("claude-code", "ok")}
    assert set(agent_lines(rb("doctor", "--json", "--bank", tmp_path / "third.db"))) == {("claude-code", "ok")}


def test_doctor_is_silent_about_agents_that_are_not_set_up(rb, settings):
    assert agent_lines(rb("doctor", "--json")) == []


@pytest.mark.usefixtures("patient")
def test_doctor_names_a_program_that_is_gone_and_settings_that_are_broken(rb, settings, user):
    rb("install", "claude-code", "cursor")
    settings.write_text(
        re.sub(r'"command": "[^"]*reasoningbank\'? hook', '"command": "/gone/reasoningbank hook', settings.read_text())
    )
    (user / ".cursor" / "mcp.json").write_text("{")
    server = json.loads((user / ".claude.json").read_text())
    server["mcpServers"]["reasoningbank"]["command"] = "/gone/reasoningbank"
    (user / ".claude.json").write_text(json.dumps(server))
    result = rb("doctor", "--json")
    assert result.code == 1
    said = [check["says"] for check in result.json["checks"] if check["verdict"] == "fail"]
    assert any("/gone/reasoningbank hook claude-code" in line for line in said)
    assert any("MCP server cannot be started" in line for line in said)
    assert any("mcp.json cannot be used" in line for line in said)
    rb("install", "claude-code")
    assert [verdict for name, verdict in agent_lines(rb("doctor", "--json")) if name == "claude-code"] == ["ok"] * 4


@pytest.mark.usefixtures("patient")
def test_doctor_says_what_a_hook_complains_of(rb, settings, home):
    rb("install", "claude-code")
    home.mkdir(exist_ok=True)
    (home / "bank.db").write_text("nothing like a bank " * 300)
    checks = rb("doctor", "--json").json["checks"]
    assert any(check["name"] == "claude-code" and "the hook ran, but says" in check["says"] for check in checks)


@pytest.mark.usefixtures("patient")
def test_doctor_tells_when_the_plugin_does_the_same(rb, settings):
    settings.write_text('{"enabledPlugins": {"reasoningbank@reasoningbank": true}}')
    rb("install", "claude-code")
    says = [check["says"] for check in rb("doctor", "--json").json["checks"] if check["verdict"] == "warn"]
    assert any("beside those of the plugin" in line for line in says)


# ---------------------------------------------------------------- a person at a terminal


@pytest.mark.skipif(os.name != "posix", reason="needs a terminal of POSIX")
@pytest.mark.parametrize(("answer", "written"), [("yes", True), ("no", False), ("", False)])
def test_a_person_is_asked_before_anything_is_written(user, answer, written):
    import pty

    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "reasoningbank", "install", "cursor"], stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    os.write(ours, f"{answer}\n".encode())
    seen = bytearray()
    with suppress(OSError):
        while select.select([ours], [], [], 300.0)[0]:
            chunk = os.read(ours, 65_536)
            if not chunk:
                break
            seen += chunk
    assert process.wait(timeout=300) == 0
    os.close(ours)
    assert b"Write this?" in seen
    assert (user / ".cursor" / "hooks.json").exists() is written


# ---------------------------------------------------------------- when things break


def test_two_at_once_leave_one_whole_installation(rb, user, child):
    (user / ".claude.json").write_text(
        json.dumps({"projects": {str(n): {"x": "y" * 50} for n in range(500)}}, indent=2)
    )
    code = "import sys; from reasoningbank.cli.main import main; sys.exit(main(['install', 'claude-code']))"
    codes = set()
    for process in [child(code) for _ in range(2)]:
        process.communicate(timeout=300)
        codes.add(process.returncode)
    assert codes == {0}
    assert "Nothing to change" in rb("install", "claude-code").err
    data = json.loads((user / ".claude.json").read_text())
    assert len(data["projects"]) == 500
    assert not list(user.rglob("*.reasoningbank-[0-9]*"))


def test_a_folder_that_cannot_be_written_is_named(rb, user):
    (user / ".cursor").write_text("a file where a folder should be")
    result = rb("install", "cursor")
    assert result.code == 1
    assert ".cursor" in result.err
