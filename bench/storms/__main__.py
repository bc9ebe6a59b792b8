"""`python -m bench storm NAME … | --all [--minutes N] [--seed S] [--rounds N] [--out FILE]`: one table of promises.

Each storm runs in a process and a folder of its own. A seed is drawn and printed unless one is given; with the same
seed and `--rounds` a storm does the same again. The time is shared out evenly.
"""

from __future__ import annotations

import argparse
import json
import os
import pkgutil
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

import bench.storms
from bench.storms._weather import Promise, Weather
from reasoningbank.recall import current

PATIENCE = 5.0
"""A storm that takes so many times its share, and two minutes, hangs: it is ended and that is a violation."""


def names() -> list[str]:
    found = (module.name for module in pkgutil.iter_modules(bench.storms.__path__))
    return sorted(name.replace("_", "-") for name in found if not name.startswith("_"))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench storm", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("storms", nargs="*", metavar="NAME", help=f"of {', '.join(names())}")
    parser.add_argument("--all", action="store_true", help="every storm, one after the other")
    parser.add_argument("--minutes", type=float, default=10.0, help="for all of them together (default: 10)")
    parser.add_argument("--rounds", type=int, help="end each after so many rounds")
    parser.add_argument("--seed", type=int, help="for the same sequence again")
    parser.add_argument("--out", type=Path, help="write the table as JSON too")
    parser.add_argument("--alone", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args(sys.argv[1:] if argv is None else list(argv))
    unknown = sorted(set(asked.storms) - set(names()))
    if unknown or not (asked.storms or asked.all):
        parser.error(f"name a storm, or --all: {', '.join(names())}")
    seed = asked.seed if asked.seed is not None else random.SystemRandom().randrange(1 << 30)
    if asked.alone is not None:
        return _alone(asked.storms[0], Weather(asked.minutes * 60, seed, asked.alone, asked.rounds))
    chosen = names() if asked.all else list(dict.fromkeys(asked.storms))
    print(f"seed {seed}: {len(chosen)} storms, {asked.minutes:g} minutes in all", flush=True)
    outcomes: dict[str, list[Promise]] = {}
    for name in chosen:
        outcomes[name] = _apart(name, asked.minutes / len(chosen), seed, asked.rounds)
        print("\n".join(_rows(name, outcomes[name])), flush=True)
    _summary(outcomes)
    if asked.out is not None:
        document = {
            "seed": seed,
            "minutes": asked.minutes,
            "storms": {n: [asdict(p) for p in ps] for n, ps in outcomes.items()},
        }
        asked.out.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    return int(any(promise.broken for promises in outcomes.values() for promise in promises))


def _apart(name: str, minutes: float, seed: int, rounds: int | None) -> list[Promise]:
    """The storm in a process group of its own, so that nothing of it outlives it."""
    folder = Path(tempfile.mkdtemp(prefix=f"reasoningbank-storm-{name}-"))
    work = folder / "work"
    work.mkdir()
    command = [
        sys.executable,
        "-m",
        "bench.storms",
        name,
        "--minutes",
        str(minutes),
        "--seed",
        str(seed),
        "--alone",
        str(work),
    ]
    if rounds is not None:
        command += ["--rounds", str(rounds)]
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        told, _ = process.communicate(timeout=120 + PATIENCE * minutes * 60)
    except subprocess.TimeoutExpired:
        told = ""
    finally:
        _end_group(process)
    last = (told or "").strip().splitlines()[-1:]
    try:
        promises = [Promise(**each) for each in json.loads(last[0])]
    except (IndexError, ValueError, TypeError):
        promises = [Promise("the storm itself ends")]
        promises[0].violated(f"it ended with status {process.returncode} after {time.monotonic() - began:.0f} s")
    if any(promise.broken for promise in promises):
        print(f"What the storm {name} left is kept in {folder}.", file=sys.stderr)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return promises


def _end_group(process: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _alone(name: str, weather: Weather) -> int:
    if weather.most is not None:
        # What a short slice finds must not hang on a clock.
        current.CATCH_UP_BUDGET_S = 60.0
    promises: list[Promise] = import_module(f"bench.storms.{name.replace('-', '_')}").storm(weather)
    print(json.dumps([asdict(promise) for promise in promises]))
    return 0


def _rows(name: str, promises: list[Promise]) -> list[str]:
    rows = []
    for promise in promises:
        measured = f"  ({promise.measured})" if promise.measured else ""
        rows.append(f"{name:<12} {promise.tries:>9,} tries {promise.broken:>6,} violations  {promise.text}{measured}")
        rows += [f"{'':<12} ! {how}" for how in promise.violations]
    return rows


def _summary(outcomes: dict[str, list[Promise]]) -> None:
    every = [promise for promises in outcomes.values() for promise in promises]
    print(f"{len(every)} promises, {sum(p.tries for p in every):,} tries, {sum(p.broken for p in every):,} violations")


if __name__ == "__main__":
    raise SystemExit(main())
