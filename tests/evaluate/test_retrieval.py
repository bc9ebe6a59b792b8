"""The whole command on tiny sets of every shape, and what its report says."""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random
from xml.etree import ElementTree as ET

import pytest
from reasoningbank_eval.__main__ import main
from reasoningbank_eval.asking import BASELINES, asked, bank_in, hybrid, plain_words
from reasoningbank_eval.duplicates import changed, crowd_of, repeats
from reasoningbank_eval.reliability import reliability_of
from reasoningbank_eval.sets import Document, Kind, LabelledSet, Question
from reasoningbank_eval.shapes import recognised

from reasoningbank.core.ranking import profiles


@pytest.fixture
def run(capsys):
    def call(*words):
        code = main(["retrieval", *map(str, words)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_one_run_gives_a_table_a_report_and_a_plot(run, data, tmp_path):
    out, plot = tmp_path / "report.json", tmp_path / "plot.svg"
    code, said, told = run("--data", data, "--embedders", "hash", "--limit", 6, "--out", out, "--plot", plot)
    assert code == 0
    assert "Left out: other" in told
    assert "claims nDCG@10" in said
    assert "Reliability of relevance, hash" in said
    report = json.loads(out.read_text("utf-8"))
    assert report["machine"]["cores"] >= 1
    assert report["versions"]["reasoningbank"]
    assert report["seed"] == 0
    methods = {figure["method"] for figure in report["figures"] if figure["set"] == "bank"}
    assert methods == {*BASELINES, *map(hybrid, profiles())}
    for figure in report["figures"]:
        estimate = figure["estimate"]
        assert estimate["low"] <= estimate["value"] <= estimate["high"]
        assert (figure["against"] is None) == (figure["ahead"] is None)
    shipped = {f["measure"] for f in report["figures"] if f["set"] == "assistant" and f["method"] == "as shipped"}
    assert shipped == {"F1", "precision", "accepted"}
    assert {repeat["set"] for repeat in report["repeats"]} == {"claims", "bank", "assistant", "sql"}
    drawn = ET.fromstring(plot.read_text("utf-8"))
    shown = len([f for f in report["figures"] if f["measure"] in ("nDCG@10", "ROC area")])
    assert len(list(drawn.iter("{http://www.w3.org/2000/svg}circle"))) >= shown


def test_the_report_goes_to_standard_output_when_asked_for_json(run, data):
    code, said, _ = run("--data", data, "--sets", "bank", "--embedders", "hash", "--limit", 4, "--json")
    assert code == 0
    report = json.loads(said)
    assert report["sets"][0]["questions"] == 4
    assert {figure["embedder"] for figure in report["figures"]} == {"hash"}


def test_two_runs_with_one_seed_give_the_same_figures(run, data):
    words = ("--data", data, "--sets", "sql", "--embedders", "hash", "--limit", 6, "--seed", 3, "--json")
    first, second = (json.loads(run(*words)[1]) for _ in range(2))
    for name in ("figures", "reliability", "repeats"):
        assert first[name] == second[name]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--data", "nowhere"), "There is no folder nowhere"),
        (("--data", ".", "--embedders", "oracle"), "Unknown embedder"),
        (("--data", ".", "--limit", "0"), "--limit must be from 1 on"),
        (("--data", ".", "--out", "no/where.json"), "There is no folder for no/where.json"),
        ((), "--data"),
    ],
)
def test_a_run_that_cannot_be_is_refused_before_it_starts(run, words, says):
    code, _, told = run(*words)
    assert code == 2
    assert says in told


def test_the_stream_is_searched_as_it_was_when_each_task_came(data, tmp_path):
    web = recognised(data, ["web"]).sets[0]
    with bank_in(tmp_path, "hash") as bank:
        trial = asked(bank, web, plain_words(web), lambda done, total: None)
    for rankings in trial.rankings.values():
        for question, ranking in zip(web.questions, rankings, strict=True):
            assert all(position < question.own for position in ranking.positions)
    assert any(ranking.positions for ranking in trial.rankings[hybrid("balanced")])


def test_a_question_that_is_a_memory_never_finds_itself(data, tmp_path):
    sql = recognised(data, ["sql"]).sets[0]
    with bank_in(tmp_path, "hash") as bank:
        trial = asked(bank, sql, plain_words(sql), lambda done, total: None)
    for method, rankings in trial.rankings.items():
        for question, ranking in zip(sql.questions, rankings, strict=True):
            assert question.own not in ranking.positions, method


def test_reliability_weighs_every_set_the_same(data, tmp_path):
    bank_set = recognised(data, ["bank"]).sets[0]
    with bank_in(tmp_path, "hash") as bank:
        trial = asked(bank, bank_set, plain_words(bank_set), lambda done, total: None)
    sure = replace(trial, hits=[[(0.75, True)]] * 30)
    wrong = replace(trial, hits=[[(0.75, False)]] * 10)
    found = reliability_of([sure, wrong], "hash")
    assert len(found.bins) == 1
    assert found.bins[0].right == pytest.approx(0.5)
    assert found.bins[0].count == 40
    assert found.error == pytest.approx(0.25)
    assert reliability_of([], "hash").bins == ()


def test_diversifying_raises_the_number_of_different_answers_and_keeps_the_right_one(data, tmp_path):
    bank_set = recognised(data, ["bank"]).sets[0]
    with bank_in(tmp_path, "hash") as bank:
        found = {repeat.order: repeat for repeat in repeats(bank, bank_set, "hash", 0)}
    assert found["boosted"].distinct > found["semantic"].distinct
    assert found["balanced"].distinct >= found["relevance alone"].distinct
    assert found["boosted"].right >= found["semantic"].right
    assert not found["semantic"].diversifies


def test_copies_differ_from_each_other_but_not_from_run_to_run(data):
    text = "my card has not arrived at all and nobody knows why"
    assert changed(text, Random(1)) == changed(text, Random(1)) != text
    assert changed("card", Random(1)) != "card"
    one = crowd_of(recognised(data, ["bank"]).sets[0], 4)
    assert one == crowd_of(recognised(data, ["bank"]).sets[0], 4)


def test_hostile_texts_are_asked_like_any_other(tmp_path):
    texts = ["\x1b[2Jwipe", "<script>&", "\u202eevil", "🦄" * 300, "a" * 20_000, "−½ ﷽"]
    odd = LabelledSet(
        name="<odd> & \x1b[31m",
        kind=Kind.INTENTS,
        documents=[Document(title=text, content=text) for text in texts],
        questions=[Question(text=text, relevant={i: 1.0}) for i, text in enumerate(texts)],
        about="odd",
    )
    with bank_in(tmp_path, "hash") as bank:
        trial = asked(bank, odd, plain_words(odd), lambda done, total: None)
    assert trial.rankings[hybrid("balanced")][1].positions[0] == 1
