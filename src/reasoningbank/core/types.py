"""Records of a bank as frozen values: memories, signals, rulings, trajectories, steps, nodes, edges, jobs and more.

Independent of where they are kept, how they are found and what they are worth. Times are seconds since 1970 in UTC, as
floats.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from reasoningbank.core.frozen import dataclass, field
from reasoningbank.core.origins import USER, Trust

DEFAULT_TENANT = "local"
DEFAULT_NAMESPACE = "default"
EVERY_NAMESPACE = "*"
USER_NAMESPACE = "user"
"""Rules and memories about the person, which hold in every project."""
DEFAULT_LIST_LIMIT = 50


class Outcome(StrEnum):
    SUCCESS = "success"
    FAILURE = "failure"


class Scope(StrEnum):
    PROJECT = "project"
    TEAM = "team"
    ORG = "org"


class State(StrEnum):
    ACTIVE = "active"
    QUARANTINED = "quarantined"
    ARCHIVED = "archived"
    SUPERSEDED = "superseded"
    FORGOTTEN = "forgotten"


class SignalKind(StrEnum):
    FEEDBACK = "feedback"
    COMPLETION = "completion"
    STABILITY = "stability"
    PEER = "peer"


class RulingKind(StrEnum):
    APPROVE = "approve"
    """Somebody vouches for memories."""
    REJECT = "reject"
    """The user wants a memory gone."""
    REVOKE = "revoke"
    """The user no longer believes an origin."""
    QUARANTINE = "quarantine"
    """Records of a peer wait until somebody approves them."""
    QUOTE = "quote"
    """Records of a peer are found and quoted as data."""
    BELIEVE = "believe"
    """Records of a peer are believed as an agent's word is."""
    UNDO = "undo"
    """An earlier ruling is taken back."""


class EdgeKind(StrEnum):
    CAUSES = "causes"
    REQUIRES = "requires"
    CONFLICTS = "conflicts"
    ENHANCES = "enhances"
    ALTERNATIVE = "alternative"
    ANALOGY = "analogy"
    ARCHITECTURAL_ANALOGY = "architectural_analogy"
    """The same structure in another domain: components in a frontend, services in a backend."""
    SUPERSEDES = "supersedes"
    DERIVED_FROM = "derived_from"
    TEACHES = "teaches"
    RELATES = "relates"


class NodeLabel(StrEnum):
    """Labels of the nodes of the memory graph; each node has exactly one, and its fields (`graph.node_fields`)."""

    USER_REQUEST = "UserRequest"
    """A user's request, in the user's own words."""
    USER_PREFERENCE = "UserPreference"
    """How somebody wants things to be done or shown."""
    AGENT_ANSWER = "AgentAnswer"
    """A conclusion, recommendation or summary that was delivered."""
    AGENT_ACTION = "AgentAction"
    """A step that an agent took, with its exact parameters."""
    EVENT = "Event"
    """Something that happened, with its window in time."""
    DATA_SOURCE = "DataSource"
    """A document, file or dashboard that something rests on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A memory as a caller hands it over; the bank turns it into a `Memory`."""

    title: str
    content: str
    description: str = ""
    outcome: str = Outcome.SUCCESS
    key: str | None = None
    namespace: str | None = None
    scope: str = Scope.PROJECT
    tags: tuple[str, ...] = ()
    agent: str | None = None
    task_type: str | None = None
    cognitive_pattern: str | None = None
    origin: str = USER
    parents: tuple[str, ...] = ()
    source: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    initial_confidence: float | None = None
    created_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One strategy at one revision. What it has earned is a `Standing`, kept apart."""

    id: str
    tenant: str
    namespace: str
    scope: Scope
    title: str
    description: str
    content: str
    outcome: Outcome
    key: str | None
    tags: tuple[str, ...]
    agent: str | None
    task_type: str | None
    cognitive_pattern: str | None
    origin: str
    parents: tuple[str, ...]
    source: str | None
    metadata: Mapping[str, Any]
    initial_confidence: float
    created_at: float
    updated_at: float
    revision: int
    state: State
    advice_id: str = ""
    """Names what the text advises: an edit to other advice gets another name, a corrected typo keeps it. Signals count
    for the advice whose name they carry. What a memory said first has no name.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One piece of evidence about a memory. `weight` scales it: 1.0 is a whole piece."""

    id: str
    tenant: str
    memory_id: str
    kind: SignalKind
    positive: bool
    weight: float
    used: bool
    source: str
    trajectory_id: str | None
    """The session that it arose in, or a label that the caller gave."""
    comment: str
    at: float
    advice_id: str = ""
    """Id of what the memory advised when this was said of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    id: str
    tenant: str
    namespace: str
    task: str
    agent: str | None
    outcome: str | None
    """None while it runs, then success, failure or unknown."""
    metadata: Mapping[str, Any]
    started_at: float
    ended_at: float | None
    revision: int = 1
    origin: str = ""
    """Who lived through it, set by the door that took it; lessons come from there. "" in rows from before that was kept
    (`guard.speakers.origin_of_session`).
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    id: str
    tenant: str
    trajectory_id: str
    """The session that it is a part of, or the memory under which it was taken."""
    number: int
    action: str
    result: str
    metadata: Mapping[str, Any]
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One piece of a conversation, kept as a vertex of the memory graph. The lessons in it are memories."""

    id: str
    tenant: str
    namespace: str
    label: NodeLabel
    name: str
    """The caller's own id, such as N1001; one node of a namespace has it. Its own id where none was given."""
    conv_id: str
    """The conversation that it is a part of."""
    text: str
    tags: tuple[str, ...]
    fields: Mapping[str, Any]
    """The special fields of its label."""
    start_at: float | None
    """The window of an event, from its dates."""
    end_at: float | None
    """When the window is over: the first moment that is no longer in it."""
    origin: str
    source: str | None
    """The session that it came from."""
    created_at: float
    updated_at: float
    revision: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """Joins two vertices of the graph, memories or nodes in any mix; `text` is the sentence that says why."""

    id: str
    tenant: str
    source_id: str
    target_id: str
    kind: EdgeKind
    text: str
    weight: float
    tags: tuple[str, ...]
    evidence: str
    created_at: float
    revision: int = 1
    name: str = ""
    """The caller's own id, such as E3001. Edges of one kind between the same two ends differ by it."""
    origin: str = ""
    """Who says the sentence, like a memory's. Empty is an edge from before: believed as its ends are."""


class JobState(StrEnum):
    WAITING = "waiting"
    """To be done; whether somebody is at it, and when it is due, says its lease."""
    DONE = "done"
    DEAD = "dead"
    """Tried too often; kept with its last error until somebody retries or discards it."""
    DISCARDED = "discarded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Work that was accepted and must be done once: a session that is to be distilled."""

    id: str
    tenant: str
    namespace: str
    kind: str
    subject: str
    """The id of what it is about, such as a trajectory."""
    state: JobState
    attempts: int
    """How often it was tried before it ended; while it waits, its lease counts."""
    error: str
    results: tuple[str, ...]
    """The memories that came of it."""
    metadata: Mapping[str, Any]
    created_at: float
    ended_at: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """Tokens that one model cost for one purpose on one day."""

    id: str
    tenant: str
    day: str
    """In UTC, as 2026-11-15."""
    model: str
    purpose: str
    calls: int
    tokens_in: int
    tokens_out: int
    reserved: int
    """Set aside for what was asked and is not answered yet. No spending: see `learn.ledger`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """Who is at a waiting job, and when the next may be. Changes often, so it is no record: a lost one costs a retry.

    An owner that lives raises `beat` now and then. Nobody compares clocks with it: whoever sees the same beat for long
    enough by a watch of his own may take the job over, so no jump of any clock steals a job or leaves one stuck.
    """

    job_id: str
    tenant: str
    owner: str | None
    """Names one claim, not one worker, so that an answer to an earlier claim is known as such. None: free."""
    beat: int
    attempts: int
    ready_at: float
    error: str
    """Error of the last attempt."""
    lost: int = 0
    """Attempts that ended with their worker: nothing says that they were the job's fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """One decision about trust. Append-only: what is taken back is taken back by another ruling."""

    id: str
    tenant: str
    kind: RulingKind
    target: str
    """The memory or the origin that was named; for an undo, the ruling."""
    memories: Mapping[str, str]
    """Every memory it covers, with the state in which it found it."""
    source: str
    """The origin that decided."""
    comment: str
    at: float


class ConsolidationKind(StrEnum):
    CONSOLIDATE = "consolidate"
    PRUNE = "prune"
    PROMOTE = "promote"
    UNDO = "undo"


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidation:
    """One unit of upkeep, written in the transaction that made its changes, so that it can be explained and undone."""

    id: str
    tenant: str
    run: str
    """The run that this unit was a part of: the id of its first unit."""
    kind: ConsolidationKind
    namespace: str
    changes: Mapping[str, Any]
    """Ids and numbers only, never a text: what is erased must not live on here."""
    source: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """A namespace joined a team, or left the one it was in. Append-only: the latest of a namespace counts."""

    id: str
    tenant: str
    namespace: str
    team: str | None
    """None: it is in no team from here on."""
    source: str
    """The origin that decided."""
    at: float


class RuleState(StrEnum):
    IN_FORCE = "in_force"
    PROPOSED = "proposed"
    """Heard or brought by somebody who may not decide: it counts for nothing until the user keeps it."""
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One sentence by which the user wants work to be done. No memory: it is not searched, credited or withheld."""

    id: str
    tenant: str
    namespace: str
    """The project in which it holds; `USER_NAMESPACE` is every one."""
    text: str
    state: RuleState
    heard_in: str
    """Where it came in: terminal, page, prompt:AGENT, shell:AGENT (made up by an agent), import:NAME, library."""
    created_at: float
    updated_at: float
    """When it was said again or decided about. Of two rules that contradict each other the later one counts."""
    revision: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """A memory was shown to somebody, or would have been. A log line, not a record: written after the read, never
    hashed.
    """

    memory_id: str
    tenant: str
    trajectory_id: str | None
    query_hash: str
    rank: int
    at: float
    withheld: bool = False
    """Left out on purpose, by chance, to learn what the memory is worth."""
    holdout: float = 0.0
    """The chance that it had of being left out; 0 says nothing about its worth."""
    advice_id: str = ""
    """Id of what the memory advised when it was shown."""


class Showing(NamedTuple):
    """Exposure of a memory during a session."""

    rank: int
    """The best one."""
    advice_id: str
    """Id of what it advised when it was last shown."""
    first_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptVector:
    """A vector that was given by the caller or cost something to make."""

    memory_id: str
    tenant: str
    identity: str
    facet: str
    vector: bytes
    """Little-endian float32."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """Id of an erased record, so that it does not come back by an import."""

    id: str
    tenant: str
    kind: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A question that nothing in the bank answered when it was asked. A log line that is counted, never exchanged."""

    id: str
    """Made from the tenant, the namespace and the words of the question, so that asking again counts the same gap."""
    tenant: str
    namespace: str
    """Where it was looked for; "*" is everywhere."""
    question: str
    times: int
    first_at: float
    last_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessToken:
    """Record of a bearer token: enough to know it again, not enough to use it."""

    id: str
    tenant: str
    name: str
    scopes: tuple[str, ...]
    origin: str
    """The most that a memory written with it may claim to come from."""
    digest: bytes
    created_at: float
    expires_at: float | None
    revoked_at: float | None
    intact: bool = True
    """True if its row says what was written; one that another hand altered gives nobody any right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptReply:
    """The answer to a write that carried a key, so that the same request again gets the same answer."""

    caller: str
    key: str
    request: bytes
    """A digest of what was asked."""
    status: int
    etag: str
    body: bytes
    at: float


Record = Memory | Signal | Trajectory | Step | Node | Edge | Ruling | Job | Spending | Consolidation | Membership | Rule
"""The truth: hashed, numbered in the feed."""
SideRecord = Exposure | KeptVector | Tombstone
"""Kept beside the records, without hash or feed number."""


class Op(StrEnum):
    ADD = "add"
    """A record that was not there before."""
    REVISE = "revise"
    """A record that replaces an earlier revision of itself."""
    REMOVE = "remove"
    """A record that is gone; for a memory this is an erasure, forgetting is a revision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One entry of the feed: one committed change of this bank."""

    seq: int
    """Its position: later changes have greater ones. Nothing else is to be read from it."""
    kind: str
    op: Op
    id: str
    tenant: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderIdentity:
    """Identity of an embedder: two vectors may be compared only when these four agree."""

    name: str
    model: str
    dimension: int
    revision: str

    def __str__(self) -> str:
        return f"{self.name}/{self.model}/{self.dimension}/{self.revision}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Sum of the signals of one memory, before the clock is asked.

    `positive` and `negative` are evidence masses brought to a common epoch, `value` is a policy's own running figure;
    which of them a policy reads is the policy's business (`core.confidence`).
    """

    initial: float
    created_at: float
    positive: float = 0.0
    negative: float = 0.0
    value: float = 0.0
    used: int = 0
    succeeded: int = 0
    last_used_at: float = 0.0
    last_succeeded_at: float = 0.0
    last_failed_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """A memory together with its standing, confidence and trust."""

    memory: Memory
    confidence: Confidence
    usage_count: int
    """Uses that somebody reported; being shown is counted apart, in `shown`."""
    succeeded: int
    last_used_at: float | None
    last_success: float | None = None
    """When a use of it was last reported to have gone well."""
    last_failure: float | None = None
    seen: int = 0
    """Uses in sessions that our own hooks captured: those of which more is known than somebody's word."""
    seen_well: int = 0
    """Seen uses that went well."""
    set_aside: int = 0
    """Signals about what it advised before it was changed; they do not count. Not known of a hit."""
    shown: int = 0
    scrubbed: Mapping[str, int] = field(default_factory=dict)
    """How many secrets of which kind were taken out when this was stored; empty in an answer that stored nothing."""
    trust: Trust = Trust.TRUSTED

    @property
    def id(self) -> str:
        return self.memory.id

    @property
    def title(self) -> str:
        return self.memory.title

    @property
    def description(self) -> str:
        return self.memory.description

    @property
    def content(self) -> str:
        return self.memory.content

    @property
    def outcome(self) -> Outcome:
        return self.memory.outcome

    @property
    def tags(self) -> tuple[str, ...]:
        return self.memory.tags

    @property
    def namespace(self) -> str:
        return self.memory.namespace

    @property
    def scope(self) -> Scope:
        return self.memory.scope
