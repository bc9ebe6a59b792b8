"""What must be true of a bank that several servers shared, once the storm is over."""

from __future__ import annotations

from collections import Counter
from typing import Any

from bench.storms._served import Client, within
from bench.storms._supervised import Supervised
from bench.storms._weather import Promise
from reasoningbank.core.types import Memory, Signal, Step, Trajectory
from reasoningbank.wiring import ReasoningBank

TENANTS = ("acme", "bolt", "crane", "delta")
LEARNED_WITHIN_S = 300.0
LATE = 3
"""Memories of `check_finding`, recorded when the listeners had left: one for each server."""


def check_learning(bank: ReasoningBank, promise: Promise) -> None:
    def standings() -> Counter[str]:
        found: Counter[str] = Counter()
        for tenant in TENANTS:
            found.update(bank.for_tenant(tenant).jobs.tally())
        return found

    within(LEARNED_WITHIN_S, lambda: not {"waiting", "running"} & set(standings()))
    promise.measured = ", ".join(f"{number:,} {name}" for name, number in standings().items())
    for tenant in TENANTS:
        theirs = bank.for_tenant(tenant)
        with bank.context.store.read(tenant) as reader:
            ended = {one.id for one in reader.select(Trajectory, {}) if one.ended_at is not None}
            taught = Counter(memory.source for memory in reader.select(Memory, {}) if "solved" in memory.tags)
        jobs = theirs.jobs.list(limit=1 << 30)
        promise.check(
            {job.job.subject for job in jobs} == ended and len(jobs) == len(ended),
            f"{tenant}: {len(ended)} sessions ended, {len(jobs)} jobs",
        )
        for job in jobs:
            promise.check(job.standing == "done", f"{job.job.id} is {job.standing} after {job.job.attempts} attempts")
        promise.check(max(taught.values(), default=1) == 1, f"{tenant}: a session taught {taught.most_common(1)}")


def check_finding(servers: list[Supervised], made: list[dict[str, Any]], promise: Promise) -> None:
    for number, teller in enumerate(servers):
        word = f"zanzibar{number}quokka"
        client = Client(teller.port, made[0]["token"])
        promise.check(
            client("POST", "/v1/memories", {"title": word, "content": f"{word} is here"}).status == 201, "not recorded"
        )
        for asked in servers:
            asking = Client(asked.port, made[0]["token"])

            def is_found(asking: Client = asking, word: str = word) -> bool:
                answer = asking("POST", "/v1/search", {"query": word, "limit": 1})
                return answer.status == 200 and [m["title"] for m in answer.json["memories"]] == [word]

            promise.check(within(20.0, is_found), f"{asked.name} did not find what {teller.name} was told")


def check_ends(servers: list[Supervised], facts: dict[str, Any], promise: Promise) -> None:
    for server in servers:
        code = server.end()
        promise.check(code == 0, f"{server.name} ended with {code} when asked to")
        log = server.log.read_text("utf-8", "replace")
        promise.check("Traceback" not in log, f"{server.name}'s log has a stack: {_around_stack(log)}")
        # 5 is the code for a bank that cannot be reached, at the start: the supervisor tries again.
        strange = [code for code in server.own_ends if code != 5]
        promise.check(not strange, f"{server.name} ended by itself with {strange}: {log[-500:]}")
    unreached = sum(len(server.own_ends) for server in servers)
    promise.measured = (
        f"{sum(server.kills for server in servers)} servers killed, PostgreSQL restarted {facts['restarts']} times, "
        f"{unreached} starts without a bank, at most {facts['connections']} connections, "
        f"{facts['rss_bytes'] / 1e6:.0f} MB a server"
    )


def _around_stack(log: str) -> str:
    return log[log.index("Traceback") :][-1_000:] if "Traceback" in log else ""


def check_told(told: dict[str, Any], promise: Promise) -> None:
    promise.held(sum(map(len, told["times_s"].values())))
    for what in told["strange"]:
        promise.violated(what)
    promise.broken += told["strange_count"] - len(told["strange"])
    verbs = (f"{verb} {_quantiles(told['times_s'][verb])}" for verb in sorted(told["times_s"]))
    retries = ", ".join(f"{number:,} {what}" for what, number in sorted(told["retries"].items()))
    every = [seconds for times in told["answered_s"].values() for seconds in times]
    promise.measured = (
        f"p50/p99/most ms with every retry: {'; '.join(verbs)}; an answer alone "
        f"{_quantiles(every)}; tried again: {retries}"
    )


def _quantiles(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    chosen = (ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)], ordered[-1])
    return "/".join(f"{1e3 * one:.0f}" for one in chosen)


def check_kept(bank: ReasoningBank, told: dict[str, Any], promise: Promise) -> None:
    for tenant in TENANTS:
        with bank.context.store.read(tenant) as reader:
            kept = {
                "memories": Counter((memory.id, memory.title) for memory in reader.select(Memory, {})),
                "feedback": Counter(signal.comment for signal in reader.select(Signal, {})),
                "steps": Counter(step.action for step in reader.select(Step, {})),
                "sessions": Counter(one.id for one in reader.select(Trajectory, {}) if one.ended_at is not None),
            }
        titles = Counter(title for _, title in kept["memories"])
        for what, there in kept.items():
            for own, *said in told[what]:
                if own != tenant:
                    continue
                name = tuple(said) if len(said) > 1 else said[0]
                times = there[name] if what != "memories" else min(there[name], titles[said[1]])
                again = titles[said[1]] if what == "memories" else there[name]
                promise.check(times == 1 and again == 1, f"{tenant}: {what} {name} is there {again} times")
    promise.measured = ", ".join(
        f"{len(told[what]):,} {what}" for what in ("memories", "feedback", "steps", "sessions")
    )


def check_feed(bank: ReasoningBank, promise: Promise) -> None:
    last, numbers = 0, 0
    while rows := bank.context.store.changes(last, 10_000):
        for row in rows:
            promise.check(row.seq == last + 1, f"behind the change {last} comes {row.seq}")
            last, numbers = row.seq, numbers + 1
    promise.check(last == bank.context.store.head(), f"the feed ends at {last}, the head says otherwise")
    for damage in bank.verify():
        promise.violated(f"verify: {damage}")
    promise.measured = f"{numbers:,} changes"


def check_streams(bank: ReasoningBank, told: dict[str, Any], promise: Promise) -> None:
    changes: dict[str, list[tuple[str, str, str]]] = {tenant: [] for tenant in TENANTS}
    last = 0
    while rows := bank.context.store.changes(last, 10_000):
        last = rows[-1].seq
        for row in rows:
            changes[row.tenant].append((row.kind, row.op.value, row.id))
    for tenant, expected in changes.items():
        heard = [(one["kind"], one["op"], one["id"]) for one in told["heard"][tenant]]
        # What was recorded to be found by each server came after the listeners had left.
        promise.check(
            heard == expected[: len(heard)] and len(expected) - len(heard) <= LATE,
            f"{tenant}: {len(heard):,} changes were told of {len(expected):,}; the first {_agreed(heard, expected):,} "
            "agree",
        )
        promise.held(len(heard))


def _agreed(one: list[Any], other: list[Any]) -> int:
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
