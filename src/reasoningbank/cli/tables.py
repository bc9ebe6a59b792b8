"""Prints rows in aligned columns, cut to the window."""

from __future__ import annotations

from collections.abc import Sequence

from reasoningbank.cli import plain
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.frozen import dataclass

_GAP = "  "
_NARROWEST_OF_ALL = 6
"""In a window so narrow that nothing is left to leave out."""


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    right: bool = False
    elastic: bool = False
    """Takes what the others leave, and is cut when that is too little."""
    optional: bool = False
    """Left out when the window is too narrow; the last such column goes first."""
    least: int = 12
    """Columns that an elastic one keeps before others are left out."""


def show(terminal: Terminal, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    texts = [[terminal.short(plain.one_line(cell)) for cell in row] for row in rows]
    natural_widths = [
        max(map(plain.width, [column.name, *(row[i] for row in texts)])) for i, column in enumerate(columns)
    ]
    indexes = _that_fit(columns, natural_widths, terminal.width)
    columns, widths = [columns[i] for i in indexes], [natural_widths[i] for i in indexes]
    cells = [[row[i] for i in indexes] for row in texts]
    if terminal.width is not None:
        _shrink(widths, columns, terminal.width - len(_GAP) * (len(columns) - 1))
    terminal.say(_line(columns, widths, [column.name for column in columns]), dim=True)
    for row in cells:
        terminal.say(_line(columns, widths, row))


def _that_fit(columns: Sequence[Column], natural_widths: Sequence[int], window: int | None) -> list[int]:
    indexes = list(range(len(columns)))
    least = [min(w, c.least) if c.elastic else w for c, w in zip(columns, natural_widths, strict=True)]
    while window is not None and sum(least[i] for i in indexes) + len(_GAP) * (len(indexes) - 1) > window:
        droppable = [i for i in indexes if columns[i].optional]
        if not droppable:
            break
        indexes.remove(droppable[-1])
    return indexes


def _shrink(widths: list[int], columns: Sequence[Column], room: int) -> None:
    """Take what is too much from the widest that can spare it; each keeps its least as long as that is possible."""
    elastic = [i for i, column in enumerate(columns) if column.elastic]
    for least in ([column.least for column in columns], [_NARROWEST_OF_ALL] * len(columns)):
        while (excess := sum(widths) - room) > 0:
            able = [i for i in elastic if widths[i] > least[i]]
            if not able:
                break
            widest = max(able, key=lambda i: widths[i])
            rest = [widths[i] for i in able if i != widest]
            # Down to the next widest, so that the widest pays first.
            widths[widest] -= min(excess, max(1, widths[widest] - max([least[widest], *rest])))


def _line(columns: Sequence[Column], widths: Sequence[int], cells: Sequence[str]) -> str:
    parts = [
        plain.pad(plain.cut(cell, wide), wide, right=column.right)
        for column, wide, cell in zip(columns, widths, cells, strict=True)
    ]
    return _GAP.join(parts).rstrip()
