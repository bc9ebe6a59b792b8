"""Evidence from signals, exposures and sessions about memories: as a search weighs it, and added up for each memory.

It is about what a memory advises now: what came of an earlier text says nothing about this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reasoningbank.core.learning import SOLVED
from reasoningbank.core.origins import USER
from reasoningbank.core.types import Signal, SignalKind, State
from reasoningbank.ports import Grounds, Happenings, Learned
from reasoningbank.store.records.reading import RecordRows, pairs
from reasoningbank.store.records.side_records import OF_NOW
from reasoningbank.store.records.tasks import latest_tasks
from reasoningbank.store.selection import Join, Selection, any_of, equal
from reasoningbank.store.tables import EXPOSURES, MEMORIES, SIGNALS, TASKS

if TYPE_CHECKING:
    from reasoningbank.core.task_confidence import Evidenced
    from reasoningbank.core.uplift import Tally, Trial
    from reasoningbank.store.engine import Row

_SAID = ("memory_id", "kind", "positive", "weight", "used", "source", "at")
_GIVEN = ("memory_id", "id", "tenant", "kind", "positive", "weight", "used", "source", "at", "advice_id")
_LIVING = tuple(state.value for state in State if state is not State.FORGOTTEN)
_NOT_BY_PEERS = (*equal(used=True), ("kind", "not", SignalKind.PEER))
_SHOWN_THERE = (
    Join(EXPOSURES, (("trajectory_id", "trajectory_id"),)),
    Join(MEMORIES, (("exposures.memory_id", "id"), ("exposures.advice_id", "advice_id"))),
)


class EvidenceRows(RecordRows):
    def past_tasks(
        self, ids: Sequence[str], circle: tuple[str | None, str | None] | None, limit: int
    ) -> tuple[list[str], list[Evidenced], list[Learned]]:
        from reasoningbank.core.task_confidence import Evidenced

        # No record is made of a row: every search reads a hundred of them.
        selections = [
            Selection(SIGNALS, ("trajectory_id", *_SAID), any_of("trajectory_id", ids), joins=(OF_NOW,)),
            _learned("source", ids),
            *([] if circle is None else [latest_tasks(circle, limit)]),
        ]
        signals, memories, *alike = self._rows.scan_each(selections)
        return (
            [task_id for task_id, _ in alike[0]] if alike else [],
            [Evidenced(*row) for row in signals],
            _as_learned(memories),
        )

    def said_of(self, ids: Sequence[str], lesson_ids: Sequence[str]) -> tuple[list[Evidenced], list[Learned]]:
        from reasoningbank.core.task_confidence import Evidenced

        where = (*any_of("memory_id", ids), *equal(kind=SignalKind.FEEDBACK, positive=False))
        against, memories = self._rows.scan_each(
            [
                Selection(SIGNALS, _SAID, where, joins=(OF_NOW,), by_index="signals_against"),
                _learned("id", lesson_ids),
            ]
        )
        feedback = [Evidenced("", *row) for row in against]
        # What the user says against a memory is said of every task.
        by_user = [signal for signal in feedback if signal.source == USER or signal.source.startswith(f"{USER}:")]
        return by_user, _as_learned(memories)

    def grounds(self, namespace: str | None, after: tuple[float, str] | None, limit: int) -> list[Grounds]:
        here = equal(namespace=namespace) if namespace is not None else ()
        columns = ("id", "namespace", "initial_confidence", "created_at", "advice_id")
        where = (*here, *equal(state=State.ACTIVE))
        # By moment, as an index has them in order with and without a namespace: no page has to be sorted.
        order = ("created_at", "id")
        page = self._rows.scan(Selection(MEMORIES, columns, where, order=order, after=after, limit=limit))
        # By what is advised now, too: to join the memories once more would take as long as to read them.
        evidence = {
            (memory_id, advice): Grounds(memory_id, of, initial, at, []) for memory_id, of, initial, at, advice in page
        }
        if evidence:
            selection = Selection(SIGNALS, _GIVEN, any_of("memory_id", [memory_id for memory_id, _ in evidence]))
            for row in self._rows.scan(selection):
                signal = _as_signal(*row)
                if (entry := evidence.get((signal.memory_id, signal.advice_id))) is not None:
                    entry.signals.append(signal)
        return list(evidence.values())

    def uses_by_namespace(self) -> dict[str, int]:
        return pairs(self._rows.scan(Selection(SIGNALS, ("memories.namespace", "count"), _NOT_BY_PEERS, (OF_NOW,))))

    def tallies(self, since: float) -> dict[str, Tally]:
        from reasoningbank.core.uplift import Tally

        lately = (("at", ">=", since),)
        exposures: dict[str, tuple[int, float]] = {}
        columns = ("memory_id", "advice_id", "memories.advice_id", "count", "max:at")
        at_all = Join(MEMORIES, (("memory_id", "id"),))
        selection = Selection(EXPOSURES, columns, (*lately, *equal(withheld=False)), (at_all,))
        for memory_id, advice, advice_now, times, at in self._rows.scan(selection):
            before, last = exposures.get(memory_id, (0, at))
            exposures[memory_id] = before + times * (advice == advice_now), max(at, last)
        signal_counts: dict[str, list[int]] = {}
        columns = ("memory_id", "kind", "used", "positive", "count")
        for memory_id, kind, used, positive, times in self._rows.scan(Selection(SIGNALS, columns, lately, (OF_NOW,))):
            counts = signal_counts.setdefault(memory_id, [0, 0, 0])
            was_used = bool(used) and kind != SignalKind.PEER
            counts[0] += times * was_used
            if was_used or kind == SignalKind.FEEDBACK:
                counts[1 if positive else 2] += times
        sums = {}
        for memory_id in {**exposures, **signal_counts}:
            times, last_at = exposures.get(memory_id, (0, None))
            used, helpful, harmful = signal_counts.get(memory_id, (0, 0, 0))
            sums[memory_id] = Tally(shown=times, last_shown_at=last_at, used=used, helped=helpful, hurt=harmful)
        return sums

    def trials(self, namespace: str | None, since: float) -> list[Trial]:
        from reasoningbank.core.uplift import Trial

        where = (("ended_at", ">=", since), *(equal(namespace=namespace) if namespace is not None else ()))
        # However often a memory came up in a session, it was there or it was not.
        selection = Selection(
            TASKS,
            ("exposures.memory_id", "trajectory_id", "succeeded", "min:exposures.withheld", "max:exposures.holdout"),
            where,
            _SHOWN_THERE,
        )
        groups: dict[tuple[str, int, float], list[int]] = {}
        for memory_id, _, success, withheld, holdout in self._rows.scan(selection):
            groups.setdefault((memory_id, withheld, holdout), []).append(success)
        return [
            Trial(memory_id=shown_id, withheld=bool(withheld), holdout=holdout, sessions=len(ends), succeeded=sum(ends))
            for (shown_id, withheld, holdout), ends in sorted(groups.items())
        ]

    def newest(self, namespace: str | None, limit: int) -> dict[str, float]:
        here = equal(namespace=namespace) if namespace is not None else ()
        where = (*here, *equal(state=State.ACTIVE))
        order = ("created_at", "id")
        return pairs(
            self._rows.scan(Selection(MEMORIES, ("id", "created_at"), where, order=order, descending=True, limit=limit))
        )

    def happenings(self, namespace: str | None, since: float) -> Happenings:
        here = equal(namespace=namespace) if namespace is not None else ()
        living = (*here, ("created_at", ">=", since), ("state", "in", _LIVING))
        memories = self._rows.scan(Selection(MEMORIES, ("created_at", "outcome"), living))
        sessions = self._rows.scan(Selection(TASKS, ("ended_at", "succeeded"), (*here, ("ended_at", ">=", since))))
        columns = ("at", "positive", "memory_id", "memories.namespace")
        signals = self._rows.scan(Selection(SIGNALS, columns, (("at", ">=", since),), (OF_NOW,)))
        return Happenings(
            learned=[(at, outcome) for at, outcome in memories],
            ended=[(at, bool(success)) for at, success in sessions],
            said=[
                (at, bool(positive), memory_id) for at, positive, memory_id, of in signals if namespace in (None, of)
            ],
        )


def _as_signal(  # noqa: PLR0913, PLR0917 - a row
    memory_id: str,
    signal_id: str,
    tenant: str,
    kind: str,
    positive: int,
    weight: float,
    used: int,
    source: str,
    at: float,
    advice_id: str,
) -> Signal:
    return Signal(
        id=signal_id,
        tenant=tenant,
        memory_id=memory_id,
        kind=SignalKind(kind),
        positive=bool(positive),
        weight=weight,
        used=bool(used),
        source=source,
        trajectory_id=None,
        comment="",
        at=at,
        advice_id=advice_id,
    )


def _learned(column: str, values: Sequence[str]) -> Selection:
    return Selection(MEMORIES, ("id", "source", "tags"), (*any_of(column, values), *equal(state=State.ACTIVE)))


def _as_learned(rows: Sequence[Row]) -> list[Learned]:
    return [Learned(memory_id, task_id or "", f'"{SOLVED}"' in tags) for memory_id, task_id, tags in rows]
