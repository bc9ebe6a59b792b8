"""What the log of exposures, the signals and the sessions add up to for each memory, counted by SQLite.

Of what it advises now: what came of an earlier text says nothing about this one.
"""

from __future__ import annotations

import apsw

from reasoningbank.core.uplift import KindRate, Tally, Trial

_SIGNALS = """
SELECT memory_id, sum(used), sum(spoke AND positive), sum(spoke AND NOT positive) FROM (
  SELECT s.memory_id, s.positive, s.used AND s.kind != 'peer' AS used,
      (s.used AND s.kind != 'peer') OR s.kind = 'feedback' AS spoke
    FROM signals s JOIN memories m ON m.id = s.memory_id AND m.advice_id = s.advice_id
    WHERE s.tenant = ? AND s.at >= ?)
GROUP BY memory_id"""
_SHOWN = """
SELECT e.memory_id, sum(e.advice_id = m.advice_id), max(e.at)
  FROM exposures e JOIN memories m ON m.id = e.memory_id
  WHERE e.tenant = ? AND e.at >= ? AND NOT e.withheld GROUP BY e.memory_id"""
# However often a memory came up in a session, it was there or it was not.
_TRIALS = """
SELECT memory_id, withheld, holdout, count(*), sum(succeeded) FROM (
  SELECT e.memory_id, e.trajectory_id, min(e.withheld) AS withheld, max(e.holdout) AS holdout, t.succeeded
    FROM tasks t JOIN exposures e ON e.trajectory_id = t.trajectory_id
      JOIN memories m ON m.id = e.memory_id AND m.advice_id = e.advice_id
    WHERE t.tenant = ? AND e.tenant = ? AND t.ended_at >= ? AND (? IS NULL OR t.namespace = ?)
    GROUP BY e.memory_id, e.trajectory_id)
GROUP BY memory_id, withheld, holdout ORDER BY memory_id, withheld, holdout"""
_KINDS = """
SELECT kind, count(*), sum(succeeded), max(trajectory_id) FROM tasks
  WHERE tenant = ? AND ended_at >= ? AND (? IS NULL OR namespace = ?)
GROUP BY kind ORDER BY count(*) DESC, kind LIMIT ?"""


def tallies(connection: apsw.Connection, tenant: str, since: float) -> dict[str, Tally]:
    shown = {row[0]: row[1:] for row in connection.execute(_SHOWN, (tenant, since))}
    said = {row[0]: row[1:] for row in connection.execute(_SIGNALS, (tenant, since))}
    found = {}
    for memory_id in {**shown, **said}:
        times, last_at = shown.get(memory_id, (0, None))
        used, helped, hurt = said.get(memory_id, (0, 0, 0))
        found[memory_id] = Tally(shown=times, last_shown_at=last_at, used=used, helped=helped, hurt=hurt)
    return found


def trials(connection: apsw.Connection, tenant: str, namespace: str | None, since: float) -> list[Trial]:
    rows = connection.execute(_TRIALS, (tenant, tenant, since, namespace, namespace))
    return [
        Trial(memory_id=memory_id, withheld=bool(withheld), holdout=holdout, sessions=sessions, succeeded=succeeded)
        for memory_id, withheld, holdout, sessions, succeeded in rows
    ]


def kind_rates(
    connection: apsw.Connection, tenant: str, namespace: str | None, since: float, limit: int
) -> list[KindRate]:
    rows = connection.execute(_KINDS, (tenant, since, namespace, namespace, limit))
    return [
        KindRate(kind=kind, sessions=sessions, succeeded=succeeded, example=example)
        for kind, sessions, succeeded, example in rows
    ]
