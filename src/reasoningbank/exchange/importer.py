"""Imports a path: finds out the layout, reads it, takes it in.

A dry run does everything and then takes it back, so what it says is what would happen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from reasoningbank.context import BankContext
from reasoningbank.core.errors import InvalidInput
from reasoningbank.exchange.import_trust import ImportTrust, stamp
from reasoningbank.exchange.items import Item
from reasoningbank.exchange.jsonl import ExportLine, read_lines
from reasoningbank.exchange.sniff import detect, readers
from reasoningbank.exchange.transfer import Imported, take_in

OWN_LAYOUT = "reasoningbank-jsonl"


def layouts() -> tuple[str, ...]:
    return (OWN_LAYOUT, *readers())


def import_path(
    context: BankContext,
    path: Path,
    *,
    layout: str | None,
    dry_run: bool,
    restore: bool,
    name: str | None,
    progress: Callable[[int], None] | None,
) -> Imported:
    """With `restore`, the file is the user's own export and its origins, states and rulings are kept as they are."""
    context.check_not_own(path)
    layout_name = layout or detect(path)
    if layout_name not in layouts():
        raise InvalidInput(f"Unknown layout {layout_name!r}: use one of {', '.join(layouts())}.")
    items: Iterable[ExportLine | Item] = read_lines(path) if layout_name == OWN_LAYOUT else readers()[layout_name](path)
    if restore and (layout_name != OWN_LAYOUT or name is not None):
        raise InvalidInput("Only an export of ReasoningBank itself can be restored, and it keeps the names in it.")
    claims = ImportTrust(restore=restore, name=name, layout=layout_name)
    stamp(claims, "")  # a name that cannot be one is refused before the file is read
    return take_in(context, items, claims, progress, dry_run=dry_run)
