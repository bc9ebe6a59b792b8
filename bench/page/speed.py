"""How quickly the page answers, by the browser's own clocks: python -m bench page speed [--memories N] [--minutes N].

A key or a click counts until the frame that shows its answer is out, waiting for the pause in typing and the server
included. What happens while a second process writes is watched on four pages in turn for the minutes asked.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.banks import NAMESPACE, workplace
from bench.corpus import Corpus
from bench.page.browser import chromium, missing, served_page
from bench.page.speed_bank import EVENTS_PER_S, make_large_bank
from bench.page.visitor import Visitor
from bench.report import Report
from bench.timing import Times

SUBJECT = "page"
VISITS = 5
QUESTIONS = 12
TYPED_EVERY_MS = (60, 110, 180, 240)
SPANS = ("7 days", "90 days", "1 year", "30 days")
LIVE_PAGES = ("", "search?q=the error of the request", "search", "sessions")
EVERY_PAGE = ("", "search", "sessions", "graph", "trust", "queue")
PER_ROUND_S = 15.0
DRAWN_NODES = 5_000
LAID_OUT_MS = 9_000
PANNED_MS = 4_000
FRAME_LIMIT_MS = 34.0
"""Thirty frames a second, drawn by the processor: no graphics card is needed."""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench page speed", description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--memories", type=int, default=100_000, help="and as many nodes in the graph")
    parser.add_argument("--minutes", type=float, default=10.0, help="how long others write meanwhile")
    parser.add_argument("--out", type=Path, help="write the figures as JSON too")
    asked = parser.parse_args(arguments)
    if why := missing():
        print(f"Not measured: {why}")
        return 1
    report = Report()
    kept = make_large_bank(asked.memories)
    with workplace() as folder:
        shutil.copytree(kept.parent, folder / "bank")
        bank = folder / "bank" / "bank.db"
        with served_page(bank, NAMESPACE) as link, chromium() as browser:
            visitor = Visitor(browser, link)
            _measure_opening(report, visitor)
            _measure_search(report, visitor, asked.memories)
            _measure_overview(report, visitor)
            _measure_graph(report, visitor, asked.memories)
            _measure_live(report, visitor, bank, 60 * asked.minutes)
            report.add(
                SUBJECT, "console errors and warnings", len(visitor.wrong), "", limit=0, detail=_few(visitor.wrong)
            )
            report.add(
                SUBJECT,
                "requests outside the origin",
                len(visitor.elsewhere),
                "",
                limit=0,
                detail=_few(visitor.elsewhere),
            )
    print(report.table())
    if asked.out is not None:
        report.write(asked.out)
    return 0


def _few(texts: Sequence[str]) -> str:
    return "; ".join(text[:120] for text in texts[:3])


def _add_times(report: Report, what: str, milliseconds: Sequence[float], limit: float | None) -> None:
    times = Times.of([one / 1e3 for one in milliseconds or [0.0]])
    detail = f"p50 {times.p50_ms:.0f}, {len(milliseconds)} times"
    report.add(SUBJECT, f"{what}, p95", times.p95_ms, "ms", limit=limit, detail=detail)


def _measure_opening(report: Report, visitor: Visitor) -> None:
    painted, whole = [], []
    for _ in range(VISITS):
        with visitor.tab() as tab:
            tab.open("")
            painted.append(tab.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
            tab.wait_until("!document.querySelector('main .waiting') && document.querySelector('main .facts')")
            whole.append(tab.evaluate("performance.now()"))
    report.add(SUBJECT, "first contentful paint, nothing cached, worst visit", max(painted), "ms", limit=1000)
    report.add(SUBJECT, "overview complete, nothing cached, worst visit", max(whole), "ms")
    with visitor.tab() as tab:
        for path in EVERY_PAGE:
            tab.open(path)
            tab.settle()
        files, data = tab.transferred()
        report.add(SUBJECT, "files of every page as transferred", files / 1024, "KB", limit=350)
        report.add(SUBJECT, "data of every page as transferred", data / 1024, "KB")


def _measure_search(report: Report, visitor: Visitor, memories: int) -> None:
    with visitor.tab() as tab:
        tab.open("search")
        tab.page.wait_for_selector("#q")
        for question in Corpus().questions(QUESTIONS, memories, seed=5):
            tab.page.fill("#q", "")
            tab.settle()
            for number, key in enumerate(question.text[:24]):
                tab.page.keyboard.type(key)
                tab.page.wait_for_timeout(TYPED_EVERY_MS[number % len(TYPED_EVERY_MS)])
            tab.settle()
        _add_times(report, "search as one types: key to its results on the screen", tab.answers(), 200)
        _add_times(report, "search as one types: key to the next frame", tab.interactions(), 200)


def _measure_overview(report: Report, visitor: Visitor) -> None:
    with visitor.tab() as tab:
        tab.open("")
        tab.settle()
        tab.answers()
        for number in range(4 * len(SPANS)):
            tab.page.get_by_role("link", name=SPANS[number % len(SPANS)], exact=True).click()
            tab.settle()
        _add_times(report, "overview: click on a span to all its figures on the screen", tab.answers(), 200)
        for number in range(2 * VISITS):
            tab.page.get_by_role("link", name=("Search", "Overview")[number % 2], exact=True).first.click()
            tab.settle()
        _add_times(report, "from page to page: click to all of it on the screen", tab.answers(), None)
        _add_times(report, "overview: click to the next frame", tab.interactions(), 200)


def _measure_graph(report: Report, visitor: Visitor, nodes: int) -> None:
    with visitor.tab() as tab:
        tab.open(f"graph?around=N{nodes // 2}")
        tab.page.wait_for_selector(".canvas .over")
        opened = tab.evaluate("performance.now()")
        detail = f"{tab.page.inner_text('.facts b >> nth=0')} nodes"
        report.add(SUBJECT, f"a neighbourhood of {nodes:,} nodes drawn", opened, "ms", detail=detail)
    with visitor.tab() as tab:
        tab.open(f"graph?limit={DRAWN_NODES}")
        tab.page.wait_for_selector(".canvas .over")
        shown = tab.page.inner_text(".facts b >> nth=0")
        tab.page.wait_for_timeout(LAID_OUT_MS)
        tab.evaluate("void (seen.longTasks.length = 0)")
        _add_times(report, f"graph of {shown} nodes: a frame while panning", _pan(tab), FRAME_LIMIT_MS)
        # What the page's own thread does in it: the rest is drawing.
        own = max(tab.evaluate("seen.longTasks"), default=0)
        report.add(SUBJECT, f"graph of {shown} nodes: longest task while panning", own, "ms", limit=100)


def _pan(tab: Any) -> list[float]:
    box = tab.page.locator(".canvas").bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    tab.page.mouse.move(*middle)
    tab.page.mouse.down()
    tab.evaluate(f"void (window.panned = seen.frames({PANNED_MS}))")
    began, step = time.monotonic(), 0
    while time.monotonic() - began < PANNED_MS / 1e3:
        step += 1
        tab.page.mouse.move(middle[0] + 4 * (step % 60), middle[1] + 2 * (step % 60))
    frames = tab.evaluate("window.panned")
    tab.page.mouse.up()
    return frames


def _measure_live(report: Report, visitor: Visitor, bank: Path, seconds: float) -> None:
    with visitor.tab() as tab:
        for path in LIVE_PAGES:
            tab.go(path)
            tab.settle()
        tab.evaluate("void (seen.longTasks.length = seen.requests = 0)")
        writer = subprocess.Popen(
            [sys.executable, "-m", "bench.page.speed_bank", str(bank), str(seconds)], stdout=subprocess.PIPE, text=True
        )
        heaps, nodes, ended = [], [], time.monotonic() + seconds
        per_page = min(PER_ROUND_S, seconds / 3) / len(LIVE_PAGES)
        while time.monotonic() < ended:
            for path in LIVE_PAGES:
                tab.go(path)
                tab.page.wait_for_timeout(1e3 * per_page)
            heap, count = tab.heap_and_nodes()
            heaps.append(heap)
            nodes.append(count)
        written = int(writer.communicate()[0])
        tasks, requests = tab.evaluate("[seen.longTasks, seen.requests]")
    report.add(SUBJECT, "events written by a second process", written / seconds, "/s", detail=f"{EVENTS_PER_S} wanted")
    report.add(
        SUBJECT,
        "longest task while they arrive",
        max(tasks, default=0),
        "ms",
        limit=100,
        detail=f"{len(tasks)} over 50 ms",
    )
    report.add(SUBJECT, "requests of the page meanwhile", requests / seconds, "/s")
    # The first round still loads what later ones have.
    for what, values, unit in (("JS heap after gc", heaps[1:], "MB"), ("DOM nodes", nodes[1:], "")):
        first, last = _middle(values[: max(1, len(values) // 3)]), _middle(values[-max(1, len(values) // 3) :])
        shown = [value / 2**20 if unit else value for value in (first, last)]
        detail = f"from {shown[0]:,.4g} to {shown[1]:,.4g} {unit}, {len(values)} rounds"
        growth = 100 * (last / first - 1)
        report.add(SUBJECT, f"{what}, growth from the first third to the last", growth, "%", limit=10, detail=detail)


def _middle(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]
