"""Walks over a large memory graph: how long they take, against NetworkX on the same graph in the same run.

    python -m bench graph [--nodes N] [--edges N] [--walks N] [--out FILE]

The graph is made up: conversations of a request, actions, sources and an answer joined by strong edges, bridges between
conversations that prefer what is joined to much already, and one hub that a tenth of all edges end at. NetworkX walks
by the same rules over its own dictionaries, which it fills from the rows of the same file.
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import apsw

from bench.report import Report
from bench.timing import Times, in_turns
from reasoningbank.graph.activation import Bounds, spread, trails
from reasoningbank.graph.spreading import TIES_ASKED
from reasoningbank.ports import Tie
from reasoningbank.wiring import ReasoningBank

NODES, EDGES = 100_000, 500_000
LIMIT_MS = 15.0
TALK = 8
"""Nodes of a conversation."""
HUB_SHARE = 10
CHUNK = 2_000
HUB = "N0"
_LABELS = (
    "UserRequest",
    "AgentAction",
    "DataSource",
    "AgentAction",
    "AgentAction",
    "Event",
    "AgentAnswer",
    "UserPreference",
)
_SPECIAL: Mapping[str, Mapping[str, Any]] = {
    "UserRequest": {"user_role": "analyst", "user_id": "u1"},
    "UserPreference": {"preference_type": "style"},
    "AgentAnswer": {"analysis_types": ["trend"], "metrics": ["roi"]},
    "AgentAction": {"status": "complete", "parameter_field": "SELECT 1"},
    "Event": {"source_type": "Calendar", "start_date": "2025-07-01", "end_date": "2025-07-02"},
    "DataSource": {"source_type": "csv", "doc_pointer": "data/sales.csv", "relevant_parts": "rows 1-9"},
}
_SUBJECTS = tuple(
    str.split("budget churn refund invoice campaign forecast warehouse shipment pricing renewal outage ticket")
)
_VERBS = tuple(str.split("compare explain check correct merge filter reconcile split approve measure"))
_THINGS = tuple(
    str.split("region channel supplier segment quarter product contract agent dashboard ledger sensor branch")
)
Entry = dict[str, Any]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench graph", description=__doc__)
    parser.add_argument("--nodes", type=int, default=NODES)
    parser.add_argument("--edges", type=int, default=EDGES)
    parser.add_argument("--walks", type=int, default=100)
    parser.add_argument("--searches", type=int, default=100, help="0 builds no index")
    parser.add_argument("--out", type=Path, help="write the figures as JSON too")
    asked = parser.parse_args(arguments)
    report = Report()
    with tempfile.TemporaryDirectory(prefix="bench-graph-") as folder:
        path = Path(folder) / "bank.db"
        began = time.perf_counter()
        build(path, asked.nodes, asked.edges)
        size = f"{asked.nodes:,} nodes, {asked.edges:,} edges"
        report.add("graph", f"written, {size}", time.perf_counter() - began, "s")
        measure_walks(report, path, asked.nodes, asked.walks)
        if asked.searches:
            measure_search(report, path, asked.searches)
    print(report.table())
    if asked.out is not None:
        report.write(asked.out)
    return 0


# ---------------------------------------------------------------- the graph


def build(path: Path, nodes: int, edges: int) -> None:
    with ReasoningBank.open(path, embedder="hash", namespace="bench") as bank:
        for chunk in batched(make_nodes(nodes), CHUNK):
            bank.graph.add(nodes=chunk)
        for chunk in batched(make_edges(nodes, edges), CHUNK):
            bank.graph.add(edges=chunk)


def batched(entries: Iterator[Entry], size: int) -> Iterator[list[Entry]]:
    while chunk := list(islice(entries, size)):
        yield chunk


def make_nodes(count: int) -> Iterator[Entry]:
    chance = random.Random(1)
    for number in range(count):
        label = _LABELS[number % TALK]
        text = f"{chance.choice(_VERBS)} the {chance.choice(_SUBJECTS)} of {chance.choice(_THINGS)} {number}"
        yield {"id": f"N{number}", "label": label, "conv_id": f"c{number // TALK}", "text": text, **_SPECIAL[label]}


def make_edges(nodes: int, count: int) -> Iterator[Entry]:
    chance = random.Random(2)
    made = 0
    for number in range(nodes):
        if number % TALK and made < count:
            yield _edge(made, number - 1, number, chance.uniform(0.85, 1.0), "leads to the next step of")
            made += 1
    while made < count:
        source = chance.randrange(1, nodes)
        # The square prefers the earlier ones, so that some are joined to much.
        target = 0 if made % HUB_SHARE == 0 else int(nodes * chance.random() ** 2)
        if source != target:
            low, high = ((0.55, 0.75), (0.25, 0.45))[chance.random() < 0.5]
            yield _edge(made, source, target, chance.uniform(low, high), "is a case of the same subject as")
            made += 1


def _edge(number: int, source: int, target: int, weight: float, why: str) -> Entry:
    text = f"What was said in {source} {why} {target}"
    ends = {"source": f"N{source}", "target": f"N{target}"}
    return {"id": f"E{number}", **ends, "text": text, "weight": round(weight, 3), "tags": ["bench"]}


# ---------------------------------------------------------------- walks


def measure_walks(report: Report, path: Path, nodes: int, walks: int) -> None:
    chance = random.Random(3)
    seeds = [f"N{chance.randrange(1, nodes)}" for _ in range(walks * 8)]
    before = resident_mb()
    began = time.perf_counter()
    with ReasoningBank.open(path, embedder="hash", namespace="bench") as bank:
        first = bank.graph.walk(seeds=[seeds[0]])
        cold = time.perf_counter() - began
        taken = in_turns(
            {
                "one seed": lambda i: bank.graph.walk(seeds=[seeds[i]]),
                "five seeds": lambda i: bank.graph.walk(seeds=seeds[i : i + 5]),
                "the hub": lambda i: bank.graph.walk(seeds=[HUB, seeds[i]]),
            },
            rounds=walks,
            warm_up=5,
        )
        hub = bank.graph.walk(seeds=[HUB])
        grown = resident_mb() - before
        for name, times in taken.items():
            _add_times(report, f"walk of depth 5, 3 branches, from {name}, p50", times, LIMIT_MS)
        assert first.paths
        assert hub.paths
        report.add("graph", "memory that these walks took", grown, "MB", limit=64.0)
        _compare(report, path, bank, seeds, walks, cold)


def resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * resource.getpagesize() / 2**20


def _add_times(report: Report, what: str, times: Times, limit: float | None = None) -> None:
    detail = f"p95 {times.p95_ms:.1f} ms, running {times.running_ms:.1f} ms"
    report.add("graph", what, times.p50_ms, "ms", limit=limit, detail=detail)


def _compare(report: Report, path: Path, bank: Any, seeds: Sequence[str], walks: int, cold: float) -> None:
    """NetworkX from the rows of the same file on: load, then the same walk."""
    try:
        import networkx as nx
    except ImportError:
        report.note("NetworkX is not installed: the extra `bench` has it")
        return
    began = time.perf_counter()
    graph = nx.MultiDiGraph()
    rows = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY).execute(
        "SELECT source_id, target_id, id, weight, text FROM edges"
    )
    for source, target, edge_id, weight, text in rows:
        graph.add_edge(source, target, key=edge_id, weight=weight, text=text)
    loaded = time.perf_counter() - began
    ids = [bank.graph.node(seed).id for seed in seeds[: walks + 5]]
    walk = networkx_walk(graph)
    began = time.perf_counter()
    walk(ids[0])
    whole = loaded + time.perf_counter() - began
    times = in_turns({"networkx": lambda i: walk(ids[i])}, rounds=walks, warm_up=5)["networkx"]
    report.add("graph", "opened and walked once", cold, "s")
    report.add("graph", "NetworkX: loaded and walked once", whole, "s", detail=f"load {loaded:.1f} s")
    report.add("graph", "times as fast as NetworkX, end to end", whole / cold, "x", limit=1.0, at_least=True)
    _add_times(report, "NetworkX, loaded: the same walk without texts, p50", times)


def networkx_walk(graph: Any) -> Callable[[str], object]:
    def ties(ids: Sequence[str]) -> dict[str, list[Tie]]:
        found = {}
        for one in ids:
            ways = []
            for forward, near in ((True, graph.out_edges), (False, graph.in_edges)):
                edges = [
                    (data["weight"], key, end)
                    for *ends, key, data in near(one, keys=True, data=True)
                    for end in [ends[1] if forward else ends[0]]
                ]
                edges.sort(reverse=True)
                ways += [Tie(key, end, weight, forward, "relates", "[]") for weight, key, end in edges[:TIES_ASKED]]
            found[one] = ways
        return found

    return lambda seed: trails(spread({seed: 1.0}, ties, set, Bounds()))


# ---------------------------------------------------------------- search


def measure_search(report: Report, path: Path, searches: int) -> None:
    chance = random.Random(4)
    asked = [
        f"{chance.choice(_VERBS)} {chance.choice(_SUBJECTS)} {chance.choice(_THINGS)} number {i}"
        for i in range(searches + 8)
    ]
    with ReasoningBank.open(path, embedder="hash", namespace="bench") as bank:
        began = time.perf_counter()
        bank.catch_up()
        report.add("graph", "index of nodes and sentences built", time.perf_counter() - began, "s")
        taken = in_turns(
            {
                "search": lambda i: bank.graph.search(asked[i]),
                "search of one label": lambda i: bank.graph.search(asked[i], labels=["AgentAction"]),
                "search and walk": lambda i: bank.graph.walk(asked[i]),
            },
            rounds=searches,
            warm_up=5,
        )
        for name, times in taken.items():
            _add_times(report, f"{name} (hash vectors), p50", times)
