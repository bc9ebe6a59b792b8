"""Trends by day as rows of steps on a terminal: tasks, what was learned, sureness."""

from __future__ import annotations

from reasoningbank.cli import figures, plain
from reasoningbank.cli.terminal import Terminal
from reasoningbank.learn.trends import Trends

_COLUMNS = 30


def show_curves(trends: Trends, terminal: Terminal, where: str) -> None:
    """Show tasks, lessons and confidence in `where` as curves, one step a day."""
    days = trends.days
    totals = [day.succeeded + day.failed for day in days]
    medians = [day.confidence.middle for day in days if day.confidence is not None]
    rows = []
    if sum(totals):
        well = sum(day.succeeded for day in days)
        rows.append(
            ("tasks", [n / max(totals) for n in totals], f"{sum(totals):,}, {well / sum(totals):.0%} went well")
        )
    if lessons := [day.learned for day in days]:
        rows.append(
            ("learned", [n / max(1, *lessons) for n in lessons], figures.counted(sum(lessons), "memory", "memories"))
        )
    if medians:
        rows.append(
            (
                "sureness",
                medians,
                f"{medians[-1]:.2f} now, the median of {figures.counted(trends.followed, 'memory', 'memories')}",
            )
        )
    if not (sum(totals) or medians):
        return
    terminal.say()
    terminal.say(f"By day in {plain.one_line(where)}, {days[0].day} to {days[-1].day}", bold=True)
    for name, values, says in rows:
        curve = figures.sparkline(values, _COLUMNS, unicode=terminal.unicode)
        terminal.say(f"{name:9} {curve:>{_COLUMNS}} {says}")
