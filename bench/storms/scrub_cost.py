"""Attack every rule set with texts made for it: hostile shapes may cost no more than their length.

A shape is a unit that is repeated: what a pattern of the package looks for, whole, cut short, with fillers, or two of
them in turn (`_shapes`). Each goes through every rule set that reads text on its way in or out, at one length and at
twice that; the worst go through the doors themselves. Costs are processor time, held against a bare pass of a plain
pattern over the same machine in the same run, so that a slow or busy machine is not taken for a slow rule.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path

from bench.storms import _shapes
from bench.storms._weather import Promise, Weather
from reasoningbank.core.drafts import MAX_CONTENT_CHARS
from reasoningbank.core.learning import Episode, EpisodeStep, Verdict, VerdictOutcome
from reasoningbank.guard.borrowed import borrowed_in
from reasoningbank.guard.envelope import envelope
from reasoningbank.guard.hidden import hidden, visible
from reasoningbank.guard.injection_score import suspicion
from reasoningbank.guard.personal import PERSONAL
from reasoningbank.guard.risky import risks_of_action, risks_of_text
from reasoningbank.guard.secrets import Scrubber
from reasoningbank.guard.winnowing import fingerprint
from reasoningbank.recall.query import MAX_QUERY_CHARS
from reasoningbank.wiring import ReasoningBank

SLICE = 2
IS_LONG = True
"""A clock decides every promise here."""
CHARS = 50_000
DOOR_CHARS = 900_000
MOST_S_PER_MB = 0.2
FREE_S = 0.02
"""What a text may cost whatever its length: the looks that every text has free."""
MOST_GROWTH = 2.3
"""Of the cost of a text of twice the length, where it costs enough to be measured."""
MOST_S_AT_A_DOOR = 1.0
BARE_S_PER_MB = 0.025
"""Of the bare pass, on the machine that the limits were set on."""
WORST_AT_DOORS = 2
_BARE = re.compile(r"[a-z]+[0-9]")
KNOWN = (
    "A1b2C3d4data:password", "password=", "mysql", "pwd", "key: A1b2C3d4E5f6G7h8I9j0 ", "AKIA", "eyJ-", "://a:b",
    "-----BEGIN PRIVATE KEY-----\n", "kind: Secret\ndata:\n  a: ", "PuTTY-User-Key-File-2: x\n", "\u200bkey=",
    "cookie: a=b; ", "K10c942FECB7De62bd6Bc6EdEfaECDB5CfD22dADE04eC12e6A116E6a5C5dAdfbE56::.-:k:.k-",
    "testsk_-...-.-...-.-kk-...kk--k%41", ":5432:k:k:%41sk-or-kkkkkkkk", "sha256~kkkkkkkkkkkkkkk\\",
    " +11111111111111111111a",
)  # fmt: skip
"""Shapes that were slow once."""

Pass = Callable[[str], object]


def storm(weather: Weather) -> list[Promise]:
    passes = rule_sets()
    known = _shapes.pieces(weather.chance)
    allowed = Promise(
        f"no shape costs a rule set more than {MOST_S_PER_MB} s a megabyte and {FREE_S} s a text", timed=True
    )
    growth = Promise("a text of twice the length costs about twice as much", timed=True)
    speed = _slowness()
    worst: list[tuple[float, str, str]] = []
    for _, work in passes:
        work("warm up: password=Abc123!x " * 50)
    for number in weather.rounds():
        unit = KNOWN[number] if number < len(KNOWN) else _shapes.shape(weather.chance, known)
        if not number % 50:
            speed = _slowness()
        for name, work in passes:
            seconds = _seconds(work, _text(unit, CHARS)) / speed
            worst.append((seconds * 1e6 / CHARS, name, unit))
            if seconds > (limit := FREE_S + MOST_S_PER_MB * CHARS / 1e6):
                # Once more: another process may have had the caches.
                seconds = min(seconds, _seconds(work, _text(unit, CHARS)) / speed)
            allowed.check(seconds <= limit, f"{name}: {seconds:.3f} s for {CHARS:,} characters of {unit!r}")
            if seconds > limit / 4:
                twice = min(_seconds(work, _text(unit, 2 * CHARS)) for _ in range(2)) / speed
                if twice > MOST_GROWTH * max(seconds, limit / 4):
                    # Once more, both in turn.
                    again = [
                        (_seconds(work, _text(unit, CHARS)), _seconds(work, _text(unit, 2 * CHARS))) for _ in "123"
                    ]
                    seconds, twice = (min(times) / speed for times in zip(*again, strict=True))
                growth.check(
                    twice <= MOST_GROWTH * max(seconds, limit / 4), f"{name}: ×{twice / seconds:.1f}, {unit!r}"
                )
        worst = sorted(worst, reverse=True)[:10]
    growth.held()
    allowed.measured = f"worst {worst[0][0]:.2f} s/MB: {worst[0][1]}, {worst[0][2]!r}; bare {BARE_S_PER_MB * speed:.3f}"
    return [allowed, growth, _doors(weather, [unit for _, _, unit in worst], speed)]


def rule_sets() -> list[tuple[str, Pass]]:
    """Everything that reads a text with patterns on its way in or out."""
    from reasoningbank.learn.consolidate.wording import terms_of
    from reasoningbank.learn.ingest.plain import notes_in
    from reasoningbank.learn.ingest.text import own_words_out
    from reasoningbank.learn.offline.distiller import OfflineDistiller
    from reasoningbank.learn.rules import judge
    from reasoningbank.recall.features import features_of
    from reasoningbank.recall.plan import plan_query
    from reasoningbank_coding_agents.known_failures_file import Trouble
    from reasoningbank_coding_agents.matching import after_failure, before_command
    from reasoningbank_coding_agents.payload import event_from

    plain, personal, distiller = Scrubber(), Scrubber(personal=PERSONAL), OfflineDistiller()
    trouble = Trouble(memory_id="m", action="make all", signature="no rule to make target", worked="make")

    def distilled(text: str) -> object:
        steps = (
            EpisodeStep(action=text[:2_000], result=text, ok=False),
            EpisodeStep(action=text[:1_900], result=text, ok=True),
        )
        episode = Episode(task=text[:4_000], namespace="n", steps=steps, messages=({"role": "user", "content": text},))
        return distiller.distill(episode, judge(episode) or Verdict(outcome=VerdictOutcome.FAILURE))

    def hook(text: str) -> object:
        data = {"hook_event_name": "PostToolUse", "tool_input": {"command": text}, "tool_response": text}
        event = event_from("claude-code", data, event_name=None, cwd=".")
        return event, before_command(text, [trouble]), after_failure(text, text, [trouble])

    return [
        ("secrets", plain.scrub),
        ("secrets and personal data", personal.scrub),
        ("a value under a name", lambda text: plain.scrub_value("api_key", text)),
        ("suspicion", suspicion),
        ("hidden text", hidden),
        ("visible text", visible),
        ("marks", fingerprint),
        ("dangerous advice", risks_of_text),
        ("dangerous action", risks_of_action),
        ("borrowed", lambda text: borrowed_in(text, [text], [""])),
        ("envelope", lambda text: envelope(text, "tool:web")),
        ("query plan", plan_query),
        ("query features", features_of),
        ("distiller", distilled),
        ("own words of a transcript", own_words_out),
        ("plain transcript", lambda text: list(notes_in(text, "n"))),
        ("hook", hook),
        ("wording", terms_of),
    ]


def _doors(weather: Weather, units: list[str], speed: float) -> Promise:
    promise = Promise(
        f"a megabyte of the worst shapes passes any door within {MOST_S_AT_A_DOOR:g} s of processor time", timed=True
    )
    slowest = 0.0
    with ReasoningBank.open(weather.folder / "bank.db", embedder="hash") as bank:
        bank.search("warm up")
        for unit in dict.fromkeys([*KNOWN[:1], *units][: 1 + WORST_AT_DOORS]):
            text = ("Storm: " + _text(unit, min(DOOR_CHARS, MAX_CONTENT_CHARS)))[:MAX_CONTENT_CHARS]
            for door, work in _doors_of(bank, weather.folder):
                seconds = min(_seconds(work, text) for _ in range(2)) / speed
                slowest = max(slowest, seconds)
                promise.check(seconds <= MOST_S_AT_A_DOOR, f"{door}: {seconds:.2f} s for {len(text):,} of {unit!r}")
    promise.measured = f"slowest {slowest:.2f} s"
    return promise


def _doors_of(bank: ReasoningBank, folder: Path) -> list[tuple[str, Pass]]:
    def ingested(text: str) -> object:
        file = folder / "chat.jsonl"
        call = {"id": "1", "function": {"name": "shell", "arguments": "make"}}
        said = [
            {"role": "user", "content": text[:400_000]},
            {"role": "assistant", "content": text[400_000:], "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "1", "content": "done"},
        ]
        file.write_text("\n".join(map(json.dumps, said)), "utf-8")
        return bank.ingest(file)

    def session(text: str) -> object:
        with bank.session("attacked") as run:
            run.step(text[:400_000], result=text[400_000:])
        return run

    return [
        ("record by the user", lambda text: bank.record(title="storm", content=text)),
        ("record by a tool", lambda text: bank.record(title="storm", content=text, origin="tool:web")),
        ("search", lambda text: bank.search(text[:MAX_QUERY_CHARS])),
        ("session", session),
        ("ingest", ingested),
    ]


def _text(unit: str, chars: int) -> str:
    return (unit * (chars // len(unit) + 1))[:chars]


def _seconds(work: Pass, text: str) -> float:
    started = time.process_time()
    work(text)
    return time.process_time() - started


def _slowness() -> float:
    """How many times as long a bare pass takes here as where the limits were set; never less than one."""
    text = "the quick brown fox2 jumps " * 8_000
    return max(1.0, min(_seconds(_BARE.findall, text) for _ in range(5)) * 1e6 / len(text) / BARE_S_PER_MB)
