"""The context of every verb: the records, whose they are, the clock, ids, the confidence policy, the scrubber and
the settings.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

from reasoningbank.core.confidence import ConfidencePolicy, Context, evidence_for, seen_uses, set_aside_for
from reasoningbank.core.drafts import MAX_TITLE_CHARS, required_text
from reasoningbank.core.errors import InvalidInput, NotFound
from reasoningbank.core.frozen import dataclass, field, replace
from reasoningbank.core.ids import IdSource, id_part
from reasoningbank.core.origins import Trust, level_of
from reasoningbank.core.record_kinds import kind_of
from reasoningbank.core.settings import DEFAULTS, Settings
from reasoningbank.core.types import Confidence, Memory, Record, Remembered, Signal, State
from reasoningbank.guard.clean_store import CleanStore, reading_out
from reasoningbank.guard.fields import outgoing, scrubbed_record
from reasoningbank.guard.secrets import Scrubber
from reasoningbank.guard.trust import doubtful_ids, trust_of
from reasoningbank.ports import Reader, Store

V = TypeVar("V", bound=Hashable)
R = TypeVar("R", bound=Record)
_MOST_NAMED = 5
_MOST_KEYS_COMPARED = 5_000
_TITLE_CHARS = 40

LIVE_STATES = (State.ACTIVE, State.QUARANTINED)
"""In these a key belongs to one memory only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BankContext:
    bare_store: Store
    """As it is: whoever writes through it scrubs by hand, as a sweep does."""
    tenant: str
    namespace: str
    clock: Callable[[], float]
    ids: IdSource
    policy: ConfidencePolicy
    scrubber: Scrubber = field(default_factory=Scrubber)
    settings: Settings = DEFAULTS

    @property
    def store(self) -> Store:
        """The store, scrubbing whatever is written through it."""
        return cast("Store", CleanStore(self.bare_store, self.scrubber))

    def read_for_output(self) -> AbstractContextManager[Reader]:
        """A reader whose records may be shown: without secrets that were kept before they were known to be some."""
        return reading_out(self.bare_store, self.tenant, self.scrubber)

    def clean(self, record: V) -> tuple[V, Mapping[str, int]]:
        """A record that is about to be kept, without its secrets, and how many of which kind those were: for whoever
        reports them, needs the text as it will stand, or wants that done before others have to wait.
        """
        return scrubbed_record(self.scrubber, record)

    def scrub_for_output(self, record: V) -> V:
        """A record that is about to leave, without secrets that were kept before they were known to be some."""
        return outgoing(self.scrubber, record)

    def check_not_own(self, path: Path) -> None:
        """Refuse to read the bank's own file as one to take over. By the rules of POSIX, opening and closing it once
        more would drop the locks by which other processes know that it is in use.
        """
        for own in self.store.info.files:
            if own.exists() and path.exists() and own.samefile(path):
                raise InvalidInput(f"{path} is the file of this bank itself: there is nothing to take over from it.")

    def memory(self, reader: Reader, reference: str, namespace: str | None = None) -> Memory:
        """A memory by its id, by its key within a namespace, or by a beginning or ending of an id that only one
        memory has.
        """
        # Cleaned as keys are when they are stored. Nothing at all must never stand for "any memory without a key".
        reference = required_text(reference, "An id or key", MAX_TITLE_CHARS)
        record = reader.get(Memory, [reference]).get(reference)
        if record is None:
            # Keys are kept without secrets, so they are looked for without.
            reference = self.scrubber.scrub(reference).text
            rows = reader.select(
                Memory, {"namespace": namespace or self.namespace, "key": reference, "state": LIVE_STATES}, limit=1
            )
            record = rows[0] if rows else None
        if record is None and (whole := full_id(reader, Memory, reference)) is not None:
            record = reader.get(Memory, [whole]).get(whole)
        if record is None:
            where = namespace or self.namespace
            near = self._nearest_key(reader, reference, where)
            hint = f" Did you mean {near!r}?" if near else ""
            raise NotFound(f"There is no memory with the id or key {reference!r} in namespace {where!r}.{hint}")
        return record

    def _nearest_key(self, reader: Reader, reference: str, namespace: str) -> str | None:
        """The key that somebody probably meant; none among so many that comparing them would take long."""
        if reference.startswith("mem_"):
            return None
        keys = [key for key in reader.tally(Memory, "key", {"namespace": namespace, "state": LIVE_STATES}) if key]
        if len(keys) > _MOST_KEYS_COMPARED:
            return None
        from difflib import get_close_matches

        matches = get_close_matches(reference, keys, n=1)
        return self.scrubber.scrub(matches[0]).text if matches else None

    def weigh_memories(self, reader: Reader, memories: Sequence[Memory]) -> list[Remembered]:
        """Memories with what they have earned as of now."""
        evidence = reader.earned_by([memory.id for memory in memories], doubtful_ids(memories))
        uses = self.uses(reader)
        return [
            self._weigh(
                memory,
                evidence.signals[memory.id],
                evidence.shown.get(memory.id, 0),
                trust_of(memory, evidence.levels),
                uses.get(memory.namespace, 0),
            )
            for memory in memories
        ]

    def uses(self, reader: Reader) -> Mapping[str, int]:
        """Uses of all memories by namespace, for a policy that compares them; nothing for any other."""
        return reader.uses_by_namespace() if self.policy.compares_uses else {}

    def fresh(self, memory: Memory, secrets: Mapping[str, int], trust: Trust | None = None) -> Remembered:
        """A memory that nobody has said anything about yet."""
        trust = level_of(memory.origin) if trust is None else trust
        if abs(self.clock() - memory.created_at) > 1.0:
            return replace(self._weigh(memory, (), 0, trust), scrubbed=secrets)
        # By the policy itself, not by its name: another setting of its parameters is another policy.
        policy: Any = self.policy
        prior = _prior(policy, memory.initial_confidence)
        return Remembered(
            memory=memory,
            confidence=prior,
            usage_count=0,
            succeeded=0,
            last_used_at=None,
            trust=trust,
            scrubbed=secrets,
        )

    def _weigh(
        self, memory: Memory, signals: Sequence[Signal], exposures: int, trust: Trust, all_uses: int = 0
    ) -> Remembered:
        evidence = evidence_for(memory, signals)
        standing = self.policy.standing(memory.initial_confidence, memory.created_at, evidence)
        uses, seen_well = seen_uses(evidence)
        return Remembered(
            memory=self.scrub_for_output(memory),
            confidence=self.policy.confidence(standing, self.clock(), Context(total_uses=all_uses)),
            usage_count=standing.used,
            succeeded=standing.succeeded,
            last_used_at=standing.last_used_at or None,
            last_success=standing.last_succeeded_at or None,
            last_failure=standing.last_failed_at or None,
            seen=uses,
            seen_well=seen_well,
            set_aside=len(set_aside_for(memory, signals)),
            shown=exposures,
            trust=trust,
        )


def full_id(reader: Reader, kind: type[R], reference: str) -> str | None:
    """The one id that begins or ends with what was typed; None when there is none, an error when there are several."""
    prefix = kind_of(kind).prefix
    part = id_part(reference, prefix)
    if part is None:
        return None
    whole = part if part.startswith(f"{prefix}_") else f"{prefix}_{part}"
    ids = {*reader.matching_ids(kind, whole, _MOST_NAMED + 1), *reader.matching_ids(kind, part, _MOST_NAMED + 1)}
    if len(ids) > 1:
        options = [f"{i}{_title_of(reader, i)}" for i in sorted(ids)]
        more = " and more" if len(options) > _MOST_NAMED else ""
        raise InvalidInput(
            f"{reference!r} fits several ids: {', '.join(options[:_MOST_NAMED])}{more}. Type more of it."
        )
    return next(iter(ids), None)


def _title_of(reader: Reader, record_id: str) -> str:
    memory = reader.get(Memory, [record_id]).get(record_id) if record_id.startswith("mem_") else None
    return f" ({memory.title[:_TITLE_CHARS]})" if memory is not None else ""


@lru_cache(maxsize=256)
def _prior(policy: Any, initial: float) -> Confidence:
    """The confidence of a policy in a memory at the moment it is made: the same for all that start alike."""
    prior: Confidence = policy.confidence(policy.standing(initial, 0.0, ()), 0.0)
    return prior
