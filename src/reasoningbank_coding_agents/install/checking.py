"""Checks an installation: starts what stands in the settings as the agent would start it.

Sends what an agent sends first (a session start, `initialize`) and looks at what comes back. Whatever is started here
is ended here.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from reasoningbank.core.errors import BankError, InvalidInput
from reasoningbank.files import PRIVATE_MODE
from reasoningbank_coding_agents.hosts import host_named
from reasoningbank_coding_agents.install import json_text
from reasoningbank_coding_agents.install.hooks import HookCall
from reasoningbank_coding_agents.install.program import NAME
from reasoningbank_coding_agents.install.targets import Target
from reasoningbank_coding_agents.install.writing import read_seen

MCP_WAIT_S = 20.0
_PROTOCOL = "2025-06-18"


class InstallCheck(NamedTuple):
    verdict: str
    """ok, warn or fail."""
    says: str


def findings(agent: str, targets: Sequence[Target], *, session: str, cwd: Path) -> Iterator[InstallCheck]:
    """Nothing at all where nothing of ours is installed."""
    ours = []
    for target in targets:
        try:
            text = read_seen(target.path).text
            if not text.strip() or target.remove(text) == text:
                continue
            ours.append((target, text))
        except InvalidInput as error:
            yield InstallCheck(
                "fail", f"{target.path} cannot be used: {error}. Repair it; {agent} cannot read it either."
            )
        except BankError as error:
            yield InstallCheck("fail", str(error))
    yield from dict.fromkeys(_settings(agent, target, text) for target, text in ours)
    for target, text in ours:
        if target.start_call is not None:
            yield _hook(agent, target.start_call(text), session, cwd)
        trust = target.trust(text) if target.trust is not None else None
        if trust is not None:
            yield InstallCheck("ok" if trust[0] else "warn", trust[1])
        command = target.server_call(text) if target.server_call is not None else None
        if command:
            yield _server(agent, command, cwd)


def named_option(targets: Sequence[Target], option: str) -> str | None:
    """Value that the installed hooks have for an option, such as the bank to use, if they have one."""
    for target in targets:
        try:
            call = target.start_call(read_seen(target.path).text) if target.start_call is not None else None
        except BankError:
            continue
        words = shlex.split(call.command) if call is not None else []
        if option in words[:-1]:
            return words[words.index(option) + 1]
    return None


def _settings(agent: str, target: Target, text: str) -> InstallCheck:
    try:
        current = target.add(text) == text
    except InvalidInput:
        current = False
    if not current:
        hint = f"`{NAME} install {agent}` brings it up to date"
        return InstallCheck("warn", f"{target.holds} in {target.path} differ from this installation's; {hint}.")
    if target.start_call is not None and _has_plugin(text):
        return InstallCheck(
            "warn", f"hooks in {target.path} run beside those of the plugin: `{NAME} uninstall {agent}`."
        )
    return InstallCheck("ok", f"{target.holds} in {target.path if target.mode == PRIVATE_MODE else target.path.parent}")


def _has_plugin(text: str) -> bool:
    """Claude Code's own word for it; other agents' files say nothing of the kind."""
    plugins = json_text.parse(text).get("enabledPlugins") if text.lstrip().startswith("{") else None
    return isinstance(plugins, dict) and any(on is True and name.startswith(f"{NAME}@") for name, on in plugins.items())


# ---------------------------------------------------------------- a hook


def _hook(agent: str, call: HookCall | None, session: str, cwd: Path) -> InstallCheck:
    if call is None:
        return InstallCheck("warn", f"no hook for the start of a session; `{NAME} install {agent}` adds it.")
    command, limit_s = call
    began = time.monotonic()
    try:
        # As the agents do it: the line goes to a shell.
        process = subprocess.run(  # noqa: S602 - the very command of the settings, which the agent runs all the time
            command,
            shell=True,
            input=json.dumps(host_named(agent).first_event(session, str(cwd))).encode(),
            capture_output=True,
            timeout=limit_s,
            cwd=cwd,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return InstallCheck("fail", f"the hook did not answer within {limit_s:g} s: {command}")
    problem = _problem(agent, command, process)
    return problem or InstallCheck("ok", f"the hook answers in {time.monotonic() - began:.2f} s (of {limit_s:g} s)")


def _problem(agent: str, command: str, process: subprocess.CompletedProcess[bytes]) -> InstallCheck | None:
    complaints = process.stderr.decode("utf-8", "replace").strip().splitlines()
    if process.returncode != 0:
        complaint = complaints[-1] if complaints else f"it ended with {process.returncode}"
        hint = f"`{NAME} install {agent}` writes it anew"
        return InstallCheck("fail", f"the hook does not run ({complaint}): {command}. {hint}.")
    if not _is_answer(process.stdout):
        return InstallCheck(
            "fail", f"the hook answers with something that {agent} cannot read: {process.stdout[:80]!r}"
        )
    return InstallCheck("warn", f"the hook ran, but says: {complaints[-1]}") if complaints else None


def _is_answer(out: bytes) -> bool:
    """Nothing, or an object."""
    try:
        return not out.strip() or isinstance(json.loads(out), dict)
    except ValueError:
        return False


# ---------------------------------------------------------------- the MCP server


def _server(agent: str, command: Sequence[str], cwd: Path) -> InstallCheck:
    began = time.monotonic()
    request = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": _PROTOCOL,
            "capabilities": {},
            "clientInfo": {"name": f"{NAME} doctor", "version": "1"},
        },
    }
    try:
        answer, complaint = _ask_program(command, json.dumps(request).encode() + b"\n", cwd)
    except OSError as error:
        hint = f"`{NAME} install {agent}` writes it anew"
        return InstallCheck(
            "fail", f"the MCP server cannot be started ({error.strerror}): {' '.join(command)}. {hint}."
        )
    try:
        name = json.loads(answer)["result"]["serverInfo"]["name"]
    except (ValueError, KeyError, TypeError):
        reason = complaint.strip().splitlines()[-1] if complaint.strip() else f"nothing within {MCP_WAIT_S:g} s"
        return InstallCheck("fail", f"the MCP server does not answer `initialize`: {reason}")
    return InstallCheck("ok", f"the MCP server {name} answers in {time.monotonic() - began:.2f} s")


def _ask_program(command: Sequence[str], line: bytes, cwd: Path) -> tuple[str, str]:
    """The first line that comes back, and what was said besides."""
    process = subprocess.Popen(  # noqa: S603 - the very command of the settings
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd
    )
    patience = threading.Timer(MCP_WAIT_S, process.kill)
    patience.start()
    try:
        if process.stdin is None or process.stdout is None:
            return "", ""
        with suppress(BrokenPipeError):
            process.stdin.write(line)
            process.stdin.flush()
        answer = process.stdout.readline().decode("utf-8", "replace")
    finally:
        patience.cancel()
        process.terminate()
        try:
            _, complaint = process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            _, complaint = process.communicate()
    return answer, (complaint or b"").decode("utf-8", "replace")
