"""Set up a virtual environment with everything the tests need, then run every check.

    python3 scripts/test.py              all checks: lint, types, tests
    python3 scripts/test.py --quick      lint and the tests that answer fast: under a minute on two cores
    python3 scripts/test.py -k search    all checks, with arguments for pytest
    python3 scripts/test.py --adapters   the adapters for frameworks that are too big for every day (minutes, 2 GB)

Needs Python 3.11 or newer and the package registry; touches nothing outside this checkout, but for Debian's chromium,
which it installs where there is none and it may.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / ".venv-test"
SOURCES = ("src", "evaluation", "tests", "bench", "scripts")
QUICK = (
    "tests/core", "tests/contract", "tests/graph", "tests/lexical", "tests/llm", "tests/test_architecture.py",
    "tests/config", "tests/guard/test_trust.py", "tests/recall/test_quota.py", "tests/bank/test_storing.py",
)  # fmt: skip
"""Chosen by what they cost (some 75 s of one processor together) and by how much goes wrong where they fail."""
FETCH_WITHIN_S = 600
BIG_FRAMEWORKS = {
    "light": ("autogen", "llama-index", "smolagents"),
    "crewai": ("crewai",),
    "google-adk": ("google-adk",),
}
"""Extras by environment: not all of them can be installed beside each other."""
MEMORY, ROOM = Path("/dev/shm"), 4 << 30
"""A file system in memory, and the bytes that must be free there before the tests keep their banks in it."""
SKIPPED = 77
"""Of a check that could not be made here and has said so: foreign clients come from npm."""


def main() -> int:
    if sys.version_info < (3, 11):  # noqa: UP036 - the message matters to whoever runs it with an older one
        print("Python 3.11 or newer is needed.", file=sys.stderr)
        return 1
    if "--adapters" in sys.argv[1:]:
        return max(_test_adapters(name, extras) for name, extras in BIG_FRAMEWORKS.items())
    python = _install(PLACE, f"{ROOT}[dev,adapters-test]")
    lint = [[python, "-m", "ruff", "check", *SOURCES], [python, "-m", "ruff", "format", "--check", *SOURCES]]
    # Whoever is done takes over from the others; until then, what shares a fixture stays together. More workers than
    # processors: many a test waits for a program that it started.
    workers = str((os.cpu_count() or 1) + 1)
    tests = [python, "-m", "pytest", "-n", workers, "--dist", "worksteal", "-m", "not storm"]
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
        _prepare_browser(python)
    with _surroundings() as surroundings:
        for check in checks:
            print("$", *check[1:], file=sys.stderr, flush=True)
            code = subprocess.run(check, cwd=ROOT, check=False, env=surroundings).returncode
            if code and code != SKIPPED:
                return code
    return 0


@contextmanager
def _surroundings() -> Iterator[dict[str, str]]:
    """The environment of the checks. Nobody is to wait for a disk, or for modules to be compiled a thousand times.

    What a full, failing or powerless disk does is tested with disks of the tests' own, not with that of this machine.
    """
    # Sets come in the same order in every run.
    surroundings = {**os.environ, "PYTHONHASHSEED": "0"}
    surroundings.pop("PYTHONDONTWRITEBYTECODE", None)
    if not _has_room_in_memory():
        yield surroundings
        return
    with tempfile.TemporaryDirectory(prefix="rb-", dir=MEMORY, ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)  # PostgreSQL runs as another user than root
        yield {**surroundings, "TMPDIR": folder}


def _has_room_in_memory() -> bool:
    if "TMPDIR" in os.environ or not os.access(MEMORY, os.W_OK):
        return False
    # Some tests start programs that they write.
    return shutil.disk_usage(MEMORY).free >= ROOM and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC


def _install(place: Path, *wanted: str) -> Path:
    """A virtual environment with what is wanted; made anew when that or the project's own list has changed."""
    python = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    mark = place / "installed"
    told = (ROOT / "pyproject.toml").read_text("utf-8") + sys.version + " ".join(wanted)
    if not mark.exists() or mark.read_text("utf-8") != told:
        venv.create(place, with_pip=True, clear=True)
        editable = [word for package in wanted[:1] for word in ("--editable", package)]
        subprocess.run([python, "-m", "pip", "install", "--quiet", *editable, *wanted[1:]], check=True)
        mark.write_text(told, "utf-8")
    return python


def _prepare_browser(python: Path) -> None:
    """Chromium and axe for the tests of the page. Where they cannot be had, those tests say so and are skipped."""
    if not any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))) and not _install_chromium():
        print("not to be had here: chromium. The page is not looked at: its tests are skipped.", file=sys.stderr)
    if shutil.which("npm") and not _is_done([str(python), "scripts/vendor_ui.py", "--axe"]):
        print("not to be had here: axe. Rules of accessibility are not asked about.", file=sys.stderr)


def _install_chromium() -> bool:
    """Debian's; a container often has no list of packages yet."""
    if not shutil.which("apt-get"):
        return False
    install = ["apt-get", "install", "--yes", "--quiet", "chromium"]
    return _is_done(install) or (_is_done(["apt-get", "update", "--quiet"]) and _is_done(install))


def _is_done(command: list[str]) -> bool:
    asks_nothing = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    print("$", *command, file=sys.stderr, flush=True)
    try:
        done = subprocess.run(
            command, cwd=ROOT, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=asks_nothing,
            timeout=FETCH_WITHIN_S,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        print(error, file=sys.stderr)
        return False
    return done.returncode == 0


def _test_adapters(name: str, extras: tuple[str, ...]) -> int:
    python = _install(ROOT / f".venv-test-{name}", f"{ROOT}[{','.join(extras)}]", "pytest>=9.0", "hypothesis>=6.100")
    files = [f"tests/adapters/test_{extra.replace('-', '_')}.py" for extra in extras]
    # Libraries of others warn about themselves and leave connections open.
    check = [python, "-m", "pytest", "-W", "default", *files]
    print("$", *check[1:], file=sys.stderr, flush=True)
    return subprocess.run(check, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
