"""Regret over time as a picture: a line for each arm with its interval as a band. Plain SVG, no library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import escape

from reasoningbank_eval.world.study import OURS, STEP

_WIDTH, _HEIGHT = 860, 460
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 150, 56, 44
_COLOURS = ("#8a8f98", "#b08968", "#7a9e7e", "#c77d3a", "#9c6fb6", "#5b616b", "#3fa7a3")
_OURS, _QUIET, _GRID = "#0b62c4", "#5b616b", "#e3e6ea"
_LABEL_APART = 15
_LEGEND = "regret added up over the tasks, mean of {} worlds; band: 95 % interval"


def svg(result: Mapping[str, Any], title: str) -> str:
    arms: Mapping[str, Any] = result["arms"]
    tasks: int = result["rules"]["tasks"]
    highest: float = max(point["high"] for arm in arms.values() for point in arm["curve"])
    step = next(s for s in (10, 20, 25, 50, 100, 200, 500, 10_000) if highest / s <= 7)

    def x(task: float) -> float:
        return round(_LEFT + task / tasks * (_WIDTH - _LEFT - _RIGHT), 1)

    def y(regret: float) -> float:
        return round(_HEIGHT - _BOTTOM - regret / highest * (_HEIGHT - _TOP - _BOTTOM), 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}">',
        '<g font-family="system-ui, sans-serif" font-size="12" fill="#1c1f24">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
        f'<text x="16" y="26" font-size="16" font-weight="600">{escape(title)}</text>',
        f'<text x="16" y="44" fill="{_QUIET}">{_LEGEND.format(len(result["seeds"]))}</text>',
    ]
    for n in range(int(highest // step) + 1):
        parts.append(f'<line x1="{_LEFT}" x2="{x(tasks)}" y1="{y(n * step)}" y2="{y(n * step)}" stroke="{_GRID}"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y(n * step) + 4}" text-anchor="end" fill="{_QUIET}">{n * step}</text>')
    for n in range(5):
        task = tasks * n // 4
        parts.append(f'<text x="{x(task)}" y="{_HEIGHT - 24}" text-anchor="middle" fill="{_QUIET}">{task}</text>')
    half = x(tasks / 2)
    parts.append(f'<line x1="{half}" x2="{half}" y1="{_TOP}" y2="{y(0)}" stroke="{_QUIET}" stroke-dasharray="4 4"/>')
    parts.append(f'<text x="{half + 6}" y="{_TOP + 12}" fill="{_QUIET}">the world drifts</text>')
    parts.append(f'<text x="{x(tasks / 2)}" y="{_HEIGHT - 8}" text-anchor="middle" fill="{_QUIET}">tasks</text>')
    colours = dict(zip((name for name in arms if name != OURS), _COLOURS, strict=False)) | {OURS: _OURS}
    for name, arm in arms.items():
        curve = [(x(n * STEP), point) for n, point in enumerate(arm["curve"], start=1)]
        band = [f"{at},{y(p['high'])}" for at, p in curve] + [f"{at},{y(p['low'])}" for at, p in reversed(curve)]
        line = " ".join(f"{at},{y(p['mean'])}" for at, p in curve)
        wide = 2.5 if name == OURS else 1.5
        parts.append(f'<polygon points="{" ".join(band)}" fill="{colours[name]}" opacity="0.10"/>')
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colours[name]}" stroke-width="{wide}"/>')
    parts += _labels({name: y(arm["curve"][-1]["mean"]) for name, arm in arms.items()}, colours, x(tasks) + 8)
    return "\n".join([*parts, "</g>", "</svg>", ""])


def _labels(heights: Mapping[str, float], colours: Mapping[str, str], x: float) -> list[str]:
    """Beside the ends of the lines, far enough apart to be read."""
    parts, lowest = [], 0.0
    for name in sorted(heights, key=heights.__getitem__):
        lowest = max(heights[name] + 4, lowest + _LABEL_APART)
        weight = ' font-weight="600"' if name == OURS else ""
        parts.append(f'<text x="{x}" y="{round(lowest, 1)}" fill="{colours[name]}"{weight}>{escape(name)}</text>')
    return parts
