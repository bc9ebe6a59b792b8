"""The report as one HTML file: charts drawn in it, nothing fetched from anywhere, to be attached to a mail."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from reasoningbank.cli import figures
from reasoningbank.core.uplift import Uplift
from reasoningbank.learn.report import Report, ReportLine
from reasoningbank.learn.trends import Day, Trends
from reasoningbank.recall.gaps import OpenGap

_WIDTH, _HEIGHT, _LEFT = 520.0, 150.0, 34.0
_MOST_LINES = 30
_STYLE = """
:root{color-scheme:light dark;--paper:#fbfaf7;--ink:#1c1f1e;--muted:#5a605c;--line:#e4e2da;--accent:#0b6b60;
--good:#2b7a4b;--bad:#b23c22}
@media(prefers-color-scheme:dark){:root{--paper:#151716;--ink:#e8e7e2;--muted:#a3a9a4;--line:#2c302e;
--accent:#5fc7b7;--good:#68c48b;--bad:#ef8a72}}
body{font:15px/1.5 ui-sans-serif,system-ui,"Segoe UI",Roboto,sans-serif;background:var(--paper);color:var(--ink);
max-width:1120px;margin:2rem auto;padding:0 1.2rem}
h1{font-size:1.5rem;margin:0}h2{font-size:1rem;margin:2rem 0 .4rem;border-bottom:1px solid var(--line);
padding-bottom:.3rem}
p,small{color:var(--muted);margin:.2rem 0}.pair{display:grid;grid-template-columns:1fr 1fr;gap:0 2rem}
@media(max-width:800px){.pair{grid-template-columns:1fr}}
table{border-collapse:collapse;width:100%}th{text-align:left;color:var(--muted);font-weight:500;font-size:.8rem}
th,td{padding:.35rem .6rem .35rem 0;border-bottom:1px solid var(--line);overflow-wrap:anywhere}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}svg{width:100%;height:auto}
svg text{font-size:11px;fill:var(--muted)}
.good{fill:var(--good)}.bad{fill:var(--bad)}.grid{stroke:var(--line)}
.mean{fill:none;stroke:var(--accent);stroke-width:2}.band{fill:var(--accent);opacity:.16}
.whisker{width:120px;stroke:var(--muted);fill:var(--muted)}
"""


class ReportContents(NamedTuple):
    """Contents of the file of a report."""

    namespace: str
    made: str
    """The day, in words."""
    report: Report
    trends: Trends
    gaps: Sequence[OpenGap]


def report_html(contents: ReportContents) -> str:
    report, days = contents.report, contents.trends.days
    counts = f"{figures.counted(report.memories, 'memory', 'memories')}, {figures.counted(report.sessions, 'session')}"
    uses = f"shown {report.shown:,}, used {report.used:,}, helped {report.helped:,}, hurt {report.hurt:,}"
    return "\n".join(
        [
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(contents.namespace)}: report</title>',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<style>{_STYLE}</style>",
            f"<h1>{escape(contents.namespace)}</h1><p>{escape(contents.made)} · {counts} · {uses}</p>",
            '<div class="pair"><section><h2>How tasks went</h2>',
            _tasks(days),
            "</section><section><h2>How sure it is</h2>",
            _sureness(days, contents.trends.followed),
            "</section></div>",
            _difference(report.lines[:_MOST_LINES]),
            _dead_weight(report),
            _kinds(report),
            _gaps(contents.gaps),
            "<p>Made by <code>reasoningbank report --html</code>. Everything in it is in this file.</p></html>\n",
        ]
    )


def _svg(inside: str, says: str) -> str:
    return f'<svg viewBox="0 0 {_WIDTH:g} {_HEIGHT + 20:g}" role="img" aria-label="{escape(says)}">{inside}</svg>'


def _x(number: int, of: int) -> float:
    return _LEFT + (number + 0.5) * (_WIDTH - _LEFT) / max(1, of)


def _ends(days: Sequence[Day]) -> str:
    first, last = (
        f'<text x="{x:g}" y="{_HEIGHT + 16:g}" text-anchor="{anchor}">{day.day}</text>'
        for x, day, anchor in ((_LEFT, days[0], "start"), (_WIDTH, days[-1], "end"))
    )
    return first + last


def _tasks(days: Sequence[Day]) -> str:
    well, badly = sum(day.succeeded for day in days), sum(day.failed for day in days)
    if not well + badly:
        return "<p>No task has ended in this time.</p>"
    most, least = max(1, *(day.succeeded for day in days)), max(1, *(day.failed for day in days))
    unit = (_HEIGHT - 10) / (most + least)
    nought, wide = 5 + most * unit, max(1.0, 0.66 * (_WIDTH - _LEFT) / len(days))
    bars = "".join(
        f'<rect class="good" x="{_x(i, len(days)) - wide / 2:.1f}" y="{nought - day.succeeded * unit:.1f}" '
        f'width="{wide:.1f}" height="{day.succeeded * unit:.1f}"/>'
        f'<rect class="bad" x="{_x(i, len(days)) - wide / 2:.1f}" y="{nought:.1f}" width="{wide:.1f}" '
        f'height="{day.failed * unit:.1f}"/>'
        for i, day in enumerate(days)
    )
    axis = f'<line class="grid" x1="{_LEFT:g}" x2="{_WIDTH:g}" y1="{nought:.1f}" y2="{nought:.1f}"/>'
    marks = f'<text x="0" y="14">{most}</text><text x="0" y="{_HEIGHT:g}">{least}</text>'
    says = f"{well:,} went well, {badly:,} failed ({well / (well + badly):.0%} well)"
    return _svg(axis + bars + marks + _ends(days), says) + f"<p>{says}</p>"


def _sureness(days: Sequence[Day], memory_count: int) -> str:
    intervals = [(i, day.confidence) for i, day in enumerate(days) if day.confidence is not None]
    if not intervals:
        return "<p>No evidence was given in this time.</p>"

    def y(value: float) -> float:
        return 5 + (1.0 - value) * (_HEIGHT - 10)

    def points(name: str) -> list[str]:
        return [f"{_x(i, len(days)):.1f},{y(getattr(interval, name)):.1f}" for i, interval in intervals]

    band = " ".join([*points("high"), *reversed(points("low"))])
    grid = "".join(
        f'<line class="grid" x1="{_LEFT:g}" x2="{_WIDTH:g}" y1="{y(value):.1f}" y2="{y(value):.1f}"/>'
        f'<text x="0" y="{y(value) + 4:.1f}">{value:.1f}</text>'
        for value in (0.0, 0.5, 1.0)
    )
    middle = intervals[-1][1].middle
    says = f"confidence {middle:.2f} of 1 now, the median of {figures.counted(memory_count, 'memory', 'memories')}"
    curves = f'<polygon class="band" points="{band}"/><polyline class="mean" points="{" ".join(points("middle"))}"/>'
    return _svg(grid + curves + _ends(days), says) + f"<p>{says}</p>"


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Cells are HTML already; all but the first column are figures."""
    if not rows:
        return ""
    head = "".join(_cell("th", number, name) for number, name in enumerate(heads))
    body = "".join(f"<tr>{''.join(_cell('td', number, cell) for number, cell in enumerate(row))}</tr>" for row in rows)
    return f"<h2>{title}</h2><table><tr>{head}</tr>{body}</table>"


def _cell(tag: str, number: int, inside: str) -> str:
    return f'<{tag} class="n">{inside}</{tag}>' if number else f"<{tag}>{inside}</{tag}>"


def _difference(lines: Sequence[ReportLine]) -> str:
    heads = ("Memory", "Shown", "Used", "Helped", "Hurt", "Confidence", "Uplift", "−1 … 0 … +1")
    return _table(
        "What memories did, and what difference they make",
        heads,
        [
            (
                escape(line.remembered.title),
                *(f"{n:,}" for n in (line.tally.shown, line.tally.used, line.tally.helped, line.tally.hurt)),
                f"{line.remembered.confidence.mean:.2f}",
                "" if line.uplift is None else figures.difference(line.uplift.value),
                "" if line.uplift is None else _whisker(line.uplift),
            )
            for line in lines
        ],
    )


def _whisker(uplift: Uplift) -> str:
    low, value, high = (60 + 56 * max(-1.0, min(1.0, limit)) for limit in (uplift.low, uplift.value, uplift.high))
    title = f"{figures.difference(uplift.low)} to {figures.difference(uplift.high)}"
    return (
        f'<svg class="whisker" viewBox="0 0 120 16"><title>{title}</title>'
        f'<line class="grid" x1="60" x2="60" y1="1" y2="15"/><line x1="{low:.1f}" x2="{high:.1f}" y1="8" y2="8"/>'
        f'<circle cx="{value:.1f}" cy="8" r="3"/></svg>'
    )


def _dead_weight(report: Report) -> str:
    rows = [(escape(line.remembered.title), escape(line.dead)) for line in report.dead[:_MOST_LINES]]
    return _table("Dead weight", ("Memory", "Why"), rows)


def _kinds(report: Report) -> str:
    rows = [(escape(k.name), f"{k.sessions:,}", f"{k.succeeded / k.sessions:.0%}") for k in report.kinds]
    return _table("How kinds of tasks go", ("Kind", "Sessions", "Went well"), rows)


def _gaps(gaps: Sequence[OpenGap]) -> str:
    rows = [(escape(gap.question), f"{gap.times:,}") for gap in gaps[:20]]
    return _table("Asked for in vain", ("Question", "Times"), rows)
