"""Whether what is installed runs, and whether `doctor` says so."""

from __future__ import annotations

from bench.clients.desk import Desk
from bench.clients.expecting import expect
from bench.clients.scenarios.projects import failing_deployment
from bench.clients.script import Turn


def doctor_tells_the_truth(desk: Desk) -> None:
    """All is well as installed and trusted; a hook that the client no longer trusts is named, and does not run."""
    told = desk.bank_command("doctor")
    lines = [line for line in told.splitlines() if line[6:].startswith(desk.client.name)]
    expect(lines and all(line.startswith("ok") for line in lines), "every line about the client is ok", told)
    if not desk.client.asks_for_trust:
        return
    settings = desk.home / ".codex" / "hooks.json"
    settings.write_text(settings.read_text("utf-8").replace('"timeout": 5', '"timeout": 6'), "utf-8")
    told = desk.bank_command("doctor")
    expect("changed since they were trusted" in told, "changed hooks are named", told)
    quiet = desk.session("Say hello", turns=[Turn("Hello.")])
    expect({call.event for call in quiet.hooks} <= {"SessionEnd"}, "and do not run", quiet.hooks)


def gone_when_uninstalled(desk: Desk) -> None:
    """After `uninstall` the client runs no hook of ours, and is told nothing."""
    mistake = failing_deployment(desk)
    mistake.learn(desk)
    desk.bank_command("uninstall", desk.client.name, "--yes")
    again = desk.session(mistake.prompt, turns=[Turn("", (mistake.right,)), Turn("Done.")])
    expect(not again.hooks, "no hook runs", again.hooks)
    expect("reasoningbank" not in str(again.script.main[-1].body), "no request has a word of it", again.advice)
