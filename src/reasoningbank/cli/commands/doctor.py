"""`doctor`: one line for each thing that must be right, with what to do where it is not.

Looks only: it makes no bank, no index and no file.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import asdict
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from reasoningbank.bank.status import Status
from reasoningbank.cli import figures
from reasoningbank.cli.banks import location_of
from reasoningbank.cli.command import PROGRAM, Command
from reasoningbank.cli.commands.join import doubt_of
from reasoningbank.cli.commands.status import describe_index, describe_rules, lag
from reasoningbank.cli.seams import ExaminedBank
from reasoningbank.cli.terminal import Terminal
from reasoningbank.config import find_settings, from_environment
from reasoningbank.core.errors import BankError, BankMoved, InvalidInput
from reasoningbank.core.settings import DEFAULTS, Settings
from reasoningbank.core.types import EmbedderIdentity, RuleState
from reasoningbank.learn.jobs import HOST
from reasoningbank.location import Location
from reasoningbank.plugins import plugins
from reasoningbank.ports import Backend, Check
from reasoningbank.wiring.backends import backend_of

OLDEST_PYTHON = (3, 11)
PACKAGES = ("apsw", "numpy", "simsimd", "onnxruntime")
_LITTLE_SPACE = 200_000_000
_NO_SPACE = 20_000_000
_FAILED = 1
_MANY_JOBS = 5
"""Finished sessions that may wait without anybody being told."""


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
    location = location_of(args)
    identity: EmbedderIdentity | None = None
    moved_to: str | None = None
    try:
        backend = backend_of(location)
    except InvalidInput as error:
        yield Check.fail("bank", str(error))
    else:
        yield from backend.checks(location)
        if location.state is not None:
            yield _space(location.state)
        opening, status, damaged, moved_to = _opens(args, location, backend)
        yield from opening
        if status is not None:
            yield backend.integrity(location)
            yield _index(status, damaged)
            yield Check.ok("secrets", status.scrubbing)
            yield from _jobs(status)
            if told := describe_rules(status):
                waits = RuleState.PROPOSED in status.rules
                yield Check.warn("rules", told) if waits else Check.ok("rules", told)
            identity = status.embedder
    settings, configuration = _configuration(args, location)
    yield from configuration
    if doubt := doubt_of(args):
        yield Check.warn("project", f"{doubt}.")
    examined = ExaminedBank(args, location, settings, opens=identity is not None, moved_to=moved_to)
    for plugin in plugins("checks").values():
        yield from plugin.load().doctor(examined)
    yield _model()
    yield _embedder(identity, settings)


def _configuration(args: Namespace, location: Location) -> tuple[Settings, list[Check]]:
    from reasoningbank.cli.settings_page import unread_files

    try:
        settings = find_settings(location, from_environment(), config=args.config)
    except BankError as error:
        return DEFAULTS, [Check.fail("settings", str(error))]
    notes = [Check.warn("settings", note) for note in unread_files(location, args.config)]
    said = ", ".join(settings.files) or "no configuration file; `reasoningbank config --template` prints one"
    return settings, [Check.ok("settings", said), *notes]


def _jobs(status: Status) -> Iterator[Check]:
    """Finished sessions that pile up, and what clears them."""
    waiting, dead = status.jobs.get("waiting", 0), status.jobs.get("dead", 0)
    if waiting >= _MANY_JOBS:
        wait = f"{figures.counted(waiting, 'session waits', 'sessions wait')} to be distilled"
        if status.distiller == HOST:
            here = f"REASONINGBANK_DISTILLER=offline {PROGRAM} distill"
            asked = "tell it to work off its reasoningbank jobs"
            yield Check.warn("jobs", f"{wait} by your agent, which was asked once: {asked}, or `{here}` does it here.")
        elif status.distiller == "none":
            yield Check.warn("jobs", f"{wait}, and the distiller is none; another one in the settings works them off.")
        else:
            yield Check.warn("jobs", f"{wait}: `{PROGRAM} distill` works them off now.")
    if dead:
        given_up = figures.counted(dead, "job was", "jobs were")
        yield Check.warn(
            "jobs",
            f"{given_up} given up: `{PROGRAM} jobs list --state dead` says why, "
            f"`{PROGRAM} jobs retry --dead` tries again.",
        )


# ---------------------------------------------------------------- the installation


def _python() -> Check:
    says = f"{platform.python_version()} at {sys.executable}"
    if sys.version_info < OLDEST_PYTHON:
        return Check.fail("python", f"{says}: needs {'.'.join(map(str, OLDEST_PYTHON))} or newer.")
    return Check.ok("python", says)


def _packages() -> Iterator[Check]:
    found = []
    # As the embedder does: the runtime looks once whether it may report to its maker.
    os.putenv("ORT_DISABLE_TELEMETRY", "1")
    for name in PACKAGES:
        try:
            import_module(name)
        except ImportError as error:
            yield Check.fail("package", f"{name} cannot be imported ({error}). Install it: pip install {name}")
        else:
            found.append(f"{name} {version(name)}")
    yield Check.ok("packages", ", ".join(found) or "none")


def _model() -> Check:
    from reasoningbank.wiring.embedders import examine_local_model

    try:
        manifest, damaged = examine_local_model()
    except (OSError, ValueError, KeyError) as error:
        return Check.fail("model", f"the local model cannot be read ({error}). Reinstall reasoningbank.")
    if damaged:
        return Check.fail("model", f"{', '.join(damaged)} does not match its manifest. Reinstall reasoningbank.")
    return Check.ok(
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
        return Check.fail("embedder", f"{error}")
    if len(row) != current.dimension or not float(row @ row) > 0.0:
        return Check.fail("embedder", f"{current} answered with a vector that is of no use.")
    if not settings.required.fits(current):
        return Check.warn(
            "embedder", f"{current} answers, but the configuration asks for {settings.required}: run `reindex`."
        )
    return Check.ok("embedder", f"{current} answers")


# ---------------------------------------------------------------- the bank


def _space(folder: Path) -> Check:
    there = next(above for above in (folder, *folder.parents) if above.exists())
    free = shutil.disk_usage(there).free
    says = f"{figures.size(free)} free at {there}"
    if free < _NO_SPACE:
        return Check.fail("disk", f"{says}: make room before storing more.")
    return Check.warn("disk", f"{says}: that is little.") if free < _LITTLE_SPACE else Check.ok("disk", says)


def _opens(args: Namespace, location: Location, backend: Backend) -> tuple[list[Check], Status | None, int, str | None]:
    from reasoningbank.wiring import ReasoningBank
    from reasoningbank.wiring.migrating import why_closed

    try:
        if not backend.exists(location):
            return [], None, 0, None
        with ReasoningBank.open(
            location, namespace=args.namespace, create=False, read_only=True, config=args.config
        ) as bank:
            status, damaged = bank.status(), len(bank.verify(index_only=True))
            closed = why_closed(bank.context.store)
    except BankError as error:
        unmade = "whether it is whole, its index, what it scrubs and its jobs could not be looked at."
        return [Check.fail("opens", str(error)), Check.warn("unchecked", unmade)], None, 0, None
    held = figures.counted(sum(status.memories.values()), "memory", "memories")
    if closed is not None:
        moved_to = closed.place if isinstance(closed, BankMoved) else None
        return [Check.warn("opens", str(closed))], status, damaged, moved_to
    changes = figures.counted(status.changes, "change")
    return [Check.ok("opens", f"schema {status.store.schema_version}, {held}, {changes}")], status, damaged, None


def _index(status: Status, damaged: int) -> Check:
    if status.index is None:
        return Check.ok("index", "none yet; the first query builds it")
    if status.index.trouble:
        away = "Nothing is searched by meaning until it is back; what is stored meanwhile is taken over then."
        return Check.fail("index", f"{status.index.engine}: {status.index.trouble} {away}")
    if status.index.is_damaged:
        return Check.fail("index", "it cannot be read; the next query builds it again from the records")
    if damaged:
        told = figures.counted(damaged, "part is", "parts are")
        return Check.fail("index", f"{told} damaged; `{PROGRAM} reindex --missing` builds them again, nothing is lost")
    behind = lag(status)
    says = describe_index(status)
    if behind:
        return Check.warn("index", f"{says}, {behind:,} behind; the next query or `reindex` catches up")
    return Check.ok("index", f"{says}, up to date")


COMMANDS = {"doctor": Command(run=_run, options=_options, about="Exits with 1 when something must be repaired.")}
