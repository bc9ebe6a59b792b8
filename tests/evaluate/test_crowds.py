"""Questions with and without an answer, by the size of the bank: what is planned, asked, counted and printed."""

from __future__ import annotations

import json
import math
from itertools import product
from pathlib import Path

import pytest
from reasoningbank_eval.__main__ import main
from reasoningbank_eval.asking import bank_in
from reasoningbank_eval.crowd_figures import crowd_figure
from reasoningbank_eval.crowds import Asked, Crowd, CrowdPlan, Reply, ask_crowds, plan_crowds
from reasoningbank_eval.sets import Kind, LabelledSet
from reasoningbank_eval.shapes import recognised
from reasoningbank_eval.subjects import find_likeness

SUBJECTS = {
    "kitchen": (("knead", "simmer", "roast", "whisk", "season"), ("dough", "onions", "carrots", "gravy", "pastry")),
    "orchestra": (("rehearse", "conduct", "compose", "bow", "tune"), ("sonata", "cello", "quartet", "oboe", "fugue")),
    "garden": (("prune", "mulch", "sow", "weed", "graft"), ("roses", "tulips", "hedges", "seedlings", "vines")),
    "garage": (("weld", "grease", "tow", "solder", "polish"), ("axle", "gearbox", "clutch", "bumper", "piston")),
}


def write_notes(path: Path, verbs: tuple[str, ...], things: tuple[str, ...]) -> None:
    path.parent.mkdir(parents=True)
    rows = [
        {
            "title": f"{verb} {thing}",
            "text": f"They {verb} the {thing} with {things[(n * 3) % 5]}.",
            "question": f"how does one {verb} such {thing}",
        }
        for n, (verb, thing) in enumerate(product(verbs, things))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


@pytest.fixture
def subjects(tmp_path: Path) -> Path:
    """Four sets of 25 notes each, which share nothing but function words."""
    for name, (verbs, things) in SUBJECTS.items():
        write_notes(tmp_path / "data" / name / "notes.jsonl", verbs, things)
    return tmp_path / "data"


def plans(data: Path, *sizes: int, seed: int = 0) -> dict[str, CrowdPlan]:
    sets = recognised(data).sets
    return {plan.labelled.name: plan for plan in plan_crowds(sets, find_likeness(sets), sizes, seed)}


def asked_at(data: Path, name: str, tmp_path: Path, *sizes: int) -> list[tuple[set[str], Crowd]]:
    """The titles in the bank and the replies, at every size."""
    found = []
    folder = tmp_path / "banks"
    folder.mkdir()
    with bank_in(folder, "hash") as bank:
        for crowd in ask_crowds(bank, plans(data, *sizes)[name], 0, lambda done, total: None):
            every = bank.search("anything", profile="four-factor", limit=100, min_confidence=0.0)
            titles = {hit.title for hit in every.memories}
            assert len(titles) == len(every.memories), "nothing is kept twice"
            found.append((titles, crowd))
    return found


# ---------------------------------------------------------------- notes


def test_notes_are_told_by_a_question_and_a_text(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"title": "Bread", "text": "Knead it.", "question": "how is bread made", "question2": "what of dough"},
        {"text": "Prune it.", "question": "what of roses", "question2": None},
        {"title": "Nobody asks", "text": "Weld it.", "question": ""},
    ]
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (labelled,) = recognised(tmp_path).sets
    assert labelled.kind is Kind.NOTES
    assert [(document.title, document.content) for document in labelled.documents] == [
        ("Bread", "Knead it."),
        ("", "Prune it."),
        ("Nobody asks", "Weld it."),
    ]
    assert [(question.text, dict(question.relevant)) for question in labelled.questions] == [
        ("how is bread made", {0: 1.0}),
        ("what of dough", {0: 1.0}),
        ("what of roses", {1: 1.0}),
    ]
    assert labelled.about == "3 notes, 3 questions"


def test_two_files_of_notes_in_one_folder_are_two_sets_and_other_lines_are_none(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    write_notes(folder / "one.jsonl", *SUBJECTS["kitchen"])
    (folder / "two.jsonl").write_text((folder / "one.jsonl").read_text("utf-8"), "utf-8")
    (folder / "log.jsonl").write_text('{"at": 1, "text": "started"}\n', "utf-8")
    assert [labelled.name for labelled in recognised(tmp_path).sets] == ["mine/one", "mine/two"]


# ---------------------------------------------------------------- plans


def test_subjects_are_alike_by_their_words_and_function_words_do_not_count(subjects: Path) -> None:
    sets = recognised(subjects).sets
    likeness = find_likeness(sets)
    for one, other in product(SUBJECTS, SUBJECTS):
        assert likeness[one, other] == pytest.approx(1.0 if one == other else 0.0, abs=0.01)


def test_strangers_come_from_another_set_than_what_fills_the_bank(subjects: Path) -> None:
    for name, plan in plans(subjects, 10).items():
        words = {other: {*verbs, *things} for other, (verbs, things) in SUBJECTS.items()}

        def origins(texts: list[str], words: dict[str, set[str]] = words) -> set[str]:
            return {other for text in texts for other in words if words[other] & {*text.replace(".", "").split()}}

        strangers = origins(list(plan.strangers))
        filling = origins([document.content for document in plan.filler])
        assert len(strangers) == 1
        assert filling
        assert name not in strangers | filling
        assert not strangers & filling


def test_sets_of_the_same_subject_neither_fill_a_bank_nor_ask_it(subjects: Path) -> None:
    folder = subjects / "bakery"
    folder.mkdir()
    (folder / "notes.jsonl").write_bytes((subjects / "kitchen" / "notes.jsonl").read_bytes())
    plan = plans(subjects, 10)["kitchen"]
    own = {document.content for document in plan.labelled.documents}
    assert not own & {document.content for document in plan.filler}
    assert not {question.text for question in plan.labelled.questions} & set(plan.strangers)


def test_a_small_bank_is_part_of_the_larger_one(subjects: Path, tmp_path: Path) -> None:
    (small, few), (large, many) = asked_at(subjects, "kitchen", tmp_path, 10, 40)
    assert (few.memories, many.memories) == (10, 40)
    assert (len(small), len(large)) == (10, 40)
    assert small < large
    own = {f"{verb} {thing}" for verb, thing in product(*SUBJECTS["kitchen"])}
    assert (len(small & own), len(large & own)) == (6, 24)


def test_every_kind_of_question_is_asked_and_a_note_that_is_not_there_has_no_answer(
    subjects: Path, tmp_path: Path
) -> None:
    ((_, crowd),) = asked_at(subjects, "kitchen", tmp_path, 10)
    by_kind = {kind: [reply for reply in crowd.replies if reply.asked is kind] for kind in Asked}
    assert [len(replies) for replies in by_kind.values()] == [6, 19, 25]
    assert all(reply.right_shown for reply in by_kind[Asked.ANSWERABLE])
    assert not any(reply.right for kind in (Asked.SAME_FIELD, Asked.OTHER_SUBJECT) for reply in by_kind[kind])
    assert not any(reply.shown for reply in by_kind[Asked.OTHER_SUBJECT])


def test_a_size_beyond_what_there_is_is_left_out(subjects: Path) -> None:
    assert plans(subjects, 10, 40, 1_000)["kitchen"].sizes == [10, 40]


def test_one_seed_gives_one_plan(subjects: Path) -> None:
    assert plans(subjects, 10, seed=3) == plans(subjects, 10, seed=3)
    assert plans(subjects, 10, seed=3)["garden"].core != plans(subjects, 10, seed=4)["garden"].core


def test_a_set_alone_fills_its_bank_by_itself(subjects: Path, tmp_path: Path) -> None:
    ((small, few), (large, many)) = asked_at(subjects / "garden", "garden", tmp_path, 10, 25)
    assert (len(small), few.memories) == (10, 10)
    assert (len(large), many.memories) == (25, 25)
    assert Asked.OTHER_SUBJECT not in {reply.asked for reply in few.replies}


def test_streams_grow_by_themselves_and_are_not_planned(data: Path) -> None:
    assert {"web", "sql"}.isdisjoint(plans(data, 5))


# ---------------------------------------------------------------- figures


def reply(asked: Asked, relevance: float, cosine: float, *, right: bool, shown: bool) -> Reply:
    return Reply(asked=asked, relevance=relevance, cosine=cosine, right=right, shown=shown, right_shown=right and shown)


def test_figures_are_those_that_one_works_out_by_hand() -> None:
    replies = [
        reply(Asked.ANSWERABLE, 0.95, 0.5, right=True, shown=True),
        reply(Asked.ANSWERABLE, 0.85, 0.2, right=True, shown=True),
        reply(Asked.ANSWERABLE, 0.45, 0.6, right=False, shown=True),
        reply(Asked.ANSWERABLE, 0.15, 0.1, right=True, shown=False),
        reply(Asked.SAME_FIELD, 0.55, 0.4, right=False, shown=True),
        reply(Asked.SAME_FIELD, 0.05, 0.1, right=False, shown=False),
        reply(Asked.OTHER_SUBJECT, 0.25, 0.3, right=False, shown=False),
    ]
    figure = crowd_figure(Crowd(set="s", embedder="hash", memories=10, replies=replies), seed=0)
    assert (figure.set, figure.embedder, figure.memories) == ("s", "hash", 10)
    assert (figure.right_first.value, figure.wrong_first.value, figure.refused.value) == (0.5, 0.25, 0.25)
    assert figure.right_first.count == 4
    assert figure.right_without_floor.value == 0.75
    assert (figure.same_field_answered.value, figure.other_subject_answered.value) == (0.5, 0.0)
    # Of eight pairs 0.45 and 0.15 lie below 0.55; by cosine 0.2 and 0.1 below 0.4, and 0.1 beside 0.1.
    assert figure.roc_same_field.value == pytest.approx(6 / 8)
    assert figure.roc_same_field_cosine.value == pytest.approx(5.5 / 8)
    assert figure.roc_other_subject.value == pytest.approx(3 / 4)
    assert figure.roc_other_subject_cosine.value == pytest.approx(2 / 4)
    # Every reply has a tenth of its own but for none: the distance is that of each, by a third of its kind.
    answerable = (0.05 + 0.15 + 0.45 + 0.85) / 4
    assert figure.calibration_error == pytest.approx((answerable + (0.55 + 0.05) / 2 + 0.25) / 3)


def test_without_strangers_what_would_be_said_of_them_is_no_number() -> None:
    replies = [reply(Asked.ANSWERABLE, 0.95, 0.5, right=True, shown=True)]
    figure = crowd_figure(Crowd(set="s", embedder="hash", memories=1, replies=replies), seed=0)
    assert math.isnan(figure.other_subject_answered.value)
    assert math.isnan(figure.roc_other_subject.value)
    assert figure.right_first.value == 1.0


# ---------------------------------------------------------------- the command


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = main(["retrieval", "--embedders", "hash", *map(str, words)])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_only_sizes_prints_the_table_by_size_and_nothing_else(capsys, subjects: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    code, said, _ = run(
        capsys, "--data", subjects, "--sets", "garage,garden", "--only-sizes", "--sizes", "10,20", "--out", out
    )
    assert code == 0
    assert "Questions with and without an answer, by the size of the bank" in said
    assert "Reliability" not in said
    assert [line.split()[:3] for line in said.splitlines() if line.startswith("garage ")] == [
        ["garage", "hash", "10"],
        ["garage", "hash", "20"],
    ]
    report = json.loads(out.read_text("utf-8"))
    assert (report["figures"], report["repeats"], report["reliability"]) == ([], [], [])
    assert [(crowd["set"], crowd["memories"]) for crowd in report["crowds"]] == [
        (name, size) for name in ("garage", "garden") for size in (10, 20)
    ]
    assert {crowd["right_first"]["value"] for crowd in report["crowds"]} == {1.0}


def test_a_folder_with_one_set_is_measured_without_strangers(capsys, subjects: Path) -> None:
    code, said, _ = run(capsys, "--data", subjects / "garden", "--only-sizes", "--sizes", "10", "--json")
    assert code == 0
    (crowd,) = json.loads(said)["crowds"]
    assert (crowd["set"], crowd["memories"]) == ("garden", 10)
    assert crowd["other_subject_answered"]["value"] is None
    code, said, _ = run(capsys, "--data", subjects / "garden", "--only-sizes", "--sizes", "10")
    assert code == 0
    assert "nan" not in said


def test_none_leaves_the_sizes_out(capsys, subjects: Path) -> None:
    code, said, _ = run(capsys, "--data", subjects / "garden", "--sizes", "none", "--limit", 3, "--json")
    assert code == 0
    report = json.loads(said)
    assert report["crowds"] == []
    assert report["figures"]


@pytest.mark.parametrize("sizes", ["ten", "0", "-5", "10;40", "1.5"])
def test_sizes_that_are_no_numbers_are_refused_with_a_sentence(capsys, subjects: Path, sizes: str) -> None:
    code, said, told = run(capsys, "--data", subjects, f"--sizes={sizes}")
    assert code == 2
    assert said == ""
    assert f"--sizes must be whole numbers by comma, or none, not '{sizes}'." in told


def test_a_set_that_nothing_answers_is_planned_without_harm() -> None:
    empty = LabelledSet(name="empty", kind=Kind.NOTES, documents=[], questions=[], about="")
    (plan,) = plan_crowds([empty], find_likeness([empty]), (10,), 0)
    assert (plan.core, plan.filler, plan.strangers, plan.sizes) == ([], [], [], [])
