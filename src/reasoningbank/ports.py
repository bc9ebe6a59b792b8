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
"""Progress: how much is done, and of how much."""
Edits = Mapping[str, Callable[[str], str]]
"""Settings of a bank by name, each with what makes its new value of the old one."""
Where = Mapping[str, Any]
"""Fields of a record, and what they should be."""
FEWEST_WORDS_ALIKE = 3


# ---------------------------------------------------------------- the records


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What a bank holds, in figures."""

    memories: int
    changes: int
    newest_at: float | None
    """When the last change was made; None for a bank without any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """What was in the place of a bank, and what a recovery has put there."""

    bank: Location
    before: Contents | None
    """None where there was no bank, or none that can be read."""
    trouble: str
    """Why it cannot be read; "" where it can, or where there was none."""
    after: Contents
    kept: str | None
    """What the bank that was replaced is named now; None where there was none, and after a dry run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreInfo:
    backend: str
    location: Location
    schema_version: int
    durability: str
    """What an acknowledged write survives, in words."""
    read_only: bool
    bank: str = ""
    """Which bank it is: a copy is another one, wherever it is moved. "" where nobody can tell."""
    files: tuple[Path, ...] = ()
    """Of this machine, that hold the bank, the one with the records first: none may be read as something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that must be right for a bank to work, and what to do where it is not."""

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
"""The kind of a damage that nobody could look for: the index's engine does not answer, or its library is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    kind: str
    id: str
    problem: str


class RecordQueries(Protocol):
    """Records of one tenant, as of one moment."""

    def get(self, kind: type[R], ids: Sequence[str]) -> dict[str, R]: ...

    def get_each(self, asked: Mapping[type[Any], Sequence[str]]) -> dict[type[Any], dict[str, Any]]:
        """Records of several kinds, in one round trip."""
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
        """Records whose fields equal `where` (a sequence means any of; `tags` contain), by id, from `after` on.

        With `newest_first` they come by the moment they were made (`core.record_kinds`) and then by id, the latest
        first; `after` is then a `position_of`, or the id of a record that is still there.
        """
        ...

    def select_either(self, kind: type[R], fields: Sequence[str], values: Sequence[str], where: Where) -> list[list[R]]:
        """For each of these fields the records in which it has one of the values: in one question, in no order."""
        ...

    def matching_ids(self, kind: type[R], part: str, limit: int) -> list[str]:
        """The ids that begin with `part`, or where it has no underscore end with it, in order: for people who type a
        piece of one.
        """
        ...

    def count(self, kind: type[R], where: Where) -> int: ...

    def tally(self, kind: type[R], by: str, where: Where = ...) -> dict[str, int]:
        """How many records there are for each value of the field `by`."""
        ...

    def revisions(self, kind: type[R], record_id: str) -> list[R]:
        """The earlier revisions of a record, oldest first, without the current one. Only kinds that are revised
        (`core.record_kinds`) have any.
        """
        ...

    def erased(self, ids: Sequence[str]) -> set[str]:
        """Those of `ids` whose records were here and were erased."""
        ...

    def leases(self, job_ids: Sequence[str] | None = None) -> list[Lease]:
        """The leases of these jobs; without ids, of all jobs that somebody is at."""
        ...


class Earned(NamedTuple):
    """What is known of memories, by id."""

    signals: Mapping[str, Sequence[Signal]]
    shown: Mapping[str, int]
    """As `exposure_counts` has it."""
    levels: Mapping[str, int]
    """As `trust_levels` has it, of those whose trust is in doubt."""


class SideRecordQueries(Protocol):
    """What is kept beside the records."""

    def side_records(self, kind: type[S]) -> list[S]:
        """Everything of one kind that is kept beside the records, in the order in which it was written."""
        ...

    def vectors(self, identity: EmbedderIdentity, ids: Sequence[str]) -> dict[str, dict[str, bytes]]:
        """Kept vectors as {memory id: {facet: little-endian float32}}."""
        ...

    def earned_by(self, ids: Sequence[str], doubtful: Sequence[str]) -> Earned:
        """What memories have earned, in one round trip."""
        ...

    def exposure_counts(self, ids: Sequence[str]) -> dict[str, int]:
        """How often each memory was shown with the advice that it gives now; what was withheld was not."""
        ...

    def shown_in(self, trajectory_id: str) -> dict[str, Showing]:
        """The memories that were shown during a trajectory, in the order in which they first were."""
        ...

    def shown_to(self, memory_id: str, limit: int) -> dict[str, float]:
        """The trajectories in which a memory was shown, with when it was last; the latest first."""
        ...


class Learned(NamedTuple):
    """A memory, and the task that it was learned in."""

    memory_id: str
    task_id: str
    is_solution: bool


class Grounds(NamedTuple):
    """What the confidence of a memory is made of."""

    memory_id: str
    namespace: str
    initial: float
    created_at: float
    signals: list[Signal]
    """Those about what it advises now, as far as a policy reads them: without session and comment."""


class EvidenceQueries(Protocol):
    """What came of memories, and how tasks went."""

    def grounds(self, namespace: str | None, after: tuple[float, str] | None, limit: int) -> list[Grounds]:
        """Of so many active memories, the oldest first, what confidence is made of, without a look at any text;
        `after` is the moment and the id of the last one before.
        """
        ...

    def uses_by_namespace(self) -> dict[str, int]:
        """How many uses were reported of all memories together, by namespace, of what they advise now."""
        ...

    def like_tasks(self, circles: Sequence[tuple[str | None, str | None]], limit: int) -> list[dict[str, bool]]:
        """The latest trajectories that ended in success (true) or failure, for each (namespace, kind of task), None
        standing for any. Kinds are those of `core.task_kind`.
        """
        ...

    def past_tasks(
        self, ids: Sequence[str], circle: tuple[str | None, str | None] | None, limit: int
    ) -> tuple[list[str], list[Evidenced], list[Learned]]:
        """In one round trip: the latest tasks of a circle, as `like_tasks` has them; the signals that arose in the
        tasks with these ids about what memories still advise, as far as a search needs them; and the active memories
        that were learned in those tasks.
        """
        ...

    def said_of(self, ids: Sequence[str], learned: Sequence[str]) -> tuple[list[Evidenced], list[Learned]]:
        """In one round trip: what the user said against memories, wherever that was, with an empty task; and which of
        others are active.
        """
        ...

    def tallies(self, since: float) -> dict[str, Tally]:
        """What came of each memory from then on; those of which nothing did are left out."""
        ...

    def trials(self, namespace: str | None, since: float) -> list[Trial]:
        """The sessions that ended in success or failure, by the memory that was shown in them or withheld from them."""
        ...

    def kind_rates(self, namespace: str | None, since: float, limit: int) -> list[KindRate]:
        """How the kinds of tasks went, the most frequent first."""
        ...

    def newest(self, namespace: str | None, limit: int) -> dict[str, float]:
        """When each of the newest active memories was made, without reading what they say; `namespace` None is all."""
        ...

    def happenings(self, namespace: str | None, since: float) -> Happenings:
        """When memories came, sessions ended and evidence was given, from then on: for curves over time."""
        ...


class TrustQueries(Protocol):
    """What memories are trusted, where they come from, and which say the same."""

    def trust_levels(self, ids: Sequence[str]) -> dict[str, int]:
        """The kept trust (`core.origins.Trust`) of each memory that has one; one of the user's own has none."""
        ...

    def trust_and_memories(self, ids: Sequence[str], shown: Sequence[str]) -> tuple[dict[str, int], dict[str, Memory]]:
        """What `trust_levels` says of the first, and of the others the memories that are whole: in one round trip."""
        ...

    def derived_ids(self, ids: Sequence[str]) -> list[str]:
        """The memories that name one of these as a parent; they may be gone since."""
        ...

    def matching_fingerprints(self, marks: Sequence[int], words: Sequence[int] = ()) -> dict[str, int]:
        """The memories whose text is known by any of these marks, with how many of them.

        `words` are marks that many may have: a memory must have `FEWEST_WORDS_ALIKE` of them to be named for them,
        and of those with one mark a few dozen of the newest are enough.
        """
        ...


class Happenings(NamedTuple):
    """What happened when, without a look at any text."""

    learned: list[tuple[float, str]]
    """Of memories that are not forgotten: when they came, and the outcome that they are about."""
    ended: list[tuple[float, bool]]
    """Of sessions that ended in success (true) or failure."""
    said: list[tuple[float, bool, str]]
    """Of evidence about what memories advise now: when, whether for them, and about which."""


class Tie(NamedTuple):
    """An edge as it is seen from one of its ends."""

    edge_id: str
    far: str
    weight: float
    forward: bool
    """Whether it points away from the near end."""
    kind: str
    tags: str
    """As JSON."""
    origin: str = ""


class VertexRow(NamedTuple):
    """What decides whether a walk may come to a vertex."""

    namespace: str
    origin: str
    label: str
    """"" of a memory, as is the conversation."""
    conv_id: str
    state: State = State.ACTIVE
    scope: Scope = Scope.PROJECT


class GraphQueries(Protocol):
    """What a walk over the memory graph asks, at a cost that does not grow with the edges of a vertex."""

    def strongest_edges(
        self, ids: Sequence[str], limit: int, fields: Sequence[str] = ..., where: Where = ...
    ) -> list[list[Edge]]:
        """For each of these fields (`source_id`, `target_id`) the edges in which it is one of the vertices: of each
        vertex the `limit` strongest that fit `where`. The strongest first, the newest of equals first.
        """
        ...

    def strongest_ties(self, ids: Sequence[str], limit: int) -> dict[str, list[Tie]]:
        """For each vertex its strongest edges each way, at most `limit` of either, without a look at their texts."""
        ...

    def vertex_rows(self, ids: Sequence[str]) -> dict[str, VertexRow]:
        """What is known of vertices without a look at their texts."""
        ...

    def node_ids(self, namespace: str, names: Sequence[str]) -> dict[str, str]:
        """The ids of the nodes with these names, by name."""
        ...

    def degrees(self, ids: Sequence[str], most: int = ...) -> dict[str, int]:
        """How many edges begin or end at each vertex, counted up to `most` each way; of those that have any."""
        ...

    def nodes_between(self, since: float, until: float, limit: int | None = None) -> list[Node]:
        """Nodes with a window that has a moment in common with this one, the earliest beginning first."""
        ...


class Reader(RecordQueries, SideRecordQueries, EvidenceQueries, TrustQueries, GraphQueries, Protocol):
    """Everything that can be read of one tenant, as of one moment. `store.records` has it for every back end."""


class RecordChanges(Protocol):
    def add(self, record: Record) -> None: ...

    def revise(self, record: Record) -> None:
        """Replace a record; where its kind is revised (`core.record_kinds`), the earlier revision stays readable, and a
        session or an edge that says no later revision than the one it replaces is the next one.
        """
        ...

    def add_earlier(self, revision: Record) -> None:
        """An earlier revision of a record that is here, taken over from elsewhere; one that is there stays."""
        ...

    def rewrite(self, record: Record) -> None:
        """Replace what a record says where it lies, without keeping what it said: for a memory the revision that it
        names, current or earlier. The bytes before it are really gone.
        """
        ...

    def remove(self, kind: type[R], record_id: str) -> None:
        """Really remove a record with its revisions, for a memory also its vectors, log lines, signals and edges, for
        a node its edges.
        """
        ...

    def claim(self, owner: str, *, now: float, latest: float, limit: int) -> list[Lease]:
        """Lease free jobs to `owner`, the longest due first, each claim counted as an attempt.

        Due is what was ready before `now`, and what would be ready only after `latest`, which no clock that runs right
        can have written. `owner` gets a number added for each job.
        """
        ...

    def change_lease(self, old: Lease | None, new: Lease | None) -> bool:
        """Replace a lease if its owner and beat are still those of `old` (None: there is no lease); None removes it."""
        ...


class SideRecordChanges(Protocol):
    def add_side_records(self, items: Sequence[SideRecord]) -> int:
        """Take over what was kept beside the records elsewhere; says how many were new."""
        ...

    def rewrite_side_record(self, before: SideRecord, after: SideRecord) -> None:
        """Replace what is kept beside the records; the bytes before it are really gone."""
        ...

    def keep_trust(self, memory: Memory, level: int, marks: Sequence[int] = ()) -> None:
        """Note what a memory is trusted, under which parents it hangs, and marks to know its text again by."""
        ...

    def keep_vectors(self, identity: EmbedderIdentity, memory_id: str, vectors: Mapping[str, bytes]) -> None: ...

    def kept_reply(self, caller: str, key: str) -> KeptReply | None: ...

    def keep_reply(self, reply: KeptReply, *, drop_before: float | None) -> None:
        """Keep the answer with the change that it answers, and let go of those from before `drop_before`, if given."""
        ...


class Writer(Reader, RecordChanges, SideRecordChanges, Protocol):
    """One atomic unit of change. Everything in it is committed, or nothing is."""


class StoreTransactions(Protocol):
    @property
    def info(self) -> StoreInfo: ...

    def read(self, tenant: str) -> AbstractContextManager[Reader]: ...

    def write(self, tenant: str, change: Callable[[Writer], T], *, alone: bool = False, adds_only: bool = False) -> T:
        """Run `change` in a transaction and return when it is durable. Calls that arrive together share one commit.

        When a neighbour fails, `change` is run again; with `alone` it is run once, in a transaction of its own. A
        change that `adds_only` asks for nothing that is there: it may be run before anybody is kept waiting for it.
        """
        ...

    def head(self) -> int:
        """The position of the last committed change: up to here the feed no longer changes, and whatever is committed
        later comes after it. Positions rise and say nothing else: between two of them there may be any number of
        changes, or none. 0 is before the first.
        """
        ...

    def changes(self, after: int, limit: int) -> list[Change]:
        """The first changes after a position, in order; fewer than `limit` only where there are no more."""
        ...

    def listen(self, wake: Callable[[], object]) -> AbstractContextManager[None]:
        """Have `wake` called from another thread soon after the feed has grown, while in its block. It may come for
        nothing, or not at all: whoever waits looks now and then.
        """
        ...

    def unscoped(self, kind: type[R], ids: Sequence[str]) -> dict[str, R]:
        """Records of any tenant, for followers that build views; what it gives never reaches a caller as it is."""
        ...

    def turn(self, name: str, wait_s: float) -> AbstractContextManager[bool]:
        """The right to what is named, of one thread among all processes and machines that share the bank; False when
        somebody else kept it for so long. Whoever dies gives it back.
        """
        ...

    def renew_turn(self, name: str) -> bool:
        """Whether a turn that was taken here is still ours: at a server it goes with its connection, and is then taken
        again, unless somebody else has it.
        """
        ...

    def verify(self) -> list[Damage]: ...

    def backup(self, target: Path, progress: Callable[[int, int], None] | None = None) -> None: ...

    def close(self) -> None: ...


class StoreLogs(Protocol):
    def log_shown(self, exposures: Sequence[Exposure]) -> None:
        """Note what was shown. Apart from reads; may be skipped on a read-only bank."""
        ...

    def log_gaps(self, gaps: Sequence[Gap]) -> None:
        """Note what was asked in vain, adding to the count of a gap that is known. Bounded: the longest unasked go."""
        ...

    def gaps(self, tenant: str) -> list[Gap]: ...

    def drop_gaps(self, tenant: str, ids: Sequence[str]) -> int:
        """Really remove gaps; says how many there were."""
        ...


class StoreState(Protocol):
    """What is no record and changes in place: settings, tokens, the queue."""

    def setting(self, name: str) -> str | None: ...

    def glance(self, setting: str, after: int, limit: int) -> tuple[str | None, list[Change]]:
        """A setting, and changes as `changes` has them, in one round trip: what every search asks first."""
        ...

    def set_setting(self, name: str, value: str) -> None: ...

    def agree_setting(self, name: str, value: str) -> str:
        """Keep `value` unless there is one already; returns the one that counts, whoever was first."""
        ...

    def tenants_with_jobs(self) -> list[str]:
        """Whose jobs wait or are in hand: for workers that serve every tenant. Asked once a second, so it is cheap."""
        ...

    def jobs_in_queue(self) -> int:
        """How many jobs of all tenants wait or are in hand."""
        ...

    def token(self, token_id: str) -> AccessToken | None: ...

    def tokens(self) -> list[AccessToken]:
        """Of every tenant, the oldest first."""
        ...

    def keep_token(self, token: AccessToken) -> None:
        """Add a token, or replace the one with the same id."""
        ...


class Store(StoreTransactions, StoreLogs, StoreState, Protocol):
    """A bank's records. `store.record_store` has it for every back end; a back end implements `store.engine.Engine`."""


class Backend(Protocol):
    """A kind of store, asked about a bank before it is open."""

    def exists(self, location: Location) -> bool:
        """Whether there is a bank to open. Makes none."""
        ...

    def open(
        self, location: Location, *, durability: str, create: bool, read_only: bool, clock: Callable[[], float]
    ) -> Store: ...

    def checks(self, location: Location) -> Iterable[Check]:
        """What must be right before a bank can be opened there, such as a library and permissions."""
        ...

    def integrity(self, location: Location) -> Check:
        """A quick look whether a bank that opens is whole; `Store.verify` reads every row."""
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
    """Which memories may be found at all. None means any."""

    tenant: str
    namespace: str | None = None
    """Binds project-scoped memories to this one and team-scoped ones to its team; org ones belong to the tenant."""
    team: TeamReach | None = None
    """Whose team-scoped memories are in reach besides the namespace's own; None is everybody's. Without a namespace it
    binds nothing."""
    scopes: tuple[Scope, ...] = (Scope.PROJECT, Scope.TEAM, Scope.ORG)
    outcome: Outcome | None = None
    states: tuple[State, ...] = (State.ACTIVE,)
    tags: tuple[str, ...] = ()
    """All of them."""
    without_tags: tuple[str, ...] = ()
    """None of them."""
    agent: str | None = None
    task_type: str | None = None


FILTER_PARTS = {
    "namespace": ("namespace", "team"), "scope": ("scopes",), "outcome": ("outcome",), "state": ("states",),
    "tags": ("tags",), "without_tags": ("without_tags",), "agent": ("agent",), "task_type": ("task_type",),
}  # fmt: skip
"""The parts of a filter in the order in which they are counted, and their fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    vector: Floats | None
    text: str
    where: Filter
    depth: int
    """How many candidates to bring back from each of the two sides, at most."""
    also: tuple[str, ...] = ()
    """Ids to bring back besides, where they pass the filter: found in another way, scored in the same."""
    begun: object = None
    """For the `JoinedHalves` that has begun to look for it; nobody else can tell what it means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Everything ranking needs about the memories that came up, as parallel columns. No row is fetched for it."""

    ids: list[str]
    cosine: Floats
    """NaN where there is no vector (yet)."""
    keyword: Floats
    """BM25; 0 where no query term occurs."""
    keyword_ceiling: float = 0.0
    """What BM25 would give a short memory that holds every query term, those unknown to the index included:
    the sum of idf·(k1 + 1) over the terms. So keyword / keyword_ceiling says how much of the query was met."""
    form: Floats
    """0–1: how alike the query and the memory's title or description are in wording, order kept, parameters aside."""
    parametric: NDArray[np.bool_]
    """Whether both of them have parameters."""
    rarest_word: float = 1.0
    """What BM25 counts for a word that hardly any memory has: it grows with the index, and with it every score. So
    keyword / rarest_word says how many such words were met, whatever the size of the index."""
    named: Floats
    """The share of the query's words that are rare and that it holds: names, codes, words that no text holds by chance.
    0 where it holds none."""
    exact: NDArray[np.bool_]
    """Whether its title, key or content is the query itself."""
    beside: NDArray[np.int64]
    """(n, 2): the rows of the turns just before and after it in the same conversation; −1 where there is none."""
    scopes: list[Scope]
    standings: Sequence[Standing]
    handles: NDArray[Any] | None = None
    """For the `FusedSearch` that found them, good until the next `apply`; nobody else can tell what they mean."""
    exhausted: bool
    """True when a greater depth would bring nothing new."""
    considered: int
    """How many memories passed the filter."""
    filtered_out: Mapping[str, int]
    """How many memories of the tenant each part of the filter removed, by the name of the part."""


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
    """Whether it cannot be read at all; the next search builds it again."""
    engine: str = ""
    """The URL of the engine that keeps it."""
    trouble: str = ""
    """Why it could not be asked, such as a server that is away; the figures say nothing then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexPosition:
    """How far in the feed an index is."""

    applied: int = 0
    """The number of the last change that it has seen."""
    mark: int = 0
    """The mark of the batch with that change."""
    stamp: tuple[int, int] = (0, 0)
    """Another one after every commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WordRow:
    """The words of a memory as terms, which are 32-bit numbers that no text tells anything about."""

    memory: Memory
    """Of which an index keeps the id and what a `Filter` asks for."""
    terms: Mapping[int, int]
    """How much each term weighs: 1–255. Terms for its tags, its id and its whole texts are among them."""
    length: int
    """The weights of all its words together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frequencies:
    """What a tenant's memories, of any state, say about how rare words are."""

    rows: int
    mean_length: float
    holding: Sequence[int]
    """How many of them have each term."""


class Vectors(Protocol):
    """A vector for each memory, found by its direction. Every call is one that a vector database has, and one round
    trip to it; each has a deadline, and says `IndexUnavailable` where the database is away and `BankDamaged` where
    somebody removed or replaced what was kept there: it is then built anew.

    Words come first: a memory's vector is given after its `WordRow`, in the same order as those.
    """

    @property
    def identity(self) -> EmbedderIdentity: ...

    @property
    def position(self) -> IndexPosition:
        """What `advance` was told last; its `stamp` is nobody's business."""
        ...

    def advance(self, position: IndexPosition) -> None:
        """Keep how far in the feed this is, once what was given before is as durable as this is going to be."""
        ...

    def upsert(self, rows: Sequence[tuple[Memory, Floats]]) -> None:
        """Keep the vector of each, and of the memory its id and what a `Filter` asks for."""
        ...

    def delete(self, ids: Sequence[str]) -> None:
        """Ids that are not there are none of its business."""
        ...

    def search(self, vector: Floats, where: Filter, k: int) -> list[tuple[str, float]]:
        """The ids of the `k` nearest that pass the filter and their cosines, the nearest first."""
        ...

    def fetch(self, ids: Sequence[str]) -> dict[str, Floats]:
        """The vectors of those ids that have one."""
        ...

    def clear(self) -> None:
        """Begin anew, at position 0, whatever is there: nothing, something else, vectors of other dimensions."""
        ...

    def close(self) -> None: ...


class Words(Protocol):
    """The terms of each memory. A keyword index or a database of sparse vectors can be one."""

    @property
    def position(self) -> IndexPosition: ...

    def advance(self, position: IndexPosition) -> None: ...

    def upsert(self, rows: Sequence[WordRow]) -> None: ...

    def delete(self, ids: Sequence[str]) -> None: ...

    def search(self, asked: Sequence[Mapping[int, float]], where: Filter, k: int) -> list[list[str]]:
        """For each question the `k` best ids of the memories that pass the filter and have any of its terms, at one
        stroke: by what the terms they have are worth, more where they weigh much and less in long memories. It need not
        be our BM25 to the digit: recall scores the rows of what is found itself. Without terms nothing is found.
        """
        ...

    def frequencies(self, tenant: str, terms: Sequence[int]) -> Frequencies:
        """Of this tenant alone, since from a word's rarity one could tell whether others use it."""
        ...

    def counts(self, filters: Sequence[Filter]) -> list[int]:
        """How many memories pass each filter, at one stroke."""
        ...

    def count(self) -> int:
        """How many memories there are, of every tenant."""
        ...

    def clear(self) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Halves:
    vectors: Vectors
    words: Words
    writing: Callable[[float], AbstractContextManager[bool]]
    """The right to write both, waited for at most so many seconds: only one process has it at a time."""
    joined: JoinedHalves | None = None
    """Where both lie in one place, what they can do together."""
    examination: HalvesExamination | None = None
    """Where it costs little to hold them against the records row by row, what does."""


class HalvesExamination(Protocol):
    def differences(self, rows: Sequence[WordRow]) -> dict[str, str]:
        """Of those memories that are lacking or known otherwise, what is the matter with each."""
        ...

    def contradictions(self) -> list[str]:
        """What the halves say that does not fit together, whatever the records say."""
        ...


class FusedSearch(Protocol):
    """For an index that has both halves in one place: candidates with all their columns at one stroke."""

    def search(self, probe: Probe) -> Candidates: ...

    def vectors_of(self, found: Candidates, rows: Sequence[int]) -> Floats:
        """The vectors of some of the candidates; zeros where there is none any more."""
        ...

    def are_sound(self, found: Candidates, rows: Sequence[int]) -> bool:
        """Whether what the index says of these candidates is what was written."""
        ...


class JoinedHalves(FusedSearch, Protocol):
    """Two halves in one database, which is asked for both at once and keeps what ranking needs besides."""

    @property
    def position(self) -> IndexPosition:
        """Of the words, with a `stamp` for both. It may be that of the last search: whoever takes the right to write
        has it read anew.
        """
        ...

    def begin(self, probe: Probe) -> AbstractContextManager[Probe]:
        """The same probe, for which the engine has begun to look; what was begun is good until the index changes."""
        ...

    def keep_standings(self, standings: Mapping[str, Standing]) -> None:
        """What the evidence about memories amounts to; ids that are not there are none of its business."""
        ...


class IndexUpkeep(Protocol):
    """For an index in files of our own, that knows its damage and can be continued in memory."""

    def ahead(self) -> Index:
        """The index as it is, to be continued in memory: what is written to it nobody else sees, and nobody waits."""
        ...

    def in_doubt(self) -> list[str]:
        """Ids that a batch was changing when its writer died or the power went; to be applied again as they are."""
        ...

    def is_sound_at(self, turn: int) -> bool:
        """Whether a small part of the index matches its checksums: another with each number, all of them in turn."""
        ...

    def damage(self) -> list[Damage]:
        """Everything that does not match its checksum. Reads all of the index."""
        ...

    def ids(self) -> list[str]:
        """Of every live memory."""
        ...

    def differences(self, known: Sequence[tuple[Memory, Standing]]) -> dict[str, str]:
        """Of those memories that the index lacks or knows otherwise, what is the matter, by id."""
        ...

    def heal(self, restored: Callable[[Sequence[str]], Iterable[IndexBatch]]) -> None:
        """Keep what is whole and build the rest again, at one stroke. `restored` is told the ids that are whole."""
        ...


class Index(Protocol):
    """A view of the feed: rebuildable, never the truth. One process writes it at a time, any number read it."""

    @property
    def identity(self) -> EmbedderIdentity: ...

    @property
    def halves(self) -> Halves: ...

    @property
    def fused(self) -> FusedSearch | None:
        """The quick way to candidates; without one they are put together from the halves (`recall.candidates`)."""
        ...

    @property
    def upkeep(self) -> IndexUpkeep | None:
        """None where damage is somebody else's business, as it is a server's."""
        ...

    @property
    def position(self) -> IndexPosition: ...

    def info(self) -> IndexInfo: ...

    def writing(self, *, wait_s: float) -> AbstractContextManager[bool]:
        """The right to `apply` and `embed`; False when another process kept it for longer than `wait_s`."""
        ...

    def apply(self, batch: IndexBatch) -> None: ...

    def awaiting_vectors(self, limit: int) -> list[str]:
        """Ids of live memories without vectors, in the order in which `embed` takes them."""
        ...

    def embed(self, ids: Sequence[str], vectors: Floats) -> None:
        """A row for each id that `awaiting_vectors` just gave."""
        ...

    def clear(self) -> None:
        """Forget everything, to follow the feed from its beginning."""
        ...

    def close(self) -> None: ...


class IndexBuilds(Protocol):
    """Where the indexes of a bank lie. `name` says the build, the embedder and the policy, and begins with "BUILD-".

    The indexes of other records than memories lie under the same name with what they are of behind it, as in "-tasks".
    `facet` says what vectors are made from.
    """

    def place(self, name: str) -> str:
        """Where a build lies now; another answer means that what was opened is not the one in force any more."""
        ...

    def is_there(self, name: str) -> bool: ...

    def open(self, name: str, identity: EmbedderIdentity, facet: str) -> Index | Halves:
        """The index, made where there is none, and anew where it is damaged. A server is asked for nothing yet."""
        ...

    def open_beside(self, name: str, of: str, identity: EmbedderIdentity, facet: str, *, anew: bool) -> Index | Halves:
        """The index of other records, such as `tasks`; `anew` where the one that is there cannot be mended."""
        ...

    def inspect(self, name: str, identity: EmbedderIdentity, facet: str) -> Index | None:
        """To look for damage in; None where there is none that could be looked for. Makes and mends nothing."""
        ...

    def info(self, name: str) -> IndexInfo | None:
        """What is known of it without opening it for search; None when there is none yet."""
        ...

    def distrust(self) -> None:
        """What lies there cannot be used, and may not be changed by a bank that is only read."""
        ...

    def remove(self, build: int) -> None: ...

    def remove_left_over(self, keep: str) -> None:
        """Every build of this bank whose name does not begin so. Nobody is filling another one meanwhile."""
        ...

    def remove_all(self) -> bool:
        """Every build of this bank; False where there is none that may be removed."""
        ...

    def close(self) -> None: ...


class IndexPlace(NamedTuple):
    """Where an index engine keeps the index of one bank."""

    url: str
    """As it was chosen: "embedded", "pgvector", "qdrant://host:6333", "milvus:///path.db" …"""
    key: str | None
    """The engine's API key or token: it is kept nowhere and printed nowhere."""
    mark: str
    """What every name of this bank's in the engine begins with, where others keep theirs, too: letters and digits."""
    folder: Path | None
    """Beside the bank, for what is kept in files; None for a bank in memory."""
    location: Location
    """Of the bank itself."""
    turn: Callable[[str, float], AbstractContextManager[bool]]
    """`StoreTransactions.turn`: for `Halves.writing`."""

    def __repr__(self) -> str:
        return f"IndexPlace({self.url!r}, {self.mark!r}, {self.location!r})"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEngine:
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
        """(n, dimension), rows of length one; a text without tokens gives the zero row."""
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
        """How an episode went. One that cannot tell says unknown; it never guesses and never raises for doubt."""
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
        """At most `MOST_LESSONS`, each within its limits; none is a good answer."""
        ...

    def contrast(self, episodes: Sequence[tuple[Episode, Verdict]]) -> Sequence[Lesson]:
        """What several runs of one task teach when they are compared: at most `MOST_CONTRAST_LESSONS`."""
        ...

    def settle(self, reader: Reader, namespace: str, lesson: Lesson) -> Lesson | None:
        """The lesson under the key of what it is about, where only the records can tell; else the lesson as it is.
        None when they show that nobody can tell: it is not kept.

        Called inside the transaction that keeps the lesson, so it must be quick and may be called again.
        """
        ...

    def merge(self, memory: Memory, lesson: Lesson) -> Lesson | None:
        """What is to be said under a key that is there already; None when `memory` says it all. Called there too."""
        ...
