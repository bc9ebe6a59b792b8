"""Out of one bank and into another: nothing changes on the way, twice is once, and nothing erased comes back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import BankError, InvalidInput
from reasoningbank.core.frozen import replace
from reasoningbank.core.learning import Episode, EpisodeStep
from reasoningbank.core.types import Edge, EdgeKind, Trajectory

TEXT = st.text(min_size=1, max_size=40).filter(str.strip)
NAME = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), min_size=1, max_size=12).filter(
    lambda s: s.strip() and s.strip() != "*"
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
DRAFT = st.fixed_dictionaries(
    {"title": TEXT, "content": TEXT},
    optional={
        "description": st.text(max_size=30),
        "outcome": st.sampled_from(["success", "failure"]),
        "scope": st.sampled_from(["project", "team", "org"]),
        "tags": st.lists(NAME, max_size=3),
        "namespace": NAME,
        "agent": NAME,
        "task_type": NAME,
        "cognitive_pattern": NAME,
        "source": NAME,
        "parents": st.lists(NAME, max_size=2).map(tuple),
        "metadata": st.dictionaries(st.text(max_size=5), JSON, max_size=3),
        "initial_confidence": st.floats(0, 1),
        "created_at": st.floats(-1e10, 1e11),
    },
)


def opened(path: Path, **options: object) -> ReasoningBank:
    return ReasoningBank.open(path, **{"embedder": "hash", "dimension": 16, "namespace": "n", **options})  # type: ignore[arg-type]


def exported(bank: ReasoningBank, file: Path | None = None) -> list[str]:
    found = list(bank.export_lines())
    if file is not None:
        file.write_text("\n".join(found) + "\n", encoding="utf-8")
    return found[1:]


@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(drafts=st.lists(DRAFT, min_size=1, max_size=6), choices=st.data())
def test_any_bank_survives_a_journey_line_by_line_and_a_second_one_adds_nothing(
    tmp_path_factory: pytest.TempPathFactory, drafts: list[dict[str, object]], choices: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("journey")
    with opened(folder / "a.db") as bank:
        ids = bank.record_many(drafts)
        bank.store("key", "v1")
        bank.store("key", "v2")
        draw = choices.draw
        for memory_id in draw(st.lists(st.sampled_from(ids), max_size=4)):
            bank.edit(memory_id, content=draw(TEXT))
            bank.feedback(memory_id, helpful=draw(st.booleans()), comment=draw(st.text(max_size=20)))
        for source, target in draw(st.lists(st.tuples(st.sampled_from(ids), st.sampled_from(ids)), max_size=3)):
            if source != target:
                bank.link(
                    source, target, draw(st.sampled_from([str(k) for k in EdgeKind])), text=draw(st.text(max_size=9))
                )
        with bank.session(
            task=draw(TEXT), metadata=draw(st.dictionaries(st.text(max_size=4), JSON, max_size=2))
        ) as run:
            run.search("v2", floor=0.0)
            run.step(action=draw(TEXT), result=draw(st.text(max_size=9)))
            run.finish(draw(st.sampled_from(["success", "failure", "unknown"])))
        bank.forget(ids[0])
        if len(ids) > 1 and draw(st.booleans()):
            bank.erase(ids[1])
        bank.record(title="with a vector", content="c", vector=[1.0] * 16)
        before = exported(bank, folder / "a.jsonl")
    with opened(folder / "b.db") as bank:
        imported = bank.import_from(folder / "a.jsonl", restore=True)
        assert imported.skipped == []
        assert exported(bank) == before
        changes = bank.status().changes
        again = bank.import_from(folder / "a.jsonl", restore=True)
        assert again.added.total() == again.revised == 0
        assert again.skipped == []
        assert again.unchanged == len(before)
        assert bank.status().changes == changes
        assert exported(bank) == before
        assert bank.verify() == []


@pytest.fixture
def both(tmp_path: Path) -> Callable[[], tuple[ReasoningBank, ReasoningBank]]:
    return lambda: (opened(tmp_path / "a.db"), opened(tmp_path / "b.db"))


def send(source: ReasoningBank, target: ReasoningBank, folder: Path) -> object:
    exported(source, folder / "sent.jsonl")
    return target.import_from(folder / "sent.jsonl", restore=True)


def test_what_was_found_is_found_after_the_journey(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as a, opened(tmp_path / "b.db") as b:
        kept = a.record(title="Advice", content="configure the retry policy")
        a.feedback(kept.id, helpful=False)
        send(a, b, tmp_path)
        assert b.get(kept.id).confidence.mean == pytest.approx(a.get(kept.id).confidence.mean)
        assert [m.id for m in b.search("configure the retry policy", floor=0.0, min_confidence=0.0)] == [kept.id]


def test_a_newer_revision_is_taken_and_an_older_one_is_not(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as a, opened(tmp_path / "b.db") as b:
        kept = a.store("k", "one")
        send(a, b, tmp_path)
        a.store("k", "two")
        a.store("k", "three")
        imported = send(a, b, tmp_path)
        assert imported.revised == 1  # type: ignore[attr-defined]
        assert exported(a) == exported(b)
        send(b, a, tmp_path)
        b.edit(kept.id, content="four")
        old = send(a, b, tmp_path)
        assert b.get("k").content == "four"
        assert [s.why for s in old.skipped] == [f"{kept.id} is here already, with other contents"]  # type: ignore[attr-defined]


def test_banks_that_grew_apart_can_exchange_what_they_have_without_an_error(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as a, opened(tmp_path / "b.db") as b:
        first, second = a.store("k", "one"), a.store("l", "two")
        send(a, b, tmp_path)
        a.link(first.id, second.id, "relates")
        b.link(first.id, second.id, "relates")
        a.store("same", "from a")
        b.store("same", "from b")
        kept = a.record(title="after", content="the refused ones")
        imported = send(a, b, tmp_path)
        assert len(imported.skipped) == 2  # type: ignore[attr-defined]
        assert all(skipped.why for skipped in imported.skipped)  # type: ignore[attr-defined]
        assert b.get(kept.id).content == "the refused ones"
        assert b.get("same").content == "from b"
        assert b.verify() == []


def test_another_tenant_of_the_same_file_is_refused_line_by_line(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db", tenant="x") as x, opened(tmp_path / "a.db", tenant="y") as y:
        kept = x.store("k", "of x")
        x.feedback(kept.id, helpful=True)
        imported = send(x, y, tmp_path)
        assert imported.added.total() == 0  # type: ignore[attr-defined]
        assert len(imported.skipped) == 2  # type: ignore[attr-defined]
        assert y.list() == []
        assert x.get("k").content == "of x"


def test_a_dry_run_says_what_would_happen_and_changes_nothing(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as a, opened(tmp_path / "b.db") as b:
        for number in range(1_200):
            a.store(f"k{number}", "v") if number < 3 else None
        a.record_many({"title": f"t{n}", "content": "c"} for n in range(1_200))
        b.store("k1", "taken")
        a_file = tmp_path / "a.jsonl"
        exported(a, a_file)
        before = (tmp_path / "b.db").read_bytes(), exported(b), b.status().changes
        rehearsed = b.import_from(a_file, dry_run=True)
        assert ((tmp_path / "b.db").read_bytes(), exported(b), b.status().changes) == before
        done = b.import_from(a_file)
        assert (rehearsed.added, rehearsed.skipped) == (done.added, done.skipped)
        assert done.added["memory"] == 1_202
        assert len(done.skipped) == 1


def test_bare_drafts_are_taken_once(bank: ReasoningBank, tmp_path: Path) -> None:
    file = tmp_path / "drafts.jsonl"
    drafts = [
        {"title": "a", "content": "b"},
        {"type": "memory", "title": "c", "content": "d", "outcome": "failure", "tags": ["x"], "namespace": "m"},
        {"title": "a", "content": "b"},
        {"title": "bad", "content": "d", "outcome": "maybe"},
    ]
    file.write_text("\n".join(json.dumps(draft) for draft in drafts))
    imported = bank.import_from(file)
    assert (imported.added, imported.unchanged, len(imported.skipped)) == ({"memory": 2}, 1, 1)
    assert bank.import_from(file).added == {}
    (failure,) = bank.list(namespace="m")
    assert (failure.outcome, failure.tags, failure.memory.origin) == ("failure", ("x",), "import:jsonl")


def test_a_damaged_row_costs_an_import_its_own_line_only(tmp_path: Path) -> None:
    file = tmp_path / "all.jsonl"
    with opened(tmp_path / "bank.db") as bank:
        first, second = (bank.record(title=f"t{n}", content=f"advice {n}") for n in range(2))
        exported(bank, file)
        third = bank.record(title="t2", content="advice 2")
    lines = file.read_text(encoding="utf-8").splitlines()
    file.write_text("\n".join([*lines, json.dumps({"title": "new", "content": "advice"})]), encoding="utf-8")
    connection = apsw.Connection(str(tmp_path / "bank.db"))
    connection.execute("UPDATE memories SET content = 'other advice' WHERE id = ?", (first.id,))
    connection.close()
    with opened(tmp_path / "bank.db") as bank:
        imported = bank.import_from(file)
        assert (imported.added, imported.unchanged) == ({"memory": 1}, 1)
        (skipped,) = imported.skipped
        assert first.id in skipped.why
        assert second.id not in skipped.why
        assert bank.get(third.id).memory == third.memory


def test_what_one_line_brings_the_next_may_need(bank: ReasoningBank, tmp_path: Path) -> None:
    with opened(tmp_path / "other.db") as other:
        kept, erased = (other.record(title=f"t{n}", content=f"advice {n}") for n in range(2))
        other.link(kept.id, erased.id, kind="requires")
        other.feedback(kept.id, helpful=True)
        lines = exported(other)
        other.erase(erased.id)
        tombstones = [line for line in exported(other) if json.loads(line)["type"] == "erased"]
    file = tmp_path / "all.jsonl"
    # The same lines twice over, in one chunk.
    file.write_text("\n".join([*lines, *lines]), encoding="utf-8")
    imported = bank.import_from(file)
    assert imported.added == {"memory": 2, "edge": 1, "signal": 1}
    assert (imported.unchanged, imported.skipped) == (4, [])
    bank.erase(kept.id)
    file.write_text("\n".join([*tombstones, *lines]), encoding="utf-8")
    assert {skip.why for skip in bank.import_from(file).skipped} >= {f"{kept.id} was erased here"}


def test_a_namespace_can_be_exported_alone(bank: ReasoningBank, tmp_path: Path) -> None:
    bank.store("k", "here")
    there = bank.store("k", "there", namespace="m")
    bank.feedback(there.id, helpful=True)
    bank.erase(bank.store("gone", "x").id)
    nouns = [json.loads(line)["type"] for line in bank.export_lines(namespace="m")]
    assert nouns == ["header", "memory", "signal"]


def test_an_unknown_layout_is_refused(bank: ReasoningBank, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"title": "a", "content": "b"}')
    with pytest.raises(InvalidInput, match="reasoningbank-jsonl"):
        bank.import_from(tmp_path / "x.jsonl", layout="xml")


def test_an_import_into_a_bank_that_is_written_meanwhile_loses_neither(tmp_path: Path) -> None:
    import threading

    with opened(tmp_path / "a.db") as a, opened(tmp_path / "b.db") as b:
        a.record_many({"title": f"t{n}", "content": "c"} for n in range(1_500))
        exported(a, tmp_path / "a.jsonl")
        problems: list[BankError] = []

        def write() -> None:
            try:
                for number in range(50):
                    b.store(f"k{number}", "v")
            except BankError as error:
                problems.append(error)

        writer = threading.Thread(target=write)
        writer.start()
        b.import_from(tmp_path / "a.jsonl")
        writer.join(60)
        assert problems == []
        assert b.status().memories == {"active": 1_550}


def test_what_sessions_and_edges_said_before_comes_along_and_twice_adds_nothing(tmp_path: Path, bank) -> None:
    one, two = (bank.record(title=title, content="x").id for title in ("one", "two"))
    bank.link(one, two, "requires", text="first")
    edge = bank.link(one, two, "requires", text="second")
    told = Episode(task="a task", namespace="n", source="log", steps=(EpisodeStep(action="a"),))
    session = bank.keep(told).trajectory
    bank.keep(replace(told, steps=(*told.steps, EpisodeStep(action="b")), outcome="failure"))
    out = tmp_path / "out.jsonl"
    out.write_text("\n".join(bank.export_lines()), "utf-8")
    for restore in (True, False):
        with ReasoningBank.open(tmp_path / f"{restore}.db", embedder="hash", namespace="n") as other:
            taken = other.import_from(out, restore=restore)
            assert not taken.skipped
            assert (taken.added["trajectory_revision"], taken.added["edge_revision"]) == (1, 1)
            again = other.import_from(out, restore=restore)
            assert not again.added
            assert not again.skipped
            with other.context.store.read("local") as reader:
                assert [one.text for one in reader.revisions(Edge, edge.id)] == ["first"]
                assert [one.outcome for one in reader.revisions(Trajectory, session.id)] == ["unknown"]
            assert other.verify() == []
    assert edge.revision == 2


def test_a_file_changes_no_edge_that_is_here_and_a_restore_brings_its_later_revision(tmp_path: Path, bank) -> None:
    one, two = (bank.record(title=title, content="x").id for title in ("one", "two"))
    edge = bank.link(one, two, "requires", text="as it is here")
    lines = [json.loads(line) for line in bank.export_lines()]
    forged = [{**line, "text": "forged", "revision": 9} if line["type"] == "edge" else line for line in lines]
    path = tmp_path / "forged.jsonl"
    path.write_text("\n".join(map(json.dumps, forged)), "utf-8")
    taken = bank.import_from(path)
    assert [item.why for item in taken.skipped] == [f"{edge.id} is here already, with other contents"]
    assert bank.edges()[0].edge == edge
    assert bank.import_from(path, restore=True).revised == 1
    assert (bank.edges()[0].edge.text, bank.edges()[0].edge.revision) == ("forged", 9)
