"""Keep, change, list and remove memories.

What a caller may say about a memory, and which of it makes a new revision. Independent of searching.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

from reasoningbank.context import LIVE_STATES, BankContext, full_id
from reasoningbank.core.aliases import NAMESPACE_ALIASES, rename_aliases
from reasoningbank.core.confidence import taken_over_id
from reasoningbank.core.drafts import (
    AUTO,
    EDITABLE_FIELDS,
    KEEP,
    MAX_TITLE_CHARS,
    RESET,
    clean_name,
    clean_namespace,
    evidence_wish,
    memory_from,
    next_revision,
    required_text,
)
from reasoningbank.core.errors import Conflict, InvalidInput, NotFound
from reasoningbank.core.frozen import fields, replace
from reasoningbank.core.ids import is_own
from reasoningbank.core.origins import USER, clean_origin
from reasoningbank.core.teams import fold_memberships
from reasoningbank.core.types import (
    EVERY_NAMESPACE,
    Draft,
    EmbedderIdentity,
    Membership,
    Memory,
    Remembered,
    Signal,
    Trajectory,
)
from reasoningbank.guard.admission import Admitted, admit, is_admitted_at_once, readmit
from reasoningbank.guard.fields import scrubbed_json
from reasoningbank.guard.prescan import prescan
from reasoningbank.guard.speakers import require_user
from reasoningbank.guard.trust import check_may_revise, trust_in
from reasoningbank.ports import Reader, Writer

DRAFTS_PER_UNIT = 500
MOST_LISTED = 1 << 40
LISTABLE = frozenset({"tags", "outcome", "scope", "agent", "task_type", "origin", "key", "team"})
_REVISABLE = frozenset(EDITABLE_FIELDS) - {"namespace", "state"}
_SAYING = ("content", "outcome", "title", "description")
_DRAFT_FIELDS = frozenset(f.name for f in fields(Draft))


def draft_of(draft: Draft | Mapping[str, Any] | None, options: Mapping[str, Any]) -> Draft:
    values = options if draft is None or isinstance(draft, Draft) else {**draft, **options}
    if not values.keys() <= _DRAFT_FIELDS:
        values = rename_aliases(values, NAMESPACE_ALIASES)
        if unknown := values.keys() - _DRAFT_FIELDS:
            names = ", ".join(sorted(map(str, unknown)))
            raise InvalidInput(f"A memory has no field {names}: use {', '.join(sorted(_DRAFT_FIELDS))}.")
    if isinstance(draft, Draft):
        return replace(draft, **values) if values else draft
    missing = [name for name in ("title", "content") if name not in values]
    if missing:
        raise InvalidInput(f"A memory needs {' and '.join(missing)}.")
    return Draft(**values)


def record(
    context: BankContext,
    draft: Draft,
    *,
    identity: EmbedderIdentity | None = None,
    vectors: Mapping[str, bytes] | None = None,
) -> Remembered:
    memory, secrets = context.clean(_memory(context, draft, context.settings.confidence.initial_explicit))

    def change(writer: Writer) -> Admitted:
        admission = admit(writer, memory)
        if identity is not None and vectors:
            writer.keep_vectors(identity, memory.id, vectors)
        return admission

    entry = context.store.write(context.tenant, change, adds_only=is_admitted_at_once(memory))
    return context.fresh(entry.memory, secrets, entry.trust)


def record_many(
    context: BankContext, drafts: Iterable[Draft | Mapping[str, Any]], progress: Callable[[int], None] | None = None
) -> list[str]:
    """A few hundred to a commit. What was kept before an error stays kept."""
    ids: list[str] = []
    initial = context.settings.confidence.initial_explicit
    iterator = iter(drafts)
    while chunk := list(islice(iterator, DRAFTS_PER_UNIT)):
        memories = [context.clean(_memory(context, draft_of(draft, {}), initial))[0] for draft in chunk]
        adds_only = all(map(is_admitted_at_once, memories))
        context.store.write(context.tenant, partial(_add_all, memories), adds_only=adds_only)
        ids.extend(memory.id for memory in memories)
        if progress is not None:
            progress(len(ids))
    return ids


def _add_all(memories: Sequence[Memory], writer: Writer) -> None:
    for memory in memories:
        admit(writer, memory)


def store_under_key(context: BankContext, key: str, value: str, options: Mapping[str, Any]) -> Remembered:
    """A key that is there already gets a new revision; what the caller does not name stays as it was."""
    evidence = evidence_wish(options.get("evidence", AUTO))
    own_title = options.get("title") or None
    rest = {name: option for name, option in options.items() if name not in ("title", "evidence")}
    title = own_title or required_text(key, "key", MAX_TITLE_CHARS)
    draft = draft_of(None, {**rest, "key": key, "title": title, "content": value})
    coming, secrets = context.clean(_memory(context, draft, context.settings.confidence.initial_stored))
    revisable = _REVISABLE.intersection({"content", *rest} if own_title is None else {"content", "title", *rest})

    def change(writer: Writer) -> Remembered:
        where = {"namespace": coming.namespace, "key": coming.key, "state": LIVE_STATES}
        there = writer.select(Memory, where, limit=1)
        if not there:
            admission = admit(writer, coming)
            return context.fresh(admission.memory, secrets, admission.trust)
        changes = {name: getattr(coming, name) for name in revisable}
        result = _revise(context, writer, there[0], changes, coming.origin, evidence)
        return replace(result, scrubbed=secrets)

    return context.store.write(context.tenant, change)


def edit(
    context: BankContext,
    reference: str,
    changes: Mapping[str, Any],
    *,
    expected_revision: int | None = None,
    editor: str = USER,
    evidence: str = AUTO,
) -> Remembered:
    """Without changes, `evidence` keep takes an earlier text's evidence over, and reset begins anew."""
    by, wish = clean_origin(editor), evidence_wish(evidence)
    edit_context = replace(context, scrubber=prescan(context.scrubber, changes))

    def change(writer: Writer) -> Remembered:
        memory = edit_context.memory(writer, reference)
        if expected_revision is not None and memory.revision != expected_revision:
            raise Conflict(
                f"{memory.id} is at revision {memory.revision}, not {expected_revision}: read it again first."
            )
        return _revise(edit_context, writer, memory, changes, by, wish)

    return context.store.write(context.tenant, change)


def _revise(
    context: BankContext, writer: Writer, memory: Memory, changes: Mapping[str, Any], editor: str, evidence: str
) -> Remembered:
    if evidence == KEEP:
        # Else a text that was never tried would have worked as often as the one before it.
        require_user(editor, "let evidence about an earlier text count for another")
    revision = next_revision(memory, changes, context.clock())
    if revision is memory:
        return _recount(context, writer, memory, editor, evidence)
    revision, secrets = context.clean(revision)
    if replace(revision, revision=memory.revision, updated_at=memory.updated_at) == memory:
        # All that was new in it was a secret.
        revision = memory
    else:
        candidate = replace(revision, advice_id=_advice_id(context, writer, memory, revision, evidence))
        revision = readmit(writer, memory, candidate, editor).memory
    return replace(context.weigh_memories(writer, [revision])[0], scrubbed=secrets)


def _recount(context: BankContext, writer: Writer, memory: Memory, editor: str, evidence: str) -> Remembered:
    """Change nothing but what evidence counts."""
    if evidence == RESET:
        after = replace(
            memory,
            advice_id=context.ids.new("adv"),
            revision=memory.revision + 1,
            updated_at=max(context.clock(), memory.updated_at),
        )
        memory = readmit(writer, memory, after, editor).memory
    elif evidence == KEEP:
        check_may_revise(memory, trust_in(writer, memory), editor)
        _take_over(writer, memory)
    return context.weigh_memories(writer, [memory])[0]


def _take_over(writer: Writer, memory: Memory) -> None:
    """Let the evidence about the text before count for this one too: as copies, named so that none is made twice."""
    earlier_ids = [
        version.advice_id for version in writer.revisions(Memory, memory.id) if version.advice_id != memory.advice_id
    ]
    for signal in writer.select(Signal, {"memory_id": memory.id}) if earlier_ids else ():
        if signal.advice_id == earlier_ids[-1]:
            copy_id = taken_over_id(signal, memory.advice_id)
            if not writer.get(Signal, [copy_id]):
                writer.add(replace(signal, id=copy_id, advice_id=memory.advice_id))


def _advice_id(context: BankContext, reader: Reader, before: Memory, after: Memory, evidence: str) -> str:
    """Id of what the new text advises: a text that was there before gets its id back, and so its evidence."""
    if evidence == KEEP or (evidence == AUTO and all(getattr(before, n) == getattr(after, n) for n in _SAYING)):
        return before.advice_id
    if evidence == AUTO:
        # Imported here: most changes are to something else than the text.
        from reasoningbank.core.advice import is_same_advice

        for version in (before, *reversed(reader.revisions(Memory, before.id))):
            if is_same_advice(version, after):
                return version.advice_id
    return context.ids.new("adv")


def erase(context: BankContext, reference: str) -> None:
    context.store.write(context.tenant, lambda writer: writer.remove(Memory, context.memory(writer, reference).id))


def get(context: BankContext, reference: str, namespace: str | None = None) -> Remembered:
    with context.store.read(context.tenant) as reader:
        return context.weigh_memories(reader, [context.memory(reader, reference, namespace)])[0]


def list_memories(
    context: BankContext,
    where: Mapping[str, Any],
    *,
    namespace: str | None,
    state: str | None,
    limit: int,
    before: str | None,
) -> list[Remembered]:
    """Newest first."""
    unknown = sorted(set(where) - LISTABLE)
    if unknown:
        raise InvalidInput(f"{', '.join(unknown)} cannot be listed by: use one of {', '.join(sorted(LISTABLE))}.")
    # What is kept without secrets is found without them.
    conditions = {name: scrubbed_json(context.scrubber, value)[0] for name, value in where.items()}
    conditions |= in_namespace(context, namespace)
    team = conditions.pop("team", None)
    if state is not None:
        conditions["state"] = state
    with context.store.read(context.tenant) as reader:
        if team is not None:
            conditions["namespace"] = _namespaces_of(reader, clean_name(team, "team"))
        if before is not None and not is_own(before) and (whole := full_id(reader, Memory, before)) is not None:
            before = whole
        memories = reader.select(Memory, conditions, newest_first=True, after=before, limit=checked_limit(limit))
        return context.weigh_memories(reader, memories)


def _namespaces_of(reader: Reader, team: str) -> tuple[str, ...]:
    teams = fold_memberships(reader.select(Membership, {}))
    if team not in teams.names():
        there = ", ".join(teams.names()) or "no team yet"
        raise NotFound(f"There is no team {team!r} here: there is {there}.")
    return teams.namespaces_of(team)


def listed_sessions(context: BankContext, *, namespace: str | None, limit: int, before: str | None) -> list[Trajectory]:
    """Newest first."""
    where, most = in_namespace(context, namespace), checked_limit(limit)
    with context.read_for_output() as reader:
        return reader.select(Trajectory, where, newest_first=True, after=before, limit=most)


def checked_limit(limit: int) -> int:
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise InvalidInput(f"limit must be a whole number from 1 on, not {limit!r}.")
    return min(limit, MOST_LISTED)


def in_namespace(context: BankContext, namespace: str | None) -> dict[str, str]:
    """As a condition: None is the bank's own, "*" is no condition at all."""
    if namespace == EVERY_NAMESPACE:
        return {}
    return {
        "namespace": context.namespace if namespace is None else context.scrubber.scrub(clean_namespace(namespace)).text
    }


def _memory(context: BankContext, draft: Draft, initial_confidence: float) -> Memory:
    return memory_from(
        draft,
        memory_id=context.ids.new("mem"),
        tenant=context.tenant,
        namespace=context.namespace,
        initial_confidence=initial_confidence,
        now=context.clock(),
    )
