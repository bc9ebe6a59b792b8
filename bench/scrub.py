"""Scrubbing, measured: recall by format, false alarms on texts nobody wrote for it, speed, and two second opinions.

    python -m bench scrub [--data DIR] [--each N] [--rules FILE …] [--second-opinion]

Recall counts a secret as missed when it, or sixteen characters from its middle, is still in the text. The detectors for
comparison are run only when asked for and installed.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bench.benign import texts
from bench.planted import ANNOUNCED, PLACES, TOKENS, Maker
from bench.rule_lists import count_found
from bench.storms.scrub_cost import KNOWN
from reasoningbank.guard.rules import RULES
from reasoningbank.guard.secrets import Scrubber

Detector = Callable[[str], bool]
"""True when it sees a secret in a text."""

DRAFT_CHARS = 500
HOSTILE_CHARS = 1_000_000


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench scrub")
    parser.add_argument("--data", type=Path, help="folder of evaluation data; without it, only sources and packages")
    parser.add_argument("--each", type=int, default=5, help="secrets of each format in each place")
    parser.add_argument("--seed", type=int, default=15112026)
    parser.add_argument("--second-opinion", action="store_true", help="also run detect-secrets and betterleaks")
    parser.add_argument("--rules", type=Path, nargs="*", default=[], help="only this: public lists of rules, as JSON")
    parser.add_argument("--out", type=Path, help="write the figures as JSON too")
    asked = parser.parse_args(arguments)
    scrubber = Scrubber()
    if asked.rules:
        found = {file.stem: count_found(file, lambda text: scrubber.scrub(text).text, survives) for file in asked.rules}
        print(json.dumps(found, indent=1, ensure_ascii=False))
        return 0
    figures: dict[str, Any] = {"rules": len(RULES), "recall": _recall(scrubber, asked.each, asked.seed)}
    benign = list(texts(asked.data))
    figures["benign"] = _benign(scrubber, benign)
    figures["speed"] = _speed(scrubber, benign)
    figures["hostile_seconds_per_mb"] = {text: _seconds(scrubber, text) for text in KNOWN}
    if asked.second_opinion:
        figures["second_opinions"] = _second_opinions(asked.seed, benign)
    print(json.dumps(figures, indent=1, ensure_ascii=False))
    if asked.out is not None:
        asked.out.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return 0


# ---------------------------------------------------------------- recall


def planted(maker: Maker, each: int) -> Iterator[tuple[str, str, str]]:
    """(format, secret, text) of every format; those with a shape of their own in every place."""
    for name, make in TOKENS.items():
        for put in PLACES.values():
            for _ in range(each):
                secret = make(maker)
                yield name, secret, put(secret)
    for name, carry in ANNOUNCED.items():
        for _ in range(each * len(PLACES)):
            yield name, *carry(maker)


def survives(secret: str, text: str) -> bool:
    pieces = [secret, quote(secret, safe="")]
    middle = secret[len(secret) // 2 - 8 : len(secret) // 2 + 8] if len(secret) > 20 else secret
    return any(piece in text for piece in (*pieces, *([middle] if "\n" not in middle else [])))


def _recall(scrubber: Scrubber, each: int, seed: int) -> dict[str, Any]:
    tried: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for name, secret, text in planted(Maker(random.Random(seed)), each):
        tried[name] += 1
        missed[name] += survives(secret, scrubber.scrub(text).text)

    def share(names: list[str]) -> float:
        return round(1 - sum(missed[n] for n in names) / sum(tried[n] for n in names), 4)

    return {
        "formats": len(tried),
        "secrets": tried.total(),
        "with a shape of their own": share(list(TOKENS)),
        "announced": share(list(ANNOUNCED)),
        "worst": {name: round(1 - missed[name] / tried[name], 3) for name, _ in missed.most_common(8) if missed[name]},
    }


# ---------------------------------------------------------------- false alarms and speed


def _benign(scrubber: Scrubber, benign: list[tuple[str, str]]) -> dict[str, Any]:
    alarms = [
        f"{where}: {span.name}: {text[max(0, span.start - 40) : span.end + 10]!r}"
        for where, text in benign
        if scrubber.suspects(text)
        for span in scrubber.places(text)
    ]
    sources = Counter(re.split("[:#]", where)[0] for where, _ in benign)
    return {"texts": len(benign), "false_alarms": len(alarms), "by_source": dict(sources), "alarms": alarms[:20]}


def _speed(scrubber: Scrubber, benign: list[tuple[str, str]]) -> dict[str, float]:
    by_kind: dict[str, list[str]] = {}
    for where, text in benign:
        kind = {"stdlib": "code", "packages": "documents"}.get(re.split("[:#]", where)[0], "evaluation data")
        by_kind.setdefault(kind, []).append(text)
    by_kind["logs"] = [_log(number) for number in range(2_000)]
    figures = {f"{kind} MB/s": _rate(scrubber.scrub, some[:6_000]) for kind, some in by_kind.items()}
    every = [text for some in by_kind.values() for text in some[:3_000]]
    figures["all MB/s"] = _rate(scrubber.scrub, every)
    bare = re.compile("|".join(f"(?:{_ungrouped(rule.shape)})" for rule in RULES), re.ASCII)
    figures["bare alternation of the same shapes MB/s"] = _rate(bare.search, every[:300])
    draft = "When a migration stops half way, read the last statement and run it by hand before you try again. " * 6
    figures["clean draft of 500 characters µs"] = _microseconds(lambda: scrubber.scrub(draft[:DRAFT_CHARS]))
    return figures


def _ungrouped(shape: str) -> str:
    return shape.replace("(?P<body>", "(?:")


def _log(number: int) -> str:
    return "\n".join(
        f"2026-03-0{i % 9 + 1}T10:{i % 60:02}:11.{number:03}Z INFO  http[{number}]: GET /v1/items/{i * number} 200 "
        f"{i}ms request_id={number:08x}-{i:04x}-4000-8000-{i * number:012x} user=jo host=web-{i % 7}.internal"
        for i in range(12)
    )


def _rate(look: Callable[[str], object], some: list[str]) -> float:
    size = sum(len(text.encode("utf-8", "replace")) for text in some)
    best = min(_cpu(lambda: [look(text) for text in some]) for _ in range(3))
    return round(size / 1e6 / best, 2)


def _cpu(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return max(time.process_time() - started, 1e-9)


def _microseconds(work: Callable[[], object], times: int = 5_000) -> float:
    return round(min(_cpu(lambda: [work() for _ in range(times)]) for _ in range(5)) / times * 1e6, 2)


def _seconds(scrubber: Scrubber, text: str) -> float:
    return round(_cpu(lambda: scrubber.scrub((text * HOSTILE_CHARS)[:HOSTILE_CHARS])), 2)


# ---------------------------------------------------------------- second opinions


def _second_opinions(seed: int, benign: list[tuple[str, str]]) -> dict[str, Any]:
    detectors = {"reasoningbank": _ours, "detect-secrets": _detect_secrets, "betterleaks": _betterleaks}
    opinions: dict[str, Any] = {}
    sample = random.Random(seed).sample(benign, min(3_000, len(benign)))
    for name, make in detectors.items():
        try:
            detector = make()
        except ImportError as error:
            opinions[name] = f"not installed ({error})"
            continue
        seen: Counter[str] = Counter()
        tried: Counter[str] = Counter()
        for format_name, _, text in planted(Maker(random.Random(seed)), 1):
            kind = "with a shape of their own" if format_name in TOKENS else "announced"
            tried[kind] += 1
            seen[kind] += detector(text)
        opinions[name] = {kind: round(seen[kind] / tried[kind], 3) for kind in tried}
        opinions[name]["false alarms in 3,000"] = sum(detector(text) for _, text in sample)
    return opinions


def _ours() -> Detector:
    scrubber = Scrubber()
    return lambda text: bool(scrubber.scrub(text).found)


def _detect_secrets() -> Detector:
    from detect_secrets import SecretsCollection
    from detect_secrets.settings import default_settings

    file = Path(tempfile.mkdtemp()) / "text.txt"

    def detector(text: str) -> bool:
        # Through a file, as it is meant to be used: only then do its filters count.
        file.write_text(text, "utf-8", errors="replace")
        found = SecretsCollection()
        with default_settings():
            found.scan_file(str(file))
        return bool(found.files)

    return detector


def _betterleaks() -> Detector:
    import betterleaks

    return lambda text: bool(betterleaks.scan_string(text))
