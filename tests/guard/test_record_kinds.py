"""The registry of record kinds: whoever adds a kind is told here what its entry lacks."""

from __future__ import annotations

import collections.abc
import json
from dataclasses import fields
from enum import Enum
from typing import Any, Optional, Text, get_args, get_type_hints

import apsw
import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.frozen import dataclass, replace
from reasoningbank.core.ids import is_own
from reasoningbank.core.record_kinds import KINDS, OTHER_TABLES, RECORDS, SIDE_RECORDS, Keeping, RecordKind, kind_of
from reasoningbank.core.types import Consolidation, Memory, Record, SideRecord, Tombstone
from reasoningbank.guard.fields import scrubbed_record
from reasoningbank.guard.secrets import Scrubber

KIND_IDS = [kind.noun for kind in KINDS]
TEXTS = [(kind, name) for kind in KINDS for name in kind.texts]


def can_hold_text(hint: Any) -> bool:
    """Whether a text may stand in a field of this type, or in something within it."""
    if isinstance(hint, type) and issubclass(hint, Enum):
        return False
    if hint in (str, object, Any):
        return True
    listed = hint if isinstance(hint, type) else None
    if listed is not None and issubclass(listed, collections.abc.Collection) and not issubclass(listed, bytes):
        return True
    return any(can_hold_text(inner) for inner in get_args(hint) if inner is not ...)


def undeclared_texts(of: type, kind: RecordKind) -> list[str]:
    hints = get_type_hints(of)
    declared = {*kind.texts, *kind.ids, "id", "tenant"}
    return [f.name for f in fields(of) if can_hold_text(hints[f.name]) and f.name not in declared]


def value_for(kind: RecordKind, name: str, hint: Any, text: str) -> Any:
    if name in kind.enums:
        return next(iter(kind.enums[name]))
    shape = str(hint)
    if "Mapping" in shape:
        return {"words": text}
    if "tuple" in shape:
        return (text,)
    if "str" in shape:
        return text
    return {"bytes": b"\0\0\0\0", "bool": True}.get(getattr(hint, "__name__", ""), 1)


def make_record(kind: RecordKind, texts: dict[str, str]) -> Any:
    """A record of a kind with something in every field."""
    hints = get_type_hints(kind.record_type)
    given = {
        f.name: value_for(kind, f.name, hints[f.name], texts.get(f.name, "plain")) for f in fields(kind.record_type)
    }
    if "id" in given:
        given["id"] = f"{kind.prefix or 'mem'}_{'0' * 26}"
    return kind.record_type(**{**given, "tenant": "local"})


def put(writer: Any, kind: RecordKind, record: Any) -> None:
    """Past every guard, as an older program would have."""
    if kind.prefix:
        writer.add(record)
    else:
        writer.add_side_records([record])


def test_every_class_of_record_has_one_entry_and_no_two_entries_share_a_name():
    assert {kind.record_type for kind in RECORDS} == set(get_args(Record))
    assert {kind.record_type for kind in SIDE_RECORDS} == set(get_args(SideRecord))
    for names in ([k.noun for k in KINDS], [k.table for k in KINDS], [k.prefix for k in RECORDS]):
        assert len(names) == len(set(names))


@pytest.mark.parametrize("kind", KINDS, ids=KIND_IDS)
def test_every_field_that_can_hold_text_is_declared(kind):
    assert undeclared_texts(kind.record_type, kind) == [], f"declare them in the entry of {kind.noun}, or as ids"


@pytest.mark.parametrize("kind", KINDS, ids=KIND_IDS)
def test_an_entry_names_only_fields_that_there_are(kind):
    names = [f.name for f in fields(kind.record_type)]
    made_at = {kind.made_at} if kind.made_at else set()
    assert {*kind.texts, *kind.refers, *kind.needs, *kind.enums, *kind.optional, *kind.ids, *made_at} <= set(names)
    assert tuple(kind.later) == tuple(names[len(names) - len(kind.later) :]), "columns are added at the end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    id: str
    label: Text  # noqa: UP019 - as somebody would write it
    remark: "Optional[str]"  # noqa: UP037, UP045
    notes: Optional[list[str]] = None  # noqa: UP045


def test_a_text_is_seen_however_its_type_is_spelt(planted, maker):
    entry = RecordKind(record_type=Labelled, table="t", noun="n", keeping=Keeping.APPENDED, texts=(), prefix="lab")
    assert undeclared_texts(Labelled, entry) == ["label", "remark", "notes"]
    secret = planted.TOKENS["github ghp"](maker)
    clean, found = scrubbed_record(Scrubber(), Labelled(id="a", label=secret, remark=secret, notes=[secret]))
    assert secret not in repr(clean)
    assert sum(found.values()) == 3


@pytest.mark.parametrize(("kind", "name"), TEXTS, ids=[f"{kind.noun}.{name}" for kind, name in TEXTS])
def test_a_secret_in_any_text_field_of_any_kind_is_taken_out(kind, name, planted, maker):
    secret = planted.TOKENS["github ghp"](maker)
    clean, found = scrubbed_record(Scrubber(), make_record(kind, {name: secret}))
    assert secret not in repr(clean)
    assert found


def test_every_table_of_a_bank_is_a_kind_of_record_or_said_to_be_something_else(bank, path):
    bank.record(title="t", content="c")
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    connection.close()
    assert {name for name in tables if not name.startswith("sqlite_")} == {k.table for k in KINDS} | set(OTHER_TABLES)


def test_the_ids_that_a_bank_makes_are_known_as_its_own(bank):
    for content in ("Wrap errors with context, using %w.", "Use %w to wrap the errors with context."):
        bank.record(title="Wrap errors", description="In Go code", content=content)
    assert bank.consolidate().applied
    with bank.context.store.read("local") as reader:
        made = [record for kind in RECORDS for record in reader.select(kind.record_type, {})]
    assert {type(record) for record in made} >= {Memory, Consolidation}
    assert all(is_own(record.id) for record in made)


def test_a_sweep_takes_secrets_out_of_every_text_field_of_every_kind(bank, path, planted, maker):
    made = {(kind.noun, name): planted.TOKENS["github ghp"](maker) for kind, name in TEXTS}
    bank.record(title="plain", content="plain")

    def spoil(writer):
        for kind in KINDS:
            put(writer, kind, make_record(kind, {name: made[kind.noun, name] for name in kind.texts}))

    bank.context.bare_store.write("local", spoil)
    assert len(bank.secrets.scrub().places) == len(KINDS)
    bank.secrets.scrub(apply=True)
    held = b"".join(file.read_bytes() for file in path.parent.rglob("*") if file.is_file())
    assert [place for place, secret in made.items() if secret.encode() in held] == []


def test_no_export_tells_what_was_kept_before_it_was_known_to_be_a_secret(bank, planted, maker):
    made = {(kind.noun, name): planted.TOKENS["github ghp"](maker) for kind, name in TEXTS if kind.exported}
    kept = bank.record(title="plain", content="plain")

    def spoil(writer):
        for kind in KINDS:
            if not kind.exported:
                continue
            record = make_record(kind, {name: made[kind.noun, name] for name in kind.texts})
            put(writer, kind, replace(record, **dict.fromkeys(kind.needs, kept.id)))

    bank.context.bare_store.write("local", spoil)
    lines = list(bank.export_lines())
    assert {json.loads(line)["type"] for line in lines} >= {kind.noun for kind in KINDS if kind.exported}
    assert [place for place, secret in made.items() if secret in "\n".join(lines)] == []


def test_the_layer_itself_scrubs_whatever_is_written_through_it(bank, path, planted, maker):
    made = {(kind.noun, name): planted.TOKENS["github ghp"](maker) for kind, name in TEXTS}

    def careless(writer):
        for kind in KINDS:
            put(writer, kind, make_record(kind, {name: made[kind.noun, name] for name in kind.texts}))

    bank.context.store.write("local", careless)
    held = b"".join(file.read_bytes() for file in path.parent.rglob("*") if file.is_file())
    assert [place for place, secret in made.items() if secret.encode() in held] == []


ANSWERS = {
    "get": lambda bank, ids: bank.get(ids["memory"]),
    "list": lambda bank, ids: bank.list(namespace="*", limit=100),
    "history": lambda bank, ids: bank.history(ids["memory"]),
    "search": lambda bank, ids: bank.search("words", namespace="*", floor=0.0, min_confidence=0.0),
    "inject": lambda bank, ids: bank.inject("words", namespace="*"),
    "sessions": lambda bank, ids: bank.sessions(namespace="*"),
    "trajectory": lambda bank, ids: bank.trajectory(ids["trajectory"]),
    "track": lambda bank, ids: bank.track_of(ids["memory"]),
    "neighbours": lambda bank, ids: bank.neighbours(ids["memory"]),
    "edges": lambda bank, ids: bank.edges(),
    "node": lambda bank, ids: bank.graph.node(ids["node"]),
    "graph": lambda bank, ids: bank.graph.seed_fields(bank.graph.node(ids["node"])),
    "check": lambda bank, ids: bank.graph.check(),
    "why": lambda bank, ids: bank.trust.why(ids["memory"]),
    "rulings": lambda bank, ids: bank.trust.rulings(),
    "origins": lambda bank, ids: bank.trust.origins(),
    "job": lambda bank, ids: bank.jobs.get(ids["job"]),
    "jobs": lambda bank, ids: bank.jobs.list(),
    "spending": lambda bank, ids: bank.jobs.spending(),
    "runs": lambda bank, ids: bank.upkeep.runs(),
    "faded": lambda bank, ids: bank.upkeep.faded(namespace="*"),
    "teams": lambda bank, ids: bank.teams.list(),
    "report": lambda bank, ids: bank.report(),
    "status": lambda bank, ids: bank.status(),
    "export": lambda bank, ids: list(bank.export_lines()),
    "seed": lambda bank, ids: list(bank.export_lines(layout="memories")),
}


@pytest.mark.parametrize("door", ANSWERS)
def test_no_answer_tells_a_text_that_was_kept_before_it_was_known_to_be_a_secret(door, bank, planted, maker):
    made = {(kind.noun, name): planted.TOKENS["github ghp"](maker) for kind, name in TEXTS}
    other = bank.record(title="other words", content="plain words")
    ids: dict[str, str] = {}

    def spoil(writer):
        for kind in KINDS:
            record = make_record(kind, {name: made[kind.noun, name] for name in kind.texts})
            needed = dict.fromkeys(kind.needs, ids.get("memory", ""))
            if "target_id" in needed:
                needed["target_id"] = other.id
            record = replace(record, **needed)
            ids[kind.noun] = getattr(record, "id", "")
            put(writer, kind, record)

    bank.context.bare_store.write("local", spoil)
    told = repr(ANSWERS[door](bank, ids))
    assert [place for place, secret in made.items() if secret in told] == []


def test_no_secret_is_told_of_what_has_faded(path, clock, planted, maker):
    secret = planted.TOKENS["github ghp"](maker)
    with ReasoningBank.open(path, embedder="hash", namespace="n", clock=clock) as bank:
        kept = bank.record(title="A lesson", content="Do it like this.").memory
        bank.feedback(kept.id, helpful=True)
        spoilt = replace(kept, title=f"Log in with {secret}")
        bank.context.bare_store.write("local", lambda writer: writer.rewrite(spoilt))
        clock.forward(days=360)
        (faded,) = bank.upkeep.faded()
    assert faded.memory.title.startswith("Log in with")
    assert secret not in faded.memory.title


def test_what_cannot_be_without_a_record_goes_with_it_and_comes_in_only_with_it(tmp_path, bank):
    kept = bank.record(title="t", content="c")

    def fill(writer):
        for kind in KINDS:
            if kind.needs:
                put(writer, kind, replace(make_record(kind, {}), **dict.fromkeys(kind.needs, kept.id)))

    bank.context.bare_store.write("local", fill)
    lines = [json.loads(line) for line in bank.export_lines()]
    orphans = [line for line in lines if line["type"] != "header" and kind_of_line(line).needs]
    assert {line["type"] for line in orphans} == {kind.noun for kind in KINDS if kind.needs}
    (tmp_path / "orphans.jsonl").write_text("\n".join(map(json.dumps, orphans)), "utf-8")
    with ReasoningBank.open(tmp_path / "other.db", embedder="hash", namespace="n") as other:
        taken = other.import_from(tmp_path / "orphans.jsonl")
        assert not taken.added
        assert len(taken.skipped) == len(orphans)
    bank.erase(kept.id)
    with bank.context.store.read("local") as reader:
        left = [record for kind in RECORDS for record in reader.select(kind.record_type, {})]
        beside = [record for kind in SIDE_RECORDS for record in reader.side_records(kind.record_type)]
    assert left == []
    assert {type(record) for record in beside} == {Tombstone}


def kind_of_line(line: dict[str, Any]) -> RecordKind:
    return next(kind for kind in KINDS if line["type"] in (kind.noun, kind.noun_of_earlier))


def test_a_record_that_is_none_has_no_entry():
    with pytest.raises(KeyError):
        kind_of(Labelled)
