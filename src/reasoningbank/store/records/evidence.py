"""What signals, exposures and sessions say of memories: as a search weighs it, and added up for each memory.

Of what a memory advises now: what came of an earlier text says nothing about this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reasoningbank.core.origins import USER
from reasoningbank.core.types import SignalKind
from reasoningbank.store.records.reading import RecordRows, pairs
from reasoningbank.store.records.side_records import OF_NOW
from reasoningbank.store.selection import Join, Selection, any_of, equal
from reasoningbank.store.tables import EXPOSURES, MEMORIES, SIGNALS, TASKS

if TYPE_CHECKING:
    from reasoningbank.core.task_confidence import Evidenced
    from reasoningbank.core.uplift import Tally, Trial

_SAID = ("memory_id", "kind", "positive", "weight", "used", "source", "at")
_NOT_BY_PEERS = (*equal(used=True), ("kind", "not", SignalKind.PEER))
_SHOWN_THERE = (
    Join(EXPOSURES, (("trajectory_id", "trajectory_id"),)),
    Join(MEMORIES, (("exposures.memory_id", "id"), ("exposures.advice_id", "advice_id"))),
)


class EvidenceRows(RecordRows):
    def evidence_in(self, trajectory_ids: Sequence[str]) -> list[Evidenced]:
        from reasoningbank.core.task_confidence import Evidenced

        # No record is made of a row: every search reads a hundred of them.
        where = any_of("trajectory_id", trajectory_ids)
        rows = self._rows.scan(Selection(SIGNALS, ("trajectory_id", *_SAID), where, joins=(OF_NOW,)))
        found = [Evidenced(*row) for row in rows]
        if found:
            inside = {(said.memory_id, said.at) for said in found if said.kind == SignalKind.FEEDBACK}
            # What the user says against a memory is said of every task.
            concerned = any_of("memory_id", list({said.memory_id for said in found}))
            where = (*concerned, *equal(kind=SignalKind.FEEDBACK, positive=False))
            against = self._rows.scan(Selection(SIGNALS, _SAID, where, joins=(OF_NOW,), by_index="signals_against"))
            every = [Evidenced("", *row) for row in against]
            found += [said for said in every if _is_user(said.source) and (said.memory_id, said.at) not in inside]
        return found

    def uses_by_namespace(self) -> dict[str, int]:
        return pairs(self._rows.scan(Selection(SIGNALS, ("memories.namespace", "count"), _NOT_BY_PEERS, (OF_NOW,))))

    def tallies(self, since: float) -> dict[str, Tally]:
        from reasoningbank.core.uplift import Tally

        lately = (("at", ">=", since),)
        shown: dict[str, tuple[int, float]] = {}
        columns = ("memory_id", "advice_id", "memories.advice_id", "count", "max:at")
        at_all = Join(MEMORIES, (("memory_id", "id"),))
        asked = Selection(EXPOSURES, columns, (*lately, *equal(withheld=False)), (at_all,))
        for memory_id, advice, advice_now, times, at in self._rows.scan(asked):
            before, last = shown.get(memory_id, (0, at))
            shown[memory_id] = before + times * (advice == advice_now), max(at, last)
        said: dict[str, list[int]] = {}
        columns = ("memory_id", "kind", "used", "positive", "count")
        for memory_id, kind, used, positive, times in self._rows.scan(Selection(SIGNALS, columns, lately, (OF_NOW,))):
            counts = said.setdefault(memory_id, [0, 0, 0])
            was_used = bool(used) and kind != SignalKind.PEER
            counts[0] += times * was_used
            if was_used or kind == SignalKind.FEEDBACK:
                counts[1 if positive else 2] += times
        found = {}
        for memory_id in {**shown, **said}:
            times, last_at = shown.get(memory_id, (0, None))
            used, helped, hurt = said.get(memory_id, (0, 0, 0))
            found[memory_id] = Tally(shown=times, last_shown_at=last_at, used=used, helped=helped, hurt=hurt)
        return found

    def trials(self, namespace: str | None, since: float) -> list[Trial]:
        from reasoningbank.core.uplift import Trial

        where = (("ended_at", ">=", since), *(equal(namespace=namespace) if namespace is not None else ()))
        # However often a memory came up in a session, it was there or it was not.
        asked = Selection(
            TASKS,
            ("exposures.memory_id", "trajectory_id", "succeeded", "min:exposures.withheld", "max:exposures.holdout"),
            where,
            _SHOWN_THERE,
        )
        groups: dict[tuple[str, int, float], list[int]] = {}
        for memory_id, _, succeeded, withheld, holdout in self._rows.scan(asked):
            groups.setdefault((memory_id, withheld, holdout), []).append(succeeded)
        return [
            Trial(memory_id=one, withheld=bool(withheld), holdout=holdout, sessions=len(ends), succeeded=sum(ends))
            for (one, withheld, holdout), ends in sorted(groups.items())
        ]


def _is_user(source: str) -> bool:
    return source == USER or source.startswith(f"{USER}:")
