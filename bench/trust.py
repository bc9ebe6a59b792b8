"""`python -m bench trust --data DIR [--out FILE]`: can poison gain authority, and what does the guard cost?"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.poison import Entry, ordinary_texts, poisoning
from bench.report import Report
from reasoningbank import ReasoningBank
from reasoningbank.core.errors import BankError
from reasoningbank.core.origins import Trust
from reasoningbank.core.types import State
from reasoningbank.guard.injection_score import suspicion

SYBILS = 5
PER_QUESTION = 5
QUESTIONS = 120
CHAIN = 200
REVOKED = 10_000


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench trust", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds memory-poisoning")
    parser.add_argument("--out", type=Path, help="write the figures as JSON too")
    asked = parser.parse_args(arguments)
    if not (asked.data / "memory-poisoning").is_dir():
        print(f"There is no memory-poisoning in {asked.data}: nothing was measured.")
        return 0
    report = Report()
    entries = [*poisoning(asked.data, "train"), *poisoning(asked.data, "validation")]
    with tempfile.TemporaryDirectory(prefix="reasoningbank-trust-") as folder:
        _launder(report, Path(folder), entries)
        _benign(report, Path(folder), entries)
        _share(report, Path(folder), entries)
        _revoke(report, Path(folder))
        _overhead(report, Path(folder))
    _advice(report, asked.data)
    print(report.table())
    if asked.out is not None:
        report.write(asked.out)
    return 0


def _bank(folder: Path, name: str) -> ReasoningBank:
    return ReasoningBank.open(folder / f"{name}.db", embedder="hash", namespace="n", durability="normal")


def _split(entries: Sequence[Entry]) -> tuple[list[str], list[str]]:
    return [e.text for e in entries if e.poisoned], [e.text for e in entries if not e.poisoned]


# ---------------------------------------------------------------- authority


def _launder(report: Report, folder: Path, entries: Sequence[Entry]) -> None:
    poison, clean = _split(entries)
    with _bank(folder, "launder") as bank:
        trusted = bank.record(title="trusted", content=clean[0])
        ids = bank.record_many({"title": "note", "content": text, "origin": "tool:web"} for text in poison)
        routes = {
            "derived, with its parent": [_kept(bank, "A short lesson drawn from it.", parents=[i]) for i in ids],
            "derived from what a session was shown": [_in_a_session(bank, text) for text in poison[:60]],
            "merged with a trusted memory": [_kept(bank, "Both in one.", parents=[trusted.id, i]) for i in ids],
            "repeated by an agent": [_kept(bank, text) for text in poison],
            "repeated by an agent, with words around it": [
                _kept(bank, f"Remember: {t} It worked well.") for t in poison
            ],
            f"repeated by {SYBILS} peers that vouch for it": [
                _by_sybils(bank, i, t) for i, t in zip(ids, poison, strict=True)
            ],
        }
        for route, made in routes.items():
            gained = sum(bank.get(i).trust > Trust.UNTRUSTED for i in made)
            report.add("trust", f"gained authority, {route} ({len(made)} tried)", gained, "", limit=0)
        gained = sum(bank.get(i).trust > Trust.UNTRUSTED for i in ids)
        report.add("trust", f"gained authority themselves, after all that ({len(ids)})", gained, "", limit=0)


def _kept(bank: ReasoningBank, content: str, parents: Iterable[str] = ()) -> str:
    return bank.record(title="lesson", content=content, origin="agent", parents=tuple(parents)).id


def _in_a_session(bank: ReasoningBank, text: str) -> str:
    with bank.session(task=" ".join(text.split()[:20])) as run:
        shown = run.search(floor=0.0, states=("active", "quarantined"), limit=5)
        run.finish("success")
    assert any(hit.trust is Trust.UNTRUSTED for hit in shown)
    words = " ".join(reversed(text.split()[:30]))
    return bank.record(title="lesson", content=f"In other words, {words}", origin="agent", source=run.id).id


def _by_sybils(bank: ReasoningBank, target: str, text: str) -> str:
    for peer in range(SYBILS):
        last = bank.record(title="note", content=text, origin=f"peer:{peer}").id
        try:
            bank.trust.approve(target, voice=f"peer:{peer}")
        except BankError:
            continue
    for _ in range(3):
        bank.outcome(target, succeeded=True)
    return last


# ---------------------------------------------------------------- recall


def _question(text: str) -> str:
    return " ".join(text.replace("\n", " ").split()[:14])


def _hits(bank: ReasoningBank, clean: Sequence[str], ids: Sequence[str]) -> int:
    return sum(
        any(hit.id == wanted for hit in bank.search(_question(text), limit=5, floor=0.0))
        for text, wanted in zip(clean, ids, strict=True)
    )


def _benign(report: Report, folder: Path, entries: Sequence[Entry]) -> None:
    poison, clean = _split(entries)
    clean = list(dict.fromkeys(clean))
    found = {}
    for name, origin in (("alone", None), ("undefended", "user"), ("guarded", "tool:web")):
        with _bank(folder, f"benign-{name}") as bank:
            ids = bank.record_many({"title": "m", "content": text} for text in clean)
            if origin is not None:
                bank.record_many({"title": "m", "content": text, "origin": origin} for text in poison)
            found[name] = _hits(bank, clean, ids)
            lost = sum(bank.get(i).memory.state is not State.ACTIVE or bank.get(i).trust < Trust.TRUSTED for i in ids)
            if name == "guarded":
                report.add("trust", f"benign memories that lost trust or place ({len(ids)})", lost, "", limit=0)
    report.add("trust", "benign hit@5 without any poison", found["alone"] / len(clean), "")
    report.add("trust", "benign hit@5 among poison, nothing marked", found["undefended"] / len(clean), "")
    report.add(
        "trust", "benign hit@5 among poison, guarded", found["guarded"] / len(clean), "",
        limit=found["alone"] / len(clean) - 0.01, at_least=True,
    )  # fmt: skip


def _share(report: Report, folder: Path, entries: Sequence[Entry]) -> None:
    poison, clean = _split(entries)
    clean = list(dict.fromkeys(clean))
    questions = [_question(text) for text in clean[:QUESTIONS]]
    for name, origin, limit in (("nothing marked", "user", None), ("guarded", "tool:web", 0.2)):
        with _bank(folder, f"share-{origin.partition(':')[0]}") as bank:
            bank.record_many({"title": "m", "content": text} for text in clean)
            planted = set(
                bank.record_many(
                    {
                        "title": question,
                        "content": f"{question} {poison[(PER_QUESTION * q + n) % len(poison)]}",
                        "origin": origin,
                    }
                    for q, question in enumerate(questions)
                    for n in range(PER_QUESTION)
                )
            )
            shares = []
            for question in questions:
                hits = [hit.id for hit in bank.search(question, limit=5, floor=0.0)]
                shares.append(sum(i in planted for i in hits) / 5)
        what = f"poison in the top 5, {PER_QUESTION} aimed at each of {len(questions)} questions, {name}"
        report.add("trust", what, sum(shares) / len(shares), "", limit=limit, detail=f"worst {max(shares):.2f}")


# ---------------------------------------------------------------- time


def _revoke(report: Report, folder: Path) -> None:
    with _bank(folder, "revoke") as bank:
        made: list[str] = []
        roots = bank.record_many(
            {"title": f"r{n}", "content": f"root {n} says thing {n * 7919}", "origin": "tool:web"}
            for n in range(REVOKED // CHAIN)
        )
        heads = list(roots)
        for step in range(CHAIN - 1):
            heads = bank.record_many(
                {"title": "d", "content": f"word{step} drawn {n} {step * 31}", "origin": "agent", "parents": [head]}
                for n, head in enumerate(heads)
            )
            made += heads
        began, ran = time.perf_counter(), time.process_time()
        ruling = bank.trust.revoke("tool:web")
        taken, running = time.perf_counter() - began, time.process_time() - ran
        left = sum(bank.get(i).memory.state is State.ACTIVE for i in (*roots, *made))
        report.add(
            "trust", f"descendants left after revoking ({len(ruling.memories)}, {CHAIN} deep)", left, "", limit=0
        )
        report.add("trust", "revoking them", taken, "s", limit=5, detail=f"{running:.1f} s of them running")
        began = time.perf_counter()
        bank.trust.undo(ruling.id)
        report.add("trust", "taking that back", time.perf_counter() - began, "s")


def _overhead(report: Report, folder: Path) -> None:
    with _bank(folder, "overhead") as bank:
        ids = bank.record_many(
            {
                "title": f"t{n}",
                "content": f"advice {n} about topic {n % 50}",
                "origin": ("user", "agent", "tool:x")[n % 3],
            }
            for n in range(3_000)
        )
        with bank.context.store.read(bank.tenant) as reader:
            asked = ids[:100]
            reader.trust_levels(asked)
            began = time.thread_time()
            for _ in range(200):
                reader.trust_levels(asked)
            spent = (time.thread_time() - began) / 200
        report.add("trust", "asking the trust of 100 candidates", 1e3 * spent, "ms", limit=0.1)
    text = "When deploying a service, drain the old pods first, watch the error rate and roll back when it rises. " * 3
    suspicion(text)
    began = time.thread_time()
    for _ in range(100):
        suspicion(text)
    report.add("trust", f"advice about {len(text)} characters", 1e6 * (time.thread_time() - began) / 100, "µs")


# ---------------------------------------------------------------- advice


def _advice(report: Report, data: Path) -> None:
    held_back = poisoning(data, "validation")
    flagged: Counter[str] = Counter(e.attack for e in held_back if suspicion(e.text).is_suspicious)
    asked: Counter[str] = Counter(e.attack for e in held_back)
    clean, poisoned = asked.pop("none"), sum(asked.values()) - 0
    alarms = flagged.pop("none", 0)
    report.add(
        "trust",
        f"advice: recall on {poisoned} poisoned of the validation part",
        sum(flagged.values()) / poisoned,
        "",
        limit=0.5,
        at_least=True,
    )
    report.add("trust", f"advice: false alarms on its {clean} clean ones", alarms / clean, "", limit=0.01)
    report.note("by attack: " + ", ".join(f"{name} {flagged[name]}/{asked[name]}" for name in sorted(asked)))
    total = wrong = 0
    for name, texts in ordinary_texts(data, part=1).items():
        number = sum(suspicion(text).is_suspicious for text in texts)
        total, wrong = total + len(texts), wrong + number
        report.note(f"false alarms on {name}: {number} of {len(texts)}")
    report.add(
        "trust", f"advice: false alarms on {total} ordinary texts never fitted on", wrong / total, "", limit=0.01
    )
