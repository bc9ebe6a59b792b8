"""The report as a file and as curves in the terminal: everything in it, nothing fetched, no text that runs."""

from __future__ import annotations

import re

import pytest

from reasoningbank.cli import figures

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def used(bank):
    memory = bank.record(title=f"Wrap errors {HOSTILE}", content="with context", key="wrap")
    for outcome in ("success", "failure"):
        run = bank.start_session(f"wrap errors {HOSTILE}")
        bank.search("wrap errors", session=run.id)
        bank.end_session(run.id, outcome, used=["wrap"])
    return memory


def test_the_file_holds_the_charts_and_asks_for_nothing(rb, used, path, tmp_path):
    target = tmp_path / "report.html"
    told = rb("report", "--bank", str(path), "--namespace", "n", "--html", str(target))
    assert told.code == 0
    page = target.read_text("utf-8")
    assert page.count("<svg") >= 2
    assert "1 went well, 1 failed" in page
    assert "&lt;script&gt;" in page
    assert "<script" not in page
    assert not re.search(r"(src|href)=|url\(|@import|https?:", page)


def test_the_report_draws_the_days(rb, used, path):
    told = rb("report", "--bank", str(path), "--namespace", "n")
    assert re.search(r"tasks\s+\S+ 2, 50% went well", told.out)
    assert "sureness" in told.out
    assert "By day in n, " in told.out


def test_no_difference_has_no_sign():
    assert [figures.difference(value) for value in (-0.004, 0.004, -0.26, 0.1)] == ["0.00", "0.00", "-0.26", "+0.10"]


def test_a_bank_in_which_nothing_happened_has_no_curves(rb, bank, path):
    bank.record(title="t", content="c")
    assert "By day" not in rb("report", "--bank", str(path), "--namespace", "n").out


def test_a_file_that_cannot_be_written_is_named(rb, used, path, tmp_path):
    told = rb("report", "--bank", str(path), "--namespace", "n", "--html", str(tmp_path / "nowhere" / "report.html"))
    assert told.code != 0
    assert "cannot be written" in told.err
