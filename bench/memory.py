"""What an open index keeps in memory of its own, beyond the files that it maps.

Measured in a fresh process as anonymous memory (which no file backs). The same libraries, embedder and searches are
first run on a small bank, so that what remains is what grows with the number of memories.
"""

from __future__ import annotations

import json
import subprocess
import sys

from bench.banks import built
from bench.corpus import Corpus
from bench.report import Report

LIMIT_BYTES = 150
PROMISED_FROM = 100_000
SMALL = 1000
SEARCHES = 40

_PROBE = """
import gc, json, re, sys
from reasoningbank import ReasoningBank

def anonymous():
    gc.collect()
    return 1024 * int(re.search(r"Anonymous:\\s+(\\d+)", open("/proc/self/smaps_rollup").read())[1])

def searched(path, questions):
    bank = ReasoningBank.open(path, namespace="web")
    for number, text in enumerate(questions):
        bank.search(text, limit=10, namespace="*" if number % 2 else "web")
    return bank

small, large, questions = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
kept = searched(small, questions)
before = anonymous()
opened = searched(large, questions)
print(json.dumps([before, anonymous()]))
"""


def measure(report: Report, corpus: Corpus, scales: list[int], embedder: str = "hash") -> None:
    if sys.platform != "linux":
        report.note("memory is measured on Linux only")
        return
    small = built(corpus, SMALL, embedder)
    for scale in scales:
        large = built(corpus, scale, embedder)
        questions = [question.text for question in corpus.questions(SEARCHES, scale, 21)]
        command = [sys.executable, "-c", _PROBE, str(small.path), str(large.path), json.dumps(questions)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        before, after = json.loads(done.stdout)
        what = f"{embedder} {scale:,}: resident index beyond the mapped files, a memory"
        # Below this the few megabytes that any open bank takes would be shared by too few memories to say anything.
        limit = LIMIT_BYTES if scale >= PROMISED_FROM else None
        detail = f"{(after - before) / 1e6:.1f} MB in all"
        report.add("memory", what, (after - before) / scale, "bytes", limit=limit, detail=detail)
