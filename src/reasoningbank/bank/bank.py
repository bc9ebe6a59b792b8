"""The `Bank` class: its verbs, and the nouns by which the rest of it is reached.

    bank.record  store  record_many  get  list  edit  forget  restore  erase            keeping what was learned
    bank.search  inject  injection  compare  embed                                      finding it
    bank.feedback  outcome  stability  history  report                                  what it is worth
    bank.session  start_session  add_step  end_session  sessions  trajectory  keep
    bank.track  track_of                                                                what was done
    bank.distill  consolidate  loop  scale  ingest                                      learning from it
    bank.link  unlink  neighbours  edges                                                what belongs together
    bank.import_from  export_lines  backup  verify  reindex  catch_up  status  changes  the bank as a whole

    bank.jobs       sessions that wait to be distilled        learn.jobs
    bank.upkeep     consolidating, pruning, undoing it        upkeep
    bank.trust      approving, revoking, and why              judging
    bank.secrets    what is scrubbed, and what is not         secrecy
    bank.gaps       what was asked for in vain                unanswered
    bank.teams      which projects are a team                 team_roster
    bank.rules      what the user wants done                  rule_book

No verb does its work here: each hands over to the room that does. `wiring`, which knows the backends, makes a bank.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from reasoningbank.bank import memories
from reasoningbank.bank.search_engine import CATCH_UP_WITHIN_S, SearchEngine
from reasoningbank.context import BankContext
from reasoningbank.core.drafts import AUTO, clean_namespace, clean_tenant
from reasoningbank.core.errors import BankFull
from reasoningbank.core.frozen import replace
from reasoningbank.core.origins import AGENT, USER
from reasoningbank.core.settings import Settings
from reasoningbank.core.types import (
    DEFAULT_LIST_LIMIT,
    Change,
    Confidence,
    Draft,
    Edge,
    EmbedderIdentity,
    Remembered,
    SignalKind,
    State,
    Step,
    Trajectory,
)
from reasoningbank.graph.link import DEFAULT_WEIGHT, LinkSaying, link, unlink
from reasoningbank.guard import scrubbing
from reasoningbank.ports import Damage, Writer

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from reasoningbank.bank.gaps import KnowledgeGaps
    from reasoningbank.bank.graph import GraphMemory
    from reasoningbank.bank.rules import RuleBook
    from reasoningbank.bank.search import Injection
    from reasoningbank.bank.secrets import Secrets
    from reasoningbank.bank.session import Session
    from reasoningbank.bank.status import Status
    from reasoningbank.bank.teams import TeamRoster
    from reasoningbank.bank.trust import TrustDecisions
    from reasoningbank.bank.upkeep import Upkeep
    from reasoningbank.core.learning import Episode, Verdict
    from reasoningbank.exchange.transfer import Imported
    from reasoningbank.graph.walk import Joined, Neighbour
    from reasoningbank.guard.secrets import Scrubber
    from reasoningbank.learn.account import Appearance, SessionAccount
    from reasoningbank.learn.agent_runner import Agent
    from reasoningbank.learn.consolidate.plan import Consolidated
    from reasoningbank.learn.evidence import History
    from reasoningbank.learn.import_session import Kept
    from reasoningbank.learn.ingest.take import Ingested
    from reasoningbank.learn.jobs import Distilled, Jobs, Learning
    from reasoningbank.learn.loop import Loop
    from reasoningbank.learn.matts import Scaled
    from reasoningbank.learn.report import Report
    from reasoningbank.learn.sessions import Ended
    from reasoningbank.learn.trends import Trends
    from reasoningbank.learn.worker_pool import Shift
    from reasoningbank.ports import Candidates, Floats
    from reasoningbank.recall.index_follower import GiveWay
    from reasoningbank.recall.index_progress import Progress
    from reasoningbank.recall.query import Query, SearchResult

T = TypeVar("T")


class Bank:
    """The memory of one tenant, and everything that can be done with it. `ReasoningBank.open` gives one.

    Any number of threads may use it at once.
    """

    def __init__(self, context: BankContext, engine: SearchEngine, learning: Learning) -> None:
        self._context = context
        self._engine = engine
        self.learning = learning
        """Who judges and distils here."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Write down what is still in hand and let go of the files."""
        self._engine.close()
        self._context.store.close()

    @property
    def context(self) -> BankContext:
        """Everything that the verbs have at hand, for the doors that must know more than a verb tells."""
        return self._context

    @property
    def namespace(self) -> str:
        """The one that verbs mean when none is named."""
        return self._context.namespace

    @property
    def tenant(self) -> str:
        """The tenant whose memories these are."""
        return self._context.tenant

    @property
    def settings(self) -> Settings:
        """Settings in force here: defaults, then what files, the environment and the caller have said."""
        return self._context.settings

    @property
    def holdout(self) -> float:
        """The chance that a memory which would have been shown in a session is withheld."""
        return self._engine.holdout

    def for_tenant(self, tenant: str, *, namespace: str | None = None) -> Bank:
        """The same bank as another tenant sees it: records and index are shared, nothing of the others is in sight.

        It costs next to nothing and need not be closed; `namespace` is the one that its verbs mean by default.
        """
        default = self._context.namespace if namespace is None else clean_namespace(namespace)
        owner = clean_tenant(tenant)
        scrubber = scrubbing.scrubber_for(self._context.store, owner)
        context = replace(self._context, tenant=owner, namespace=default, scrubber=scrubber)
        return SharedBank(context, self._engine, self.learning.at(context))

    def atomically(self, act: Callable[[Bank, Writer], T], *, coming: Any = None) -> T:
        """Run several verbs as one unit: all of it is committed, or nothing is.

        `act` gets a bank that writes into the unit, and may be run twice. It cannot search. `coming` is what it will
        keep: that is looked over for secrets before everybody else has to wait for the unit.
        """
        from reasoningbank.bank.transaction import NoSearch, TransactionStore
        from reasoningbank.guard.prescan import prescan

        scrubber = prescan(self._context.scrubber, coming)

        def change(writer: Writer) -> T:
            context = replace(
                self._context, bare_store=TransactionStore(self._context.bare_store, writer), scrubber=scrubber
            )
            return act(SharedBank(context, NoSearch(self._engine), self.learning.at(context)), writer)

        return self._context.bare_store.write(self._context.tenant, change)

    # ------------------------------------------------------------ by noun

    @property
    def jobs(self) -> Jobs:
        """Sessions that wait to be distilled: list, retry, discard, next and answer them."""
        from reasoningbank.learn.jobs import Jobs

        return Jobs(self._context, self.learning)

    @property
    def upkeep(self) -> Upkeep:
        """Consolidate, prune and promote; list the runs and undo one; see what has faded."""
        from reasoningbank.bank.upkeep import Upkeep

        return Upkeep(self._context, self._engine, self.learning)

    @property
    def trust(self) -> TrustDecisions:
        """Approve, reject and revoke, undo that, and see why a memory or an origin is believed."""
        from reasoningbank.bank.trust import TrustDecisions

        return TrustDecisions(self._context)

    @property
    def secrets(self) -> Secrets:
        """Secrets taken out of every text: ask for them, look through what is kept already, and say what is none."""
        from reasoningbank.bank.secrets import Secrets

        return Secrets(self._context, self._engine, self._adopt)

    def _adopt(self, scrubber: Scrubber) -> None:
        self._context = replace(self._context, scrubber=scrubber)

    @property
    def gaps(self) -> KnowledgeGaps:
        """Knowledge gaps, asked for in vain and still without an answer: list, forget and clear them."""
        from reasoningbank.bank.gaps import KnowledgeGaps

        return KnowledgeGaps(self._context, self._engine)

    @property
    def teams(self) -> TeamRoster:
        """Which namespaces belong to which team: what is scoped to a team is found by those of that team."""
        from reasoningbank.bank.teams import TeamRoster

        return TeamRoster(self._context)

    @property
    def rules(self) -> RuleBook:
        """The user's rules: in force, proposed; add, keep and drop them. The library may only propose."""
        from reasoningbank.bank.rules import RuleBook

        return RuleBook(self._context)

    @property
    def graph(self) -> GraphMemory:
        """Conversations as nodes and sentences as edges, in one graph with the memories: add, find, walk, remove."""
        from reasoningbank.bank.graph import GraphMemory

        return GraphMemory(self._context, self._engine, self.learning, self.follow_erasures)

    # ------------------------------------------------------------ storing

    def record(self, draft: Draft | None = None, *, vector: ArrayLike | None = None, **options: Any) -> Remembered:
        """Keep a strategy: `record(title=…, description=…, content=…, outcome="success", tags=[…])`.

        With `vector`, the caller's own vector of the content is kept and used instead of embedding it.
        """
        full_draft = memories.draft_of(draft, options)
        if vector is None:
            return memories.record(self._context, full_draft)
        from reasoningbank.bank.search import unit_vector
        from reasoningbank.recall.index_follower import Follower

        identity = self._engine.identity
        vectors = {Follower.facet: unit_vector(vector, identity.dimension)}
        return memories.record(self._context, full_draft, identity=identity, vectors=vectors)

    def store(self, key: str, value: str, **options: Any) -> Remembered:
        """Keep `value` under `key`. The same key in the same namespace makes a new revision, not a second memory;
        `evidence` says, as for `edit`, what becomes of the evidence about the value before.
        """
        return memories.store_under_key(self._context, key, value, options)

    def record_many(
        self, drafts: Iterable[Draft | Mapping[str, Any]], *, progress: Callable[[int], None] | None = None
    ) -> builtins.list[str]:
        """The bulk path: keep many and return their ids. What was kept before an error stays kept."""
        with self._engine.following(progress) as on_progress:
            return memories.record_many(self._context, drafts, on_progress)

    # ------------------------------------------------------------ reading and changing

    def get(self, reference: str, *, namespace: str | None = None) -> Remembered:
        """Find a memory by id, by key within a namespace, or by a beginning or ending of an id that no other has."""
        return memories.get(self._context, reference, namespace)

    def list(
        self,
        *,
        namespace: str | None = None,
        state: str | None = State.ACTIVE,
        limit: int = DEFAULT_LIST_LIMIT,
        before: str | None = None,
        **where: Any,
    ) -> builtins.list[Remembered]:
        """Newest first, by when each was made; `before` is the last id of the page before, or the place after it
        (`core.recency.position_of`), which holds when that memory is gone. `where` may name tags, outcome, scope,
        agent, task_type, origin, key, or a team: then of every namespace in it.
        """
        return memories.list_memories(
            self._context, where, namespace=namespace, state=state, limit=limit, before=before
        )

    def edit(
        self,
        reference: str,
        *,
        expected_revision: int | None = None,
        editor: str = USER,
        evidence: str = AUTO,
        **changes: Any,
    ) -> Remembered:
        """Make a new revision. With `expected_revision`, only if nobody else was faster. `editor` is an origin: whoever
        is believed less than the memory may not change it.

        Evidence about the text before goes on counting where the new one gives the same advice (`auto`), always
        (`keep`) or not at all (`reset`); without changes, `keep` takes over what an earlier edit set aside.
        """
        return memories.edit(
            self._context, reference, changes, expected_revision=expected_revision, editor=editor, evidence=evidence
        )

    def forget(self, reference: str, *, editor: str = USER) -> Remembered:
        """Take a memory out of every search. It can be restored."""
        return self.edit(reference, state=State.FORGOTTEN, editor=editor)

    def restore(self, memory_id: str, *, editor: str = USER) -> Remembered:
        """Bring a forgotten or archived memory back; one that was in quarantine goes back there."""
        return self.edit(memory_id, state=State.ACTIVE, editor=editor)

    def erase(self, memory_id: str) -> None:
        """Really remove a memory with its revisions, signals, edges and vectors. There is no undo."""
        try:
            memories.erase(self._context, memory_id)
        except BankFull:
            # A view can be made again, an erasure must not wait for a larger disk.
            if not self._engine.give_up_index():
                raise
            memories.erase(self._context, memory_id)
        self.follow_erasures()

    def follow_erasures(self) -> None:
        """Take what was erased out of the index as well. `erase` does so by itself, except within a unit."""
        try:
            info = self._engine.index_info()
            if info is not None and info.trouble:
                # A server that is away. The feed tells it of the erasure when it is back, and no search shows a row
                # that the records do not have.
                return
            if info is not None:
                self._engine.using(lambda searcher: searcher.follower.catch_up(budget_s=60.0, wait_s=10.0))
            self._engine.drop_left_over()
        except BankFull:
            # To leave something out, an index is written anew: where there is no room for that, it goes altogether.
            self._engine.give_up_index()

    def changes(self, *, after: int = 0, limit: int = 1000) -> builtins.list[Change]:
        """The feed: what was committed after a number, of this tenant, in order."""
        entries = self._context.store.changes(after, memories.checked_limit(limit))
        return [change for change in entries if change.tenant == self._context.tenant]

    # ------------------------------------------------------------ finding

    def search(self, query: str | Query, **options: Any) -> SearchResult:
        """`search("how do I …", limit=5, scope="all", outcome="all", min_confidence=0.3, profile="balanced")`."""
        from reasoningbank.bank import search

        return search.search(self._context, self._engine, self.learning, self._query_of(query, options))

    def _query_of(self, query: str | Query, options: Mapping[str, Any], *, injects: bool = False) -> Query:
        from reasoningbank.bank.search import query_of

        return query_of(self._context.settings, query, options, injects=injects)

    def candidates(self, query: str | Query, *, depth: int = 200) -> Candidates:
        """Hits of the vectors and of the words on their own, at most `depth` each, before ranking: for evaluation."""
        from reasoningbank.bank import search

        return search.candidates(self._context, self._engine, self._query_of(query, {}), depth)

    def inject(self, task: str | Query, *, max_tokens: int = 500, **options: Any) -> str:
        """Prompt-ready text within a budget, or "" when nothing fits. What the text leaves out was not shown."""
        return self.injection(task, max_tokens=max_tokens, **options).text

    def injection(self, task: str | Query, *, max_tokens: int = 500, **options: Any) -> Injection:
        """As `inject`, with the memories that the text holds, or the reason why there is none."""
        from reasoningbank.bank import search

        query = self._query_of(task, options, injects=True)
        return search.injection(self._context, self._engine, self.learning, query, max_tokens)

    def embed(self, texts: Sequence[str]) -> Floats:
        """Vectors of this bank's embedder, one row a text."""
        from reasoningbank.bank import search

        return search.vectors_of(self._context, self._engine, texts)

    def compare(self, text: str, other: str, *, metric: str = "cosine") -> float:
        """How alike two texts are to this bank's embedder: `cosine` (1 same, 0 unrelated) or `euclidean` (0 same)."""
        from reasoningbank.bank import search

        return search.likeness(self._context, self._engine, text, other, metric)

    # ------------------------------------------------------------ evidence

    def feedback(self, reference: str, *, helpful: bool, comment: str = "", source: str = USER) -> Confidence:
        """Say whether a memory helped; returns the new confidence."""
        from reasoningbank.learn import evidence

        signal = evidence.Evidence(kind=SignalKind.FEEDBACK, positive=helpful, comment=comment, source=source)
        return evidence.give(self._context, reference, signal).confidence

    def outcome(self, reference: str, *, succeeded: bool, session: str | None = None, comment: str = "") -> Confidence:
        """Say how a task went in which a memory was used; returns the new confidence."""
        from reasoningbank.learn import evidence

        signal = evidence.Evidence(
            kind=SignalKind.COMPLETION, positive=succeeded, trajectory_id=session, comment=comment, source="task"
        )
        return evidence.give(self._context, reference, signal).confidence

    def stability(self, reference: str, *, survived: bool, session: str | None = None, comment: str = "") -> Confidence:
        """Say whether the code that a memory led to lasted or was taken back; returns the new confidence."""
        from reasoningbank.learn import evidence

        signal = evidence.Evidence(
            kind=SignalKind.STABILITY,
            positive=survived,
            # It comes on top of the use whose code it was.
            used=False,
            source="code",
            trajectory_id=session,
            comment=comment,
        )
        return evidence.give(self._context, reference, signal).confidence

    def history(self, reference: str, *, policy: str | None = None, context_match: float = 1.0) -> History:
        """Every revision of a memory, and its confidence after each piece of evidence; by another `policy`, what that
        would make of it. `context_match` is how well the task at hand fits, which `factors` asks for.
        """
        from reasoningbank.learn import evidence

        return evidence.history(self._context, reference, policy=policy, context_match=context_match)

    def report(
        self, *, namespace: str | None = None, since: float | None = None, limit: int = DEFAULT_LIST_LIMIT
    ) -> Report:
        """Uses of each memory, the difference that it makes, and what is dead weight; "*" is every namespace."""
        from reasoningbank.learn.report import report

        self._engine.flush_shown()
        return report(self._context, **memories.in_namespace(self._context, namespace), since=since, limit=limit)

    def trends(self, *, days: int = 30, namespace: str | None = None) -> Trends:
        """Trends by day: what was learned, how tasks went and how sure the bank was; "*" is every namespace."""
        from reasoningbank.learn.trends import trends

        return trends(self._context, **memories.in_namespace(self._context, namespace), days=days)

    def account(self, session: str) -> SessionAccount:
        """Account of a session: what was shown in it, what came of it, and what was learned from it."""
        from reasoningbank.learn.account import account

        self._engine.flush_shown()
        return account(self._context, session)

    def shown_to(self, reference: str, *, limit: int = DEFAULT_LIST_LIMIT) -> builtins.list[Appearance]:
        """The sessions in which a memory was shown, the latest first."""
        from reasoningbank.learn.account import appearances

        self._engine.flush_shown()
        return appearances(self._context, reference, limit)

    # ------------------------------------------------------------ sessions

    def session(self, task: str, **options: Any) -> AbstractContextManager[Session]:
        """A trajectory around a block: `with bank.session(task="…") as run:`.

        A block that raises ends as a failure; one that ends without `finish` as unknown.
        """
        from reasoningbank.bank.session import running

        return running(self, task, options)

    def start_session(
        self,
        task: str,
        *,
        namespace: str | None = None,
        agent: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        speaker: str = AGENT,
    ) -> Trajectory:
        """Begin a task that other processes may go on with; `session` does it around a block. What is learned from it
        comes from the `speaker`, an origin, and never from the user.
        """
        from reasoningbank.learn import sessions

        return sessions.start(
            self._context, task, namespace=namespace, agent=agent, metadata=metadata or {}, speaker=speaker
        )

    def add_step(self, session: str, action: str, result: str = "", metadata: Mapping[str, Any] | None = None) -> Step:
        """Note what was done in a session, and what came of it."""
        from reasoningbank.learn import sessions

        return sessions.step(self._context, session, action, result, metadata or {})

    def track(self, reference: str, action: str, result: str = "", metadata: Mapping[str, Any] | None = None) -> Step:
        """Note what was done under a memory, by its id or key, and what came of it; no session is needed."""
        from reasoningbank.learn import sessions

        return sessions.track(self._context, reference, action, result, metadata or {})

    def track_of(self, reference: str) -> builtins.list[Step]:
        """Steps that were done under a memory, in order."""
        from reasoningbank.learn import sessions

        return sessions.track_of(self._context, reference)

    def end_session(
        self,
        session: str,
        outcome: str,
        *,
        used: Sequence[str] = (),
        verdict: Verdict | None = None,
        distil: bool = True,
    ) -> Ended:
        """Ends it, credits what was shown, and queues the distilling, all in one transaction."""
        from reasoningbank.learn import sessions

        self._engine.flush_shown()
        return sessions.end(self._context, session, outcome, used=used, verdict=verdict, distil=distil)

    def flush_shown(self) -> None:
        """Write down what was shown so far. `end_session` does so by itself, except within a unit."""
        self._engine.flush_shown()

    def sessions(
        self, *, namespace: str | None = None, limit: int = DEFAULT_LIST_LIMIT, before: str | None = None
    ) -> builtins.list[Trajectory]:
        """Newest first; `before` is the last id of the page before."""
        return memories.listed_sessions(self._context, namespace=namespace, limit=limit, before=before)

    def trajectory(self, session: str) -> tuple[Trajectory, builtins.list[Step]]:
        """A session with its steps."""
        from reasoningbank.learn import sessions

        with self._context.read_for_output() as reader:
            return sessions.whole(reader, session)

    # ------------------------------------------------------------ learning

    def distill(self, shift: Shift | None = None, **options: Any) -> Distilled:
        """Work off the jobs that are due now, and say what was learned."""
        return self.jobs.distill(shift, **options)

    def consolidate(self, **wish: Any) -> Consolidated:
        """Merge what says the same, link what belongs together, archive and promote: see `bank.upkeep.consolidate`."""
        return self.upkeep.consolidate(**wish)

    def keep(self, episode: Episode) -> Kept:
        """Keep a finished session as a whole, and queue it to be distilled. The same one again adds nothing."""
        from reasoningbank.learn.import_session import keep_episode

        return keep_episode(self._context, episode)

    def ingest(self, *paths: str | Path, **options: Any) -> Ingested:
        """Take over transcripts (files or folders) as sessions; `namespace`, `layout`, `dry_run`, `progress`, and
        `speaker`: the origin of who acted in them, or for each file its own. An agent, unless it is named.
        """
        from reasoningbank.learn.ingest.take import ingest

        return ingest(self._context, [Path(path) for path in paths], **options)

    def loop(self, agent: Agent, **options: Any) -> Loop:
        """Retrieve, act, judge, distil, consolidate around your own `agent(task, advice)`: `.run(task)` does one."""
        from reasoningbank.learn.loop import Loop

        return Loop(self, agent, **{"consolidate": partial(self.consolidate, if_due=True), **options})

    def scale(self, agent: Agent, task: str, *, how: str = "parallel", **options: Any) -> Scaled:
        """Try a task k times and learn from the comparison; `how` is parallel or sequential."""
        from reasoningbank.learn import matts

        return matts.way_named(how)(self, agent, task, **options)

    # ------------------------------------------------------------ links

    def link(
        self,
        source: str,
        target: str,
        kind: str,
        *,
        weight: float = DEFAULT_WEIGHT,
        text: str = "",
        evidence: str = "",
        tags: Sequence[str] = (),
        origin: str = USER,
    ) -> Edge:
        """Join two memories or nodes; `text` is the sentence that says why. The same pair and kind again revises it."""
        saying = LinkSaying(weight=weight, text=text, evidence=evidence, tags=tags, origin=origin)
        return link(self._context, source, target, kind, saying)

    def unlink(self, reference: str) -> Edge:
        """Take an edge out again, by its id or name."""
        return unlink(self._context, reference)

    def neighbours(
        self, reference: str, *, kind: str | None = None, direction: str = "both", depth: int = 1
    ) -> builtins.list[Neighbour]:
        """Memories and nodes reached along edges, the nearest first; `direction` is out, in or both."""
        from reasoningbank.graph.walk import neighbours

        return neighbours(self._context, reference, kind=kind, direction=direction, depth=depth)

    def edges(self, **where: Any) -> builtins.list[Joined]:
        """Edges with the titles of their ends, newest first: `kind`, `tags`, `least_weight`, `limit`, `before`."""
        from reasoningbank.graph.walk import edges

        return edges(self._context, **where)

    # ------------------------------------------------------------ in and out

    def export_lines(self, *, namespace: str | None = None, layout: str | None = None) -> Generator[str, None, None]:
        """JSON Lines, a header first; every namespace unless one is named. All of one moment, which `close` ends.

        With a `layout` (lessons, memories), the active memories alone, in the field names of other systems.
        """
        if layout is not None:
            from reasoningbank.exchange.seed_export import seed_lines

            return seed_lines(self._context, layout, namespace)
        from reasoningbank.exchange.export import export_lines

        return export_lines(self._context, namespace)

    def import_from(
        self,
        path: str | Path,
        *,
        layout: str | None = None,
        dry_run: bool = False,
        restore: bool = False,
        name: str | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Imported:
        """Take over a file or folder of any known layout; says what was added, and what was not and why.

        What comes in is untrusted, under the origin `import:NAME`. With `restore` the file is an export of the user's
        own bank and comes back with its origins, states and rulings. `catch_up` then makes all of it searchable at
        once; else the next searches do, a second's worth each, and say what is still owed. From some thousands on, a
        second process indexes meanwhile (`wiring.index_helper`).
        """
        from reasoningbank.exchange.importer import import_path

        with nullcontext(progress) if dry_run else self._engine.following(progress) as on_progress:
            return import_path(
                self._context,
                Path(path),
                layout=layout,
                dry_run=dry_run,
                restore=restore,
                name=name,
                progress=on_progress,
            )

    # ------------------------------------------------------------ keeping

    def reindex(
        self,
        embedder: str | None = None,
        *,
        dimension: int | None = None,
        index: str | None = None,
        progress: Progress | None = None,
    ) -> EmbedderIdentity:
        """Build the index anew, with another embedder if one is named (`openai/MODEL` too) or if the configuration of
        this bank asks for one, and in the engine `index` if that is named (`embedded`, `qdrant://…`). The old one
        serves until the new is whole.
        """
        identity = self._engine.reindex(embedder, dimension, progress, index)
        # What was stored meanwhile, and the past tasks, which have an index of their own.
        self.catch_up(progress=progress)
        return identity

    def catch_up(
        self,
        *,
        budget_s: float = CATCH_UP_WITHIN_S,
        progress: Progress | None = None,
        give_way: GiveWay | None = None,
    ) -> bool:
        """Bring the index up to date now instead of at the next search; True when nothing is owed then.

        With `give_way` it is work for an idle moment: it waits for nobody, and ends when that says so or when
        a search comes.
        """
        from reasoningbank.bank import search

        return search.catch_up(self._context, self._engine, budget_s, progress, give_way)

    @property
    def has_open_index(self) -> bool:
        """True if something has been searched here, so that index and model are loaded."""
        return self._engine.is_open

    def index_lag(self) -> int:
        """Changes and vectors that the index still owes, told without opening it."""
        from reasoningbank.recall.index_progress import count_changes

        info, store = self._engine.index_info(), self._context.store
        return count_changes(store, 0) if info is None else count_changes(store, info.applied) + info.awaiting_vectors

    def verify(self, *, index_only: bool = False) -> builtins.list[Damage]:
        """Find damage: to pages, to rows, to what is kept of trust, to what this tenant believes without a reason;
        and what of the index does not match its checksums or the records, under the kind `index`. `mend_index`
        builds that again; a search that comes across it does so too. `index engine` is one in a server that does
        not answer.
        """
        from reasoningbank.guard.audit import believed_without_reason

        damage: builtins.list[Damage] = []
        if not index_only:
            damage = self._context.store.verify() or believed_without_reason(self._context.store, self._context.tenant)
        return [*damage, *self._engine.index_damage()]

    def mend_index(self) -> bool:
        """Hold the index against its checksums and the records, and build again what differs; whether something did.
        What it then owes of vectors, `catch_up` makes.
        """
        return self._engine.using(lambda searcher: searcher.mend_all(self._context.tenant))

    def backup(self, target: str | Path, progress: Callable[[int, int], None] | None = None) -> None:
        """A whole copy of the records in another file, made while others write."""
        self._context.store.backup(Path(target), progress)

    def status(self) -> Status:
        """Settings in force and contents of the bank."""
        from reasoningbank.bank.status import status_of

        return status_of(self._context, self._engine, self.learning)


class SharedBank(Bank):
    """A bank on records and an index that belong to another one, which closes them."""

    def close(self) -> None:
        pass
