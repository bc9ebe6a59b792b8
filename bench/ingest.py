"""Ingesting conversations into the memory graph: how long it takes, and how often a bridge is a true one.

    python -m bench ingest [--messages N] [--data DIR] [--out FILE]

Conversations are made from a seed: customers with orders, analysts with tables, programmers with files. Whose order,
table or file returns in a later conversation is known, so every bridge is right or wrong. `--data` ingests the
tau-retail conversations in a folder instead, for their speed.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.report import Report
from reasoningbank.core.types import Edge, Node
from reasoningbank.wiring import ReasoningBank

LIMIT_S = 30.0
MESSAGES = 10_000
LEAST_RIGHT = 0.95
_RETURNS = 0.2
"""The share of conversations that come back to the thing of an earlier one."""
_THINGS = ("lamp", "kettle", "backpack", "keyboard", "tablet", "skateboard", "bookshelf", "camera")
_METRICS = ("ROI", "CPA", "conversion rate", "churn rate", "revenue")


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench ingest", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--messages", type=int, default=MESSAGES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args(argv)
    report = Report()
    if asked.data is None:
        told, things = _conversations(asked.messages, random.Random(asked.seed))
    else:
        told, things = dict(_tau_runs(asked.data, asked.messages)), {}
    _measure(report, told, things)
    _measure_one(report, [message for talk in told.values() for message in talk])
    print(report.table())
    if asked.out is not None:
        report.write(asked.out)
    return 0


def _measure(report: Report, told: dict[str, list[dict[str, Any]]], things: dict[str, str]) -> None:
    messages = sum(map(len, told.values()))
    with tempfile.TemporaryDirectory() as folder, ReasoningBank.open(Path(folder) / "bank.db") as bank:
        begun, worked = time.perf_counter(), time.process_time()
        made = bank.graph.ingest_many(told)
        spent, busy = time.perf_counter() - begun, time.process_time() - worked
        nodes, edges = sum(len(one.nodes) for one in made), sum(len(one.edges) for one in made)
        detail = f"{len(told):,} conversations, {nodes:,} nodes, {edges:,} edges; {busy:.1f} s of processor"
        limit = LIMIT_S * messages / MESSAGES
        report.add("ingest", f"{messages:,} messages in many conversations", spent, "s", limit=limit, detail=detail)
        begun = time.perf_counter()
        again = bank.graph.ingest_many(told)
        report.add("ingest", "the same again", time.perf_counter() - begun, "s")
        report.add("ingest", "nodes that this added", sum(one.nodes_added for one in again), "", limit=0)
        if things:
            _judge_bridges(report, bank, [edge for one in made for edge in one.bridges], things)


def _judge_bridges(report: Report, bank: ReasoningBank, ids: list[str], things: dict[str, str]) -> None:
    with bank.context.store.read(bank.tenant) as reader:
        edges = list(reader.get(Edge, ids).values())
        ends = reader.get(Node, sorted({end for edge in edges for end in (edge.source_id, edge.target_id)}))
    pairs = [(ends[edge.source_id].conv_id, ends[edge.target_id].conv_id) for edge in edges]
    right = [(late, early) for late, early in pairs if things[late] == things[early]]
    seen: set[str] = set()
    returning = [conv for conv, thing in things.items() if thing in seen or seen.add(thing)]
    found = {late for late, _ in right}
    detail = f"{len(right):,} of {len(pairs):,}"
    report.add(
        "ingest",
        "bridges that are right",
        len(right) / max(1, len(pairs)),
        "",
        limit=LEAST_RIGHT,
        at_least=True,
        detail=detail,
    )
    report.add(
        "ingest",
        "conversations that come back and are bridged",
        sum(one in found for one in returning) / max(1, len(returning)),
        "",
    )


def _measure_one(report: Report, messages: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder, ReasoningBank.open(Path(folder) / "bank.db") as bank:
        begun = time.perf_counter()
        made = bank.graph.ingest(messages, conv_id="all of it")
        limit = LIMIT_S * len(messages) / MESSAGES
        what = f"{len(messages):,} messages in one conversation"
        report.add("ingest", what, time.perf_counter() - begun, "s", limit=limit, detail=f"{len(made.nodes):,} nodes")


# ---------------------------------------------------------------- conversations


def _conversations(messages: int, rng: random.Random) -> tuple[dict[str, list[dict[str, Any]]], dict[str, str]]:
    """Conversations by their ids, and what each is about."""
    told: dict[str, list[dict[str, Any]]] = {}
    things: dict[str, str] = {}
    known: list[tuple[Any, str]] = []
    count = 0
    while count < messages:
        if known and rng.random() < _RETURNS:
            kind, thing = rng.choice(known)
        else:
            kind = rng.choice((_customer, _analyst, _programmer))
            thing = f"{rng.randrange(16**7):07x}"
            known.append((kind, thing))
        name = f"conv-{len(told):05}"
        told[name], things[name] = list(kind(thing, rng)), f"{kind.__name__} {thing}"
        count += len(told[name])
    return told, things


def _say(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


def _call(tool: str, result: str, **arguments: Any) -> Iterator[dict[str, Any]]:
    function = {"name": tool, "arguments": json.dumps(arguments)}
    yield {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": function}]}
    yield {"role": "tool", "tool_call_id": "c", "content": result}


def _customer(thing: str, rng: random.Random) -> Iterator[dict[str, Any]]:
    order, item, price = f"#W{int(thing, 16)}", rng.choice(_THINGS), rng.randrange(1000, 90_000) / 100
    yield _say("user", f"Hi, I'd like to return the {item} from my order {order}, please.")
    yield _say("assistant", "I can help with that. Could you please give me your zip code?")
    yield _say("user", f"It's {rng.randrange(10_000, 99_999)}.")
    details = json.dumps({"order_id": order, "items": [{"name": item, "price": price}], "status": "delivered"})
    yield from _call("get_order_details", details, order_id=order)
    yield _say("assistant", f"Your order {order} with the {item} for ${price} was delivered. Shall I proceed?")
    yield _say("user", "Yes, please.")
    yield from _call("return_items", "ok", order_id=order, items=[item])
    yield _say("assistant", f"The return of the {item} from order {order} is requested, and ${price} will be refunded.")
    yield _say("user", "Thanks!")


def _analyst(thing: str, rng: random.Random) -> Iterator[dict[str, Any]]:
    table, metric, figure = f"sales_{thing}", rng.choice(_METRICS), rng.randrange(100, 999) / 100
    yield _say("user", f"Why did the {metric} fall in {rng.choice(('May', 'June', 'July'))} 2025? I prefer tables.")
    query = f"SELECT channel, SUM(spend) FROM {table} GROUP BY channel"
    yield from _call("run_sql", f"channel,sum\nsearch,{figure}", query=query)
    yield _say(
        "assistant", f"The {metric} fell to {figure} because of the outage of July {rng.randrange(1, 28)}, 2025."
    )
    yield _say("user", "ok")


def _programmer(thing: str, rng: random.Random) -> Iterator[dict[str, Any]]:
    file = f"src/module_{thing}.py"
    yield _say("user", f"The tests of {file} fail. Please fix them.")
    yield from _call("bash", "FAILED test_total - AssertionError: 1 failed in 0.1s", command=f"pytest -q {file}")
    yield from _call("edit_file", "ok", path=file, text=f"return {rng.randrange(100)}")
    yield from _call("bash", "3 passed in 0.1s", command=f"pytest -q {file}")
    yield _say("assistant", f"The rounding in {file} is mended and its 3 tests pass.")


def _tau_runs(folder: Path, messages: int) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    count = 0
    for file in sorted(folder.rglob("*.json")):
        runs = json.loads(file.read_text("utf-8"))
        for run in runs if isinstance(runs, list) else ():
            if count < messages and isinstance(run, dict) and "traj" in run:
                count += len(run["traj"])
                yield f"{file.stem}-{run['task_id']}", run["traj"]
