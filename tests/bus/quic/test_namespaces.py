"""The bench of eight peers in network namespaces: where those are not permitted it says so, and fails nothing."""

from __future__ import annotations

import pytest

from bench.bus.namespaces import measure_namespaces
from bench.report import Report


def test_where_namespaces_are_not_permitted_the_bench_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    report = Report()
    measure_namespaces(report, small=True)
    assert not report.figures
    assert "SKIPPED" in report.notes[0]
    assert "`ip`" in report.notes[0]
