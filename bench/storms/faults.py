"""Let the system's calls fail beneath every public verb: no raw error, no false acknowledgement, a whole bank after.

A small library is compiled and loaded before the system's own. It fails the k-th call that opens, reads, writes, syncs,
sizes or names a file in the bank's folder, with EIO, ENOSPC, EMFILE or EACCES, once or for ever. Every verb runs under
such a fault in a process of its own; then the faults end, the bank is opened, verified and searched.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from bench.storms._weather import Promise, Weather

SLICE = 8
"""Rounds in the test command: a verb each."""
_SOURCE = Path(__file__).with_name("_faulty.c")


def storm(weather: Weather) -> list[Promise]:
    library = _compiled(weather.folder)
    if library is None:
        promise = Promise("whatever fails below, a caller meets a typed error with a sentence, never a raw one")
        promise.measured = "not tried: no C compiler here"
        return [promise]
    work = weather.folder / "work"
    work.mkdir()
    command = [sys.executable, "-m", "bench.storms._faulted", work, weather.seconds, weather.seed, weather.most or 0]
    done = subprocess.run(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, "LD_PRELOAD": str(library)},
    )
    return [Promise(**each) for each in json.loads(done.stdout.strip().splitlines()[-1])]


def _compiled(folder: Path) -> Path | None:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None or not sys.platform.startswith("linux"):
        return None
    library = folder / "faulty.so"
    made = subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-o", library, _SOURCE, "-ldl"], capture_output=True, check=False
    )
    return library if made.returncode == 0 else None
