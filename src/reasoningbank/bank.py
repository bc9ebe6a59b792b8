"""The verbs.

    record  store  record_many          search  inject  compare      feedback  outcome  history  report
    gaps  forget_gap  clear_gaps        candidates
    get  list  edit  changes            session  start_session …     link  unlink  neighbours
    forget  restore  erase              import_from  export_lines    reindex  verify  backup  status
    distill  jobs  loop  scale         consolidate  prune  promote  faded  undo_consolidation  consolidations
    scrub  secrets_in  scrubbing
    approve  reject  revoke  undo  rulings  trust  origins

Knows which room does what and what the defaults are. It is made by `wiring`, which knows the backends.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from reasoningbank import records
from reasoningbank.core.drafts import clean_namespace, clean_tenant
from reasoningbank.core.errors import BankError, InvalidInput
from reasoningbank.core.origins import USER
from reasoningbank.core.types import (
    Change,
    Confidence,
    Draft,
    Edge,
    EmbedderIdentity,
    Remembered,
    Ruling,
    SignalKind,
    State,
    Step,
    Trajectory,
)
from reasoningbank.core.values import replace
from reasoningbank.desk import Desk
from reasoningbank.engine import Engine
from reasoningbank.graph.link import DEFAULT_WEIGHT, link, unlink
from reasoningbank.guard import scrubbing
from reasoningbank.guard.fields import scrubbed_json
from reasoningbank.guard.scrubbing import Scrubbing
from reasoningbank.ports import Damage, Writer

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from reasoningbank.core.learning import Episode, Verdict
    from reasoningbank.exchange.transfer import Imported
    from reasoningbank.graph.walk import Neighbour
    from reasoningbank.guard.sweep import Swept
    from reasoningbank.judging import Provenance, Source
    from reasoningbank.learn.calling import Agent
    from reasoningbank.learn.capture import Ended
    from reasoningbank.learn.consolidate.plan import Consolidated, Undone
    from reasoningbank.learn.consolidate.plan import Run as Upkeep
    from reasoningbank.learn.consolidate.pruning import Faded
    from reasoningbank.learn.crew import Shift
    from reasoningbank.learn.evidence import History
    from reasoningbank.learn.ingest.take import Ingested
    from reasoningbank.learn.jobs import Distilled, Jobs, Learning
    from reasoningbank.learn.loop import Loop
    from reasoningbank.learn.matts import Scaled
    from reasoningbank.learn.report import Report
    from reasoningbank.learn.whole import Kept
    from reasoningbank.ports import Candidates, Floats
    from reasoningbank.recall.follow import Progress
    from reasoningbank.recall.gaps import Gaps
    from reasoningbank.recall.query import Found, Query
    from reasoningbank.run import Run
    from reasoningbank.status import Status

T = TypeVar("T")

DEFAULT_LIST_LIMIT = 50


class Bank:
    def __init__(self, desk: Desk, engine: Engine, learning: Learning) -> None:
        self._desk = desk
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
        self._engine.close()
        self._desk.store.close()

    @property
    def desk(self) -> Desk:
        """What every verb has at hand, for the doors that must know more than a verb tells."""
        return self._desk

    @property
    def namespace(self) -> str:
        return self._desk.namespace

    @property
    def tenant(self) -> str:
        return self._desk.tenant

    def for_tenant(self, tenant: str, *, namespace: str | None = None) -> Bank:
        """The same bank as another tenant sees it: records and index are shared, nothing of the others is in sight.

        It costs next to nothing and need not be closed; `namespace` is the one that its verbs mean by default.
        """
        chosen = self._desk.namespace if namespace is None else clean_namespace(namespace)
        owner = clean_tenant(tenant)
        scrubber = scrubbing.scrubber_for(self._desk.store, owner)
        desk = replace(self._desk, tenant=owner, namespace=chosen, scrubber=scrubber)
        return SharedBank(desk, self._engine, self.learning.at(desk))

    def atomically(self, act: Callable[[Bank, Writer], T]) -> T:
        """Run several verbs as one unit: all of it is committed, or nothing is.

        `act` gets a bank that writes into the unit, and may be run twice. It cannot search.
        """
        from reasoningbank.unit import InUnit, NoEngine

        def change(writer: Writer) -> T:
            desk = replace(self._desk, store=InUnit(self._desk.store, writer))
            return act(SharedBank(desk, NoEngine(self._engine), self.learning.at(desk)), writer)

        return self._desk.store.write(self._desk.tenant, change)

    # ------------------------------------------------------------ storing

    def record(self, draft: Draft | None = None, *, vector: ArrayLike | None = None, **options: Any) -> Remembered:
        """Keep a strategy: `record(title=…, description=…, content=…, outcome="success", tags=[…])`.

        With `vector`, the caller's own vector of the content is kept and used instead of embedding it.
        """
        wanted = records.draft_of(draft, options)
        if vector is None:
            return records.record(self._desk, wanted)
        from reasoningbank.finding import unit_vector

        identity = self._engine.identity
        vectors = {self._engine.first_facet: unit_vector(vector, identity.dimension)}
        return records.record(self._desk, wanted, identity=identity, vectors=vectors)

    def store(self, key: str, value: str, **options: Any) -> Remembered:
        """Keep `value` under `key`. The same key in the same namespace makes a new revision, not a second memory."""
        return records.store_under_key(self._desk, key, value, options)

    def record_many(
        self, drafts: Iterable[Draft | Mapping[str, Any]], *, progress: Callable[[int], None] | None = None
    ) -> builtins.list[str]:
        """The bulk path: keep many and return their ids. What was kept before an error stays kept."""
        return records.record_many(self._desk, drafts, progress)

    # ------------------------------------------------------------ reading and changing

    def get(self, reference: str, *, namespace: str | None = None) -> Remembered:
        """By id, or by key within a namespace."""
        return records.get(self._desk, reference, namespace)

    def list(
        self,
        *,
        namespace: str | None = None,
        state: str | None = State.ACTIVE,
        limit: int = DEFAULT_LIST_LIMIT,
        before: str | None = None,
        **where: Any,
    ) -> builtins.list[Remembered]:
        """Newest first; `before` is the last id of the page before. `where` may name tags, outcome, scope, agent,
        task_type, origin or key.
        """
        return records.listed(self._desk, where, namespace=namespace, state=state, limit=limit, before=before)

    def edit(
        self, reference: str, *, expected_revision: int | None = None, editor: str = USER, **changes: Any
    ) -> Remembered:
        """Make a new revision. With `expected_revision`, only if nobody else was faster. `editor` is an origin: whoever
        is believed less than the memory may not change it.
        """
        return records.edit(self._desk, reference, changes, expected_revision, editor)

    def forget(self, reference: str, *, editor: str = USER) -> Remembered:
        """Take a memory out of every search. It can be restored."""
        return self.edit(reference, state=State.FORGOTTEN, editor=editor)

    def restore(self, memory_id: str, *, editor: str = USER) -> Remembered:
        """Bring a forgotten or archived memory back; one that was in quarantine goes back there."""
        return self.edit(memory_id, state=State.ACTIVE, editor=editor)

    def erase(self, memory_id: str) -> None:
        """Really remove a memory with its revisions, signals, edges and vectors. There is no undo."""
        records.erase(self._desk, memory_id)
        self.follow_erasures()

    def follow_erasures(self) -> None:
        """Take what was erased out of the index as well. `erase` does so by itself, except within a unit."""
        if self._engine.index_info() is not None:
            self._engine.using(lambda searcher: searcher.follower.catch_up(budget_s=60.0, wait_s=10.0))

    def changes(self, *, after: int = 0, limit: int = 1000) -> builtins.list[Change]:
        """The feed: what was committed after a number, of this tenant, in order."""
        found = self._desk.store.changes(after, records.checked_limit(limit))
        return [change for change in found if change.tenant == self._desk.tenant]

    # ------------------------------------------------------------ trust

    def approve(self, target: str, *, comment: str = "", voice: str = USER, dry_run: bool = False) -> Ruling:
        """Vouch for a memory, or for everything an origin has brought so far; frees it from quarantine.

        The `voice` of the user is enough; an agent's counts when a second one says the same.
        """
        from reasoningbank import judging

        return judging.approve(self._desk, target, comment=comment, voice=voice, dry_run=dry_run)

    def reject(self, reference: str, *, comment: str = "", dry_run: bool = False) -> Ruling:
        """Forget a memory and write down that the user wanted it gone."""
        from reasoningbank import judging

        return judging.reject(self._desk, reference, comment=comment, dry_run=dry_run)

    def revoke(self, origin: str, *, comment: str = "", dry_run: bool = False) -> Ruling:
        """Quarantine everything of an origin with all that was made from it, now and whatever it brings later."""
        from reasoningbank import judging

        return judging.revoke(self._desk, origin, comment=comment, dry_run=dry_run)

    def undo(self, ruling_id: str, *, comment: str = "", dry_run: bool = False) -> Ruling:
        """Take a ruling back."""
        from reasoningbank import judging

        return judging.undo(self._desk, ruling_id, comment=comment, dry_run=dry_run)

    def rulings(self, *, limit: int = DEFAULT_LIST_LIMIT) -> builtins.list[Ruling]:
        """Newest first."""
        with self._desk.store.read(self._desk.tenant) as reader:
            return reader.select(Ruling, {}, newest_first=True, limit=records.checked_limit(limit))

    def trust(self, reference: str) -> Provenance:
        """Why a memory is trusted as far as it is."""
        from reasoningbank import judging

        return judging.provenance(self._desk, reference)

    def origins(self) -> builtins.list[Source]:
        """Every origin of this tenant, how far it is believed and how much came from it."""
        from reasoningbank import judging

        return judging.sources(self._desk)

    # ------------------------------------------------------------ finding

    def search(self, query: str | Query, **options: Any) -> Found:
        """`search("how do I …", limit=5, scope="all", outcome="all", min_confidence=0.3, profile="balanced")`."""
        from reasoningbank import finding

        return finding.search(self._desk, self._engine, self.learning, finding.query_of(query, options))

    def candidates(self, query: str | Query, *, depth: int = 200) -> Candidates:
        """What the vectors and the words find on their own, at most `depth` each, before ranking: for evaluation."""
        from reasoningbank import finding

        return finding.candidates(self._desk, self._engine, finding.query_of(query, {}), depth)

    def gaps(
        self, *, namespace: str | None = None, since: float | None = None, limit: int = DEFAULT_LIST_LIMIT
    ) -> Gaps:
        """What was asked for in vain and would still be, most asked first; `since` is when it was asked last."""
        from reasoningbank import finding

        return finding.gaps(self._desk, self._engine, namespace=namespace, since=since, limit=limit)

    def forget_gap(self, gap_id: str) -> int:
        """Drop a gap, with every wording that a listing shows under it; says how many log lines that were."""
        from reasoningbank import finding

        return finding.forget_gap(self._desk, self._engine, gap_id)

    def clear_gaps(self) -> int:
        """Drop every gap of this tenant; says how many there were."""
        from reasoningbank import finding

        return finding.clear_gaps(self._desk, self._engine)

    def inject(self, task: str | Query, *, max_tokens: int = 500, **options: Any) -> str:
        """Prompt-ready text within a budget, or "" when nothing fits. What the text leaves out was not shown."""
        from reasoningbank import finding

        asked = finding.query_of(task, options)
        return finding.inject(self._desk, self._engine, self.learning, asked, max_tokens)

    def embed(self, texts: Sequence[str]) -> Floats:
        """Vectors of this bank's embedder, one row a text."""
        clean = [self._desk.scrubber.scrub(text).text for text in texts]
        return self._engine.using(lambda searcher: searcher.embed(clean))

    def compare(self, one: str, other: str, *, metric: str = "cosine") -> float:
        """How alike two texts are to this bank's embedder: `cosine` (1 same, 0 unrelated) or `euclidean` (0 same)."""
        from reasoningbank.core.ranking import cosine_similarity, euclidean_distance

        measures = {"cosine": cosine_similarity, "euclidean": euclidean_distance}
        if metric not in measures:
            raise InvalidInput(f"metric {metric!r} is unknown: use one of {', '.join(measures)}.")
        first, second = self.embed([one, other])
        return measures[metric](first, second)

    # ------------------------------------------------------------ evidence

    def feedback(self, reference: str, *, helpful: bool, comment: str = "", source: str = "user") -> Confidence:
        """Say whether a memory helped; returns the new confidence."""
        from reasoningbank.learn import evidence

        given = evidence.Evidence(kind=SignalKind.FEEDBACK, positive=helpful, comment=comment, source=source)
        return evidence.give(self._desk, reference, given).confidence

    def outcome(self, reference: str, *, succeeded: bool, session: str | None = None, comment: str = "") -> Confidence:
        """Say how a task went in which a memory was used; returns the new confidence."""
        from reasoningbank.learn import evidence

        given = evidence.Evidence(
            kind=SignalKind.COMPLETION, positive=succeeded, trajectory_id=session, comment=comment, source="task"
        )
        return evidence.give(self._desk, reference, given).confidence

    def history(self, reference: str) -> History:
        from reasoningbank.learn import evidence

        return evidence.history(self._desk, reference)

    def report(
        self, *, namespace: str | None = None, since: float | None = None, limit: int = DEFAULT_LIST_LIMIT
    ) -> Report:
        """What each memory has done, what difference it makes, and what is dead weight; "*" is every namespace."""
        from reasoningbank.learn.report import report

        self._engine.flush_shown()
        return report(self._desk, **records.in_namespace(self._desk, namespace), since=since, limit=limit)

    # ------------------------------------------------------------ sessions

    @contextmanager
    def session(self, task: str, **options: Any) -> Iterator[Run]:
        """A trajectory around a block: `with bank.session(task="…") as run:`.

        A block that raises ends as a failure; one that ends without `finish` as unknown.
        """
        from reasoningbank.run import Run

        run = Run(self, self.start_session(task, **options))
        try:
            yield run
        except BaseException:
            # The block's own error is the one to see, even when somebody else has ended the session meanwhile.
            with suppress(BankError):
                run.finish_once("failure")
            raise
        run.finish_once("unknown")

    def start_session(
        self,
        task: str,
        *,
        namespace: str | None = None,
        agent: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Trajectory:
        from reasoningbank.learn import capture

        return capture.start(self._desk, task, namespace=namespace, agent=agent, metadata=metadata or {})

    def add_step(self, session: str, action: str, result: str = "", metadata: Mapping[str, Any] | None = None) -> Step:
        from reasoningbank.learn import capture

        return capture.step(self._desk, session, action, result, metadata or {})

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
        from reasoningbank.learn import capture

        self._engine.flush_shown()
        return capture.end(self._desk, session, outcome, used=used, verdict=verdict, distil=distil)

    def flush_shown(self) -> None:
        """Write down what was shown so far. `end_session` does so by itself, except within a unit."""
        self._engine.flush_shown()

    def sessions(
        self, *, namespace: str | None = None, limit: int = DEFAULT_LIST_LIMIT, before: str | None = None
    ) -> builtins.list[Trajectory]:
        """Newest first; `before` is the last id of the page before."""
        where = records.in_namespace(self._desk, namespace)
        most = records.checked_limit(limit)
        with self._desk.store.read(self._desk.tenant) as reader:
            found = reader.select(Trajectory, where, newest_first=True, after=before, limit=most)
        return [self._desk.shown(trajectory) for trajectory in found]

    def trajectory(self, session: str) -> tuple[Trajectory, builtins.list[Step]]:
        from reasoningbank.learn import capture

        with self._desk.store.read(self._desk.tenant) as reader:
            return capture.whole(self._desk, reader, session)

    # ------------------------------------------------------------ learning

    @property
    def jobs(self) -> Jobs:
        """Sessions that wait to be distilled: list, retry, discard, next and answer them."""
        from reasoningbank.learn.jobs import Jobs

        return Jobs(self._desk, self.learning)

    def distill(self, shift: Shift | None = None, **options: Any) -> Distilled:
        """Work off the jobs that are due now, and say what was learned."""
        return self.jobs.distill(shift, **options)

    def keep(self, episode: Episode) -> Kept:
        """Keep a finished session as a whole, and queue it to be distilled. The same one again adds nothing."""
        from reasoningbank.learn.whole import keep_episode

        return keep_episode(self._desk, episode)

    def ingest(self, *paths: str | Path, **options: Any) -> Ingested:
        """Take over transcripts (files or folders) as sessions; `namespace`, `layout`, `dry_run`, `progress`."""
        from reasoningbank.learn.ingest.take import ingest

        return ingest(self._desk, [Path(path) for path in paths], **options)

    def loop(self, agent: Agent, **options: Any) -> Loop:
        """Retrieve, act, judge, distil, consolidate around your own `agent(task, advice)`: `.run(task)` does one."""
        from reasoningbank.learn.loop import Loop

        return Loop(self, agent, **{"consolidate": partial(self.consolidate, if_due=True), **options})

    def scale(self, agent: Agent, task: str, *, how: str = "parallel", **options: Any) -> Scaled:
        """Try a task k times and learn from the comparison; `how` is parallel or sequential."""
        from reasoningbank.learn import matts

        ways = {"parallel": matts.parallel, "sequential": matts.sequential}
        if how not in ways:
            raise InvalidInput(f"how {how!r} is unknown: use one of {', '.join(ways)}.")
        return ways[how](self, agent, task, **options)

    # ------------------------------------------------------------ upkeep

    def consolidate(
        self, *, progress: Callable[[int, int], None] | None = None, rewrite: bool = False, **wish: Any
    ) -> Consolidated:
        """Merge what says the same, link what belongs or clashes together, archive and promote what has earned it.

        `dry_run`, `namespace`, `only` (merge, conflicts, links, prune, promote), `if_due`; with `rewrite` the model
        writes the text of what is merged.
        """
        from reasoningbank.learn.consolidate import run
        from reasoningbank.learn.consolidate.pairs import Space

        space = Space(embedder=self._engine.identity.name, vectors=self._vectors)
        by = run.rewriting(self.learning) if rewrite else None
        return run.consolidate(self._desk, space, run.wish_of(wish), rewrite=by, progress=progress)

    def prune(self, *, dry_run: bool = False, namespace: str | None = None) -> Consolidated:
        """Archive what proved wrong: confidence below 0.3, with evidence against it."""
        return self.consolidate(only=("prune",), dry_run=dry_run, namespace=namespace)

    def promote(self, *, dry_run: bool = False, namespace: str | None = None) -> Consolidated:
        """Offer what has proved itself in enough tasks to the team, and then to the organisation."""
        return self.consolidate(only=("promote",), dry_run=dry_run, namespace=namespace)

    def faded(self, *, namespace: str | None = None) -> builtins.list[Faded]:
        """What has lost confidence to age alone, the most first. Nothing is written: the confidence itself forgets."""
        from reasoningbank.learn.consolidate.run import faded

        return faded(self._desk, namespace)

    def undo_consolidation(self, run_id: str, *, source: str = USER) -> Undone:
        """Put back what a run of `consolidate`, `prune` or `promote` has changed, and say what cannot be."""
        from reasoningbank.learn.consolidate.undoing import undo

        return undo(self._desk, run_id, source)

    def consolidations(self) -> builtins.list[Upkeep]:
        """Every run, newest first."""
        from reasoningbank.learn.consolidate.undoing import history

        with self._desk.store.read(self._desk.tenant) as reader:
            return history(reader)

    def _vectors(self, ids: Sequence[str]) -> Floats:
        self.catch_up()
        return self._engine.using(lambda searcher: searcher.vectors_of(ids, self._desk.tenant))

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
    ) -> Edge:
        return link(self._desk, source, target, kind, weight=weight, text=text, evidence=evidence, tags=tags)

    def unlink(self, edge_id: str) -> Edge:
        return unlink(self._desk, edge_id)

    def neighbours(
        self, reference: str, *, kind: str | None = None, direction: str = "both", depth: int = 1
    ) -> builtins.list[Neighbour]:
        from reasoningbank.graph.walk import neighbours

        return neighbours(self._desk, reference, kind=kind, direction=direction, depth=depth)

    # ------------------------------------------------------------ in and out

    def export_lines(self, *, namespace: str | None = None) -> Iterator[str]:
        """JSON Lines, a header first; every namespace unless one is named."""
        from reasoningbank.exchange.export import export_lines

        return export_lines(self._desk, namespace)

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
        own bank and comes back with its origins, states and rulings.
        """
        from reasoningbank.exchange.arrive import import_path

        return import_path(
            self._desk, Path(path), layout=layout, dry_run=dry_run, restore=restore, name=name, progress=progress
        )

    # ------------------------------------------------------------ secrets

    def secrets_in(self, value: Any) -> dict[str, int]:
        """How many secrets of which kind would be taken out of a text, or of any JSON value, if it were stored."""
        return dict(scrubbed_json(self._desk.scrubber, value)[1])

    def scrub(self, *, apply: bool = False, progress: Callable[[int], None] | None = None) -> Swept:
        """Look for secrets in everything that is kept already; with `apply`, really remove them.

        Then the search index is built anew, since words of a secret may be in the old one.
        """
        from reasoningbank.guard import sweep

        store = self._desk.store
        if apply:
            self._engine.flush_shown()
        swept = sweep.sweep(store, self._desk.tenant, self._desk.scrubber, apply=apply, progress=progress)
        if apply and sweep.is_index_owed(store):
            if self._engine.index_info() is not None:
                self._engine.reindex(None, None, None)
            sweep.index_paid(store)
        return swept

    @property
    def scrubbing(self) -> Scrubbing:
        """What this tenant has ruled: values that are no secrets, and personal data to take out as well."""
        return scrubbing.scrubbing_of(self._desk.store, self._desk.tenant)

    def set_scrubbing(self, wanted: Scrubbing) -> None:
        """Change that: for this bank at once, for servers with the next request, for others when they are opened."""
        scrubbing.keep(self._desk.store, self._desk.tenant, wanted)
        scrubber = scrubbing.scrubber_for(self._desk.store, self._desk.tenant)
        self._desk = replace(self._desk, scrubber=scrubber)

    # ------------------------------------------------------------ keeping

    def reindex(
        self, embedder: str | None = None, *, dimension: int | None = None, progress: Progress | None = None
    ) -> EmbedderIdentity:
        """Build the index anew, with another embedder if one is named. The old one serves until the new is whole."""
        return self._engine.reindex(embedder, dimension, progress)

    def catch_up(self, *, budget_s: float = 3600.0, progress: Progress | None = None) -> bool:
        """Bring the index up to date now instead of at the next search."""
        return self._engine.using(
            lambda searcher: searcher.follower.catch_up(budget_s=budget_s, wait_s=budget_s, progress=progress)
        )

    def verify(self) -> builtins.list[Damage]:
        """What is damaged: pages, rows, what is kept of trust, and what this tenant believes without a reason."""
        from reasoningbank.guard.audit import believed_without_reason

        damage = self._desk.store.verify()
        return damage or believed_without_reason(self._desk.store, self._desk.tenant)

    def backup(self, target: str | Path, progress: Callable[[int, int], None] | None = None) -> None:
        self._desk.store.backup(Path(target), progress)

    def status(self) -> Status:
        """What is in force and what the bank holds."""
        from reasoningbank.status import status_of

        return status_of(self._desk, self._engine, self.learning)


class SharedBank(Bank):
    """A bank on records and an index that belong to another one, which closes them."""

    def close(self) -> None:
        pass
