"""From a path to records: find out the layout, read it, take it in.

A dry run does everything and then takes it back, so what it says is what would happen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from reasoningbank.core.errors import InvalidInput
from reasoningbank.desk import Desk
from reasoningbank.exchange.items import Item
from reasoningbank.exchange.jsonl import Line, read_lines
from reasoningbank.exchange.sniff import detect, readers
from reasoningbank.exchange.transfer import Imported, take_in

OWN_LAYOUT = "reasoningbank-jsonl"


def layouts() -> tuple[str, ...]:
    return (OWN_LAYOUT, *readers())


def import_path(
    desk: Desk,
    path: Path,
    *,
    layout: str | None = None,
    dry_run: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Imported:
    chosen = layout or detect(path)
    if chosen not in layouts():
        raise InvalidInput(f"Unknown layout {chosen!r}: use one of {', '.join(layouts())}.")
    items: Iterable[Line | Item] = read_lines(path) if chosen == OWN_LAYOUT else readers()[chosen](path)
    return take_in(desk, items, chosen, progress, dry_run=dry_run)
