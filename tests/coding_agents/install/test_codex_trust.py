"""What Codex keeps about hooks that its user has looked at. The digests are those that Codex 0.166 itself gave."""

from __future__ import annotations

from pathlib import Path

from reasoningbank_coding_agents.hosts.codex_trust import hook_trust

PATH = Path("/home/ada/.codex/hooks.json")
OURS = {"type": "command", "command": "/usr/bin/reasoningbank hook codex", "timeout": 5}
SETTINGS = {
    "hooks": {
        "PreToolUse": [{"matcher": "Bash|apply_patch", "hooks": [OURS]}],
        "Stop": [{"matcher": "x", "hooks": [{"type": "command", "command": "true"}, {**OURS, "statusMessage": "hé"}]}],
    }
}
TRUSTED = {
    f"{PATH}:pre_tool_use:0:0": {
        "trusted_hash": "sha256:9ecea12a9689a9db2d614a441341c715708058dd5bcf9f55d7faea76a79c615e"
    },
    f"{PATH}:stop:0:1": {"trusted_hash": "sha256:0adb12a0e41e258e7575d87a652a5a01537dc8ec5c5c46ff65ba6305b58123f3"},
}


def test_hooks_that_the_user_has_trusted_are_known_by_codexs_own_digests():
    told = hook_trust(PATH, SETTINGS, TRUSTED)
    assert told.is_whole
    assert told.says == "Codex trusts all 2 hooks"


def test_new_hooks_are_not_trusted_and_it_is_said_how_to():
    told = hook_trust(PATH, SETTINGS, {})
    assert not told.is_whole
    assert told.says.startswith("Codex runs 0 of 2 hooks")
    assert "/hooks" in told.says


def test_a_hook_that_was_changed_since_does_not_run():
    changed = {"hooks": {**SETTINGS["hooks"], "PreToolUse": [{"matcher": "Bash", "hooks": [OURS]}]}}
    told = hook_trust(PATH, changed, TRUSTED)
    assert (told.trusted, told.changed, told.hooks) == (1, 1, 2)
    assert "changed since" in told.says


def test_a_hook_that_was_switched_off_is_told_apart():
    state = {**TRUSTED, f"{PATH}:stop:0:1": {**TRUSTED[f"{PATH}:stop:0:1"], "enabled": False}}
    assert "switched off" in hook_trust(PATH, SETTINGS, state).says


def test_hooks_of_others_are_nobodys_business_here():
    assert hook_trust(PATH, {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}, {}) is None
    assert hook_trust(PATH, {"hooks": [1, {"hooks": 3}]}, {}) is None
