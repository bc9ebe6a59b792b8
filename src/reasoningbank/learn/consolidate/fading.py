"""Lists the memories that have lost confidence to age alone.

Evidence ages in the confidence itself, so nothing is written when it does. Reads what confidence is made of, a page at
a time, and the memories themselves only where there is something to tell of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from reasoningbank.context import BankContext
from reasoningbank.core.confidence import DAY_SECONDS, Context
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.types import EVERY_NAMESPACE, Memory
from reasoningbank.ports import Grounds, Reader

FADED_BY = 0.02
ROWS_PER_PAGE = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Faded:
    """A memory whose evidence has lost weight since it was given."""

    memory: Memory
    before: float
    """The confidence when its last evidence came in."""
    now: float
    idle_days: float


def list_faded(context: BankContext, namespace: str) -> list[Faded]:
    """Memories that have lost at least `FADED_BY` of their confidence, the most first."""
    with context.read_for_output() as reader:
        losses = list(_find_losses(context, reader, namespace))
    return sorted(losses, key=lambda loss: (loss.now - loss.before, loss.memory.id))


def _find_losses(context: BankContext, reader: Reader, namespace: str) -> Iterator[Faded]:
    uses, here, now = context.uses(reader), None if namespace == EVERY_NAMESPACE else namespace, context.clock()
    after: tuple[float, str] | None = None
    while page := reader.grounds(here, after, ROWS_PER_PAGE):
        after = (page[-1].created_at, page[-1].memory_id)
        losses = {row.memory_id: _loss_of(context, row, now, uses.get(row.namespace, 0)) for row in page}
        worth_telling = {memory_id: then for memory_id, then in losses.items() if then[0] - then[1] >= FADED_BY}
        for memory_id, memory in reader.get(Memory, list(worth_telling)).items():
            before, rest, last = worth_telling[memory_id]
            yield Faded(memory=memory, before=before, now=rest, idle_days=max(0.0, now - last) / DAY_SECONDS)


def _loss_of(context: BankContext, grounds: Grounds, now: float, all_uses: int) -> tuple[float, float, float]:
    """The confidence when the last evidence came in, that of now, and when that was."""
    policy, among = context.policy, Context(total_uses=all_uses)
    standing = policy.standing(grounds.initial, grounds.created_at, grounds.signals)
    last = max([grounds.created_at, *(signal.at for signal in grounds.signals)])
    then = policy.confidence(standing, min(last, now), among).mean
    return then, policy.confidence(standing, now, among).mean, last
