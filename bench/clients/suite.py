"""Runs every scenario with every client, and prints what held and what each hook cost.

    python -m bench clients [--client NAME …] [--scenario NAME …] [--out FILE] [--keep]

Installs the clients at pinned versions with npm (`clients/npm.py`), 700 MB in the cache of the bench. Needs no key and
no network beyond that: the model is a script on loopback. The exit code is 0 where everything held, 1 where something
did not, and 77 where there is no npm.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.clients.client import CLIENTS, Client
from bench.clients.desk import Desk
from bench.clients.model import ScriptedModel
from bench.clients.npm import PINNED, NoClients, program
from bench.clients.outcome import Outcome, report_of
from bench.clients.recorded_program import calls_in, make_program
from bench.clients.scenarios import SCENARIOS

SKIPPED = 77


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench clients", description=__doc__.partition("\n")[0])
    parser.add_argument("--client", nargs="+", choices=list(CLIENTS), default=list(CLIENTS))
    parser.add_argument("--scenario", nargs="+", choices=list(SCENARIOS), default=list(SCENARIOS))
    parser.add_argument("--out", type=Path, help="write the outcomes as JSON too")
    parser.add_argument("--keep", action="store_true", help="leave the folders of the scenarios, and say where")
    asked = parser.parse_args(arguments)
    # Whoever ends the suite ends the client that it waits for.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        clients = [CLIENTS[name](program(name)) for name in asked.client]
    except NoClients as why:
        print(f"skipped: {why}", file=sys.stderr)
        return SKIPPED
    folder = Path(tempfile.mkdtemp(prefix="bench-clients-"))
    try:
        outcomes = run_all(clients, asked.scenario, folder)
    finally:
        if asked.keep:
            print(folder, file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    report = report_of(outcomes, PINNED)
    print(report.text)
    if asked.out is not None:
        report.write(asked.out)
    return 0 if all(outcome.held for outcome in outcomes) else 1


def run_all(clients: Sequence[Client], scenarios: Sequence[str], folder: Path) -> list[Outcome]:
    python = make_program(folder / "program")
    outcomes = []
    with ScriptedModel().running() as model:
        for name in scenarios:
            for client in clients:
                outcome = run_one(name, client, folder / f"{name}-{client.name}", model, python)
                print(outcome.line, file=sys.stderr, flush=True)
                outcomes.append(outcome)
    return outcomes


def run_one(name: str, client: Client, folder: Path, model: ScriptedModel, python: Path) -> Outcome:
    """Whatever goes wrong is the outcome: the other scenarios go on."""
    began = time.monotonic()
    problem = ""
    try:
        SCENARIOS[name](Desk(folder, client, model, python))
    except (AssertionError, RuntimeError, OSError, ValueError, LookupError) as error:
        problem = str(error) or repr(error)
    calls = tuple(calls_in(folder / "home"))
    return Outcome(name, SCENARIOS[name].__doc__ or "", client.name, problem, time.monotonic() - began, calls)
