"""Set up a virtual environment with everything the tests need, then run every check.

    python3 scripts/test.py              all checks: lint, types, rulers, tests, foreign MCP clients
    python3 scripts/test.py --quick      lint and the tests that answer fast: under a minute on two cores
    python3 scripts/test.py -k search    all checks, with arguments for pytest
    python3 scripts/test.py --package bus  the tests of one plugin alone, or of the core
    python3 scripts/test.py --strangers  everything again for everybody in `strangers.py`, from a clone (half an hour)
    python3 scripts/test.py --crowd 5    so many whole runs of the tests at once: nothing may hang on a clock
    python3 scripts/test.py --adapters   the adapters for frameworks that are too big for every day (minutes, 2 GB)

Needs Python 3.11 or newer and the package registry; touches nothing outside this checkout, but for Debian's chromium,
which it installs where there is none and it may. The checks see none of the variables of whoever runs them but a few
(`LET_THROUGH`): what is green here is green elsewhere. `--with NAME=VALUE` lets one more through.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / ".venv-test"
CLIENTS = PLACE / "mcp-clients"
UNSTABLE = ROOT / "tests" / "unstable.txt"
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
LET_THROUGH = (
    "PATH", "HOME", "USER", "LOGNAME", "TMPDIR",
    # Without these no program starts on Windows.
    "SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "APPDATA", "LOCALAPPDATA",
)  # fmt: skip
MEMORY, ROOM = Path("/dev/shm"), 4 << 30
"""A file system in memory, and the bytes that must be free there before the tests keep their banks in it."""
OWN_TESTS = {
    "adapters": ["tests/adapters"],
    "bus": ["tests/bus"],
    "coding_agents": ["tests/coding_agents"],
    "milvus": ["tests/milvus"],
    "postgres": ["tests/postgres"],
    "qdrant": ["tests/qdrant"],
    "server": ["tests/server", "tests/page"],
}
"""Folders of tests by plugin; the others are the core's."""
TRIED_AGAIN = 10
"""Failures that are tried once more, each alone; where there are more, something else is wrong than chance."""


def main() -> int:
    if sys.version_info < (3, 11):  # noqa: UP036 - the message matters to whoever runs it with an older one
        print("Python 3.11 or newer is needed.", file=sys.stderr)
        return 1
    parser = argparse.ArgumentParser(allow_abbrev=False, usage=__doc__)
    for name in ("--quick", "--adapters", "--strangers"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("--crowd", type=int, metavar="N")
    parser.add_argument("--package", choices=["core", *OWN_TESTS])
    parser.add_argument("--with", dest="variables", action="append", default=[], metavar="NAME=VALUE")
    options, for_pytest = parser.parse_known_args()
    if options.adapters:
        return max(_test_adapters(name, extras) for name, extras in BIG_FRAMEWORKS.items())
    if options.strangers:
        from strangers import try_all

        return try_all(ROOT, *for_pytest[:1])
    began = time.monotonic()
    python = _install(PLACE, f"{ROOT}[dev,adapters-test]")
    missing = [] if options.quick else list(_prepare_foreign_programs(python))
    print(f"Ready after {time.monotonic() - began:.0f} s.", file=sys.stderr)
    began = time.monotonic()
    with _environment(dict(entry.split("=", 1) for entry in options.variables)) as environment:
        if options.crowd:
            return _run_crowd(python, environment, options.crowd)
        if options.package:
            return _test(python, environment, [*_tests_of(options.package), *for_pytest])
        code = _check(python, environment, for_pytest, quick=options.quick)
    for sentence in missing:
        print(sentence, file=sys.stderr)
    print(f"{'Red' if code else 'Green'} after {time.monotonic() - began:.0f} s.", file=sys.stderr)
    return code


# ---------------------------------------------------------------- the checks


def _check(python: Path, environment: Mapping[str, str], for_pytest: list[str], *, quick: bool) -> int:
    lint = [[python, "-m", "ruff", "check", *SOURCES], [python, "-m", "ruff", "format", "--check", *SOURCES]]
    for command in lint:
        if code := _run(command, environment).returncode:
            return code
    if quick:
        return _test(python, environment, [*QUICK, *for_pytest])
    beside = [[python, "scripts/rulers.py"], [python, "-m", "mypy"]]
    if CLIENTS.exists():
        beside.append([python, "scripts/mcp_clients.py", "--cache", CLIENTS])
    # Tests wait now and then; what only computes takes the processors meanwhile.
    with ThreadPoolExecutor(1) as thread:
        results = [thread.submit(_run, command, environment, output=subprocess.PIPE) for command in beside]
        codes = [_test(python, environment, for_pytest)]
        for result in results:
            done = result.result()
            print("$", *map(str, done.args[1:]), f"\n{done.stdout.rstrip()}", file=sys.stderr, flush=True)
            codes.append(done.returncode)
    return max(codes, key=bool)


def _test(python: Path, environment: Mapping[str, str], for_pytest: list[str]) -> int:
    """Run the tests. One that fails and then passes alone is written down as unstable, and the run stays green."""
    with tempfile.TemporaryDirectory(prefix="rb-") as folder:
        told = Path(folder) / "told.jsonl"
        code = _run(_pytest(python, told, *for_pytest), environment).returncode
        reports = [json.loads(line) for line in told.read_text("utf-8").splitlines()] if told.exists() else []
    first = {report["test"]: report["why"] for report in reports if report["outcome"] == "failed"}
    if code == 1 and 0 < len(first) <= TRIED_AGAIN:
        code = _try_again(python, environment, first)
    skipped = Counter(report["why"].removeprefix("Skipped: ") for report in reports if report["outcome"] == "skipped")
    if skipped:
        counts = [f"{count} test{'s' * (count > 1)}: {why}" for why, count in skipped.most_common()]
        print("\nNot checked here:", *counts, sep="\n    ", file=sys.stderr)
    return code


def _tests_of(package: str) -> list[str]:
    if package in OWN_TESTS:
        return OWN_TESTS[package]
    of_plugins = {folder for folders in OWN_TESTS.values() for folder in folders}
    folders = {f"tests/{path.parent.name}" for path in (ROOT / "tests").glob("*/*.py")}
    return sorted({*folders - of_plugins, *(f"tests/{path.name}" for path in (ROOT / "tests").glob("test_*.py"))})


def _try_again(python: Path, environment: Mapping[str, str], first: Mapping[str, str]) -> int:
    print("\nOnce more, each alone:", *first, sep="\n    ", file=sys.stderr)
    again = {test: _run([python, "-m", "pytest", test], environment).returncode for test in first}
    unstable = [test for test, code in again.items() if code == 0]
    for test in unstable:
        print(f"\nunstable: {test}\n{first[test]}", file=sys.stderr)
    if unstable:
        with UNSTABLE.open("a", encoding="utf-8") as file:
            file.writelines(f"{test}\n" for test in unstable)
        print(f"\n{len(unstable)} unstable, see {UNSTABLE.relative_to(ROOT)}", file=sys.stderr)
    return max(again.values())


def _pytest(python: Path, told: Path, *more: str) -> list[str | Path]:
    """Whoever is done takes over from the others; until then, what shares a fixture stays together.

    More workers than processors: many a test waits for a program that it started.
    """
    workers = str((os.cpu_count() or 1) + 1)
    shown = ["--durations=30", f"--told={told}"]
    return [python, "-m", "pytest", "-n", workers, "--dist", "worksteal", "-m", "not storm", *shown, *more]


def _run_crowd(python: Path, environment: Mapping[str, str], runs: int) -> int:
    """Let whole runs of the tests stand in each other's way. Nothing is tried again."""

    def run_once() -> subprocess.CompletedProcess[str]:
        with tempfile.TemporaryDirectory(prefix="rb-", dir=environment.get("TMPDIR")) as place:
            Path(place).chmod(0o755)
            command = [*_pytest(python, Path(place) / "told.jsonl"), "-p", "no:cacheprovider"]
            return _run(command, {**environment, "TMPDIR": place}, output=subprocess.PIPE)

    code = 0
    with ThreadPoolExecutor(runs) as threads:
        for number, result in enumerate([threads.submit(run_once) for _ in range(runs)], 1):
            done = result.result()
            lines = done.stdout.splitlines()
            print(
                f"run {number} of {runs}, load {os.getloadavg()[0]:.0f}:",
                *(lines if done.returncode else lines[-1:]),
                sep="\n",
            )
            code = code or done.returncode
    return code


def _run(
    command: list[str | Path], environment: Mapping[str, str], *, output: int | None = None
) -> subprocess.CompletedProcess[str]:
    if output is None:
        print("$", *command[1:], file=sys.stderr, flush=True)
    merged = subprocess.STDOUT if output else None
    return subprocess.run(
        command, cwd=ROOT, check=False, env=environment, stdout=output, stderr=merged, text=True, encoding="utf-8"
    )


@contextmanager
def _environment(more: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """What the checks see. Nobody is to wait for a disk, or for modules to be compiled a thousand times.

    What a full, failing or powerless disk does is tested with disks of the tests' own, not with that of this machine.
    """
    # Sets come in the same order in every run.
    environment = {name: os.environ[name] for name in LET_THROUGH if name in os.environ}
    environment |= {"PYTHONHASHSEED": "0", **more}
    if not _has_room_in_memory():
        yield environment
        return
    with tempfile.TemporaryDirectory(prefix="rb-", dir=MEMORY, ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)  # PostgreSQL runs as another user than root
        yield {**environment, "TMPDIR": folder}


def _has_room_in_memory() -> bool:
    if "TMPDIR" in os.environ or not os.access(MEMORY, os.W_OK):
        return False
    # Some tests start programs that they write.
    return shutil.disk_usage(MEMORY).free >= ROOM and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC


# ---------------------------------------------------------------- set-up, with the variables of whoever runs it


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


def _prepare_foreign_programs(python: Path) -> Iterator[str]:
    """Chromium and axe for the tests of the page, and MCP clients; a sentence for each that cannot be had."""
    if not any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))) and not _install_chromium():
        yield "No chromium is to be had here: the page was not looked at."
    if shutil.which("npm") is None:
        yield "No npm is to be had here: foreign MCP clients and rules of accessibility were not tried."
        return
    if not _is_done([str(python), "scripts/vendor_ui.py", "--axe"]):
        yield "No axe is to be had here: rules of accessibility were not asked about."
    if not _is_done([str(python), "scripts/mcp_clients.py", "--cache", str(CLIENTS), "--install"]):
        shutil.rmtree(CLIENTS, ignore_errors=True)
        yield "No foreign MCP clients are to be had here: they were not tried."


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
    with _environment({}) as environment:
        # Libraries of others warn about themselves and leave connections open.
        return _run([python, "-m", "pytest", "-W", "default", *files], environment).returncode


if __name__ == "__main__":
    raise SystemExit(main())
