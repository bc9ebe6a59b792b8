"""Ports: the protocols that a store, an index, an embedder, a judge, a distiller and an LLM implement.

A plugin author reads only this file.

Nothing here does anything; importing it costs nothing but the types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from reasoningbank.core.frozen import dataclass, field
from reasoningbank.core.teams import TeamReach
from reasoningbank.core.types import (
    AccessToken,
    Change,
    Edge,
    EmbedderIdentity,
    Exposure,
    Gap,
    KeptReply,
    Lease,
    Memory,
    Node,
    Outcome,
    Record,
    Scope,
    Showing,
    SideRecord,
    Signal,
    Standing,
    State,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from reasoningbank.core.learning import Completion, Episode, LeftOut, Lesson, Message, Verdict
    from reasoningbank.core.task_confidence import Evidenced
    from reasoningbank.core.uplift import KindRate, Tally, Trial
    from reasoningbank.location import Location

    Floats = NDArray[np.float32]

R = TypeVar("R", bound=Record)
S = TypeVar("S", bound=SideRecord)
T = TypeVar("T")
Schema = Mapping[str, Any]
Tick = Callable[[int, int], None]
"""Progress callback: how much is done, and of how much."""
Edits = Mapping[str, Callable[[str], str]]
"""Changes of a bank's settings: by name, a function from the old value to the new one."""
Where = Mapping[str, Any]
"""A condition on records: field names and the values that they must have."""
FEWEST_WORDS_ALIKE = 3


# ---------------------------------------------------------------- the records


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """Size of a bank and moment of its latest change."""

    memories: int
    changes: int
    newest_at: float | None
    """Moment of the last change; None for a bank without any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """Result of a recovery: what was in the place of the bank, and what is there now."""

    bank: Location
    before: Contents | None
    """None where there was no bank, or none that can be read."""
    trouble: str
    """Why it cannot be read; "" where it can, or where there was none."""
    after: Contents
    kept: str | None
    """Present name of the bank that was replaced; None if there was none, and after a dry run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreInfo:
    backend: str
    location: Location
    schema_version: int
    durability: str
    """The failures that an acknowledged write survives, in words."""
    read_only: bool
    bank: str = ""
    """Identity of the bank: a copy has another one, wherever it is moved. "" if nobody can tell."""
    files: tuple[Path, ...] = ()
    """Files on this machine that hold the bank, the one with the records first: none may be read as something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that must be right for a bank to work, and the remedy if it is not."""

    name: str
    verdict: str
    """ok, warn or fail."""
    says: str

    @classmethod
    def ok(cls, name: str, says: str) -> Check:
        return cls(name=name, verdict="ok", says=says)

    @classmethod
    def warn(cls, name: str, says: str) -> Check:
        return cls(name=name, verdict="warn", says=says)

    @classmethod
    def fail(cls, name: str, says: str) -> Check:
        return cls(name=name, verdict="fail", says=says)


INDEX_AWAY = "index engine"
"""Kind of a `Damage` that nobody could look for: the index's engine does not answer, or its library is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    kind: str
    id: str
    problem: str


class RecordQueries(Protocol):
    """Records of one tenant, as of one moment."""

    def get(self, kind: type[R], ids: Sequence[str]) -> dict[str, R]: ...

    def get_each(self, ids_by_kind: Mapping[type[Any], Sequence[str]]) -> dict[type[Any], dict[str, Any]]:
        """Records of several kinds, in one round trip: `ids_by_kind` has the ids of each kind."""
        ...

    def select(
        self,
        kind: type[R],
        where: Where,
        *,
        newest_first: bool = False,
        after: str | None = None,
        limit: int | None = None,
    ) -> list[R]:
        """Records whose fields match `where`, in order of their ids, behind `after`.

        A sequence in `where` means any of its values; `tags` must all be there. With `newest_first` the order is by the
        moment they were made (`core.record_kinds`) and then by id, the latest first; `after` is then a `position_of`,
        or the id of a record that is still there.
        """
        ...

    def select_either(self, kind: type[R], fields: Sequence[str], values: Sequence[str], where: Where) -> list[list[R]]:
        """For each of `fields`, the records in which it has one of `values`: one query, no order."""
        ...

    def matching_ids(self, kind: type[R], part: str, limit: int) -> list[str]:
        """Ids that begin with `part`, in order; without an underscore in it, that end with it. For typed pieces of
        ids.
        """
        ...

    def count(self, kind: type[R], where: Where) -> int: ...

    def tally(self, kind: type[R], by: str, where: Where = ...) -> dict[str, int]:
        """Number of records for each value of the field `by`."""
        ...

    def revisions(self, kind: type[R], record_id: str) -> list[R]:
        """Earlier revisions of a record, oldest first, without the current one. Only kinds that are revised
        (`core.record_kinds`) have any.
        """
        ...

    def erased(self, ids: Sequence[str]) -> set[str]:
        """The ids among `ids` whose records were here and were erased."""
        ...

    def leases(self, job_ids: Sequence[str] | None = None) -> list[Lease]:
        """Leases of these jobs; without ids, of every job that somebody holds."""
        ...


class Earned(NamedTuple):
    """Signals, uses and trust level of memories, by id."""

    signals: Mapping[str, Sequence[Signal]]
    shown: Mapping[str, int]
    """As `exposure_counts` returns them."""
    levels: Mapping[str, int]
    """As `trust_levels` returns them, for the memories whose trust is in doubt."""


class SideRecordQueries(Protocol):
    """Queries of side records: exposures, vectors and the like, which lie beside the records."""

    def side_records(self, kind: type[S]) -> list[S]:
        """All side records of one kind, in the order in which they were written."""
        ...

    def vectors(self, identity: EmbedderIdentity, ids: Sequence[str]) -> dict[str, dict[str, bytes]]:
        """Stored vectors as {memory id: {facet: little-endian float32}}."""
        ...

    def earned_by(self, ids: Sequence[str], doubtful: Sequence[str]) -> Earned:
        """Signals, uses and trust levels of memories, in one round trip. Levels are read of `doubtful` alone."""
        ...

    def exposure_counts(self, ids: Sequence[str]) -> dict[str, int]:
        """Number of times that each memory was shown with the advice it gives now; withheld exposures do not count."""
        ...

    def shown_in(self, trajectory_id: str) -> dict[str, Showing]:
        """Memories shown during a trajectory, in the order in which they were first shown."""
        ...

    def shown_to(self, memory_id: str, limit: int) -> dict[str, float]:
        """Trajectories in which a memory was shown, with the moment it was last shown there; the latest first."""
        ...


class Learned(NamedTuple):
    """A memory and the task that it was learned in."""

    memory_id: str
    task_id: str
    is_solution: bool


class Grounds(NamedTuple):
    """Initial confidence and signals of one memory."""

    memory_id: str
    namespace: str
    initial: float
    created_at: float
    signals: list[Signal]
    """Signals about what it advises now, as far as a policy reads them: without session and comment."""


class EvidenceQueries(Protocol):
    """Queries of evidence: signals about memories, their uses, and how tasks ended."""

    def grounds(self, namespace: str | None, after: tuple[float, str] | None, limit: int) -> list[Grounds]:
        """Signals of active memories, oldest first, a page at a time, without reading any text. `after` is
        (created_at, id) of the last row of the page before.
        """
        ...

    def uses_by_namespace(self) -> dict[str, int]:
        """Number of uses that were reported of all memories together, by namespace, of what they advise now."""
        ...

    def like_tasks(self, circles: Sequence[tuple[str | None, str | None]], limit: int) -> list[dict[str, bool]]:
        """The latest trajectories that ended in success (True) or failure (False), for each circle.

        A circle is (namespace, kind of task), with None for any; kinds are those of `core.task_kind`.
        """
        ...

    def past_tasks(
        self, ids: Sequence[str], circle: tuple[str | None, str | None] | None, limit: int
    ) -> tuple[list[str], list[Evidenced], list[Learned]]:
        """Latest tasks of a circle, evidence from given tasks, and the memories learned there, in one round trip.

        The tasks are those that `like_tasks` has; the signals arose in the tasks with these ids and are about what
        memories still advise, as far as a search needs them; the memories are active.
        """
        ...

    def said_of(self, ids: Sequence[str], lesson_ids: Sequence[str]) -> tuple[list[Evidenced], list[Learned]]:
        """User feedback against memories, and the lessons among `lesson_ids` that are active, in one round trip.

        The feedback counts wherever it was given, and has an empty task.
        """
        ...

    def tallies(self, since: float) -> dict[str, Tally]:
        """Exposures, uses and outcomes of each memory since a moment; memories without any are left out."""
        ...

    def trials(self, namespace: str | None, since: float) -> list[Trial]:
        """Sessions that ended in success or failure, by the memory that was shown in them or withheld from them."""
        ...

    def kind_rates(self, namespace: str | None, since: float, limit: int) -> list[KindRate]:
        """Sessions and successes by kind of task, the most frequent kind first."""
        ...

    def newest(self, namespace: str | None, limit: int) -> dict[str, float]:
        """Moments at which the newest active memories were made, by id, reading no text; `namespace` None is all."""
        ...

    def happenings(self, namespace: str | None, since: float) -> Happenings:
        """Arrivals of memories, ends of sessions and evidence since a moment: for curves over time."""
        ...


class TrustQueries(Protocol):
    """Queries of trust: how far memories are trusted, where they come from, and which say the same."""

    def trust_levels(self, ids: Sequence[str]) -> dict[str, int]:
        """The stored trust level (`core.origins.Trust`) of each memory that has one; one of the user's own has none."""
        ...

    def trust_and_memories(
        self, ids: Sequence[str], memory_ids: Sequence[str]
    ) -> tuple[dict[str, int], dict[str, Memory]]:
        """Trust levels of `ids`, and the intact memories among `memory_ids`, in one round trip."""
        ...

    def derived_ids(self, ids: Sequence[str]) -> list[str]:
        """Ids of the memories that name one of these as a parent; they may be gone since."""
        ...

    def matching_fingerprints(self, marks: Sequence[int], words: Sequence[int] = ()) -> dict[str, int]:
        """Memories that have any of these fingerprints of texts, with the number of matches.

        `words` are marks that many may have: a memory must have `FEWEST_WORDS_ALIKE` of them to be named for them, and
        of those with one mark a few dozen of the newest are enough.
        """
        ...


class Happenings(NamedTuple):
    """Dated events of memories, sessions and evidence, without any text."""

    learned: list[tuple[float, str]]
    """Memories that are not forgotten: the moment they came, and the outcome that they are about."""
    ended: list[tuple[float, bool]]
    """Sessions: the moment they ended, and True for success, False for failure."""
    said: list[tuple[float, bool, str]]
    """Evidence about what memories advise now: the moment, True if it speaks for the memory, and the memory's id."""


class Tie(NamedTuple):
    """An edge as it is seen from one of its ends."""

    edge_id: str
    far: str
    weight: float
    forward: bool
    """True if it points away from the near end."""
    kind: str
    tags: str
    """Tags as JSON."""
    origin: str = ""


class VertexRow(NamedTuple):
    """The fields of a vertex that decide if a walk may come to it."""

    namespace: str
    origin: str
    label: str
    """Empty for a memory, as is `conv_id`."""
    conv_id: str
    state: State = State.ACTIVE
    scope: Scope = Scope.PROJECT


class GraphQueries(Protocol):
    """Queries of a walk over the memory graph, at a cost that does not grow with the edges of a vertex."""

    def strongest_edges(
        self, ids: Sequence[str], limit: int, fields: Sequence[str] = ..., where: Where = ...
    ) -> list[list[Edge]]:
        """For each of these fields (`source_id`, `target_id`), the edges in which it names one of the vertices.

        Of each vertex the `limit` strongest that fit `where`; the strongest first, the newest of equals first.
        """
        ...

    def strongest_ties(self, ids: Sequence[str], limit: int) -> dict[str, list[Tie]]:
        """The strongest edges of each vertex, at most `limit` each way, without reading their texts."""
        ...

    def vertex_rows(self, ids: Sequence[str]) -> dict[str, VertexRow]:
        """Vertices by id, without reading their texts."""
        ...

    def node_ids(self, namespace: str, names: Sequence[str]) -> dict[str, str]:
        """Ids of the nodes with these names, by name."""
        ...

    def degrees(self, ids: Sequence[str], most: int = ...) -> dict[str, int]:
        """Number of edges that begin or end at each vertex, counted up to `most` each way; only if there are any."""
        ...

    def nodes_between(self, since: float, until: float, limit: int | None = None) -> list[Node]:
        """Nodes whose time window overlaps this one, the earliest beginning first."""
        ...


class Reader(RecordQueries, SideRecordQueries, EvidenceQueries, TrustQueries, GraphQueries, Protocol):
    """Everything that can be read of one tenant, as of one moment. `store.records` has it for every back end."""


class RecordChanges(Protocol):
    def add(self, record: Record) -> None: ...

    def revise(self, record: Record) -> None:
        """Replace a record; if its kind is revised (`core.record_kinds`), the earlier revision stays readable.

        A session or an edge that says no later revision than the one it replaces becomes the next one.
        """
        ...

    def add_earlier(self, revision: Record) -> None:
        """Add an earlier revision of a record that is here, taken over from elsewhere; one that is there stays."""
        ...

    def rewrite(self, record: Record) -> None:
        """Overwrite a record in place, without keeping what it said; the bytes before it are really gone.

        Of a memory it is the revision that the record names, current or earlier.
        """
        ...

    def remove(self, kind: type[R], record_id: str) -> None:
        """Remove a record for good, with its revisions; for a memory also its vectors, log lines, signals and edges,
        for a node its edges.
        """
        ...

    def claim(self, owner: str, *, now: float, latest: float, limit: int) -> list[Lease]:
        """Lease free jobs to `owner`, the longest due first, each claim counted as an attempt.

        Due is what was ready before `now`, and what would be ready only after `latest`, which no clock that runs right
        can have written. Each lease names `owner` with the id of its job behind it.
        """
        ...

    def change_lease(self, old: Lease | None, new: Lease | None) -> bool:
        """Replace a lease, unless its owner or beat differ from `old`; returns False then.

        `old` None means that there is no lease yet; `new` None removes it.
        """
        ...


class SideRecordChanges(Protocol):
    def add_side_records(self, items: Sequence[SideRecord]) -> int:
        """Take over side records from elsewhere; returns how many were new."""
        ...

    def rewrite_side_record(self, before: SideRecord, after: SideRecord) -> None:
        """Replace a side record; the bytes before it are really gone."""
        ...

    def keep_trust(self, memory: Memory, level: int, marks: Sequence[int] = ()) -> None:
        """Store the trust level of a memory, the parents under which it hangs, and marks to recognise its text by."""
        ...

    def keep_vectors(self, identity: EmbedderIdentity, memory_id: str, vectors: Mapping[str, bytes]) -> None: ...

    def kept_reply(self, caller: str, key: str) -> KeptReply | None: ...

    def keep_reply(self, reply: KeptReply, *, drop_before: float | None) -> None:
        """Store the answer with the change that it answers, and drop those from before `drop_before`, if given."""
        ...


class Writer(Reader, RecordChanges, SideRecordChanges, Protocol):
    """One atomic unit of change. Everything in it is committed, or nothing is."""


class StoreTransactions(Protocol):
    @property
    def info(self) -> StoreInfo: ...

    def read(self, tenant: str) -> AbstractContextManager[Reader]: ...

    def write(self, tenant: str, change: Callable[[Writer], T], *, alone: bool = False, adds_only: bool = False) -> T:
        """Run `change` in a transaction and return when it is durable. Calls that arrive together share one commit.

        If a neighbour fails, `change` is run again; with `alone` it is run once, in a transaction of its own. A change
        that `adds_only` reads nothing that is there: it may be run before anybody is kept waiting for it.
        """
        ...

    def head(self) -> int:
        """Position of the last committed change in the feed.

        Up to here the feed no longer changes, and whatever is committed later comes after it. Positions rise and say
        nothing else: between two of them there may be any number of changes, or none. 0 is before the first.
        """
        ...

    def changes(self, after: int, limit: int) -> list[Change]:
        """The first changes behind a position, in order; fewer than `limit` only if there are no more."""
        ...

    def listen(self, wake: Callable[[], object]) -> AbstractContextManager[None]:
        """Call `wake` from another thread soon after the feed has grown, for as long as the block lasts. It may come
        for nothing, or not at all: whoever waits looks now and then.
        """
        ...

    def unscoped(self, kind: type[R], ids: Sequence[str]) -> dict[str, R]:
        """Records of any tenant, for followers that build views; they never reach a caller as they are."""
        ...

    def turn(self, name: str, wait_s: float) -> AbstractContextManager[bool]:
        """A lock by name, for one thread among all processes and machines that share the bank.

        Yields False if somebody else held it for all of `wait_s`. It is released when its holder dies.
        """
        ...

    def renew_turn(self, name: str) -> bool:
        """True if a lock that was taken here is still ours.

        At a server it goes with its connection, and is then taken again, unless somebody else has it.
        """
        ...

    def verify(self) -> list[Damage]: ...

    def backup(self, target: Path, progress: Callable[[int, int], None] | None = None) -> None: ...

    def close(self) -> None: ...


class StoreLogs(Protocol):
    def log_shown(self, exposures: Sequence[Exposure]) -> None:
        """Log what was shown, apart from reads; may be skipped on a read-only bank."""
        ...

    def log_gaps(self, gaps: Sequence[Gap]) -> None:
        """Log queries that found nothing; a known gap counts once more. Bounded: those not asked for longest go."""
        ...

    def gaps(self, tenant: str) -> list[Gap]: ...

    def drop_gaps(self, tenant: str, ids: Sequence[str]) -> int:
        """Remove gaps for good; returns how many there were."""
        ...


class StoreState(Protocol):
    """State that is no record and changes in place: settings, tokens, the queue."""

    def setting(self, name: str) -> str | None: ...

    def glance(self, setting: str, after: int, limit: int) -> tuple[str | None, list[Change]]:
        """A setting, and changes as `changes` returns them, in one round trip: the first query of every search."""
        ...

    def set_setting(self, name: str, value: str) -> None: ...

    def agree_setting(self, name: str, value: str) -> str:
        """Set a setting that has no value yet; returns the value that counts, whoever was first."""
        ...

    def tenants_with_jobs(self) -> list[str]:
        """Tenants whose jobs wait or are in hand, for workers of every tenant. Asked once a second, so it is cheap."""
        ...

    def jobs_in_queue(self) -> int:
        """Number of jobs of all tenants that wait or are in hand."""
        ...

    def token(self, token_id: str) -> AccessToken | None: ...

    def tokens(self) -> list[AccessToken]:
        """Access tokens of every tenant, oldest first."""
        ...

    def keep_token(self, token: AccessToken) -> None:
        """Add a token, or replace the one with the same id."""
        ...


class Store(StoreTransactions, StoreLogs, StoreState, Protocol):
    """A bank's records. `store.record_store` has it for every back end; a back end implements `store.engine.Engine`."""


class Backend(Protocol):
    """A kind of store: opens banks, and answers for one before it is open."""

    def exists(self, location: Location) -> bool:
        """True if there is a bank to open. Makes none."""
        ...

    def open(
        self, location: Location, *, durability: str, create: bool, read_only: bool, clock: Callable[[], float]
    ) -> Store: ...

    def checks(self, location: Location) -> Iterable[Check]:
        """Checks of all that must be right before a bank can be opened there, such as a library and permissions."""
        ...

    def integrity(self, location: Location) -> Check:
        """A quick check that a bank that opens is whole; `Store.verify` reads every row."""
        ...

    def recover(
        self, location: Location, backup: Path, *, kept_as: str, settings: Edits, dry_run: bool, progress: Tick | None
    ) -> Recovered:
        """Put a backup in the place of a bank, once it is checked. What was there is kept, named with `kept_as`;
        `settings` are rewritten in what takes its place.
        """
        ...


# ---------------------------------------------------------------- finding them


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """The conditions that a memory must meet to be found. None means any."""

    tenant: str
    namespace: str | None = None
    """Binds project-scoped memories to this one and team-scoped ones to its team; org ones belong to the tenant."""
    team: TeamReach | None = None
    """The team whose team-scoped memories are in reach besides the namespace's own; None is everybody's. Without a
    namespace it binds nothing.
    """
    scopes: tuple[Scope, ...] = (Scope.PROJECT, Scope.TEAM, Scope.ORG)
    outcome: Outcome | None = None
    states: tuple[State, ...] = (State.ACTIVE,)
    tags: tuple[str, ...] = ()
    """A memory must have all of them."""
    without_tags: tuple[str, ...] = ()
    """A memory must have none of them."""
    agent: str | None = None
    task_type: str | None = None


FILTER_PARTS = {
    "namespace": ("namespace", "team"), "scope": ("scopes",), "outcome": ("outcome",), "state": ("states",),
    "tags": ("tags",), "without_tags": ("without_tags",), "agent": ("agent",), "task_type": ("task_type",),
}  # fmt: skip
"""The parts of a filter with their fields, in the order in which they are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    vector: Floats | None
    text: str
    where: Filter
    depth: int
    """Most candidates to bring back from each of the two sides, vectors and words."""
    also: tuple[str, ...] = ()
    """Ids to bring back besides, if they pass the filter: found in another way, scored in the same."""
    begun: object = None
    """Handle of the `JoinedHalves` that has begun this search; opaque to everybody else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Everything ranking needs about the memories that came up, as parallel columns. No row is fetched for it."""

    ids: list[str]
    cosine: Floats
    """NaN where there is no vector (yet)."""
    keyword: Floats
    """BM25 score; 0 where no query term occurs."""
    keyword_ceiling: float = 0.0
    """BM25 of a short memory that holds every query term, those unknown to the index included: the sum of idf·(k1 +
    1) over the terms. So keyword / keyword_ceiling says how much of the query was met.
    """
    form: Floats
    """Likeness in wording, 0–1, of the query and the memory's title or description: order counts, parameters do not."""
    parametric: NDArray[np.bool_]
    """True if both of them have parameters."""
    rarest_word: float = 1.0
    """Upper bound of IDF, for a word that hardly any memory has: it grows with the index, and with it every score.
    So keyword / rarest_word says how many such words were met, whatever the size of the index.
    """
    named: Floats
    """The share of the query's words that are rare and that the memory holds: names, codes, words that no text holds
    by chance. 0 if it holds none.
    """
    exact: NDArray[np.bool_]
    """True if its title, key or content is the query itself."""
    beside: NDArray[np.int64]
    """(n, 2): the rows of the turns just before and after it in the same conversation; −1 where there is none."""
    scopes: list[Scope]
    standings: Sequence[Standing]
    handles: NDArray[Any] | None = None
    """Handles of the `FusedSearch` that found them, good until the next `apply`; opaque to everybody else."""
    exhausted: bool
    """True when a greater depth would bring nothing new."""
    considered: int
    """Number of memories that passed the filter."""
    filtered_out: Mapping[str, int]
    """Number of the tenant's memories that each part of the filter removed, by the name of the part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexBatch:
    added: Sequence[tuple[Memory, Standing]] = ()
    revised: Sequence[tuple[Memory, Standing]] = ()
    erased: Sequence[str] = ()
    standings: Mapping[str, Standing] = field(default_factory=dict)
    applied: int
    """The feed number that this batch brings the index to."""
    mark: int = 0
    """A fingerprint of the change with that number, to tell this feed from another of the same length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexInfo:
    kind: str
    memories: int
    awaiting_vectors: int
    applied: int
    bytes_on_disk: int
    is_damaged: bool = False
    """True if it cannot be read at all; the next search builds it again."""
    engine: str = ""
    """The URL of the engine that keeps it."""
    trouble: str = ""
    """Why it could not be asked, such as a server that is away; the figures say nothing then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexPosition:
    """Position of an index in the feed."""

    applied: int = 0
    """Number of the last change that it has seen."""
    mark: int = 0
    """The mark of the batch with that change."""
    stamp: tuple[int, int] = (0, 0)
    """Differs after every commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WordRow:
    """The words of one memory as terms: opaque 32-bit numbers."""

    memory: Memory
    """An index keeps of it the id and the fields that a `Filter` asks for."""
    terms: Mapping[int, int]
    """Weight of each term: 1–255. Terms for its tags, its id and its whole texts are among them."""
    length: int
    """Sum of the weights of all its words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frequencies:
    """Document frequencies of terms among a tenant's memories, of any state."""

    rows: int
    mean_length: float
    holding: Sequence[int]
    """Number of those memories that have each term."""


class Vectors(Protocol):
    """A vector for each memory, searched by direction.

    Every call is one that a vector database has, and one round trip to it. Each has a deadline; it raises
    `IndexUnavailable` if the database is away and `BankDamaged` if somebody removed or replaced what was kept there: it
    is then built anew.

    Words come first: a memory's vector is given after its `WordRow`, in the same order as those.
    """

    @property
    def identity(self) -> EmbedderIdentity: ...

    @property
    def position(self) -> IndexPosition:
        """The position that `advance` stored last; nobody reads its `stamp`."""
        ...

    def advance(self, position: IndexPosition) -> None:
        """Store the position in the feed, once what was given before is as durable as it is going to be."""
        ...

    def upsert(self, rows: Sequence[tuple[Memory, Floats]]) -> None:
        """Store the vector of each, with the memory's id and the fields that a `Filter` asks for."""
        ...

    def delete(self, ids: Sequence[str]) -> None:
        """Delete vectors; ids that are not there are ignored."""
        ...

    def search(self, vector: Floats, where: Filter, k: int) -> list[tuple[str, float]]:
        """Ids of the `k` nearest that pass the filter, with their cosines, nearest first."""
        ...

    def fetch(self, ids: Sequence[str]) -> dict[str, Floats]:
        """Vectors of those ids that have one."""
        ...

    def clear(self) -> None:
        """Begin anew, at position 0, whatever is there: nothing, something else, vectors of other dimensions."""
        ...

    def close(self) -> None: ...


class Words(Protocol):
    """Index of the terms of each memory. A keyword index or a database of sparse vectors can be one."""

    @property
    def position(self) -> IndexPosition: ...

    def advance(self, position: IndexPosition) -> None: ...

    def upsert(self, rows: Sequence[WordRow]) -> None: ...

    def delete(self, ids: Sequence[str]) -> None: ...

    def search(self, queries: Sequence[Mapping[int, float]], where: Filter, k: int) -> list[list[str]]:
        """The `k` best memory ids for each query, in one round trip.

        A query is the weight of each of its terms. A memory must pass the filter and have any of the terms; it scores
        by those it has, more if they weigh much and less if it is long. The score need not equal our BM25, since recall
        scores the rows again. A query without terms finds nothing.
        """
        ...

    def frequencies(self, tenant: str, terms: Sequence[int]) -> Frequencies:
        """Document frequencies of this tenant alone: from a word's rarity one could tell whether others use it."""
        ...

    def counts(self, filters: Sequence[Filter]) -> list[int]:
        """Number of memories that pass each filter, in one round trip."""
        ...

    def count(self) -> int:
        """Number of memories, of every tenant."""
        ...

    def clear(self) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Halves:
    vectors: Vectors
    words: Words
    writing: Callable[[float], AbstractContextManager[bool]]
    """Takes the right to write both, waiting at most so many seconds: only one process has it at a time."""
    joined: JoinedHalves | None = None
    """Operations on both together, if they lie in one place."""
    examination: HalvesExamination | None = None
    """Comparison with the records row by row, if that costs little."""


class HalvesExamination(Protocol):
    def differences(self, rows: Sequence[WordRow]) -> dict[str, str]:
        """The problem with each of those memories that is lacking or known otherwise, by id."""
        ...

    def contradictions(self) -> list[str]:
        """Contradictions within the halves, whatever the records say."""
        ...


class FusedSearch(Protocol):
    """Search of an index that has both halves in one place: candidates with all their columns at once."""

    def search(self, probe: Probe) -> Candidates: ...

    def vectors_of(self, candidates: Candidates, rows: Sequence[int]) -> Floats:
        """The vectors of some of the candidates; zeros for one that is gone."""
        ...

    def are_sound(self, candidates: Candidates, rows: Sequence[int]) -> bool:
        """True if what the index says of these candidates is what was written."""
        ...


class JoinedHalves(FusedSearch, Protocol):
    """Two halves in one database, which is searched for both at once and keeps what ranking needs besides."""

    @property
    def position(self) -> IndexPosition:
        """Position of the words, with a `stamp` for both. It may be that of the last search; whoever takes the right
        to write has it read anew.
        """
        ...

    def begin(self, probe: Probe) -> AbstractContextManager[Probe]:
        """The same probe, for which the engine has begun to look; good until the index changes."""
        ...

    def keep_standings(self, standings: Mapping[str, Standing]) -> None:
        """Store what the evidence about memories amounts to; ids that are not there are ignored."""
        ...


class IndexUpkeep(Protocol):
    """Upkeep of an index in files of our own, which finds its own damage and can be continued in memory."""

    def ahead(self) -> Index:
        """The index as it is, to be continued in memory: nobody else sees what is written to it, and nobody waits."""
        ...

    def in_doubt(self) -> list[str]:
        """Ids that a batch was changing when its writer died or the power went; to be applied again as they are."""
        ...

    def is_sound_at(self, turn: int) -> bool:
        """True if a small part of the index matches its checksums: another with each number, all of them in turn."""
        ...

    def damage(self) -> list[Damage]:
        """Everything that does not match its checksum. Reads all of the index."""
        ...

    def ids(self) -> list[str]:
        """Ids of every live memory."""
        ...

    def differences(self, records: Sequence[tuple[Memory, Standing]]) -> dict[str, str]:
        """The problem with each of those memories that the index lacks or knows otherwise, by id."""
        ...

    def heal(self, rebuild: Callable[[Sequence[str]], Iterable[IndexBatch]]) -> None:
        """Keep what is whole and build the rest again, at one stroke. `rebuild` gets the ids that are whole and
        yields the batches for the rest.
        """
        ...


class Index(Protocol):
    """A view of the feed: rebuildable, never the truth. One process writes it at a time, any number read it."""

    @property
    def identity(self) -> EmbedderIdentity: ...

    @property
    def halves(self) -> Halves: ...

    @property
    def fused(self) -> FusedSearch | None:
        """Fused search, if the index has one; else candidates are put together from the halves
        (`recall.candidates`).
        """
        ...

    @property
    def upkeep(self) -> IndexUpkeep | None:
        """Upkeep of our own files; None if damage is somebody else's business, as it is a server's."""
        ...

    @property
    def position(self) -> IndexPosition: ...

    def info(self) -> IndexInfo: ...

    def writing(self, *, wait_s: float) -> AbstractContextManager[bool]:
        """The right to `apply` and `embed`; False if another process kept it for longer than `wait_s`."""
        ...

    def apply(self, batch: IndexBatch) -> None: ...

    def awaiting_vectors(self, limit: int) -> list[str]:
        """Ids of live memories without vectors, in the order in which `embed` takes them."""
        ...

    def embed(self, ids: Sequence[str], vectors: Floats) -> None:
        """Store vectors, a row for each id that `awaiting_vectors` just returned."""
        ...

    def clear(self) -> None:
        """Forget everything, to follow the feed from its beginning."""
        ...

    def close(self) -> None: ...


class IndexBuilds(Protocol):
    """The builds of a bank's index. `name` says the build, the embedder and the policy, and begins with "BUILD-".

    The indexes of other records than memories lie under the same name with what they are of behind it, as in "-tasks".
    `facet` says what vectors are made from.
    """

    def place(self, name: str) -> str:
        """Present place of a build; if it differs from before, what was opened is not the one in force any more."""
        ...

    def is_there(self, name: str) -> bool: ...

    def open(self, name: str, identity: EmbedderIdentity, facet: str) -> Index | Halves:
        """The index, made where there is none, and anew where it is damaged. A server is asked for nothing yet."""
        ...

    def open_beside(self, name: str, of: str, identity: EmbedderIdentity, facet: str, *, anew: bool) -> Index | Halves:
        """The index of other records, such as `tasks`; `anew` where the one that is there cannot be mended."""
        ...

    def inspect(self, name: str, identity: EmbedderIdentity, facet: str) -> Index | None:
        """The index to look for damage in; None if there is none that could be looked at. Makes and mends nothing."""
        ...

    def info(self, name: str) -> IndexInfo | None:
        """Size and position of an index, without opening it for search; None if there is none yet."""
        ...

    def distrust(self) -> None:
        """Leave alone what lies there: it cannot be used, and a bank that is only read may not change it."""
        ...

    def remove(self, build: int) -> None: ...

    def remove_left_over(self, keep: str) -> None:
        """Remove this bank's builds whose names do not begin with `keep`. Nobody is filling another one meanwhile."""
        ...

    def remove_all(self) -> bool:
        """Remove every build of this bank; False if there is none that may be removed."""
        ...

    def close(self) -> None: ...


class IndexPlace(NamedTuple):
    """Where an index engine keeps the index of one bank."""

    url: str
    """As it was chosen: "embedded", "pgvector", "qdrant://host:6333", "milvus:///path.db" …"""
    key: str | None
    """The engine's API key or token: it is kept nowhere and printed nowhere."""
    mark: str
    """Prefix of every name of this bank's in the engine, where others keep theirs, too: letters and digits."""
    folder: Path | None
    """Folder beside the bank, for what is kept in files; None for a bank in memory."""
    location: Location
    """Location of the bank itself."""
    turn: Callable[[str, float], AbstractContextManager[bool]]
    """`StoreTransactions.turn`: for `Halves.writing`."""

    def __repr__(self) -> str:
        return f"IndexPlace({self.url!r}, {self.mark!r}, {self.location!r})"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexPlugin:
    """An index engine under the scheme of its URLs. Nothing here loads its library."""

    builds: Callable[..., IndexBuilds]
    """Takes an `IndexPlace`, and `read_only` by keyword. Asks no server yet; `MissingExtra` without the library."""
    check: Callable[[str], object] = str
    """Refuses a URL that cannot be an address, with `InvalidInput`."""
    require: Callable[[], None] = lambda: None
    """Raises `MissingExtra` where the engine's library is not installed."""
    only_in: tuple[str, ...] = ()
    """Schemes of the banks that it is for; any bank where there are none."""


# ---------------------------------------------------------------- models


class Embedder(Protocol):
    @property
    def identity(self) -> EmbedderIdentity: ...

    @property
    def costly(self) -> bool:
        """True when a vector costs money or a network call; the bank then keeps it with its records."""
        ...

    def embed(self, texts: Sequence[str]) -> Floats:
        """Vectors as (n, dimension), rows of length one; a text without tokens gives the zero row."""
        ...


class LLM(Protocol):
    @property
    def name(self) -> str:
        """Provider and model, such as "openai/gpt-4.1-mini"."""
        ...

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, temperature: float = 0.0, schema: Schema | None = None
    ) -> Completion:
        """Ask once. Raises `LLMUnavailable` for an outage (the same request may work later), `LLMRefused` otherwise.

        `schema` is a JSON schema for the answer, for those that can be held to one; the others ignore it.
        """
        ...


# ---------------------------------------------------------------- learning


class Judge(Protocol):
    @property
    def name(self) -> str: ...

    def judge(self, episode: Episode) -> Verdict:
        """The verdict on an episode. A judge that cannot tell says unknown; it neither guesses nor raises for doubt."""
        ...


@runtime_checkable
class Explains(Protocol):
    """A distiller that also says why something in an episode taught nothing."""

    def left_out(self, episode: Episode) -> Sequence[LeftOut]: ...


class Distiller(Protocol):
    """Draws lessons from episodes. Called from several threads at once."""

    @property
    def name(self) -> str: ...

    def distill(self, episode: Episode, verdict: Verdict) -> Sequence[Lesson]:
        """Lessons of an episode: at most `MOST_LESSONS`, each within its limits; none is a good answer."""
        ...

    def contrast(self, episodes: Sequence[tuple[Episode, Verdict]]) -> Sequence[Lesson]:
        """Lessons from comparing several runs of one task: at most `MOST_CONTRAST_LESSONS`."""
        ...

    def settle(self, reader: Reader, namespace: str, lesson: Lesson) -> Lesson | None:
        """The lesson under the key of what it is about, if only the records can tell; otherwise the lesson as it is.
        None if they show that nobody can tell: it is not kept.

        Called inside the transaction that keeps the lesson, so it must be quick and may be called again.
        """
        ...

    def merge(self, memory: Memory, lesson: Lesson) -> Lesson | None:
        """The lesson to store under a key that is taken; None if `memory` says it all. In that transaction, too."""
        ...
