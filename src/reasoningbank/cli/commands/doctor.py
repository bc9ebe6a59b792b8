"""`doctor`: one line for each thing that must be right, with what to do where it is not.

Looks only: it makes no bank, no index and no file.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from hashlib import sha256
from importlib import import_module
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

from reasoningbank.bank.status import Status
from reasoningbank.cli import figures
from reasoningbank.cli.banks import location_of, no_bank_at
from reasoningbank.cli.command import PROGRAM, Command
from reasoningbank.cli.commands.status import describe_index, lag
from reasoningbank.cli.terminal import Terminal
from reasoningbank.config import find_settings, from_environment
from reasoningbank.core.errors import BankError
from reasoningbank.core.settings import DEFAULTS, Settings
from reasoningbank.core.types import EmbedderIdentity

OLDEST_PYTHON = (3, 11)
OLDEST_SQLITE = (3, 51, 3)
PACKAGES = ("apsw", "numpy", "simsimd", "onnxruntime")
_LITTLE_SPACE = 200_000_000
_NO_SPACE = 20_000_000
_FAILED = 1
_BUSY_MS = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    name: str
    verdict: str
    """ok, warn or fail."""
    says: str


def _ok(name: str, says: str) -> Check:
    return Check(name=name, verdict="ok", says=says)


def _warn(name: str, says: str) -> Check:
    return Check(name=name, verdict="warn", says=says)


def _fail(name: str, says: str) -> Check:
    return Check(name=name, verdict="fail", says=says)


def _options(parser: ArgumentParser) -> None:
    del parser


def _run(args: Namespace, terminal: Terminal) -> int:
    checks = []
    for check in _checks(args):
        checks.append(check)
        if not terminal.as_json:
            terminal.labelled(f"{check.verdict:<4}  {check.name:<11}  ", check.says)
    failed = any(check.verdict == "fail" for check in checks)
    if terminal.as_json:
        terminal.json({"healthy": not failed, "checks": [asdict(check) for check in checks]})
    return _FAILED if failed else 0


def _checks(args: Namespace) -> Iterator[Check]:
    yield _python()
    yield from _packages()
    yield _sqlite()
    location = location_of(args)
    yield _place(location)
    yield _space(Path(location))
    identity: EmbedderIdentity | None = None
    if Path(location).exists():
        opened, status, damaged = _opens(args, location)
        yield opened
        if status is not None:
            yield _whole(location)
            yield _index(status, damaged)
            yield _ok("secrets", status.scrubbing)
            identity = status.embedder
    settings, configuration = _configuration(args, location)
    yield from configuration
    yield _hooks(location, settings)
    yield from _agents(location)
    yield _model()
    yield _embedder(identity, settings)


def _configuration(args: Namespace, location: str) -> tuple[Settings, list[Check]]:
    from reasoningbank.cli.settings_page import unread_files

    try:
        settings = find_settings(location, from_environment(), config=args.config)
    except BankError as error:
        return DEFAULTS, [_fail("settings", str(error))]
    notes = [_warn("settings", note) for note in unread_files(location, args.config)]
    said = ", ".join(settings.files) or "no configuration file; `reasoningbank config --template` prints one"
    return settings, [_ok("settings", said), *notes]


def _hooks(location: str, settings: Settings) -> Check:
    from reasoningbank.agents.capture_queue import waiting
    from reasoningbank.agents.state_dir import place_of
    from reasoningbank.cli.commands.switch import hooks_now

    now = hooks_now(settings)
    left = waiting(place_of(location))
    unread = f"; {figures.counted(left, 'session')} to be read" if left else ""
    says = f"{now}{unread}"
    return _ok("hooks", says) if now == "on" else _warn("hooks", f"{says}. {_ends(settings)}")


def _ends(settings: Settings) -> str:
    return "`reasoningbank on` ends that." if settings.hooks.enabled else "Setting it otherwise there ends that."


def _agents(location: str) -> Iterator[Check]:
    """What is installed into coding agents is tried out, the user's and this project's."""
    from reasoningbank.agents.hosts import NAMES
    from reasoningbank.agents.install.checking import findings, named_option
    from reasoningbank.agents.state_dir import place_of
    from reasoningbank.cli.places import targets

    session = f"doctor-{os.getpid()}"
    for agent in NAMES:
        for project in (False, True):
            plain = targets(agent, Namespace(bank=None, config=None, project=project))
            named = {name: named_option(plain, f"--{name}") for name in ("bank", "config")}
            wanted = targets(agent, Namespace(**named, project=project)) if any(named.values()) else plain
            for finding in findings(agent, wanted, session=session, cwd=Path.cwd()):
                yield Check(name=agent, verdict=finding.verdict, says=finding.says)
        # A hook that had something to say has noted so; this session is none.
        place_of(location).session_log(agent, session).unlink(missing_ok=True)


# ---------------------------------------------------------------- the installation


def _python() -> Check:
    says = f"{platform.python_version()} at {sys.executable}"
    if sys.version_info < OLDEST_PYTHON:
        return _fail("python", f"{says}: needs {'.'.join(map(str, OLDEST_PYTHON))} or newer.")
    return _ok("python", says)


def _packages() -> Iterator[Check]:
    found = []
    # As the embedder does: the runtime looks once whether it may report to its maker.
    os.putenv("ORT_DISABLE_TELEMETRY", "1")
    for name in PACKAGES:
        try:
            import_module(name)
        except ImportError as error:
            yield _fail("package", f"{name} cannot be imported ({error}). Install it: pip install {name}")
        else:
            found.append(f"{name} {version(name)}")
    yield _ok("packages", ", ".join(found) or "none")


def _sqlite() -> Check:
    import apsw

    bundled = apsw.sqlite_lib_version()
    if tuple(int(part) for part in bundled.split(".")) < OLDEST_SQLITE:
        return _fail(
            "sqlite",
            f"{bundled} can damage a bank that several processes write; it is safe from "
            f"{'.'.join(map(str, OLDEST_SQLITE))} on. Upgrade it: pip install -U apsw",
        )
    return _ok("sqlite", f"{bundled}, from apsw {apsw.apsw_version()}")


def _model() -> Check:
    folder = files("reasoningbank.embed").joinpath("models/minilm")
    try:
        manifest = json.loads(folder.joinpath("manifest.json").read_text("utf-8"))
        wrong = [
            name
            for name, digest in manifest["files"].items()
            if sha256(folder.joinpath(name).read_bytes()).hexdigest() != digest
        ]
    except (OSError, ValueError, KeyError) as error:
        return _fail("model", f"the local model cannot be read ({error}). Reinstall reasoningbank.")
    if wrong:
        return _fail("model", f"{', '.join(wrong)} does not match its manifest. Reinstall reasoningbank.")
    return _ok(
        "model",
        f"{manifest['model']} {manifest['revision']}, {len(manifest['files'])} files match their hashes",
    )


def _embedder(identity: EmbedderIdentity | None, settings: Settings) -> Check:
    from reasoningbank.wiring.embedders import find_identity, make_embedder

    config = from_environment()
    try:
        current = find_identity(settings.embedding, config) if identity is None else identity
        row = make_embedder(current, config).embed(["does it answer?"])[0]
    except (BankError, ImportError, OSError) as error:
        return _fail("embedder", f"{error}")
    if len(row) != current.dimension or not float(row @ row) > 0.0:
        return _fail("embedder", f"{current} answered with a vector that is of no use.")
    if not settings.required.fits(current):
        return _warn(
            "embedder", f"{current} answers, but the configuration asks for {settings.required}: run `reindex`."
        )
    return _ok("embedder", f"{current} answers")


# ---------------------------------------------------------------- the bank


def _place(location: str) -> Check:
    path = Path(location)
    if path.is_dir():
        return _fail("bank", f"{location} is a folder. Name a file in it.")
    if not path.exists():
        folder = _existing_parent(path)
        if not os.access(folder, os.W_OK):
            return _fail("bank", f"{location} does not exist, and {folder} cannot be written.")
        return _warn("bank", no_bank_at(location))
    if not os.access(path, os.R_OK):
        return _fail("bank", f"{location} cannot be read: check its permissions.")
    if not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        return _warn("bank", f"{location} can be read, but not written: check the permissions of file and folder.")
    return _ok("bank", f"{location} ({figures.size(path.stat().st_size)}, writable)")


def _existing_parent(path: Path) -> Path:
    return next(folder for folder in path.absolute().parents if folder.exists())


def _space(path: Path) -> Check:
    folder = _existing_parent(path)
    free = shutil.disk_usage(folder).free
    says = f"{figures.size(free)} free at {folder}"
    if free < _NO_SPACE:
        return _fail("disk", f"{says}: make room before storing more.")
    return _warn("disk", f"{says}: that is little.") if free < _LITTLE_SPACE else _ok("disk", says)


def _opens(args: Namespace, location: str) -> tuple[Check, Status | None, int]:
    from reasoningbank.wiring import ReasoningBank

    try:
        with ReasoningBank.open(
            location, namespace=args.namespace, create=False, read_only=True, config=args.config
        ) as bank:
            status, damaged = bank.status(), len(bank.verify(index_only=True))
    except BankError as error:
        return _fail("opens", str(error)), None, 0
    held = figures.counted(sum(status.memories.values()), "memory", "memories")
    return (
        _ok("opens", f"schema {status.store.schema_version}, {held}, {figures.counted(status.changes, 'change')}"),
        status,
        damaged,
    )


def _whole(location: str) -> Check:
    import apsw

    try:
        lines = _quick_check(location)
    except apsw.Error as error:
        lines = [str(error)]
    if lines != ["ok"]:
        remedy = "Run `reasoningbank verify`; `reasoningbank recover BACKUP` puts a backup in its place."
        return _fail("integrity", f"{'; '.join(lines)}. {remedy}")
    return _ok("integrity", "quick check passed; `verify` checks every row")


def _quick_check(location: str) -> list[str]:
    import apsw

    # In a folder that cannot be written SQLite cannot make its log's index, and nobody else can write either.
    fixed = not os.access(Path(location).parent, os.W_OK) and not Path(f"{location}-shm").exists()
    name = f"file:{quote(location)}{'?immutable=1' if fixed else ''}"
    connection = apsw.Connection(name, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    try:
        connection.set_busy_timeout(_BUSY_MS)
        return [str(line) for (line,) in connection.execute("PRAGMA quick_check(5)")]
    finally:
        connection.close()


def _index(status: Status, damaged: int) -> Check:
    if status.index is None:
        return _ok("index", "none yet; the first query builds it")
    if status.index.is_damaged:
        return _fail("index", "it cannot be read; the next query builds it again from the records")
    if damaged:
        told = figures.counted(damaged, "part is", "parts are")
        return _fail("index", f"{told} damaged; `{PROGRAM} reindex --missing` builds them again, nothing is lost")
    behind = lag(status)
    says = describe_index(status)
    if behind:
        return _warn("index", f"{says}, {behind:,} behind; the next query or `reindex` catches up")
    return _ok("index", f"{says}, up to date")


COMMANDS = {"doctor": Command(run=_run, options=_options, about="Exits with 1 when something must be repaired.")}
