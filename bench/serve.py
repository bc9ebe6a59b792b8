"""The server beside the library: searches a second over REST, and many clients at once for minutes.

Each contestant runs alone, in a process of its own, in turns of a few seconds; the clients are another process. What is
compared is answers a second within one round, so that a busy machine is busy for all of them. The processor time of
server and clients is reported too: there are two cores and three parties.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from bench.banks import NAMESPACE, Built, built, workplace
from bench.corpus import Corpus
from bench.report import Report

SCALE = 10_000
TURN_S, TURNS = 4.0, 3
CLIENTS = 32
QUESTIONS = 20_000
SHARE = 0.7
LOAD_CLIENTS = 200
LOAD_WRITES = 0.1
ROOT = Path(__file__).resolve().parent.parent

_LIBRARY = """
import json, sys, threading, time
from reasoningbank import ReasoningBank
path, seconds, threads, plan = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), json.load(open(sys.argv[4]))
texts = [json.loads(body)["query"] for body in plan["bodies"]]
with ReasoningBank.open(path, namespace="web") as bank:
    bank.search("warm up")
    counts = [0] * threads
    began, cpu = time.perf_counter(), time.process_time()
    def work(number):
        i = number
        while time.perf_counter() - began < seconds:
            bank.search(texts[i % len(texts)], namespace="*")
            i += threads
            counts[number] += 1
    workers = [threading.Thread(target=work, args=(n,)) for n in range(threads)]
    [w.start() for w in workers]; [w.join() for w in workers]
    taken = time.perf_counter() - began
    print(json.dumps({"per_s": sum(counts) / taken, "cpu_s": time.process_time() - cpu, "seconds": taken}))
"""
_BARE = """
import sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
body = b"x" * 4000
async def answer(request):
    await request.body()
    return Response(body, media_type="application/json")
app = Starlette(routes=[Route("/v1/search", answer, methods=["POST"])])
uvicorn.run(app, port=int(sys.argv[1]), log_level="error", access_log=False)
"""


def measure(report: Report, corpus: Corpus, embedders: tuple[str, ...], load_s: float) -> None:
    for embedder in embedders:
        bank = built(corpus, SCALE, embedder)
        with workplace() as folder:
            plan = folder / "plan.json"
            _rates(report, bank, corpus, plan)
    if load_s:
        bank = built(corpus, SCALE, "local" if "local" in embedders else embedders[0])
        with workplace() as folder:
            _load(report, bank, corpus, folder, load_s)


def _write_plan(corpus: Corpus, plan: Path, seed: int, write_share: float = 0.0) -> None:
    asked = corpus.questions(QUESTIONS, SCALE, seed)
    bodies = [json.dumps({"query": one.text, "namespace": "*"}) for one in asked]
    plan.write_text(json.dumps({"path": "/v1/search", "bodies": bodies, "write_share": write_share}), "utf-8")


def _rates(report: Report, bank: Built, corpus: Corpus, plan: Path) -> None:
    rates: dict[str, list[float]] = {}
    costs: dict[str, list[float]] = {}

    def note(name: str, per_s: float, cores: float, others: float = 0.0) -> None:
        rates.setdefault(name, []).append(per_s)
        costs.setdefault(name, []).append(1e3 * cores / per_s)
        print(
            f"  {bank.embedder} {name}: {per_s:,.0f}/s, {1e3 * cores / per_s:.2f} ms of a processor each; "
            f"clients {others:.2f} cores",
            file=sys.stderr,
            flush=True,
        )

    with serving(bank.path) as (port, server), bare_server() as (bare_port, bare):
        for turn in range(TURNS):
            _write_plan(corpus, plan, 100 + turn)
            for threads in (1, 2):
                out = _python(_LIBRARY, str(bank.path), TURN_S, threads, plan)
                note(f"library, {threads} thread{'s' * (threads > 1)}", out["per_s"], out["cpu_s"] / out["seconds"])
            for name, at, process in (("REST", port, server), ("bare endpoint", bare_port, bare)):
                before = cpu_of(process.pid)
                out = clients(at, CLIENTS, TURN_S, plan)
                assert not out["errors"], out["errors"]
                cores = (cpu_of(process.pid) - before) / out["seconds"]
                note(name, out["requests"] / out["seconds"], cores, out["cpu_s"] / out["seconds"])
    what = f"{bank.embedder} {SCALE:,}"
    for name, found in rates.items():
        report.add(
            "serve", f"{what}: {name}", median(found), "/s", detail=f"{median(costs[name]):.2f} ms of a processor each"
        )
    libraries = [name for name in rates if name.startswith("library")]
    # Within each turn, so that a machine that others use too is as busy for one as for the other.
    shares = [rest / max(rates[name][turn] for name in libraries) for turn, rest in enumerate(rates["REST"])]
    report.add("serve", f"{what}: REST of the library's best rate", median(shares), "", limit=SHARE, at_least=True)
    cost = min(median(costs[name]) for name in libraries) / median(costs["REST"])
    report.add("serve", f"{what}: the same by processor time", cost, "", limit=SHARE, at_least=True)


def _load(report: Report, bank: Built, corpus: Corpus, folder: Path, seconds: float) -> None:
    copy = folder / "bank.db"
    shutil.copytree(bank.path.parent, folder, dirs_exist_ok=True)
    plan = folder / "plan.json"
    _write_plan(corpus, plan, 200, LOAD_WRITES)
    with serving(copy) as (port, server):
        clients(port, LOAD_CLIENTS, min(20.0, seconds / 4), plan)
        start_rss, before = rss_of(server.pid), cpu_of(server.pid)
        out = clients(port, LOAD_CLIENTS, seconds, plan)
        end_rss, used = rss_of(server.pid), cpu_of(server.pid) - before
        files = len(list(Path(f"/proc/{server.pid}/fd").iterdir()))
    lost = _missing(copy, out["acknowledged"])
    name = f"{bank.embedder}, {LOAD_CLIENTS} clients for {seconds:.0f} s"
    report.add("serve", f"{name}: answers a second", out["requests"] / out["seconds"], "/s")
    for kind, times in out["times"].items():
        report.add(
            "serve",
            f"{name}: {kind} p50 / p99",
            times["p99_ms"],
            "ms",
            detail=f"p50 {times['p50_ms']:.1f}, max {times['max_ms']:.0f}",
        )
    report.add(
        "serve",
        f"{name}: errors and broken connections",
        sum(out["errors"].values()) + out["broken"],
        "",
        limit=0,
        detail=str(out["errors"] or ""),
    )
    report.add("serve", f"{name}: acknowledged writes lost", lost, f"of {len(out['acknowledged']):,}", limit=0)
    report.add(
        "serve",
        f"{name}: growth of memory after the warm-up",
        (end_rss - start_rss) / 1e6,
        "MB",
        detail=f"{start_rss / 1e6:.0f} to {end_rss / 1e6:.0f} MB, {files} descriptors",
    )
    report.add(
        "serve",
        f"{name}: processor of server",
        used / out["seconds"],
        "cores",
        detail=f"clients {out['cpu_s'] / out['seconds']:.2f}",
    )


def _missing(path: Path, ids: list[str]) -> int:
    from reasoningbank import ReasoningBank
    from reasoningbank.core.types import Memory

    with ReasoningBank.open(path, namespace=NAMESPACE) as bank, bank.context.store.read(bank.tenant) as reader:
        return sum(
            len(chunk) - len(reader.get(Memory, chunk)) for chunk in (ids[i : i + 500] for i in range(0, len(ids), 500))
        )


# ---------------------------------------------------------------- processes


def _python(code: str, *arguments: object) -> dict:
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def clients(port: int, count: int, seconds: float, plan: Path) -> dict:
    done = subprocess.run(
        [sys.executable, "-m", "bench.serve_client", str(port), str(count), str(seconds), str(plan)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@contextmanager
def serving(path: Path, *options: str) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "reasoningbank", "--json", "--bank", str(path), "--namespace", NAMESPACE]
    process = subprocess.Popen(
        [*command, "serve", "--port", "0", *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        lines = []
        while "}\n" not in lines:
            line = process.stdout.readline()
            assert line, process.stderr.read()
            lines.append(line)
        yield int(json.loads("".join(lines))["address"].rpartition(":")[2]), process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


@contextmanager
def bare_server() -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-c", _BARE, str(port)])
    try:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield port, process
    finally:
        process.terminate()
        process.wait(20)


def cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rss_of(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main(arguments: list[str]) -> int:
    import argparse

    parser = argparse.ArgumentParser(prog="bench serve")
    parser.add_argument("--embedder", nargs="+", choices=["hash", "local"], default=["hash", "local"])
    parser.add_argument("--load", type=float, default=180.0, metavar="SECONDS", help="0 leaves the load out")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args(arguments)
    report = Report()
    measure(report, Corpus(), tuple(asked.embedder), asked.load)
    print(report.table())
    if asked.out is not None:
        report.write(asked.out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
