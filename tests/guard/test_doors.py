"""Secrets through every door, and not a byte of them on the disk."""

from __future__ import annotations

import json
import random
from pathlib import Path

import apsw
import pytest

from reasoningbank import ReasoningBank

NAMES = ("github ghp", "openai project", "anthropic", "stripe secret", "slack bot", "aws access key id", "gitlab pat",
         "npm", "hugging face", "jwt", "sendgrid", "azure client secret", "digitalocean", "vault")  # fmt: skip


class Canaries:
    """Hands out secrets and remembers each."""

    def __init__(self, planted, seed=7):
        self._maker = planted.Maker(random.Random(seed))
        self._tokens = planted.TOKENS
        self.sung: list[str] = []

    def __call__(self) -> str:
        secret = self._tokens[NAMES[len(self.sung) % len(NAMES)]](self._maker)
        self.sung.append(secret)
        return secret

    def found_in(self, *folders: Path) -> list[str]:
        files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
        return [f"{s} in {f.name}" for f in files for data in [f.read_bytes()] for s in self.sung if s.encode() in data]


@pytest.fixture
def canary(planted) -> Canaries:
    return Canaries(planted)


def draft(canary: Canaries) -> dict[str, object]:
    return {
        "title": f"title {canary()}",
        "description": f"when {canary()}",
        "content": f"use {canary()} and {canary()}",
        "tags": [canary(), "plain"],
        "agent": canary()[:190],
        "task_type": canary()[:190],
        "cognitive_pattern": canary()[:190],
        "source": canary()[:190],
        "key": f"{len(canary.sung)} {canary()}",
        "metadata": {canary(): canary(), "deep": [{"er": [canary(), {"password": canary()}]}], "n": 1},
    }


def use_every_verb(bank: ReasoningBank, canary: Canaries) -> None:
    bank.record(**draft(canary))
    bank.record_many([draft(canary) for _ in range(2)])
    for number in range(2):
        kept = bank.store(f"key {number}", canary(), description=canary())
        bank.store(f"key {number}", canary(), tags=[canary()])
        bank.edit(kept.id, title=canary(), content=canary(), metadata={"x": canary()})
        bank.feedback(kept.id, helpful=True, comment=canary(), source=canary()[:190])
        bank.outcome(kept.id, succeeded=False, comment=canary())
        other = bank.record(title="other", content=canary())
        bank.link(kept.id, other.id, "relates", text=canary(), evidence=canary(), tags=[canary()])
        node = {"label": "AgentAction", "conv_id": canary()[:190], "text": canary(), "tags": [canary()]}
        told = {"status": canary()[:190], "parameter_field": {"headers": {"token": canary()}}}
        lesson = {"rb_id": f"rb {number} {canary()}", "key_lesson": canary(), "context_to_prefer": canary()}
        bank.graph.add(
            [{**node, **told, "id": f"{number} {canary()}"}, {**node, **told, "id": f"plain {number}"}],
            [{"source": f"plain {number}", "target": kept.id, "text": canary(), "weight": 0.5, "id": canary()[:190]}],
            [{**lesson, "link_nodes": [f"plain {number}"]}],
        )
        with bank.session(canary(), agent=canary()[:190], metadata={canary(): canary()}) as run:
            run.search(f"title {canary()}", floor=0.0)
            run.inject(canary())
            run.step(action=canary(), result=f"failed with {canary()}", metadata={"env": {"TOKEN": canary()}})
            run.finish("success")
        bank.search(f"title {canary()}", session=canary()[:190], floor=0.0, min_confidence=0.0)
        bank.compare(canary(), canary())


def import_files(folder: Path, canary: Canaries) -> list[Path]:
    folder.mkdir()
    bare = folder / "bare.jsonl"
    bare.write_text("\n".join(json.dumps(draft(canary)) for _ in range(2)), "utf-8")
    paper = folder / "paper.jsonl"
    item = f"# Memory Item 1\n## Title T {canary()}\n## Description D {canary()}\n## Content C {canary()}"
    lines = [
        {"task_id": 1, "query": canary(), "think_list": [canary()], "action_list": [canary()], "status": "success",
         "memory_items": [item], "template_id": 1}
    ]  # fmt: skip
    paper.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    notes = folder / "notes"
    notes.mkdir()
    (notes / "a.md").write_text(f"---\ntitle: T {canary()}\ntags: [{canary()}]\n---\nBody {canary()}\n", "utf-8")
    flow = folder / "memory-store.json"
    flow.write_text(
        json.dumps({"default": [{"key": f"{len(canary.sung)} {canary()}", "value": canary(), "namespace": "default"}]}),
        "utf-8",
    )
    database = folder / "memory.db"
    connection = apsw.Connection(str(database))
    connection.execute(
        "CREATE TABLE memory_entries (id INTEGER PRIMARY KEY, key TEXT, value TEXT, namespace TEXT, metadata TEXT, "
        "created_at INTEGER, updated_at INTEGER, accessed_at INTEGER, access_count INTEGER, ttl INTEGER, expires_at INTEGER)"
    )
    connection.execute(
        "INSERT INTO memory_entries (key, value, namespace) VALUES (?, ?, 'default')",
        (canary(), json.dumps({"v": canary()})),
    )
    connection.close()
    return [bare, paper, notes, flow, database]


def test_canaries_through_every_door_leave_no_byte(tmp_path, canary):
    kept, files = tmp_path / "kept", tmp_path / "files"
    kept.mkdir()
    with ReasoningBank.open(kept / "bank.db", embedder="hash", namespace="n") as bank:
        use_every_verb(bank, canary)
        for path in import_files(files, canary):
            taken = bank.import_from(path)
            assert taken.added, path
            assert taken.scrubbed, path
        bank.search("anything at all", floor=0.0)
        (kept / "export.jsonl").write_text("\n".join(bank.export_lines()), "utf-8")
        bank.backup(kept / "copy.db")
        assert len(canary.sung) >= 100
        assert canary.found_in(kept) == []
        assert bank.verify() == []
    assert canary.found_in(kept) == []


def test_a_reply_says_what_was_scrubbed(bank, maker, planted):
    pat = planted.TOKENS["github ghp"](maker)
    assert bank.record(title="t", content=f"{pat} {pat}").scrubbed == {"github-pat": 2}
    kept = bank.store("k", "plain")
    assert kept.scrubbed == {}
    assert bank.edit("k", content=f"now {pat}").scrubbed == {"github-pat": 1}
    assert bank.get("k").content == "now [SECRET:github-pat]"
    assert bank.secrets.found_in({"task": pat, "args": ["--api-key", "x"]}) == {"github-pat": 1}


def test_a_key_with_a_secret_in_it_finds_its_memory_again(bank, maker, planted):
    key = f"deploy {planted.TOKENS['github ghp'](maker)}"
    kept = bank.store(key, "one")
    assert bank.get(key).id == kept.id
    assert bank.store(key, "two").id == kept.id


def test_text_longer_than_its_field_by_a_placeholder_can_still_be_exported_and_imported(tmp_path, bank):
    bank.record(title=("x " * 240) + "password=Xk29!vQ", content="c")
    out = tmp_path / "out.jsonl"
    out.write_text("\n".join(bank.export_lines()), "utf-8")
    with ReasoningBank.open(tmp_path / "other.db", embedder="hash", namespace="n") as other:
        taken = other.import_from(out)
        assert taken.added["memory"] == 1
        assert not taken.skipped


def test_a_record_whose_id_is_a_secret_is_not_taken_in(tmp_path, bank, maker, planted):
    kept = bank.record(title="t", content="c")
    secret = planted.TOKENS["github ghp"](maker)
    out = tmp_path / "out.jsonl"
    out.write_text("\n".join(bank.export_lines()).replace(kept.id, secret), "utf-8")
    with ReasoningBank.open(tmp_path / "other.db", embedder="hash", namespace="n") as other:
        taken = other.import_from(out)
        assert [item.why for item in taken.skipped] == ["its id holds a secret"]
