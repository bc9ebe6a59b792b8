"""Files that claim authority, in every form that the bank takes in: exports, foreign layouts, graphs, transcripts."""

# ruff: noqa: ARG001 - every one of a kind has one shape

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from bench.storms._claims import ORIGINS, Claim, trouble
from tests.learn.ingest import stories

Lines = Sequence[dict[str, Any]]
Maker = Callable[[Path, Claim, Lines, Random], Path]
"""Writes a file into a folder; the lines are a real export of the bank."""


# ---------------------------------------------------------------- exports and layouts


def _written(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, "utf-8")
    return folder / name


def _jsonl(folder: Path, lines: Lines) -> Path:
    return _written(folder, "export.jsonl", "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))


def _bare_drafts(folder: Path, claim: Claim, export: Lines, chance: Random) -> Path:
    return _jsonl(folder, [claim.fields])


def _replayed(folder: Path, claim: Claim, export: Lines, chance: Random) -> Path:
    """A real export with another text in its records, under their ids or under new ones."""
    keeps_ids = chance.random() < 0.5
    lines = []
    for number, real in enumerate(export):
        line = dict(real)
        if line["type"] == "memory":
            line |= {name: value for name, value in claim.fields.items() if name in line}
            line |= {"tenant": "default", "scope": "project", "revision": int(line["revision"]) + chance.randrange(3)}
            # Metadata of an honest witness, with what it saw exchanged.
            line["metadata"] = {**line["metadata"], **dict(claim.fields.get("metadata", {}))}
        if "text" in line:
            line["text"] = claim.text
        if "id" in line and not keeps_ids:
            line["id"] = f"{str(line['id']).partition('_')[0]}_{claim.mark}{number}"
        if "source" in line and line["type"] == "signal":
            line["source"] = chance.choice(ORIGINS)
        lines.append(line)
    return _jsonl(folder, lines)


def _rule_records(folder: Path, claim: Claim, export: Lines, chance: Random) -> Path:
    header = [line for line in export if line["type"] == "header"]
    real = next((line for line in export if line["type"] == "rule"), {})
    made = {
        "type": "rule", "id": f"rle_{claim.mark}", "tenant": "default", "namespace": chance.choice(("user", "n")),
        "text": claim.text, "state": chance.choice(("in_force", "proposed")), "revision": 1,
        "heard_in": chance.choice(("terminal", "page", "prompt:claude-code")), "created_at": 1.79e9, "updated_at": 4e9,
    }  # fmt: skip
    if real and chance.random() < 0.7:
        made = {**real, "text": claim.text, "revision": int(real.get("revision", 1)) + chance.randrange(2)}
        if chance.random() < 0.5:
            made["id"] = f"rle_{claim.mark}"
    return _jsonl(folder, [*header, made])


def _with_evidence(folder: Path, claim: Claim, export: Lines, chance: Random) -> Path:
    """A memory with a record of success that nobody ever had."""
    kept = next(line for line in export if line["type"] == "memory")
    memory_id = f"mem_{claim.mark}"
    told = {name: value for name, value in claim.fields.items() if name in kept}
    memory = {**kept, **told, "id": memory_id, "key": None, "origin": chance.choice(ORIGINS), "tags": ["fix"]}
    memory["metadata"] = {"trouble": trouble(claim.mark), **dict(claim.fields.get("metadata", {}))}
    signals = [
        {
            "type": "signal", "id": f"sig_{claim.mark}{number}", "tenant": "default", "memory_id": memory_id,
            "kind": "completion", "positive": True, "weight": 1.0, "used": True, "comment": "", "trajectory_id": None,
            "source": chance.choice((*ORIGINS, "task", "judge")), "at": 1.79e9 + number,
            "advice_id": kept["advice_id"],
        }
        for number in range(10)
    ]  # fmt: skip
    return _jsonl(folder, [line for line in export if line["type"] == "header"] + [memory, *signals])


def _markdown(folder: Path, claim: Claim, export: Lines, chance: Random) -> Path:
    header = "".join(
        f"{name}: {json.dumps(value)}\n" for name, value in claim.fields.items() if name not in ("content", "title")
    )
    _written(folder / "notes", "note.md", f"---\ntitle: {claim.mark}\n{header}---\n{claim.text}\n")
    return folder / "notes"


def _claude_flow_json(folder: Path, claim: Claim, export: Lines, chance: Random) -> Path:
    entry = {**claim.fields, "key": claim.fields.get("key") or claim.mark, "value": claim.text, "namespace": "user"}
    return _written(folder, "memory-store.json", json.dumps({chance.choice(("default", "user")): [entry]}))


def _claude_flow_sqlite(folder: Path, claim: Claim, export: Lines, chance: Random) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "memory.db"
    with sqlite3.connect(path) as database:
        database.execute(
            "CREATE TABLE memory_entries (id INTEGER PRIMARY KEY, key TEXT, value TEXT, namespace TEXT, metadata TEXT, "
            "created_at INTEGER, updated_at INTEGER, accessed_at INTEGER, access_count INTEGER, ttl INTEGER, "
            "expires_at INTEGER)"
        )
        database.execute(
            "INSERT INTO memory_entries (key, value, namespace, metadata, access_count) VALUES (?, ?, ?, ?, 100)",
            (claim.mark, claim.text, chance.choice(("user", "default")), json.dumps(claim.fields)),
        )
    database.close()
    return path


def _paper(folder: Path, claim: Claim, export: Lines, chance: Random) -> Path:
    item = f"# Memory Item 1\n## Title {claim.mark}\n## Description {claim.kind}\n## Content {claim.text}"
    line = {
        **claim.fields, "task_id": 1, "query": claim.text, "think_list": ["x", "y"], "status": "success",
        "action_list": [claim.command, f"{claim.command} --release"], "memory_items": [item], "template_id": 1,
    }  # fmt: skip
    return _written(folder / "memories_reasoningbank", "user.jsonl", json.dumps(line) + "\n")


def _lessons(folder: Path, claim: Claim, export: Lines, chance: Random) -> Path:
    lesson = {**claim.fields, "rb_id": claim.mark, "key_lesson": claim.text, "context_to_prefer": f"make {claim.mark}"}
    return _written(folder, "lessons.json", json.dumps([lesson]))


def _contextd(folder: Path, claim: Claim, export: Lines, chance: Random) -> Path:
    memory = {
        "id": f"mem_{claim.mark}", "tenant_id": "default", "project_id": chance.choice(("user", "api")), "scope": "org",
        "usage_count": 15, "source_session": "sess_1", "outcome": "success", **claim.fields, "confidence": 0.99,
    }  # fmt: skip
    return _written(folder, "memories.json", json.dumps([memory]))


LAYOUTS: dict[str, Maker] = {
    "bare drafts": _bare_drafts,
    "an export replayed": _replayed,
    "rule records": _rule_records,
    "evidence": _with_evidence,
    "Markdown": _markdown,
    "claude-flow JSON": _claude_flow_json,
    "claude-flow SQLite": _claude_flow_sqlite,
    "the paper's lines": _paper,
    "lessons": _lessons,
    "contextd": _contextd,
}


# ---------------------------------------------------------------- graphs


def nodes_of(claim: Claim) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A preference of a user in a conversation that never was, with a lesson drawn from it."""
    common = {"conv_id": claim.mark, "tags": ["preference"]}
    asked = {"user_role": "user", "user_id": "user"}
    nodes = [
        {**common, "id": f"P{claim.mark}", "label": "UserPreference", "text": claim.text, "preference_type": "always"},
        {**common, **asked, "id": f"R{claim.mark}", "label": "UserRequest", "text": f"{claim.text} {claim.command}"},
        {
            "id": f"L{claim.mark}", "label": "Lesson", "key_lesson": claim.text, "tags": ["preference"],
            "context_to_prefer": claim.command,
        },
    ]  # fmt: skip
    # A field too many has the whole file refused, so most come without.
    if len(claim.mark) % 3 == 0:
        nodes[0] |= {name: claim.fields[name] for name in ("origin", "metadata", "role") if name in claim.fields}
    edge = {
        "id": f"E{claim.mark}", "source": nodes[0]["id"], "target": nodes[1]["id"], "kind": "causes", "weight": 1.0,
        "text": claim.text, "tags": ["preference"],
    }  # fmt: skip
    return nodes, [edge, {**edge, "id": f"F{claim.mark}", "target": nodes[2]["id"], "kind": "teaches"}]


def graph_json(folder: Path, claim: Claim) -> Path:
    nodes, edges = nodes_of(claim)
    return _written(folder, "graph.json", json.dumps({"nodes": nodes, "links": edges}))


def graphml(folder: Path, claim: Claim) -> Path:
    nodes, edges = nodes_of(claim)

    def data(told: dict[str, Any], of: str) -> str:
        values = ((name, value) for name, value in told.items() if name not in ("id", "source", "target"))
        return "".join(
            f'<data key="{of}.{name}">{escape(value if isinstance(value, str) else json.dumps(value))}</data>'
            for name, value in values
        )

    keys = {("node", name) for node in nodes for name in node} | {("edge", name) for edge in edges for name in edge}
    declared = "".join(
        f'<key id="{of}.{name}" for="{of}" attr.name="{name}" attr.type="string"/>' for of, name in sorted(keys)
    )
    drawn = "".join(f"<node id={quoteattr(node['id'])}>{data(node, 'node')}</node>" for node in nodes)
    drawn += "".join(
        f"<edge id={quoteattr(edge['id'])} source={quoteattr(edge['source'])} target={quoteattr(edge['target'])}>"
        f"{data(edge, 'edge')}</edge>"
        for edge in edges
    )
    return _written(
        folder,
        "graph.graphml",
        f'<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{declared}<graph edgedefault="directed">{drawn}'
        "</graph></graphml>",
    )


# ---------------------------------------------------------------- transcripts


def transcript(shape: str, claim: Claim) -> str:
    """A conversation in one of the shapes that makers of agents write, in which a user says the claim."""
    _, make = stories.SHAPES[shape]
    told = {
        stories.ASKED: claim.text,
        stories.CORRECTED: f"No, wrong. {claim.text}",
        stories.ANSWER: f"The user said: {claim.text}",
        "L-9": claim.command,
        "L-2": f"{claim.command} --release",
        "stock": "bash",
        "sku": "command",
    }
    made = make(stories.own_ids)
    return _told_anew(made, told) if isinstance(made, str) else json.dumps(_filled(made, told))


def _filled(value: Any, told: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {_filled(name, told): _filled(item, told) for name, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, told) for item in value]
    if not isinstance(value, str):
        return value
    if value.startswith(("{", "[")):
        try:
            return json.dumps(_filled(json.loads(value), told))
        except ValueError:
            pass
    return _told_anew(value, told)


def _told_anew(text: str, told: dict[str, str]) -> str:
    for before, now in told.items():
        text = text.replace(before, now)
    return text
