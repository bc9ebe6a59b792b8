"""The command line from a standing start, beside `python -c "import numpy"` of the same interpreter in the same run."""

from __future__ import annotations

import json
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bench.banks import NAMESPACE, Built, built, ids_of, workplace
from bench.corpus import Corpus
from bench.installed import environment, fresh_venv
from bench.report import Report
from bench.timing import Times, in_turns

SCALE = 100_000
ROUNDS, WARM_UP = 21, 2
LIMITS = {"query hash": 1.6, "query local": 4.0, "list": 1.0, "get": 1.0, "status": 1.0}
OPEN_LIMIT_MS = 20.0
_FLOOR = 'python -c "import numpy"'

# The least that the library itself takes, to tell it from the command line's own share.
_LIBRARY = """
import sys
from reasoningbank import ReasoningBank
with ReasoningBank.open(sys.argv[1], namespace="web") as bank:
    print(len(bank.search(sys.argv[2])))
"""

_TOUCHED = """
import json, re, sys
from reasoningbank import ReasoningBank
def faults():
    import resource
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_majflt, used.ru_minflt
with ReasoningBank.open(sys.argv[1], namespace="web") as bank:
    bank.search(sys.argv[2])
    resident = size = 0
    for line in open("/proc/self/smaps"):
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            ours = ".index/" in line
        elif ours and line.startswith("Rss:"):
            resident += int(line.split()[1])
        elif ours and line.startswith("Size:"):
            size += int(line.split()[1])
    print(json.dumps([resident * 1024, size * 1024, *faults()]))
"""


def measure(report: Report, corpus: Corpus, folder: Path | None = None) -> None:
    folder = folder or fresh_venv()
    banks = {embedder: built(corpus, SCALE, embedder) for embedder in ("hash", "local")}
    _opening(report, banks["hash"])
    for embedder, bank in banks.items():
        _touched(report, folder, bank, embedder)
    if not (folder / "bin" / "reasoningbank").exists() or not _works(folder, banks["hash"]):
        report.note("the command line does not run yet, so only the library is measured cold")
    with workplace() as place:
        _commands(report, corpus, folder, banks, place)


def _opening(report: Report, bank: Built) -> None:
    seconds = []
    for _ in range(50):
        began = time.perf_counter()
        opened = bank.open()
        seconds.append(time.perf_counter() - began)
        opened.close()
    taken = Times.of(seconds)
    report.add("cold", f"opening a bank of {SCALE:,}, p50", taken.p50_ms, "ms", limit=OPEN_LIMIT_MS,
               detail=f"first {1e3 * seconds[0]:.2f}, p95 {taken.p95_ms:.2f} ms")  # fmt: skip


def _touched(report: Report, folder: Path, bank: Built, embedder: str) -> None:
    if sys.platform != "linux":
        return
    command = [str(folder / "bin" / "python"), "-c", _TOUCHED, str(bank.path), "how to deploy the cache"]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    resident, mapped, major, minor = json.loads(done.stdout)
    detail = f"of {mapped / 1e6:.0f} MB mapped; {minor:,} minor and {major} major page faults in all"
    report.add("cold", f"index pages that one cold query maps in, {embedder}", resident / 1e6, "MB", detail=detail)


def _works(folder: Path, bank: Built) -> bool:
    return subprocess.run(
        [str(folder / "bin" / "reasoningbank"), "status", "--bank", str(bank.path)],
        env=environment(), capture_output=True, check=False,
    ).returncode == 0  # fmt: skip


def _commands(report: Report, corpus: Corpus, folder: Path, banks: dict[str, Built], place: Path) -> None:
    python = str(folder / "bin" / "python")
    questions = [question.text for question in corpus.questions(ROUNDS + WARM_UP, SCALE, 12)]
    calls = {
        _FLOOR: lambda _: _run([python, "-c", "import numpy"]),
        "library search hash": lambda i: _run([python, "-c", _LIBRARY, str(banks["hash"].path), questions[i]]),
        "library search local": lambda i: _run([python, "-c", _LIBRARY, str(banks["local"].path), questions[i]]),
    }
    if _works(folder, banks["hash"]):
        # Storing changes a bank, so it gets one of its own, as large as the others.
        copy = place / "bank.db"
        shutil.copy(banks["hash"].path, copy)
        shutil.copytree(f"{banks['hash'].path}.index", f"{copy}.index")
        some_id = ids_of(banks["hash"])[SCALE // 2]
        command = [str(folder / "bin" / "reasoningbank")]
        options = {name: ["--bank", str(bank.path), "--namespace", NAMESPACE] for name, bank in banks.items()}
        stored = ["--bank", str(copy), "--namespace", NAMESPACE]
        calls |= {
            "query hash": lambda i: _run([*command, "query", questions[i], *options["hash"]]),
            "query local": lambda i: _run([*command, "query", questions[i], *options["local"]]),
            "list": lambda _: _run([*command, "list", *options["hash"]]),
            "get": lambda _: _run([*command, "get", some_id, *options["hash"]]),
            "status": lambda _: _run([*command, "status", *options["hash"]]),
            "store": lambda i: _run([*command, "store", f"key-{i}", questions[i], *stored]),
        }
    computing: dict[str, list[float]] = {name: [] for name in calls}
    times = in_turns({name: _watched(call, computing[name]) for name, call in calls.items()}, ROUNDS, 1, WARM_UP)
    floor = times[_FLOOR].p50_ms
    for name, taken in times.items():
        share = statistics.median(computing[name]) / statistics.median(computing[_FLOOR])
        detail = f"p50 {taken.p50_ms:.0f} ms, p95 {taken.p95_ms:.0f} ms; {share:.2f} × by processor time"
        report.add("cold", f"{name} / import numpy", taken.p50_ms / floor, "×", limit=LIMITS.get(name), detail=detail)
    if "store" in times:
        ratio = times["store"].p50_ms / times["query hash"].p50_ms
        report.add("cold", "store / query (hash)", ratio, "×", limit=1.0)


def _watched(call: Callable[[int], None], computing: list[float]) -> Callable[[int], None]:
    """Notes the processor time of the child too, which a busy machine stretches less than the clock.

    Compare with it only what imports numpy as well: the floor is charged with the threads that numpy starts.
    """

    def watched(number: int) -> None:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        call(number)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        computing.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)

    return watched


def _run(command: list[str]) -> None:
    subprocess.run(command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
