"""Which memories warn of a failure or mend one; keeps the file that lists them (`known_failures_file`) up to date.

A view of the records: made once, then followed by the feed. The process that reads sessions does it, and a server that
answers hooks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice

from reasoningbank.context import BankContext
from reasoningbank.core.patterns import pattern
from reasoningbank.core.recency import position_of
from reasoningbank.core.types import Memory, Outcome, State
from reasoningbank.learn.offline.failure_kind import FIX, LONGEST_KNOWN_CHARS, kind, message, reads_as_failure
from reasoningbank.ports import Reader
from reasoningbank_coding_agents.known_failures_file import Trouble, told_in
from reasoningbank_coding_agents.quoted_commands import quoted_commands
from reasoningbank_coding_agents.state_dir import StateDir, write_whole

MOST_TROUBLES = 2_000
MOST_CHANGES = 5_000
"""To follow; behind by more, the view is made anew."""
PAGE = 1_000
MOST_SCANNED = 100_000
_PATH = pattern(r"(?<![\w/.-])(?:[\w.-]+/)*[\w-]+\.[A-Za-z]\w{0,8}\b")


def trouble_in(memory: Memory) -> Trouble | None:
    """Trouble that a memory warns of or mends; None when it does neither."""
    warns = memory.outcome is Outcome.FAILURE
    if memory.state is not State.ACTIVE or not (warns or FIX in memory.tags):
        return None
    paths = _PATH.findall(f"{memory.title}\n{memory.description}\n{memory.content}") if warns else ()
    files = tuple(dict.fromkeys(path for path in paths if "." in path.rsplit("/", 1)[-1]))
    fields = memory.metadata.get("trouble")
    if isinstance(fields, Mapping) and isinstance(fields.get("action"), str):
        return Trouble(
            memory_id=memory.id,
            action=fields["action"],
            signature=str(fields.get("signature", "")),
            worked=str(fields.get("worked", "")),
            files=files,
            goal=str(fields.get("goal", "")),
            names=tuple(map(str, fields.get("names", ()))),
            first=str(fields.get("first", "")),
        )
    # Written by a person or a model: the command that it advises against, and the first line that reads like a failure.
    text = f"{memory.title}\n{memory.description}\n{memory.content}"
    action, remedy = quoted_commands(text) if warns else ("", "")
    complaint = next((line for line in text.splitlines() if reads_as_failure(line)), "")
    if not (action or complaint or files):
        return None
    return Trouble(
        memory_id=memory.id,
        action=action[:LONGEST_KNOWN_CHARS],
        worked=remedy[:LONGEST_KNOWN_CHARS],
        signature=kind(message(complaint)) if complaint else "",
        files=files,
    )


# ---------------------------------------------------------------- the file


def refresh(context: BankContext, place: StateDir, namespace: str) -> int:
    """Bring the view of a namespace up to date; says how many troubles are known."""
    path = place.troubles(namespace)
    view = told_in(path, namespace)
    head = context.store.head()
    if view is not None and view[0] == head:
        return len(view[1])
    with context.store.read(context.tenant) as reader:
        update = None if view is None else _follow(context, reader, namespace, *view)
        troubles = dict(_scan(reader, namespace)) if update is None else update
    newest = dict(islice(troubles.items(), MOST_TROUBLES))
    rows = [
        [t.memory_id, t.action, t.signature, t.worked, list(t.files), t.goal, list(t.names), t.first]
        for t in newest.values()
    ]
    write_whole(path, json.dumps({"namespace": namespace, "applied": head, "troubles": rows}))
    return len(newest)


def _follow(
    context: BankContext, reader: Reader, namespace: str, position: int, troubles: Mapping[str, Trouble]
) -> dict[str, Trouble] | None:
    changes = context.store.changes(position, MOST_CHANGES)
    if len(changes) == MOST_CHANGES:
        return None
    ids = sorted({change.id for change in changes if change.kind == "memory" and change.tenant == context.tenant})
    there = sorted(reader.get(Memory, ids).values(), key=lambda memory: (memory.created_at, memory.id), reverse=True)
    updates = {m.id: t for m in there if m.namespace == namespace and (t := trouble_in(m)) is not None}
    # What is new comes first; what was known keeps its place, also when its words have changed.
    rest = {i: updates.get(i, trouble) for i, trouble in troubles.items() if i in updates or i not in ids}
    return {i: trouble for i, trouble in updates.items() if i not in rest} | rest


def _scan(reader: Reader, namespace: str) -> Iterator[tuple[str, Trouble]]:
    after: str | None = None
    where = {"namespace": namespace, "state": State.ACTIVE}
    for _ in range(MOST_SCANNED // PAGE):
        page = reader.select(Memory, where, newest_first=True, after=after, limit=PAGE)
        yield from ((memory.id, trouble) for memory in page if (trouble := trouble_in(memory)) is not None)
        if len(page) < PAGE:
            return
        after = position_of(page[-1])
