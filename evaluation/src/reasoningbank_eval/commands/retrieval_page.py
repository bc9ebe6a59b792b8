"""A report of `reasoningbank_eval retrieval` as tables: everything at a glance, then each set with its intervals."""

from __future__ import annotations

import math

from reasoningbank.cli.tables import Column, show
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.frozen import replace
from reasoningbank_eval.crowd_figures import CrowdFigure
from reasoningbank_eval.machine import machine, versions
from reasoningbank_eval.measures import RESAMPLES, Estimate
from reasoningbank_eval.retrieval import Report
from reasoningbank_eval.scoring import Figure
from reasoningbank_eval.sets import MEASURES


def show_report(terminal: Terminal, report: Report) -> None:
    here = machine()
    terminal.say(
        f"{here['cpu']}, {here['cores']} cores, Python {here['python']}, "
        + ", ".join(f"{name} {version}" for name, version in versions().items())
        + f"; seed {report.plan.seed}, {RESAMPLES:,} resamples"
    )
    for dataset in report.plan.sets:
        sample = f", {len(dataset.questions):,} of them asked" if report.plan.most_questions else ""
        terminal.say(f"{dataset.name}: {dataset.about}{sample}")
    terminal.say()
    if report.figures:
        _glance(terminal, report)
    for dataset in report.plan.sets if report.figures else ():
        _set(terminal, report, dataset.name)
    _reliability(terminal, report)
    if report.repeats:
        _repeats(terminal, report)
    if report.crowds:
        _crowds(terminal, report)


def _glance(terminal: Terminal, report: Report) -> None:
    panels = [(dataset.name, measure) for dataset in report.plan.sets for measure in MEASURES[dataset.kind][:2]]
    values = {(f.set, f.measure, f.embedder, f.method): f.estimate.value for f in report.figures}
    rows = list(dict.fromkeys((f.embedder, f.method) for f in report.figures))
    columns = [Column(name="EMBEDDER"), Column(name="METHOD")]
    columns += [Column(name=f"{name} {measure}", right=True) for name, measure in panels]
    cells = [[*row, *(_value(values.get((*column, *row))) for column in panels)] for row in rows]
    # Never cut: a table with missing columns would be another table.
    show(replace(terminal, width=None), columns, cells)


def _value(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _set(terminal: Terminal, report: Report, name: str) -> None:
    terminal.say()
    terminal.say(name, bold=True)
    columns = [
        Column(name="EMBEDDER"),
        Column(name="METHOD"),
        Column(name="MEASURE"),
        Column(name="VALUE", right=True),
        Column(name="95 %"),
        Column(name="N", right=True),
        Column(name="AHEAD", right=True),
        Column(name="95 %"),
        Column(name="OF"),
    ]
    show(
        replace(terminal, width=None),
        columns,
        [_figure(figure) for figure in report.figures if figure.set == name],
    )


def _figure(figure: Figure) -> list[str]:
    ahead = figure.ahead
    return [
        figure.embedder,
        figure.method,
        figure.measure,
        f"{figure.estimate.value:.3f}",
        _interval(figure.estimate),
        f"{figure.estimate.count:,}",
        "" if ahead is None else f"{ahead.value:+.3f}",
        "" if ahead is None else f"{ahead.low:+.3f} to {ahead.high:+.3f}",
        figure.against or "",
    ]


def _interval(estimate: Estimate) -> str:
    return f"{estimate.low:.3f}–{estimate.high:.3f}"


def _reliability(terminal: Terminal, report: Report) -> None:
    for reliability in report.reliability:
        terminal.say()
        terminal.say(
            f"Reliability of relevance, {reliability.embedder}: calibration error {reliability.error:.3f}", bold=True
        )
        columns = [Column(name="RELEVANCE"), *(Column(name=n, right=True) for n in ("MEAN", "RIGHT", "HITS"))]
        rows = [
            [f"{b.low:.1f}–{b.high:.1f}", f"{b.relevance:.3f}", f"{b.right:.3f}", f"{b.count:,}"]
            for b in reliability.bins
        ]
        show(terminal, columns, rows)


def _repeats(terminal: Terminal, report: Report) -> None:
    terminal.say()
    terminal.say("Everything stored four times, a little changed: the first five hits", bold=True)
    columns = [
        Column(name="SET"),
        Column(name="EMBEDDER"),
        Column(name="ORDER"),
        Column(name="MMR"),
        Column(name="DISTINCT", right=True),
        Column(name="RIGHT IN 5", right=True),
        Column(name="RIGHT FIRST", right=True),
    ]
    rows = [
        [
            repeat.set,
            repeat.embedder,
            repeat.order,
            "yes" if repeat.diversifies else "no",
            f"{repeat.distinct:.2f}",
            f"{repeat.right:.2f}",
            f"{repeat.first:.2f}",
        ]
        for repeat in report.repeats
    ]
    show(terminal, columns, rows)


def _crowds(terminal: Terminal, report: Report) -> None:
    terminal.say()
    terminal.say("Questions with and without an answer, by the size of the bank", bold=True)
    names = ("MEMORIES", "RIGHT", "WRONG", "REFUSED", "95 %", "FLOOR 0", "OTHER SUBJECT", "95 %", "SAME FIELD")
    areas = ("ROC OTHER", "(COSINE)", "ROC SAME", "(COSINE)", "CAL. ERROR")
    columns = [Column(name="SET"), Column(name="EMBEDDER"), *(Column(name=n, right=True) for n in (*names, *areas))]
    show(replace(terminal, width=None), columns, [_crowd(crowd) for crowd in report.crowds])


def _crowd(crowd: CrowdFigure) -> list[str]:
    other = crowd.other_subject_answered
    return [
        crowd.set,
        crowd.embedder,
        f"{crowd.memories:,}",
        f"{crowd.right_first.value:.2f}",
        f"{crowd.wrong_first.value:.2f}",
        f"{crowd.refused.value:.2f}",
        _interval(crowd.refused),
        f"{crowd.right_without_floor.value:.2f}",
        _known(other.value),
        _interval(other) if other.count else "",
        _known(crowd.same_field_answered.value),
        _known(crowd.roc_other_subject.value),
        _known(crowd.roc_other_subject_cosine.value),
        _known(crowd.roc_same_field.value),
        _known(crowd.roc_same_field_cosine.value),
        f"{crowd.calibration_error:.3f}",
    ]


def _known(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.3f}"
