"""Trends by day as rows of steps on a terminal: tasks, what was learned, sureness."""

from __future__ import annotations

from reasoningbank.cli import figures, plain
from reasoningbank.cli.terminal import Terminal
from reasoningbank.learn.trends import Trends

_COLUMNS = 30


def show_curves(trends: Trends, terminal: Terminal, where: str) -> None:
    """What the days were like in `where`, one step each."""
    days = trends.days
    ended = [day.succeeded + day.failed for day in days]
    known = [day.confidence.middle for day in days if day.confidence is not None]
    rows = []
    if sum(ended):
        well = sum(day.succeeded for day in days)
        rows.append(("tasks", [n / max(ended) for n in ended], f"{sum(ended):,}, {well / sum(ended):.0%} went well"))
    if learned := [day.learned for day in days]:
        rows.append(
            ("learned", [n / max(1, *learned) for n in learned], figures.counted(sum(learned), "memory", "memories"))
        )
    if known:
        rows.append(
            (
                "sureness",
                known,
                f"{known[-1]:.2f} now, the median of {figures.counted(trends.followed, 'memory', 'memories')}",
            )
        )
    if not (sum(ended) or known):
        return
    terminal.say()
    terminal.say(f"By day in {plain.one_line(where)}, {days[0].day} to {days[-1].day}", bold=True)
    for name, values, says in rows:
        drawn = figures.sparkline(values, _COLUMNS, unicode=terminal.unicode)
        terminal.say(f"{name:9} {drawn:>{_COLUMNS}} {says}")
