"""Consolidating a bank whose truth is known: how long it takes, and how often it is right.

    python -m bench consolidate [--memories N] [--embedder local|hash] [--out FILE]

The bank holds lessons about made-up services. Some are planted: the same lesson told again (other order, other small
words, other forms, sometimes another word for the same, sometimes a typo), and lessons that look the same and are not
(another value, another name, another order, a negation, an opposite, the other outcome). Of the latter, some contradict
the lesson that they look like. A merge is right when both memories are tellings of one lesson; a conflict when it was
planted.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.report import Report
from reasoningbank.wiring import ReasoningBank

LIMIT_S = 60.0
MEMORIES = 10_000


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_SERVICES = _words(
    "billing checkout search inventory ledger gateway scheduler mailer importer reporting catalog pricing session "
    "notification archive telemetry workflow compliance shipping onboarding"
)
_PARTS = _words("worker cache queue index endpoint migration dashboard exporter client replica proxy parser webhook")
_SETTINGS = _words("timeout limit retries port threshold interval capacity delay")
_ACTS = (
    ("restart", "the {part} of the {service} service"),
    ("rebuild", "the {part} of the {service} service"),
    ("throttle", "the {part} in {service}"),
    ("warm up", "the {service} {part}"),
    ("isolate", "the {part} that {service} depends on"),
    ("instrument", "each {part} of {service}"),
    ("shard", "the {service} {part} by tenant"),
    ("mock", "the {service} {part} in tests"),
    ("pin", "the {part} image of {service}"),
    ("profile", "the {service} {part} under load"),
)
_CASES = (
    "the nightly job overlaps with a deploy",
    "memory grows during large imports",
    "latency rises after a failover",
    "customers report stale totals",
    "the certificate was rotated",
    "a partition is rebalanced",
    "duplicate events arrive",
    "the disk fills with temporary files",
    "a schema change is rolled out",
    "the upstream provider throttles requests",
    "tests fail in random order",
    "clock skew breaks signatures",
    "the on-call engineer cannot reproduce it",
    "logs stop after midnight",
)
_REASONS = (
    "it keeps old connections open",
    "its buffers are never flushed",
    "the lock is held by a dead process",
    "the plan was cached with the wrong statistics",
    "retries pile up behind one slow request",
    "the feature flag is read only once",
    "the encoding of names differs",
    "the pool is smaller than the number of threads",
)
_OTHER_WORDS = {
    "restart": "reboot",
    "rebuild": "recreate",
    "customers": "users",
    "latency": "response time",
    "deploy": "release",
    "large": "big",
    "rises": "increases",
    "tests": "test cases",
    "image": "container image",
}
_FILLERS = ("please ", "always ", "remember to ", "make sure to ", "you should ")


@dataclass(frozen=True, slots=True)
class Lesson:
    act: str
    thing: str
    case: str
    reason: str
    service: str
    part: str
    setting: str
    value: int


@dataclass(slots=True)
class Planted:
    drafts: list[dict] = field(default_factory=list)
    lesson_of: list[int] = field(default_factory=list)
    """By draft: the number of the lesson that it tells; a trap is a lesson of its own."""
    conflicts: set[frozenset[int]] = field(default_factory=set)
    """Pairs of drafts."""


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench consolidate", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--memories", type=int, default=MEMORIES)
    parser.add_argument("--embedder", nargs="+", choices=["hash", "local"], default=["local", "hash"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args(argv)
    report = Report()
    planted = plant(asked.memories, random.Random(asked.seed))
    for embedder in asked.embedder:
        measure(report, planted, embedder)
    print(report.table())
    if asked.out is not None:
        report.write(asked.out)
    return 0


def measure(report: Report, planted: Planted, embedder: str) -> None:
    count = len(planted.drafts)
    with (
        tempfile.TemporaryDirectory() as folder,
        ReasoningBank.open(Path(folder) / "bank.db", embedder=embedder, namespace="bench") as bank,
    ):
        ids = bank.record_many(planted.drafts)
        began = time.monotonic()
        bank.catch_up()
        indexed_s = time.monotonic() - began
        began = time.monotonic()
        rehearsed = bank.consolidate(dry_run=True)
        planned_s = time.monotonic() - began
        began, cpu = time.monotonic(), time.process_time()
        done = bank.consolidate()
        took_s, cpu_s = time.monotonic() - began, time.process_time() - cpu
        assert len(done.plan.acts) == len(rehearsed.plan.acts)
        began = time.monotonic()
        again = bank.consolidate()
        again_s = time.monotonic() - began
        began = time.monotonic()
        undone = bank.upkeep.undo(done.run or "")
        undone_s = time.monotonic() - began
        row = {memory_id: number for number, memory_id in enumerate(ids)}
        _judge(report, planted, done.plan, row, embedder)
    add = report.add
    add(
        "consol.",
        f"{embedder}: {count:,} memories, plan and apply",
        took_s,
        "s",
        limit=LIMIT_S,
        detail=f"{cpu_s:.1f} s of processor",
    )
    add("consol.", f"{embedder}: of that for each 1,000 memories", took_s / count * 1e3, "s")
    add("consol.", f"{embedder}: a rehearsal", planned_s, "s")
    add("consol.", f"{embedder}: a second run", again_s, "s", detail=f"{again.applied} acts")
    add("consol.", f"{embedder}: undoing it", undone_s, "s", detail=f"{len(undone.memories)} memories back")
    add("consol.", f"{embedder}: indexing them before", indexed_s, "s")


def _judge(report: Report, planted: Planted, plan, row: dict[str, int], embedder: str) -> None:
    pairs = [(row[merge.kept], row[other]) for merge in plan.merges for other in merge.merged]
    right = [pair for pair in pairs if planted.lesson_of[pair[0]] == planted.lesson_of[pair[1]]]
    wrong = [pair for pair in pairs if pair not in set(right)]
    surplus = len(planted.lesson_of) - len(set(planted.lesson_of))
    add = report.add
    detail = f"{len(right)} of {len(pairs)}"
    add(
        "consol.",
        f"{embedder}: merges that are right",
        len(right) / max(1, len(pairs)),
        "",
        limit=0.99,
        at_least=True,
        detail=detail,
    )
    add(
        "consol.",
        f"{embedder}: repeated tellings that were merged",
        len(right) / max(1, surplus),
        "",
        detail=f"of {surplus}",
    )
    gone = {pair[1] for pair in pairs}
    found = {frozenset((row[link.source], row[link.target])) for link in plan.conflicts}
    told = {frozenset(_first_telling(planted, i) for i in pair) for pair in planted.conflicts}
    met = {frozenset(_first_telling(planted, i) for i in pair) for pair in found}
    add(
        "consol.",
        f"{embedder}: conflicts that are right",
        len(met & told) / max(1, len(met)),
        "",
        limit=0.95,
        at_least=True,
        detail=f"{len(met & told)} of {len(met)}",
    )
    add(
        "consol.",
        f"{embedder}: planted conflicts that were found",
        len(met & told) / max(1, len(told)),
        "",
        detail=f"of {len(told)}; {len(gone)} merged away",
    )
    for one, other in wrong[:5]:
        report.note(f"wrongly merged: {planted.drafts[one]['content']} | {planted.drafts[other]['content']}")
    for pair in list(met - told)[:5]:
        report.note("wrongly opposed: " + " | ".join(planted.drafts[i]["content"] for i in sorted(pair)))


def _first_telling(planted: Planted, draft: int) -> int:
    return planted.lesson_of.index(planted.lesson_of[draft])


# ---------------------------------------------------------------- what is planted


def plant(count: int, rng: random.Random) -> Planted:
    planted = Planted()
    lessons = _lessons(rng)
    traps = _traps()
    number = 0
    while len(planted.drafts) < count:
        lesson = next(lessons)
        first = len(planted.drafts)
        _tell(planted, number, *_told(lesson, rng, plainly=True))
        number += 1
        chance = rng.random()
        if chance < 0.15:
            for _ in range(rng.choice((1, 1, 1, 2, 4))):
                _tell(planted, number - 1, *_told(lesson, rng, plainly=False))
        elif chance < 0.30:
            name = rng.choice(sorted(traps))
            make, contradicts = traps[name]
            title, content, outcome = make(lesson, rng)
            if contradicts:
                planted.conflicts.add(frozenset((first, len(planted.drafts))))
            _tell(planted, number, title, content, outcome)
            number += 1
    return planted


def _tell(planted: Planted, number: int, title: str, content: str, outcome: str) -> None:
    planted.drafts.append({"title": title, "content": content, "outcome": outcome})
    planted.lesson_of.append(number)


def _lessons(rng: random.Random) -> Iterator[Lesson]:
    seen = set()
    while True:
        act, thing = rng.choice(_ACTS)
        service, part = rng.choice(_SERVICES), rng.choice(_PARTS)
        case, reason = rng.choice(_CASES), rng.choice(_REASONS)
        # No two lessons that differ in their reason alone: those would be one lesson to most readers.
        if (act, service, part, case) in seen:
            continue
        seen.add((act, service, part, case))
        yield Lesson(
            act,
            thing.format(service=service, part=part),
            case,
            reason,
            service,
            part,
            rng.choice(_SETTINGS),
            rng.choice((5, 8, 10, 20, 30, 60, 90, 120, 250, 500)),
        )


def _sentence(lesson: Lesson) -> str:
    return (
        f"When {lesson.case}, {lesson.act} {lesson.thing} with a {lesson.setting} of {lesson.value}, "
        f"because {lesson.reason}."
    )


def _title(lesson: Lesson) -> str:
    return f"{lesson.act.capitalize()} the {lesson.service} {lesson.part}"


def _told(lesson: Lesson, rng: random.Random, *, plainly: bool) -> tuple[str, str, str]:
    if plainly:
        return _title(lesson), _sentence(lesson), "success"
    act = f"{lesson.act} {lesson.thing} with a {lesson.setting} of {lesson.value}"
    text = rng.choice(
        (
            f"When {lesson.case}, {act}, because {lesson.reason}.",
            f"{act} when {lesson.case}: {lesson.reason}.",
            f"Because {lesson.reason}, {act} when {lesson.case}",
            f"If {lesson.case}: {act}. {lesson.reason}.",
        )
    )
    for change in rng.sample((_with_filler, _with_other_word, _in_other_form, _with_typo), rng.choice((0, 1, 1, 2))):
        text = change(text, rng)
    return _title(lesson), text[0].upper() + text[1:], "success"


def _with_filler(text: str, rng: random.Random) -> str:
    filler = rng.choice(_FILLERS)
    return filler.capitalize() + text[0].lower() + text[1:]


def _with_other_word(text: str, rng: random.Random) -> str:
    there = [word for word in _OTHER_WORDS if word in text]
    if not there:
        return text
    word = rng.choice(there)
    return text.replace(word, _OTHER_WORDS[word], 1)


def _in_other_form(text: str, rng: random.Random) -> str:
    del rng
    for one, other in (
        ("fails", "failed"),
        ("rises", "rising"),
        ("arrive", "arriving"),
        ("are", "were"),
        ("is ", "was "),
    ):
        if one in text:
            return text.replace(one, other, 1)
    return text


def _with_typo(text: str, rng: random.Random) -> str:
    words = [word for word in text.split() if len(word) >= 9 and word.isalpha()]
    if not words:
        return text
    word = rng.choice(words)
    at = rng.randrange(3, len(word) - 3)
    return text.replace(word, word[:at] + word[at + 1] + word[at] + word[at + 2 :], 1)


Trap = Callable[[Lesson, random.Random], tuple[str, str, str]]


def _traps() -> dict[str, tuple[Trap, bool]]:
    """Each makes a lesson that looks like the one given, and says whether the two contradict each other."""

    def another_value(lesson: Lesson, rng: random.Random) -> tuple[str, str, str]:
        text = _sentence(lesson).replace(f" of {lesson.value}", f" of {lesson.value + rng.choice((1, 5, 100))}")
        return _title(lesson), text, "success"

    def another_name(lesson: Lesson, rng: random.Random) -> tuple[str, str, str]:
        other = rng.choice([part for part in _PARTS if part != lesson.part])
        return _title(lesson).replace(lesson.part, other), _sentence(lesson).replace(lesson.part, other), "success"

    def negated(lesson: Lesson, rng: random.Random) -> tuple[str, str, str]:
        word = rng.choice(("never ", "do not ", "avoid that you "))
        return _title(lesson), _sentence(lesson).replace(f", {lesson.act}", f", {word}{lesson.act}", 1), "success"

    def failed(lesson: Lesson, rng: random.Random) -> tuple[str, str, str]:
        del rng
        return _title(lesson), _sentence(lesson), "failure"

    def qualified(lesson: Lesson, rng: random.Random) -> tuple[str, str, str]:
        del rng
        return _title(lesson), _sentence(lesson).replace("When ", "Only when ", 1), "success"

    def another_case(lesson: Lesson, rng: random.Random) -> tuple[str, str, str]:
        other = rng.choice([case for case in _CASES if case != lesson.case])
        return _title(lesson), _sentence(lesson).replace(lesson.case, other), "success"

    return {
        "another value": (another_value, True),
        "another name": (another_name, False),
        "negated": (negated, True),
        "failed": (failed, True),
        "qualified": (qualified, False),
        "another case": (another_case, False),
    }
