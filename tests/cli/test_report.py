from __future__ import annotations

import pytest


@pytest.fixture
def worked(rb, memory):
    """A memory that was shown in two sessions and used in one of them."""
    for number, ends in enumerate((("success", "--used", memory), ("failure",))):
        session = rb("session", "start", f"deploy release {number}").out.strip()
        assert rb("query", "retry a GET that timed out", "--floor", "0", "--session", session).code == 0
        assert rb("session", "end", session, *ends).code == 0
    return memory


def test_the_report_tells_what_each_memory_has_done(rb, worked):
    result = rb("report")
    assert result.code == 0
    head, *_ = result.out.splitlines()
    assert head.split()[:5] == ["MEMORY", "SHOWN", "USED", "HELPED", "HURT"]
    assert "1 memory: shown 2, used 1, helped 1, hurt 0; 0 dead weight" in result.out
    [line] = rb("report", "--json").json["memories"]
    assert (line["id"], line["shown"], line["used"], line["helped"], line["hurt"]) == (worked, 2, 1, 1, 0)
    [kind] = rb("report", "--json").json["kinds"]
    assert (kind["sessions"], kind["succeeded"]) == (2, 1)


def test_a_report_on_nothing_says_so(rb, memory):
    result = rb("report")
    assert result.code == 0
    assert "No memory was shown or used in namespace" in result.err
    assert rb("report", "--since", "soon").code == 2
    assert rb("report", "--limit", "0").code == 2


def test_a_report_covers_one_project_or_all(rb, worked):
    assert rb("report", "--namespace", "elsewhere", "--json").json["memories"] == []
    assert len(rb("report", "--namespace", "elsewhere", "--all-namespaces", "--json").json["memories"]) == 1
    assert rb("report", "--since", "2990-01-01", "--json").json["memories"] == []


def test_status_draws_projects_as_bars_and_days_as_steps(rb, worked):
    for number in range(3):
        rb("record", "--title", f"t{number}", "--content", "c", "--namespace", "other")
    drawn = rb("status").out
    assert [line.split()[1:] for line in drawn.splitlines() if "█" in line][:2] == [["█" * 24, "3"], ["█" * 8, "1"]]
    assert "2, 50% went well" in next(line for line in drawn.splitlines() if line.startswith("tasks "))
    assert "By day" not in rb("status", "--json").out


def test_what_was_spent_is_shown(rb):
    rb("store", "k", "v")
    assert "Nothing was spent" in rb("report", "--spending").err
    assert rb("report", "--spending", "--json").json == {"llm": "off", "spending": []}
