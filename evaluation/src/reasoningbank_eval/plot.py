"""The figures as a picture: one panel for each set, a dot with its interval for each method. Plain SVG, no library."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.sax.saxutils import escape

from reasoningbank_eval.scoring import Figure

Row = tuple[str, str]
"""Embedder and method."""
Panel = tuple[str, str]
"""Set and measure."""

PANELS_ABREAST = 3
_LABEL, _PANEL, _GAP = 190, 260, 100
_ROW, _TOP, _HEAD, _FOOT = 22, 56, 34, 40
_PLAIN, _OURS, _QUIET, _GRID = "#8a8f98", "#0b62c4", "#5b616b", "#e3e6ea"
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5)
_TICKS = 4
_LEGEND = "dot: the figure; line: its 95 % interval; grey: plain methods of the same run; blue: what the bank answers"


def svg(figures: Sequence[Figure], panels: Sequence[Panel], title: str) -> str:
    by_row = {((f.embedder, f.method), (f.set, f.measure)): f for f in figures if math.isfinite(f.estimate.value)}
    rows = [row for row in dict.fromkeys(row for row, _ in by_row) if any((row, panel) in by_row for panel in panels)]
    bands = [panels[start : start + PANELS_ABREAST] for start in range(0, len(panels), PANELS_ABREAST)]
    lines = _lines(rows)
    band_height = _HEAD + max(lines.values(), default=0) + _ROW + _FOOT
    width = _LABEL + min(PANELS_ABREAST, max(1, len(panels))) * (_PANEL + _GAP)
    height = _TOP + len(bands) * band_height
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        '<g font-family="system-ui, sans-serif" font-size="12" fill="#1c1f24">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="16" y="26" font-size="16" font-weight="600">{escape(title)}</text>',
        f'<text x="16" y="44" fill="{_QUIET}">{_LEGEND}</text>',
    ]
    for number, band in enumerate(bands):
        parts.append(f'<g transform="translate(0 {_TOP + number * band_height + _HEAD})">')
        for (embedder, method), y in lines.items():
            parts.append(f'<text x="16" y="{y + 4}">{escape(method)}</text>')
            parts.append(
                f'<text x="{_LABEL - 20}" y="{y + 4}" text-anchor="end" fill="{_QUIET}">{escape(embedder)}</text>'
            )
        for place, panel in enumerate(band):
            points = {lines[row]: (row, by_row[row, panel]) for row in rows if (row, panel) in by_row}
            parts += _panel(panel, points, _LABEL + place * (_PANEL + _GAP), max(lines.values()) + _ROW // 2)
        parts.append("</g>")
    return "\n".join([*parts, "</g>", "</svg>", ""])


def _lines(rows: Sequence[Row]) -> dict[Row, int]:
    """How far down each row is; a gap sets one embedder off from the next."""
    heights: dict[Row, int] = {}
    y, before = _ROW // 2, ""
    for row in rows:
        y += _ROW // 2 if before and row[0] != before else 0
        heights[row], before = y, row[0]
        y += _ROW
    return heights


def _panel(panel: Panel, points: dict[int, tuple[Row, Figure]], x0: int, bottom: int) -> list[str]:
    estimates = [figure.estimate for _, figure in points.values()]
    first, step, ticks = _scale(
        min((e.low for e in estimates), default=0.0), max((e.high for e in estimates), default=1.0)
    )

    def x(value: float) -> float:
        return round(x0 + (value - first) / (step * ticks) * _PANEL, 1)

    parts = [f'<text x="{x0}" y="-14" font-weight="600">{escape(panel[0])}: {escape(panel[1])}</text>']
    for tick in range(ticks + 1):
        value = first + tick * step
        parts.append(f'<line x1="{x(value)}" x2="{x(value)}" y1="-4" y2="{bottom}" stroke="{_GRID}"/>')
        parts.append(f'<text x="{x(value)}" y="{bottom + 16}" text-anchor="middle" fill="{_QUIET}">{value:.2f}</text>')
    for y, ((_, method), figure) in points.items():
        estimate = figure.estimate
        colour = _OURS if method.startswith("hybrid") else _PLAIN
        parts.append(
            f'<line x1="{x(estimate.low)}" x2="{x(estimate.high)}" y1="{y}" y2="{y}" stroke="{colour}" '
            'stroke-width="2" stroke-opacity="0.45"/>'
        )
        parts.append(f'<circle cx="{x(estimate.value)}" cy="{y}" r="4" fill="{colour}"/>')
        parts.append(f'<text x="{x0 + _PANEL + 12}" y="{y + 4}" fill="{colour}">{estimate.value:.3f}</text>')
    return parts


def _scale(low: float, high: float) -> tuple[float, float, int]:
    """A round beginning, a round step and how many steps show everything from `low` to `high`."""
    step = next((s for s in _STEPS if (high - low) / s <= _TICKS), _STEPS[-1])
    first = math.floor(low / step + 1e-9)
    return first * step, step, max(1, math.ceil(high / step - 1e-9) - first)
