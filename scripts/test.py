"""Set up a virtual environment with everything the tests need, then run every check.

    python3 scripts/test.py              all checks: lint, types, tests
    python3 scripts/test.py -k search    the same, with arguments for pytest

Needs Python 3.11 or newer and the package registry; touches nothing outside this checkout.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / ".venv-test"
MARK = PLACE / "installed"
SOURCES = ("src", "evaluation", "tests", "bench", "scripts")
SKIPPED = 77
"""Of a check that could not be made here and has said so: foreign clients come from npm."""


def main() -> int:
    if sys.version_info < (3, 11):  # noqa: UP036 - the message matters to whoever runs it with an older one
        print("Python 3.11 or newer is needed.", file=sys.stderr)
        return 1
    python = PLACE / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    wanted = (ROOT / "pyproject.toml").read_text("utf-8") + sys.version
    if not MARK.exists() or MARK.read_text("utf-8") != wanted:
        venv.create(PLACE, with_pip=True, clear=True)
        everything = f"{ROOT}[dev,adapters-test]"
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--editable", everything], check=True)
        MARK.write_text(wanted, "utf-8")
    checks = [
        [python, "-m", "ruff", "check", *SOURCES],
        [python, "-m", "ruff", "format", "--check", *SOURCES],
        [python, "-m", "mypy"],
        [python, "-m", "pytest", "-n", "auto", "-m", "not storm", *sys.argv[1:]],
        [python, "scripts/mcp_clients.py"],
    ]
    for check in checks:
        print("$", *check[1:], file=sys.stderr, flush=True)
        code = subprocess.run(check, cwd=ROOT, check=False).returncode
        if code and code != SKIPPED:
            return code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
