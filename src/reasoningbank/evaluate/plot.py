"""The figures as a picture: one panel for each set, a dot with its interval for each method. Plain SVG, no library."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.sax.saxutils import escape

from reasoningbank.evaluate.scoring import Figure

_LABEL, _PANEL, _GAP, _VALUE = 190, 260, 56, 44
_ROW, _TOP, _BOTTOM = 22, 78, 46
_PLAIN, _OURS = "#8a8f98", "#0b62c4"
_TICKS = 4
_LEGEND = "dot: the figure; line: its 95 % interval; grey: plain methods of the same run; blue: what the bank answers"


def svg(figures: Sequence[Figure], measures: Sequence[tuple[str, str]], title: str) -> str:
    """`measures` are the panels, as (set, measure); rows are the methods, each embedder's together."""
    rows = list(dict.fromkeys((figure.embedder, figure.method) for figure in figures))
    rows = [row for row in rows if any(_at(figures, row, panel) is not None for panel in measures)]
    width = _LABEL + len(measures) * (_PANEL + _GAP + _VALUE) + 20
    gaps = len({embedder for embedder, _ in rows}) - 1
    height = _TOP + len(rows) * _ROW + max(0, gaps) * _ROW + _BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        '<g font-family="system-ui, sans-serif" font-size="12" fill="#1c1f24">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="16" y="26" font-size="16" font-weight="600">{escape(title)}</text>',
        f'<text x="16" y="44" fill="#5b616b">{_LEGEND}</text>',
    ]
    lines = _lines(rows)
    for (embedder, method), y in lines.items():
        parts.append(f'<text x="16" y="{y + 4}">{escape(method)}</text>')
        parts.append(f'<text x="{_LABEL - 14}" y="{y + 4}" text-anchor="end" fill="#5b616b">{escape(embedder)}</text>')
    for number, panel in enumerate(measures):
        left = _LABEL + number * (_PANEL + _GAP + _VALUE)
        parts += _panel(figures, lines, panel, left, height - _BOTTOM)
    return "\n".join([*parts, "</g>", "</svg>", ""])


def _lines(rows: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    y, before = _TOP + _ROW // 2, rows[0][0] if rows else ""
    for row in rows:
        y += _ROW if row[0] != before else 0
        found[row], before = y, row[0]
        y += _ROW
    return found


def _at(figures: Sequence[Figure], row: tuple[str, str], panel: tuple[str, str]) -> Figure | None:
    for figure in figures:
        if (figure.embedder, figure.method) == row and (figure.set, figure.measure) == panel:
            return figure if math.isfinite(figure.estimate.value) else None
    return None


def _panel(
    figures: Sequence[Figure], lines: dict[tuple[str, str], int], panel: tuple[str, str], left: int, bottom: int
) -> list[str]:
    shown = {row: figure for row in lines if (figure := _at(figures, row, panel)) is not None}
    lows, highs = ([getattr(figure.estimate, name) for figure in shown.values()] for name in ("low", "high"))
    first, last, step = _scale(min(lows, default=0.0), max(highs, default=1.0))

    def x(value: float) -> float:
        return round(left + (value - first) / (last - first) * _PANEL, 1)

    parts = [
        f'<text x="{left}" y="{_TOP - 14}" font-weight="600">{escape(panel[0])}: {escape(panel[1])}</text>',
    ]
    tick = first
    while tick <= last + step / 2:
        parts.append(
            f'<line x1="{x(tick)}" x2="{x(tick)}" y1="{_TOP - 4}" y2="{bottom}" stroke="#e3e6ea"/>'
            f'<text x="{x(tick)}" y="{bottom + 16}" text-anchor="middle" fill="#5b616b">{tick:.2f}</text>'
        )
        tick += step
    for row, figure in shown.items():
        y, estimate = lines[row], figure.estimate
        colour = _OURS if row[1].startswith(("hybrid", "as shipped")) else _PLAIN
        parts.append(
            f'<line x1="{x(estimate.low)}" x2="{x(estimate.high)}" y1="{y}" y2="{y}" stroke="{colour}" '
            'stroke-width="2" stroke-opacity="0.45"/>'
            f'<circle cx="{x(estimate.value)}" cy="{y}" r="4" fill="{colour}"/>'
            f'<text x="{left + _PANEL + 12}" y="{y + 4}" fill="{colour}">{estimate.value:.3f}</text>'
        )
    return parts


def _scale(low: float, high: float) -> tuple[float, float, float]:
    """Round ends and a round step around what is to be shown."""
    span = max(high - low, 0.02)
    step = next(s for s in (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5) if span / s <= _TICKS)
    return math.floor(low / step) * step, math.ceil(high / step) * step, step
