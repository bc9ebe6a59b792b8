"""A bank that was written before anybody scrubbed: secrets are found in every kind of record, and really removed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.types import Edge, Exposure, Memory, Signal, Step, Trajectory
from reasoningbank.guard.scrubbing import allowing, with_personal


@pytest.fixture
def secret(planted, maker):
    made: list[str] = []

    def make() -> str:
        made.append(planted.TOKENS["github ghp"](maker))
        return made[-1]

    make.made = made
    return make


def spoil(bank: ReasoningBank, secret) -> str:
    """Write secrets past every guard, as an older program would have; returns a memory's id."""
    kept = bank.store("key", "first")
    other = bank.record(title="other", content="plain words about retrying")
    bank.edit(kept.id, content="second")
    bank.feedback(kept.id, helpful=True)
    bank.link(kept.id, other.id, "relates")
    with bank.session("task") as run:
        run.step("action")
    bank.search("retrying", floor=0.0)
    bank._engine.flush_shown()
    store = bank.context.store

    def change(writer):
        for kind, field in (
            (Memory, "content"),
            (Signal, "comment"),
            (Trajectory, "task"),
            (Step, "result"),
            (Edge, "text"),
        ):
            for record in writer.select(kind, {}):
                writer.rewrite(replace(record, **{field: f"{field} with {secret()} retrying"}))
        (earlier,) = writer.revisions(Memory, kept.id)
        writer.rewrite(replace(earlier, title=secret(), metadata={"token": secret()}, tags=(secret(),)))
        for shown in writer.side_records(Exposure):
            writer.rewrite_side_record(shown, replace(shown, trajectory_id=secret()))

    store.write("local", change)
    bank.search("retrying", floor=0.0)
    return kept.id


def found(folder, made) -> list[str]:
    files = [file for file in folder.rglob("*") if file.is_file()]
    return [f"{s} in {file}" for file in files for s in made if s.encode() in file.read_bytes()]


def test_a_dry_run_names_every_place_and_changes_nothing(bank, path, secret):
    spoil(bank, secret)
    swept = bank.secrets.scrub()
    assert {place.kind for place in swept.places} == {"memory", "signal", "trajectory", "step", "edge", "exposure"}
    assert sum(swept.found.values()) == len(secret.made)
    assert not swept.applied
    assert not any(s in str(swept) for s in secret.made)
    assert found(path.parent, secret.made)


def test_applied_it_leaves_no_byte_behind_and_everything_still_fits(bank, path, secret):
    memory_id = spoil(bank, secret)
    before = bank.get(memory_id).memory
    assert bank.secrets.scrub(apply=True).applied
    assert found(path.parent, secret.made) == []
    assert bank.verify() == []
    after = bank.history(memory_id)
    assert after.remembered.memory.revision == before.revision
    assert len(after.revisions) == before.revision
    assert after.revisions[0].title == "[SECRET:github-pat]"
    assert bank.search("retrying", floor=0.0).memories
    assert bank.secrets.scrub().places == ()


def test_what_was_kept_before_does_not_leave_even_before_a_sweep(bank, secret):
    memory_id = spoil(bank, secret)
    told = [
        bank.get(memory_id), bank.list(), bank.history(memory_id), bank.search("retrying", floor=0.0), bank.sessions(),
        [bank.trajectory(s.id) for s in bank.sessions()], bank.neighbours(memory_id), bank.inject("retrying"),
        list(bank.export_lines()),
    ]  # fmt: skip
    assert not any(s in str(told) for s in secret.made)


def test_two_keys_that_differ_only_in_their_secrets_stay_two(bank, secret):
    one, two = bank.store("a", "one"), bank.store("b", "two")

    def change(writer):
        for kept in (one, two):
            writer.rewrite(replace(kept.memory, key=f"deploy {secret()}"))

    bank.context.store.write("local", change)
    bank.secrets.scrub(apply=True)
    keys = {bank.get(kept.id).memory.key for kept in (one, two)}
    assert len(keys) == 2
    assert all(key.startswith("deploy [SECRET:github-pat]") for key in keys)


def test_a_tenant_rules_for_itself_and_only_a_fingerprint_is_kept(path, secret):
    value = secret()
    with ReasoningBank.open(path, embedder="hash", tenant="one") as bank:
        bank.secrets.set_scrubbing(with_personal(allowing(bank.secrets.scrubbing, value), ("email",)))
        assert bank.record(title="t", content=f"{value} jo@mail.org").content == f"{value} [SECRET:email]"
    with ReasoningBank.open(path, tenant="one") as again:
        assert again.record(title="t", content=value).content == value
    with ReasoningBank.open(path, tenant="two") as other:
        assert other.record(title="t", content=f"{value} jo@mail.org").content == "[SECRET:github-pat] jo@mail.org"
    fresh = path.with_name("fresh.db")
    with ReasoningBank.open(fresh, embedder="hash") as bank:
        bank.secrets.set_scrubbing(allowing(bank.secrets.scrubbing, value))
    assert value.encode() not in fresh.read_bytes()


SCRUBBING = """
import sys
from reasoningbank import ReasoningBank
from reasoningbank.guard import sweep

sweep.ROWS_PER_PAGE = 50

def told(number):
    print(number, flush=True)
    sys.stdin.readline()

with ReasoningBank.open(sys.argv[1], embedder="hash", namespace="n") as bank:
    bank.secrets.scrub(apply=True, progress=told)
"""


@pytest.mark.parametrize("last_seen", [50, 100, 120], ids=["in the first pages", "later", "before the index is built"])
def test_killed_at_work_it_leaves_a_sound_bank_and_running_again_finishes(
    bank, path, planted, maker, child, finished, last_seen
):
    ids = bank.record_many({"title": f"note {n}", "content": "plain words"} for n in range(120))
    secrets = [planted.TOKENS["github ghp"](maker) for _ in range(40)]

    def spoiled(writer):
        for number, memory in enumerate(writer.get(Memory, ids).values()):
            if number % 3 == 0:
                writer.rewrite(replace(memory, content=f"deploy with {secrets[number // 3]} now"))

    bank.context.store.write("local", spoiled)
    bank.search("deploy", floor=0.0)
    bank.close()
    assert len(found(path.parent, secrets)) >= 40
    before = {folder.name for folder in path.with_name("bank.db.index").iterdir()}
    process = child(SCRUBBING, path)
    while int(process.stdout.readline()) < last_seen:
        process.stdin.write("\n")
        process.stdin.flush()
    process.kill()
    process.communicate()
    with ReasoningBank.open(path, embedder="hash", namespace="n") as again:
        assert again.verify() == []
        assert len(again.secrets.scrub().places) < 40
        assert not any(secret in str(again.search("deploy", floor=0.0, limit=50)) for secret in secrets)
    finished(child(SCRUBBING, path))
    assert found(path.parent, secrets) == []
    with ReasoningBank.open(path, embedder="hash", namespace="n") as clean:
        assert clean.secrets.scrub().places == ()
        assert clean.verify() == []
        hits = clean.search("deploy", floor=0.0, limit=40).memories
        assert all("[SECRET:github-pat]" in hit.content for hit in hits)
    assert {folder.name for folder in path.with_name("bank.db.index").iterdir()}.isdisjoint(before), "built anew"
