"""What every suite shares: a bank in an empty folder, Python processes that can be killed, a server to talk to."""

from __future__ import annotations

import contextlib
import http.server
import itertools
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import reasoningbank
from bench.own_postgres import OwnPostgres
from reasoningbank import ReasoningBank
from reasoningbank.config.environment import AGENT_MARKS
from reasoningbank.recall import current
from tests import forked
from tests.milvus_server import milvus  # noqa: F401 - a fixture
from tests.open_files import all_closed
from tests.postgres_server import postgres, postgres_cluster, postgres_tables, postgres_url  # noqa: F401 - fixtures
from tests.qdrant_server import qdrant  # noqa: F401 - fixture

# The same few examples every time. What is random belongs to the storms: `pytest --hypothesis-profile storm`.
settings.register_profile("everyday", deadline=None, database=None, derandomize=True, max_examples=25)
settings.register_profile("storm", deadline=None, database=None, max_examples=1_000)
settings.load_profile("everyday")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Started in the background by a shell, which then ignores interrupts, and so would every child that is to be interrupted.
    signal.signal(signal.SIGINT, signal.default_int_handler)

SOURCE = Path(reasoningbank.__file__).parent.parent
SHARED = "TESTS_SHARE"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--told", metavar="FILE", help="where to write a JSON line for each test that fails or is skipped")


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        return
    if file := config.getoption("--told"):
        config.pluginmanager.register(NotPassed(Path(file)))
    os.environ[SHARED] = tempfile.mkdtemp(prefix="rb-")
    Path(os.environ[SHARED]).chmod(0o755)  # PostgreSQL runs as another user than root


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput") and (place := os.environ.pop(SHARED, None)):
        if (folder := Path(place) / "postgres").exists():
            OwnPostgres(folder).stop()
        shutil.rmtree(place)


@pytest.fixture(scope="session")
def shared_place() -> Path:
    """A folder of this run, for what all workers share."""
    return Path(os.environ[SHARED])


class NotPassed:
    def __init__(self, file: Path) -> None:
        self._file = file

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._note(report)

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if not report.passed:
            why = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longreprtext
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"test": report.nodeid, "outcome": report.outcome, "why": why}) + "\n")


class Clock:
    """A clock that only moves when told to."""

    def __init__(self, now: float = 1_790_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def forward(self, *, seconds: float = 0.0, days: float = 0.0) -> None:
        self.now += seconds + days * 86_400.0


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Names of folders that nobody has used yet. Those of pytest are numbered by reading all that there are."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in itertools.count())


@pytest.fixture
def _files_are_closed() -> Iterator[None]:
    """A test that ends leaves no bank and no index open."""
    with all_closed(Path(tempfile.gettempdir())):
        yield


@pytest.fixture(autouse=True)
def _own_home(_files_are_closed: None, _homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """No test may see, let alone touch, the bank of whoever runs it."""
    for name in [name for name in os.environ if name.startswith("REASONINGBANK_") or name in AGENT_MARKS]:
        monkeypatch.delenv(name)
    home = next(_homes)
    home.mkdir()
    monkeypatch.setenv("REASONINGBANK_HOME", str(home))
    # Whoever leaves the folder, as a hook does whose socket has a long name, comes back to it.
    monkeypatch.chdir(Path.cwd())


@pytest.fixture(scope="session", autouse=True)
def _time_to_catch_up() -> Iterator[None]:
    """However slow the machine is, a search waits for the index: what is found must not hang on a clock."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(current, "CATCH_UP_BUDGET_S", 60.0)
        patch.setattr(current, "AHEAD_BUDGET_S", 60.0)
        yield


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "bank.db"


@pytest.fixture(scope="session")
def _empty_bank(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a bank in which nothing is: to read it takes a third of the time that making it takes."""
    file = tmp_path_factory.mktemp("empty") / "bank.db"
    ReasoningBank.open(file, embedder="hash", namespace="n").close()
    return file.read_bytes()


@pytest.fixture
def bank(path: Path, _empty_bank: bytes) -> Iterator[ReasoningBank]:
    path.write_bytes(_empty_bank)
    path.chmod(0o600)
    with ReasoningBank.open(path, embedder="hash", namespace="n") as opened:
        yield opened


@pytest.fixture
def child() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """`child(code, *arguments)` starts a Python process; whatever is left of them at the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(code: str, *arguments: object) -> subprocess.Popen[str]:
        process = forked.python("-c", code, *map(str, arguments), text=True)
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def finished(process: subprocess.Popen[str], timeout_s: float = 300.0) -> str:
    """The output of a process that must end well."""
    out, err = process.communicate(timeout=timeout_s)
    assert process.returncode == 0, err
    return out


@pytest.fixture(name="finished")
def _finished() -> Callable[..., str]:
    return finished


class Endpoint:
    """A real server of somebody else's model: `answer` turns the decoded request into a status and a body."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.reply_headers: dict[str, str] = {}
        self.answer: Callable[[dict[str, Any]], tuple[int, bytes]] = lambda _: (500, b"{}")
        endpoint = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.requests.append(body | {"path": self.path})
                endpoint.headers.append({name.lower(): value for name, value in self.headers.items()})
                status, reply = endpoint.answer(body)
                with contextlib.suppress(ConnectionError):  # the client of a slow server has left
                    self.send_response(status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(reply)))
                    for name, value in endpoint.reply_headers.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(reply)

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        self.url = f"{self.address}/v1"


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint()
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()
    thread.join(60)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 8 MB, that a test may fill."""
    if os.name == "nt" or os.geteuid() != 0 or not shutil.which("mount"):
        pytest.skip("a small disk needs root and mount")
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mount is not permitted here")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)
