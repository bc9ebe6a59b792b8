"""Every public verb once, on a bank with something of everything in it, and how one sees later that it happened."""
# ruff: noqa: ARG001, ARG005 - every verb has one shape

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reasoningbank.core.errors import NotFound
from reasoningbank.core.types import State
from reasoningbank.wiring import ReasoningBank

Seen = Callable[[ReasoningBank], bool]
"""Whether what was acknowledged is there."""


@dataclass(frozen=True, slots=True)
class Known:
    """What the bank holds before the verb."""

    folder: Path
    ids: list[str]
    forgotten: str
    session: str
    origin: str = "tool:browser"

    @property
    def place(self) -> Path:
        return self.folder / "bank.db"

    @property
    def lines(self) -> Path:
        return self.folder / "lines.jsonl"

    @property
    def backup(self) -> Path:
        return self.folder / "kept.db"

    @property
    def transcript(self) -> Path:
        return self.folder / "chat.json"


def prepared(folder: Path) -> Known:
    with open_bank(folder / "bank.db") as bank:
        ids = [
            bank.record(title=f"storm advice {n}", content=f"storm advice number {n} " + "wind " * 200, tags=["t"]).id
            for n in range(12)
        ]
        bank.record(title="storm stray", content="from a page", origin="tool:browser")
        gone = bank.record(title="storm gone", content="to be restored").id
        bank.forget(gone)
        bank.feedback(ids[2], helpful=True)
        bank.search("storm advice")
        with bank.session("storm task one") as run:
            bank.add_step(run.id, "ran make", "error: no rule to make target")
        session = bank.start_session("storm task two").id
        bank.add_step(session, "pip install thing", "ERROR: no matching distribution")
        known = Known(folder, ids, gone, session)
        bank.backup(known.backup)
        known.lines.write_text("\n".join(bank.export_lines()) + "\n", "utf-8")
    call = {"id": "1", "function": {"name": "shell", "arguments": "make"}}
    said = [
        {"role": "user", "content": "fix the build"},
        {"role": "assistant", "content": "it works", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "done"},
    ]
    known.transcript.write_text(json.dumps(said), "utf-8")
    return known


def open_bank(place: Path) -> ReasoningBank:
    return ReasoningBank.open(place, embedder="hash", dimension=64, namespace="storm", distiller="offline", llm="off")


def _there(memory_id: str) -> Seen:
    return lambda bank: bool(bank.get(memory_id))


def _is_gone(bank: ReasoningBank, memory_id: str) -> bool:
    with suppress(NotFound):
        bank.get(memory_id)
        return False
    return True


def always(_: ReasoningBank) -> bool:
    return True


def _record(bank: ReasoningBank, known: Known) -> Seen:
    return _there(bank.record(title="storm new", content="stored under faults " + "wind " * 900).id)


def _record_many(bank: ReasoningBank, known: Known) -> Seen:
    made = bank.record_many([{"title": f"storm many {n}", "content": f"one of many {n}"} for n in range(20)])
    return lambda later: all(later.get(memory_id) for memory_id in made)


def _edit(bank: ReasoningBank, known: Known) -> Seen:
    edited = bank.edit(known.ids[0], content="changed under faults")
    return lambda later: later.get(edited.id).content == "changed under faults"


def _feedback(bank: ReasoningBank, known: Known) -> Seen:
    bank.feedback(known.ids[1], helpful=False, comment="faults")
    return lambda later: len(later.history(known.ids[1]).points) > 1


def _outcome(bank: ReasoningBank, known: Known) -> Seen:
    bank.outcome(known.ids[1], succeeded=True, session=known.session, comment="faults")
    return lambda later: len(later.history(known.ids[1]).points) > 1


def _session(bank: ReasoningBank, known: Known) -> Seen:
    bank.add_step(known.session, "tried again", "worked")
    bank.end_session(known.session, "success")
    return lambda later: later.trajectory(known.session)[0].ended_at is not None


def _erase(bank: ReasoningBank, known: Known) -> Seen:
    bank.erase(known.ids[3])
    return lambda later: _is_gone(later, known.ids[3])


def _forget(bank: ReasoningBank, known: Known) -> Seen:
    bank.forget(known.ids[4])
    return lambda later: later.get(known.ids[4]).memory.state is State.FORGOTTEN


def _restore(bank: ReasoningBank, known: Known) -> Seen:
    bank.restore(known.forgotten)
    return lambda later: later.get(known.forgotten).memory.state is State.ACTIVE


def _ingest(bank: ReasoningBank, known: Known) -> Seen:
    bank.ingest(known.transcript)
    return always


def _import(bank: ReasoningBank, known: Known) -> Seen:
    bank.import_from(known.lines)
    return always


def _backup(bank: ReasoningBank, known: Known) -> Seen:
    target = known.folder / "made.db"
    bank.backup(target)

    def whole(_: ReasoningBank) -> bool:
        with ReasoningBank.open(target, read_only=True, namespace="storm") as copy:
            return copy.verify() == [] and len(copy.list(limit=100)) >= len(known.ids)

    return whole


def _recover(bank: ReasoningBank, known: Known) -> Seen:
    bank.close()
    ReasoningBank.recover(known.backup, known.place)
    return lambda later: len(later.list(limit=100)) >= len(known.ids)


def _reopen(bank: ReasoningBank, known: Known) -> Seen:
    bank.close()
    with open_bank(known.place) as again:
        made = again.record(title="storm reopened", content="x").id
    return _there(made)


def _reading(act: Callable[[ReasoningBank, Known], Any]) -> Callable[[ReasoningBank, Known], Seen]:
    def read(bank: ReasoningBank, known: Known) -> Seen:
        act(bank, known)
        return always

    return read


VERBS: dict[str, Callable[[ReasoningBank, Known], Seen]] = {
    "record": _record,
    "record_many": _record_many,
    "edit": _edit,
    "feedback": _feedback,
    "outcome": _outcome,
    "session": _session,
    "erase": _erase,
    "forget": _forget,
    "restore": _restore,
    "ingest": _ingest,
    "import": _import,
    "backup": _backup,
    "recover": _recover,
    "open": _reopen,
    "search": _reading(lambda bank, known: (bank.record(title="storm s", content="s"), bank.search("storm advice 3"))),
    "inject": _reading(lambda bank, known: bank.inject("storm advice")),
    "list": _reading(lambda bank, known: bank.list()),
    "get": _reading(lambda bank, known: bank.get(known.ids[0])),
    "history": _reading(lambda bank, known: bank.history(known.ids[2])),
    "status": _reading(lambda bank, known: bank.status()),
    "report": _reading(lambda bank, known: bank.report()),
    "verify": _reading(lambda bank, known: bank.verify()),
    "export": _reading(lambda bank, known: list(bank.export_lines())),
    "reindex": _reading(lambda bank, known: bank.reindex()),
    "catch_up": _reading(lambda bank, known: (bank.record(title="storm c", content="c"), bank.catch_up())),
    "consolidate": _reading(lambda bank, known: bank.consolidate()),
    "prune": _reading(lambda bank, known: bank.upkeep.prune()),
    "distill": _reading(lambda bank, known: bank.distill()),
    "scrub": _reading(lambda bank, known: bank.secrets.scrub(apply=True)),
    "trust": _reading(lambda bank, known: (bank.trust.approve(known.origin), bank.trust.revoke(known.origin))),
    "gaps": _reading(lambda bank, known: (bank.search("nothing like it"), bank.gaps.list(), bank.gaps.clear())),
    "link": _reading(lambda bank, known: bank.link(known.ids[4], known.ids[5], kind="relates")),
    "teams": _reading(lambda bank, known: bank.teams.add("crew")),
}
