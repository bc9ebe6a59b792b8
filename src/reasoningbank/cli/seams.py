"""What a plugin adds to commands of the core: servers, services, exports, lines of `doctor` and `status`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import NamedTuple

from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.settings import Settings
from reasoningbank.location import Location
from reasoningbank.ports import Check
from reasoningbank.wiring import ReasoningBank


class ExaminedBank(NamedTuple):
    """A bank as `doctor` has seen it so far."""

    args: Namespace
    location: Location
    settings: Settings
    opens: bool
    moved_to: str | None
    """Where a bank is that was moved away from here."""


class Checks(NamedTuple):
    """Entry point of the group `reasoningbank.checks`."""

    doctor: Callable[[ExaminedBank], Iterable[Check]]
    status: Callable[[Location, Settings], Iterable[tuple[str, str]]]
    """Labels and texts."""


class ExportPlugin(NamedTuple):
    """Entry point of the group `reasoningbank.exports`: what `export --as` writes besides records."""

    forms: tuple[str, ...]
    options: Callable[[ArgumentParser], None]
    """Of these forms alone. The file is `path`, None where none was named."""
    run: Callable[[str, Namespace, Terminal], int]


class ServerPlugin(NamedTuple):
    """Entry point of the group `reasoningbank.servers`: what `serve` runs without `--mcp`."""

    options: Callable[[ArgumentParser], None]
    run: Callable[[Namespace, Terminal], int]


class ServicePlugin(NamedTuple):
    """Entry point of the group `reasoningbank.services`: something that runs beside a server."""

    options: Callable[[ArgumentParser], None]
    run: Callable[[ReasoningBank, Location, Namespace, float], AbstractContextManager[str]]
    """Takes the seconds to wait before what costs time begins. Gives a line for whoever started it, or ""."""
