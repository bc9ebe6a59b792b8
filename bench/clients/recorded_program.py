"""Makes a `reasoningbank` program that notes what each hook was sent, what it said, and how long it took.

It stands in a virtual environment that sees this process's libraries, where an installation finds it. The client starts
the program as it stands in its settings; the program starts the real one and measures it as a whole process.
"""

from __future__ import annotations

import json
import sys
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LOG = "hook-calls.jsonl"
_PROGRAM = """#!{python} -I
import json, os, subprocess, sys, time
real = [{python!r}, "-m", "reasoningbank", *sys.argv[1:]]
if "hook" not in sys.argv[1:]:
    os.execv(real[0], real)
sent = sys.stdin.buffer.read()
began = time.perf_counter()
done = subprocess.run(real, input=sent, stdout=subprocess.PIPE)
took = time.perf_counter() - began
line = {{"sent": sent.decode("utf-8", "replace"), "said": done.stdout.decode("utf-8", "replace"), "ms": took * 1000}}
with open(os.path.join(os.environ["HOME"], {log!r}), "a", encoding="utf-8") as file:
    file.write(json.dumps(line) + "\\n")
sys.stdout.buffer.write(done.stdout)
sys.exit(done.returncode)
"""


@dataclass(frozen=True, slots=True)
class HookCall:
    sent: dict[str, Any]
    said: dict[str, Any]
    """What it printed; empty where it kept silent."""
    ms: float

    @property
    def event(self) -> str:
        return str(self.sent.get("hook_event_name", ""))

    @property
    def context(self) -> str:
        """What it told the model, as advice or as the reason of a refusal."""
        told = self.said.get("hookSpecificOutput", {})
        return "\n".join(filter(None, (told.get("additionalContext"), told.get("permissionDecisionReason"))))

    @property
    def refuses(self) -> bool:
        return self.said.get("hookSpecificOutput", {}).get("permissionDecision") == "deny"


def make_program(folder: Path) -> Path:
    """The Python of the environment; `reasoningbank` stands beside it."""
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    packages = next((folder / "lib").glob("python*/site-packages"))
    seen = dict.fromkeys(str(Path(entry).resolve()) for entry in sys.path if entry and Path(entry).is_dir())
    packages.joinpath("seen.pth").write_text("\n".join(seen) + "\n", "utf-8")
    script = folder / "bin" / "reasoningbank"
    script.write_text(_PROGRAM.format(python=str(python), log=LOG), "utf-8")
    script.chmod(0o755)
    return python


def calls_in(home: Path) -> list[HookCall]:
    log = home / LOG
    lines = log.read_text("utf-8").splitlines() if log.exists() else []
    told = map(json.loads, lines)
    return [HookCall(_json(line["sent"]), _json(line["said"]), line["ms"]) for line in told]


def _json(text: str) -> dict[str, Any]:
    return json.loads(text) if text.strip() else {}
