"""Queries and results of a search: the types, and their validation.

Questions that make no sense are rejected here. Finds nothing itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from reasoningbank.core.confidence import LEAST_SHOWN
from reasoningbank.core.drafts import (
    clean_fraction,
    clean_name,
    clean_namespace,
    clean_tags,
    clean_text,
    one_of,
    optional_name,
)
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import dataclass, replace
from reasoningbank.core.origins import trust_named
from reasoningbank.core.settings import LINKS, NAMED
from reasoningbank.core.tokens import count_tokens
from reasoningbank.core.types import EVERY_NAMESPACE, Outcome, Remembered, Scope, State
from reasoningbank.ports import Filter

if TYPE_CHECKING:
    from reasoningbank.core.origins import Trust
    from reasoningbank.core.ranking import Parts
    from reasoningbank.core.types import Confidence, Memory, Standing

H = TypeVar("H", bound=Remembered)

MAX_QUERY_CHARS = 200_000
MAX_LIMIT = 1_000
DEFAULT_LIMIT = 5
ANY = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    text: str
    limit: int = DEFAULT_LIMIT
    scope: str = ANY
    outcome: str = ANY
    min_confidence: float = LEAST_SHOWN
    namespace: str | None = None
    """None is the bank's own, "*" is every one."""
    asked_from: str | None = None
    """The namespace whose team counts, where that is not the one that is looked in."""
    tags: tuple[str, ...] = ()
    agent: str | None = None
    task_type: str | None = None
    profile: str = "balanced"
    max_tokens: int | None = None
    floor: float | None = None
    """The relevance below which a memory is not shown; None is the calibrated one, lower in a small bank, and 0 shows
    anything that matches.
    """
    rerank: bool = False
    """Let the configured language model order the best hits anew."""
    session: str | None = None
    """The trajectory to which what is shown is charged."""
    trust: str = ANY
    """The least: trusted, working or untrusted."""
    states: tuple[str, ...] = (State.ACTIVE.value,)
    experience: bool = True
    """True if past tasks like this one may speak for what they taught."""
    catch_up_s: float | None = None
    """How long the index may catch up with the records before it answers; None is as long as it usually may."""
    links: str = NAMED
    """How links of hits are used: one of `core.settings.LINKS`."""
    noted: bool = True
    """True if it leaves a line in the log of what was shown, or of what was asked in vain."""
    exclude: tuple[str, ...] = ()
    """Ids or sources that must not come back (for evaluation: a task must not find its own memory)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clash:
    """A memory that contradicts a hit."""

    id: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SeeAlso:
    """A strong link of a hit and the memory that it leads to."""

    id: str
    title: str
    namespace: str
    kind: str
    relation: str
    """Relation of the hit to it: requires, is required by …"""
    weight: float
    text: str
    """The sentence that says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PulledIn:
    """The hit whose link pulled a memory in."""

    id: str
    title: str
    kind: str
    relation: str
    """Relation of the memory to that hit: is required by …"""
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled(Remembered):
    relevance: float
    parts: Parts
    tokens: int
    conflicts: tuple[Clash, ...] = ()
    """Memories that contradict it, whether they were found too or not."""
    see_also: tuple[SeeAlso, ...] = ()
    """Where its strongest links lead, of other projects of the team too; the strongest first."""
    pulled_in: PulledIn | None = None
    """None: it was found by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    memories: tuple[Recalled, ...]
    total_found: int
    """Memories that passed every filter and the floor, shown or not; with those pulled in, no less than are shown."""
    filtered_out: Mapping[str, int]
    """How many were left out, by the reason."""
    tokens_used: int
    abstained: bool
    """True when nothing fits the query well enough to be shown."""
    embedder: str
    profile: str
    reranked_by: str = ""
    """The language model that ordered the hits, if one was asked and answered."""
    not_yet_indexed: int
    """Changes and vectors that the index still owes; 0 means that everything stored could be found."""
    index_away: bool = False
    """True when the engine of the index does not answer: these were found by words, among the newest memories."""

    def __iter__(self) -> Iterator[Recalled]:
        return iter(self.memories)

    def __len__(self) -> int:
        return len(self.memories)


def make_recalled(
    memory: Memory, standing: Standing, confidence: Confidence, parts: Parts, tokens: int, trust: Trust
) -> Recalled:
    return Recalled(
        memory=memory,
        confidence=confidence,
        usage_count=standing.used,
        succeeded=standing.succeeded,
        last_used_at=standing.last_used_at or None,
        last_success=standing.last_succeeded_at or None,
        last_failure=standing.last_failed_at or None,
        relevance=parts.relevance,
        parts=parts,
        tokens=tokens,
        trust=trust,
    )


def without_orphans(hits: Sequence[H]) -> list[H]:
    """Without those that were pulled in for the sake of a hit that is not among them."""
    ids: set[str] = set()
    remaining = list(hits)
    # Not in one pass: those that contradict each other stand together, so a hit may stand behind what it pulled in.
    while fresh := {hit.id for hit in remaining if _pulled_by(hit) is None or _pulled_by(hit) in ids}:
        ids |= fresh
        remaining = [hit for hit in remaining if hit.id not in ids]
    return [hit for hit in hits if hit.id in ids]


def first_hits(hits: Sequence[Recalled], limit: int) -> list[Recalled]:
    """No more than were asked for."""
    return without_orphans(hits[:limit])


def _pulled_by(hit: Remembered) -> str | None:
    return hit.pulled_in.id if isinstance(hit, Recalled) and hit.pulled_in is not None else None


def tokens_of(memory: Memory) -> int:
    return count_tokens(f"{memory.title}\n{memory.description}\n{memory.content}")


def validate(query: Query) -> Query:
    text = clean_text(query.text, "query", MAX_QUERY_CHARS)
    if not text.strip():
        raise InvalidInput("The query is empty: say what you want to do or know.")
    if isinstance(query.limit, bool) or not isinstance(query.limit, int) or not 1 <= query.limit <= MAX_LIMIT:
        raise InvalidInput(f"limit must be a whole number from 1 to {MAX_LIMIT:,}, not {query.limit!r}.")
    if query.max_tokens is not None:
        checked_budget(query.max_tokens)
    if not isinstance(query.profile, str):
        raise InvalidInput(f"profile must be a name, not {query.profile!r}.")
    if isinstance(query.exclude, str) or not isinstance(query.exclude, Iterable):
        raise InvalidInput("exclude must be a list of ids or sources.")
    exclude = tuple(clean_name(entry, "an id or source to exclude") for entry in query.exclude)
    if query.trust != ANY:
        trust_named(query.trust)
    if query.links not in LINKS:
        raise InvalidInput(f"links {query.links!r} is unknown: use one of {', '.join(LINKS)}.")
    if not isinstance(query.experience, bool):
        raise InvalidInput(f"experience must be true or false, not {query.experience!r}.")
    clean_fraction(query.min_confidence, "min_confidence")
    if query.floor is not None:
        clean_fraction(query.floor, "floor")
    asked_from = None if query.asked_from is None else clean_namespace(query.asked_from)
    session = optional_name(query.session, "session")
    return replace(query, text=text, exclude=exclude, session=session, asked_from=asked_from)


def checked_budget(max_tokens: object) -> int:
    if isinstance(max_tokens, bool) or not isinstance(max_tokens, int) or max_tokens < 1:
        raise InvalidInput(f"max_tokens must be a whole number above 0, not {max_tokens!r}.")
    return max_tokens


def filter_for(query: Query, tenant: str, own_namespace: str) -> Filter:
    match query.namespace:
        case None:
            namespace: str | None = own_namespace
        case str() if query.namespace == EVERY_NAMESPACE:
            namespace = None
        case _:
            namespace = clean_namespace(query.namespace)
    return Filter(
        tenant=tenant,
        namespace=namespace,
        scopes=tuple(Scope) if query.scope == ANY else (_scope(query.scope),),
        outcome=None if query.outcome == ANY else _outcome(query.outcome),
        states=_states(query.states),
        tags=clean_tags(query.tags) if query.tags else (),
        agent=optional_name(query.agent, "agent"),
        task_type=optional_name(query.task_type, "task_type"),
    )


def _scope(value: str) -> Scope:
    try:
        return one_of(Scope, value, "scope")
    except InvalidInput:
        raise InvalidInput(f"scope {value!r} is unknown: use one of {', '.join(Scope)}, all.") from None


def _states(value: object) -> tuple[State, ...]:
    if value == (State.ACTIVE.value,):
        return (State.ACTIVE,)
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidInput(f"states must be a list of {', '.join(State)}.")
    return tuple(one_of(State, state, "state") for state in value)


def _outcome(value: str) -> Outcome:
    try:
        return one_of(Outcome, value, "outcome")
    except InvalidInput:
        raise InvalidInput(f"outcome {value!r} is unknown: use one of {', '.join(Outcome)}, all.") from None
