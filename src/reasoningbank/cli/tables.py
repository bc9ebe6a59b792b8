"""Rows in aligned columns, cut to the window."""

from __future__ import annotations

from collections.abc import Sequence

from reasoningbank.cli import plain
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.values import dataclass

_GAP = "  "
_NARROWEST_ELASTIC = 12


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    right: bool = False
    elastic: bool = False
    """Takes what the others leave, and is cut when that is too little."""
    optional: bool = False
    """Left out when the window is too narrow; the last such column goes first."""


def show(terminal: Terminal, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    texts = [[plain.one_line(cell) for cell in row] for row in rows]
    wanted = [max(map(plain.width, [column.name, *(row[i] for row in texts)])) for i, column in enumerate(columns)]
    kept = _that_fit(columns, wanted, terminal.width)
    columns, widths = [columns[i] for i in kept], [wanted[i] for i in kept]
    cells = [[row[i] for i in kept] for row in texts]
    if terminal.width is not None:
        _shrink(widths, columns, terminal.width - len(_GAP) * (len(columns) - 1))
    terminal.say(_line(columns, widths, [column.name for column in columns]), dim=True)
    for row in cells:
        terminal.say(_line(columns, widths, row))


def _that_fit(columns: Sequence[Column], wanted: Sequence[int], window: int | None) -> list[int]:
    kept = list(range(len(columns)))
    least = [min(w, _NARROWEST_ELASTIC) if c.elastic else w for c, w in zip(columns, wanted, strict=True)]
    while window is not None and sum(least[i] for i in kept) + len(_GAP) * (len(kept) - 1) > window:
        droppable = [i for i in kept if columns[i].optional]
        if not droppable:
            break
        kept.remove(droppable[-1])
    return kept


def _shrink(widths: list[int], columns: Sequence[Column], room: int) -> None:
    elastic = [i for i, column in enumerate(columns) if column.elastic]
    excess = sum(widths) - room
    while excess > 0 and elastic:
        widest = max(elastic, key=lambda i: widths[i])
        if widths[widest] <= _NARROWEST_ELASTIC:
            return
        others = [widths[i] for i in elastic if i != widest]
        # Down to the next widest, so that the widest pays first.
        step = min(excess, max(1, widths[widest] - max([_NARROWEST_ELASTIC, *others])))
        widths[widest] -= step
        excess -= step


def _line(columns: Sequence[Column], widths: Sequence[int], cells: Sequence[str]) -> str:
    parts = [
        plain.padded(plain.cut(cell, wide), wide, right=column.right)
        for column, wide, cell in zip(columns, widths, cells, strict=True)
    ]
    return _GAP.join(parts).rstrip()
