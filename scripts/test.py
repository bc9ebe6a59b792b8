"""Set up a virtual environment with everything the tests need, then run every check.

    python3 scripts/test.py              all checks: lint, types, tests
    python3 scripts/test.py --quick      lint and the tests that answer fast: under a minute on two cores
    python3 scripts/test.py -k search    all checks, with arguments for pytest

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
QUICK = (
    "tests/core", "tests/contract", "tests/graph", "tests/lexical", "tests/llm", "tests/test_architecture.py",
    "tests/config", "tests/guard/test_trust.py", "tests/recall/test_quota.py", "tests/bank/test_storing.py",
)  # fmt: skip
"""Chosen by what they cost (some 75 s of one processor together) and by how much goes wrong where they fail."""
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
    lint = [[python, "-m", "ruff", "check", *SOURCES], [python, "-m", "ruff", "format", "--check", *SOURCES]]
    # Whoever is done takes over from the others; until then, what shares a fixture stays together.
    tests = [python, "-m", "pytest", "-n", "auto", "--dist", "worksteal", "-m", "not storm"]
    if "--quick" in sys.argv[1:]:
        checks = [*lint, [*tests, *QUICK, *(word for word in sys.argv[1:] if word != "--quick")]]
    else:
        checks = [
            *lint,
            [python, "scripts/rulers.py"],
            [python, "-m", "mypy"],
            [*tests, *sys.argv[1:]],
            [python, "scripts/mcp_clients.py"],
        ]
    for check in checks:
        print("$", *check[1:], file=sys.stderr, flush=True)
        # Sets come in the same order in every run.
        code = subprocess.run(check, cwd=ROOT, check=False, env={**os.environ, "PYTHONHASHSEED": "0"}).returncode
        if code and code != SKIPPED:
            return code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
