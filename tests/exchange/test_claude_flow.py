"""Every layout that claude-flow left on disks, built as LAYOUTS.md gives it, and the real sample when it is at hand."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from typing import Any

import apsw
import pytest

from reasoningbank.core.errors import ImportRejected
from reasoningbank.exchange.claude_flow import layouts, read_claude_flow
from reasoningbank.exchange.claude_flow_json import read_claude_flow_json
from reasoningbank.exchange.items import IncomingEdge, IncomingMemory, IncomingTrajectory, Item, SkippedItem

NOW = 1_800_000_000.0
# Read before conftest clears the environment for each test.
DATA = os.environ.get("REASONINGBANK_DATA")
UUIDS = [f"00000000-0000-4000-8000-{n:012d}" for n in range(20)]

PATTERNS = """
CREATE TABLE patterns (id TEXT PRIMARY KEY, type TEXT NOT NULL, pattern_data TEXT NOT NULL,
  confidence REAL NOT NULL DEFAULT 0.5, usage_count INTEGER NOT NULL DEFAULT 0,
  created_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP, last_used TEXT);
CREATE TABLE pattern_embeddings (id TEXT PRIMARY KEY, model TEXT NOT NULL, dims INTEGER NOT NULL,
  vector BLOB NOT NULL, created_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
  FOREIGN KEY (id) REFERENCES patterns(id) ON DELETE CASCADE);
CREATE TABLE pattern_links (src_id TEXT NOT NULL, dst_id TEXT NOT NULL, relation TEXT NOT NULL,
  weight REAL NOT NULL DEFAULT 1.0, created_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (src_id, dst_id, relation));
CREATE TABLE task_trajectories (task_id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, query TEXT NOT NULL,
  trajectory_json TEXT NOT NULL, started_at TEXT, ended_at TEXT, judge_label TEXT, judge_conf REAL,
  judge_reasons TEXT, matts_run_id TEXT, created_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE matts_runs (run_id TEXT PRIMARY KEY, task_id TEXT NOT NULL, mode TEXT NOT NULL, k INTEGER NOT NULL,
  status TEXT NOT NULL, summary TEXT, created_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE consolidation_runs (run_id TEXT PRIMARY KEY, items_processed INTEGER NOT NULL,
  duplicates_found INTEGER NOT NULL, contradictions_found INTEGER NOT NULL, items_pruned INTEGER NOT NULL,
  duration_ms INTEGER NOT NULL, created_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE metrics_log (id INTEGER PRIMARY KEY AUTOINCREMENT, metric_name TEXT NOT NULL, value REAL NOT NULL,
  timestamp TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP);
"""
ENTRIES_2 = """
CREATE TABLE memory_entries (id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, value TEXT NOT NULL,
  namespace TEXT NOT NULL DEFAULT 'default', metadata TEXT, created_at INTEGER, updated_at INTEGER,
  accessed_at INTEGER, access_count INTEGER DEFAULT 0, ttl INTEGER, expires_at INTEGER, UNIQUE(key, namespace));
"""
ENTRIES_3 = """
CREATE TABLE memory_entries (id TEXT PRIMARY KEY, key TEXT NOT NULL, namespace TEXT DEFAULT 'default',
  content TEXT NOT NULL, type TEXT, embedding TEXT, embedding_model TEXT, embedding_dimensions INTEGER, tags TEXT,
  metadata TEXT, owner_id TEXT, provenance_type TEXT, created_at INTEGER, updated_at INTEGER, expires_at INTEGER,
  last_accessed_at INTEGER, access_count INTEGER DEFAULT 0, status TEXT DEFAULT 'active', UNIQUE(namespace, key));
"""


def build(path: Path, schema: str, **tables: list[dict[str, Any]]) -> Path:
    database = apsw.Connection(str(path))
    database.execute(schema).fetchall()
    with database:
        for table, rows in tables.items():
            for row in rows:
                names, marks = ", ".join(row), ", ".join("?" * len(row))
                database.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(row.values()))
    database.close()
    return path


def cli(number: int, key: str, value: str, namespace: str = "backend", **more: Any) -> dict[str, Any]:
    data = {
        "title": key,
        "content": value,
        "domain": namespace,
        "agent": "memory-agent",
        "task_type": "fact",
        "original_key": key,
        "original_value": value,
        "namespace": namespace,
    }
    row = {"confidence": 0.8, "usage_count": 0, "created_at": "2026-11-15 07:07:55", **more}
    return {"id": UUIDS[number], "type": "reasoning_memory", "pattern_data": json.dumps(data), **row}


def items(path: Path) -> list[Item]:
    return list(read_claude_flow(path, now=NOW))


def memories(found: list[Item]) -> list[IncomingMemory]:
    return [item for item in found if isinstance(item, IncomingMemory)]


def edges(found: list[Item]) -> list[IncomingEdge]:
    return [item for item in found if isinstance(item, IncomingEdge)]


def trajectories(found: list[Item]) -> list[IncomingTrajectory]:
    return [item for item in found if isinstance(item, IncomingTrajectory)]


def skipped(found: list[Item]) -> dict[str, str]:
    return {item.what: item.why for item in found if isinstance(item, SkippedItem)}


# ---------------------------------------------------------------- the real sample


@pytest.fixture
def sample() -> Path:
    if not DATA:
        pytest.skip("set REASONINGBANK_DATA to the folder that holds claude-flow-sample/memory.db")
    return Path(DATA) / "claude-flow-sample" / "memory.db"


def test_the_real_sample_gives_21_memories_2_links_and_1_trajectory(sample: Path) -> None:
    before = sorted(path.name for path in sample.parent.iterdir())
    found = items(sample)
    by_layout = [m for m in memories(found) if m.draft.agent == "memory-agent"]
    assert len(memories(found)) == 21
    assert len(by_layout) == 20
    assert [(e.kind, e.text) for e in edges(found)] == [
        ("relates", "duplicate_of"),
        ("conflicts", "contradicts"),
    ]
    (run,) = trajectories(found)
    assert (run.task, run.agent, run.outcome) == ("Fix the failing auth test", "coder", "failure")
    assert [(s.action, s.result) for s in run.steps] == [
        ("read failing test", "AssertionError in auth.spec"),
        ("patch token expiry", "complete"),
    ]
    assert run.started_at == pytest.approx(1_794_726_506.145)
    assert skipped(found) == {
        "21 vectors": "made by another model; memories are embedded anew",
        "1 row of matts_runs": "a log of test-time scaling runs; what they taught is in the memories",
        "1 row of consolidation_runs": "a log of past consolidations; it teaches nothing",
        "9 rows of metrics_log": "timings of the other program",
    }
    assert sorted(path.name for path in sample.parent.iterdir()) == before


def test_the_real_sample_keeps_unicode_quotes_and_one_key_in_two_namespaces(sample: Path) -> None:
    found = memories(items(sample))
    note = next(m.draft for m in found if m.draft.key == "unicode_note")
    assert note.content == 'Größe der Warteschlange begrenzen — 日本語 ✓ "quoted" text'
    assert {m.draft.namespace for m in found if m.draft.key == "auth_jwt"} == {"backend", "default"}
    assert len({m.identity for m in found}) == 21
    assert sum(m.draft.metadata.get("imported_usage_count") == 2 for m in found) == 8
    assert not any(m.successes or m.failures for m in found)
    distilled = next(m.draft for m in found if m.draft.title == "auth_hash_copy")
    assert (distilled.outcome, distilled.tags, distilled.agent, distilled.initial_confidence) == (
        "failure",
        ("auth",),
        "coder",
        0.6,
    )


def test_the_real_sample_reads_the_same_twice(sample: Path) -> None:
    assert items(sample) == items(sample)


# ---------------------------------------------------------------- (a) patterns with pattern_data


def test_a_cli_row_becomes_a_memory_with_its_key_time_and_confidence(tmp_path: Path) -> None:
    rows = [cli(0, "auth", "Use JWT", usage_count=7, last_used="2026-11-15 08:00:00", confidence=1.7)]
    (memory,) = memories(items(build(tmp_path / "memory.db", PATTERNS, patterns=rows)))
    draft = memory.draft
    assert memory.identity == f"claude-flow:patterns:{UUIDS[0]}"
    assert (draft.title, draft.content, draft.key, draft.namespace) == ("auth", "Use JWT", "auth", "backend")
    assert (draft.agent, draft.task_type, draft.origin) == ("memory-agent", "fact", "import:claude-flow")
    assert (draft.source, draft.initial_confidence, draft.outcome) == (UUIDS[0], 1.0, "success")
    assert (draft.created_at, memory.used_at) == (1_794_726_475.0, 1_794_729_600.0)
    assert draft.metadata["imported_usage_count"] == 7
    assert (memory.successes, memory.failures) == (0, 0)


def test_a_distilled_row_brings_description_outcome_tags_and_the_agent_of_its_source(tmp_path: Path) -> None:
    data = {
        "title": "Retry on 429",
        "description": "When the API limits the rate",
        "content": "Wait for Retry-After",
        "source": {"task_id": "t1", "agent_id": "coder", "outcome": "Failure", "evidence": []},
        "tags": ["api", "retry", "api"],
        "created_at": "2020-01-01T00:00:00Z",
        "confidence": 0.1,
        "n_uses": 0,
    }
    row: dict[str, Any] = {"id": "01HZY5W0QK5V2T8J3M4N5P6Q7R", "type": "reasoning_memory"}
    row |= {"pattern_data": json.dumps(data)}
    row |= {"confidence": 0.6, "created_at": "2026-11-15 07:08:26"}
    (memory,) = memories(items(build(tmp_path / "memory.db", PATTERNS, patterns=[row])))
    draft = memory.draft
    assert (draft.description, draft.outcome, draft.tags) == (
        data["description"],
        "failure",
        ("api", "retry"),
    )
    assert (draft.agent, draft.namespace, draft.key) == ("coder", None, None)
    assert (draft.initial_confidence, draft.created_at) == (0.6, 1_794_726_506.0)
    assert draft.metadata["source_task_id"] == "t1"


def test_an_outcome_that_is_neither_success_nor_failure_is_not_taken_for_success(tmp_path: Path) -> None:
    data = {"title": "t", "content": "c", "source": {"outcome": "Partial"}}
    row = {"id": "x", "type": "reasoning_memory", "pattern_data": json.dumps(data)}
    found = items(build(tmp_path / "memory.db", PATTERNS, patterns=[row]))
    assert memories(found) == []
    assert skipped(found)["patterns x"] == "its outcome 'Partial' is neither success nor failure"


def test_only_the_newest_row_of_a_key_is_kept_and_the_last_written_wins_a_tie(tmp_path: Path) -> None:
    rows = [
        cli(0, "k", "newest", created_at="2026-11-15 09:00:00"),
        cli(1, "k", "older", created_at="2026-11-15 08:00:00"),
        cli(2, "k", "elsewhere", "other", created_at="2026-11-15 07:00:00"),
        cli(3, "tie", "first"),
        cli(4, "tie", "second"),
    ]
    found = items(build(tmp_path / "memory.db", PATTERNS, patterns=rows))
    assert [m.draft.content for m in memories(found)] == ["newest", "elsewhere", "second"]
    assert skipped(found) == {
        f"patterns {UUIDS[1]}": "older duplicate of key 'k'",
        f"patterns {UUIDS[3]}": "older duplicate of key 'tie'",
    }


def test_bad_rows_are_named_and_cost_nothing_else(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "type": "reasoning_memory", "pattern_data": "{not json"},
        {"id": "b", "type": "reasoning_memory", "pattern_data": "[1]"},
        {"id": "c", "type": "reasoning_memory", "pattern_data": '{"title": "only a title"}'},
        cli(0, "good", "kept"),
    ]
    found = items(build(tmp_path / "memory.db", PATTERNS, patterns=rows))
    assert [m.draft.content for m in memories(found)] == ["kept"]
    assert set(skipped(found)) == {"patterns a", "patterns b", "patterns c"}


def test_text_that_is_not_utf8_costs_its_row_only(tmp_path: Path) -> None:
    path = build(tmp_path / "memory.db", PATTERNS, patterns=[cli(0, "a", "one"), cli(1, "b", "two")])
    with apsw.Connection(str(path)) as database:
        sql = "UPDATE patterns SET pattern_data = CAST(x'7bff7d' AS TEXT) WHERE id = ?"
        database.execute(sql, (UUIDS[0],))
    database.close()
    found = items(path)
    assert [m.draft.content for m in memories(found)] == ["two"]
    assert skipped(found)["patterns row 1"] == "its text is not valid in the file's encoding"


@pytest.mark.parametrize(
    ("word", "kind", "text"),
    [
        ("causes", "causes", ""),
        ("requires", "requires", ""),
        ("conflicts", "conflicts", ""),
        ("contradicts", "conflicts", "contradicts"),
        ("enhances", "enhances", ""),
        ("alternative", "alternative", ""),
        ("duplicate_of", "relates", "duplicate_of"),
        ("supersedes", "supersedes", ""),
        ("cross-domain-analogy", "analogy", "cross-domain-analogy"),
        ("architectural_analogy", "architectural_analogy", ""),
        ("follows", "relates", "follows"),
    ],
)
def test_a_link_keeps_its_word_where_ours_differs(tmp_path: Path, word: str, kind: str, text: str) -> None:
    links = [{"src_id": UUIDS[0], "dst_id": UUIDS[1], "relation": word, "weight": 3.0}]
    rows = [cli(0, "a", "one"), cli(1, "b", "two")]
    (edge,) = edges(items(build(tmp_path / "memory.db", PATTERNS, patterns=rows, pattern_links=links)))
    assert (edge.kind, edge.text, edge.weight) == (kind, text, 1.0)
    assert edge.source_identity == f"claude-flow:patterns:{UUIDS[0]}"


def test_links_to_skipped_unknown_or_the_same_memory_are_skipped(tmp_path: Path) -> None:
    rows = [cli(0, "k", "old", created_at="2020-01-01 00:00:00"), cli(1, "k", "new")]
    links = [
        {"src_id": UUIDS[1], "dst_id": UUIDS[0], "relation": "causes"},
        {"src_id": UUIDS[1], "dst_id": "nowhere", "relation": "causes"},
        {"src_id": UUIDS[1], "dst_id": UUIDS[1], "relation": "causes"},
    ]
    found = items(build(tmp_path / "memory.db", PATTERNS, patterns=rows, pattern_links=links))
    assert edges(found) == []
    reasons = [why for what, why in skipped(found).items() if what.startswith("pattern_links")]
    assert len(reasons) == 3
    assert "nowhere" in reasons[1]


@pytest.mark.parametrize(
    ("label", "outcome"),
    [("Success", "success"), ("Failure", "failure"), (None, "unknown"), ("Maybe", "unknown")],
)
def test_a_trajectory_is_judged_only_by_a_clear_label(tmp_path: Path, label: str | None, outcome: str) -> None:
    row = {"task_id": "t", "agent_id": "a", "query": "q", "trajectory_json": "[]", "judge_label": label}
    (run,) = trajectories(items(build(tmp_path / "memory.db", PATTERNS, task_trajectories=[row])))
    assert run.outcome == outcome


@pytest.mark.parametrize(
    ("document", "steps"),
    [
        ('{"steps": [{"action": "a", "result": "r"}]}', [("a", "r")]),
        ('[{"type": "tool", "tool": "bash", "output": "ok"}, "just text", 7, {}, null]',
         [("bash", "ok"), ("just text", ""), ("7", "")]),
        ("not json at all", []),
        ('{"steps": "none"}', []),
    ],
)  # fmt: skip
def test_steps_are_read_leniently(tmp_path: Path, document: str, steps: list[tuple[str, str]]) -> None:
    row = {"task_id": "t", "agent_id": "a", "query": "q", "trajectory_json": document}
    (run,) = trajectories(items(build(tmp_path / "memory.db", PATTERNS, task_trajectories=[row])))
    assert [(step.action, step.result) for step in run.steps] == steps


def test_vectors_and_bookkeeping_are_counted_not_imported(tmp_path: Path) -> None:
    vector = struct.pack("<384f", *([0.1] * 384))
    path = build(
        tmp_path / "memory.db",
        PATTERNS,
        patterns=[cli(0, "a", "one")],
        pattern_embeddings=[{"id": UUIDS[0], "model": "text-embedding-3-small", "dims": 384, "vector": vector}],
        metrics_log=[{"metric_name": "m", "value": 1.0}, {"metric_name": "m", "value": 2.0}],
    )
    assert skipped(items(path)) == {
        "1 vector": "made by another model; memories are embedded anew",
        "2 rows of metrics_log": "timings of the other program",
    }


# ---------------------------------------------------------------- (b) memory_entries


def test_2x_entries_are_read_in_seconds_and_expired_ones_skipped(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {
            "key": "live",
            "value": "one",
            "created_at": 1_760_000_000,
            "access_count": 3,
            "expires_at": 1_900_000_000,
        },
        {"key": "gone", "value": "two", "created_at": 1_760_000_000, "expires_at": 1_760_000_100},
        {"key": "ttl", "value": "three", "created_at": 1_760_000_000, "ttl": 60},
        {
            "key": "task",
            "value": "four",
            "metadata": '{"status": "completed", "outcome": "odd", "agent": "qa"}',
        },
    ]
    found = items(build(tmp_path / "memory.db", ENTRIES_2, memory_entries=rows))
    live, task = memories(found)
    assert (live.draft.title, live.draft.content, live.draft.namespace) == ("live", "one", "default")
    assert (live.draft.created_at, live.draft.metadata["imported_usage_count"]) == (1_760_000_000.0, 3)
    assert (task.draft.content, task.draft.agent) == ("four", "qa")
    assert skipped(found) == {"memory_entries 2": "it has expired", "memory_entries 3": "it has expired"}


def test_3x_entries_are_read_in_milliseconds_and_inactive_ones_skipped(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "entry_1", "key": "k", "namespace": "p", "content": "text", "type": "semantic",
         "embedding": "[0.1, 0.2]", "embedding_model": "Xenova/all-MiniLM-L6-v2", "tags": '["a", "b"]',
         "metadata": '{"ticket": 12}', "created_at": 1_760_000_000_123, "updated_at": 1_760_000_000_123},
        {"id": "entry_2", "key": "old", "namespace": "p", "content": "text", "status": "archived"},
    ]  # fmt: skip
    found = items(build(tmp_path / "memory.db", ENTRIES_3 + "CREATE TABLE sessions (id);", memory_entries=rows))
    (memory,) = memories(found)
    assert (memory.draft.key, memory.draft.tags, memory.draft.namespace) == ("k", ("a", "b"), "p")
    assert memory.draft.created_at == pytest.approx(1_760_000_000.123)
    assert memory.draft.metadata["ticket"] == 12
    assert "embedding" not in memory.draft.metadata
    assert skipped(found) == {
        "memory_entries entry_2": "its status is 'archived', not active",
        "1 vector": "made by another model; memories are embedded anew",
    }


def test_several_layouts_in_one_file_are_all_read_and_named(tmp_path: Path) -> None:
    path = build(
        tmp_path / "memory.db",
        PATTERNS + ENTRIES_2,
        patterns=[cli(0, "both", "from patterns", "default"), cli(1, "a", "one")],
        memory_entries=[{"key": "both", "value": "from entries", "updated_at": 1_795_000_000}],
    )
    found = items(path)
    assert layouts(path) == ("claude-flow-patterns", "claude-flow-2-entries")
    assert [m.draft.content for m in memories(found)] == ["one", "from entries"]
    assert {m.draft.metadata["imported_layout"] for m in memories(found)} == set(layouts(path))
    assert skipped(found) == {f"patterns {UUIDS[0]}": "older duplicate of key 'both'"}


# ---------------------------------------------------------------- (c) the pre-trained files

PRETRAINED_LINKS = """
CREATE TABLE pattern_embeddings (id INTEGER PRIMARY KEY, pattern_id INTEGER, embedding BLOB);
CREATE TABLE pattern_links (source_id INTEGER, target_id INTEGER, {word} TEXT, strength REAL DEFAULT 0.5);
"""
STEPS = ["look", "think"]


@pytest.mark.parametrize(
    ("layout", "columns", "row", "expected"),
    [
        (
            "safla",
            ("description TEXT NOT NULL, context TEXT, success_rate REAL, confidence REAL, domain TEXT, tags TEXT,"
            " created_at DATETIME"),
            {"description": "Adjust by feedback", "context": "self-learning agents", "success_rate": 0.9,
             "confidence": 0.83, "domain": "learning", "tags": "loop, feedback", "created_at": "2025-10-15 10:00:00"},
            ("Adjust by feedback", "self-learning agents", "Adjust by feedback", "success", 0.83, "learning"),
        ),
        (
            "google-research",
            ("description TEXT, tags TEXT, confidence REAL, success_rate REAL, usage_count INTEGER, domain TEXT,"
            " strategy_type TEXT, mats_mode TEXT, outcome_analysis TEXT, created_at INTEGER"),
            {"description": "Hardcoded selectors break", "tags": "web,failure", "confidence": 0.88,
             "success_rate": 0.19, "domain": "web", "strategy_type": "failure", "mats_mode": "learning",
             "outcome_analysis": "Failed on 68%", "created_at": 1_760_000_000},
            ("Hardcoded selectors break", "", "Hardcoded selectors break\n\nResult: Failed on 68%", "failure", 0.88,
             "web"),
        ),
        (
            "domain-expert",
            "domain TEXT, problem TEXT, solution TEXT, rationale TEXT, confidence REAL, success_rate REAL, tags TEXT",
            {"domain": "DevOps", "problem": "Pods restart", "solution": "Set limits", "rationale": "OOM",
             "confidence": 0.9},
            ("Pods restart", "", "Set limits\n\nWhy: OOM", "success", 0.9, "DevOps"),
        ),
        (
            "problem-solving",
            ("memory_id TEXT, content TEXT, reasoning_steps TEXT, outcome TEXT, success_rate REAL,"
            " cognitive_type TEXT, domain TEXT, tags TEXT, created_at INTEGER"),
            {"memory_id": "conv-1", "content": "Slow database", "reasoning_steps": json.dumps(STEPS),
             "outcome": "Latency spikes are gone", "success_rate": 0.92, "cognitive_type": "convergent",
             "domain": "technical", "created_at": 1_760_000_000},
            ("Slow database", "",
             "Slow database\n\nSteps:\n1. look\n2. think\n\nResult: Latency spikes are gone", "success", 0.92,
             "technical"),
        ),
    ],
)  # fmt: skip
def test_a_pretrained_row_is_read_from_the_columns_it_has(
    tmp_path: Path, layout: str, columns: str, row: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    schema = f"CREATE TABLE patterns (id INTEGER PRIMARY KEY AUTOINCREMENT, {columns});"
    path = build(tmp_path / "memory.db", schema, patterns=[row])
    (memory,) = memories(items(path))
    draft = memory.draft
    told = (
        draft.title,
        draft.description,
        draft.content,
        draft.outcome,
        draft.initial_confidence,
        draft.namespace,
    )
    assert told == expected
    assert layouts(path) == (layout,)
    assert memory.identity.startswith("claude-flow:patterns:1:")
    assert draft.key is None
    if layout == "problem-solving":
        assert draft.cognitive_pattern == "convergent"


@pytest.mark.parametrize("word", ["link_type", "relationship"])
def test_pretrained_links_join_by_number(tmp_path: Path, word: str) -> None:
    schema = "CREATE TABLE patterns (id INTEGER PRIMARY KEY, description TEXT, context TEXT);" + PRETRAINED_LINKS
    rows = [{"description": "one"}, {"description": "two"}]
    links = [{"source_id": 1, "target_id": 2, word: "enhances", "strength": 0.7}]
    path = build(tmp_path / "memory.db", schema.format(word=word), patterns=rows, pattern_links=links)
    (edge,) = edges(items(path))
    assert (edge.kind, edge.weight) == ("enhances", 0.7)


def test_number_7_of_two_files_is_two_memories(tmp_path: Path) -> None:
    schema = "CREATE TABLE patterns (id INTEGER PRIMARY KEY, description TEXT, context TEXT);"
    one = build(tmp_path / "a.db", schema, patterns=[{"id": 7, "description": "one"}])
    two = build(tmp_path / "b.db", schema, patterns=[{"id": 7, "description": "two"}])
    assert memories(items(one))[0].identity != memories(items(two))[0].identity


def test_problem_solving_trajectories_take_the_title_of_their_memory(tmp_path: Path) -> None:
    schema = (
        "CREATE TABLE patterns (id INTEGER PRIMARY KEY, memory_id TEXT, content TEXT, reasoning_steps TEXT);"
        "CREATE TABLE task_trajectories (id INTEGER PRIMARY KEY, memory_id TEXT, step_sequence TEXT,"
        " total_steps INTEGER, success_rate REAL, created_at INTEGER);"
    )
    path = build(
        tmp_path / "memory.db",
        schema,
        patterns=[{"memory_id": "conv-1", "content": "Slow database"}],
        task_trajectories=[{"memory_id": "conv-1", "step_sequence": json.dumps(STEPS), "success_rate": 0.9}],
    )
    (run,) = trajectories(items(path))
    assert (run.task, [s.action for s in run.steps], run.outcome) == ("Slow database", STEPS, "unknown")


# ---------------------------------------------------------------- (d) the documented schema, and Rust's

SEED_000 = """
CREATE TABLE patterns (id TEXT PRIMARY KEY, title TEXT NOT NULL, content TEXT, description TEXT,
  namespace TEXT DEFAULT 'default', components JSON, usage_count INTEGER DEFAULT 0,
  created_at DATETIME DEFAULT CURRENT_TIMESTAMP, updated_at DATETIME DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE pattern_embeddings (pattern_id TEXT PRIMARY KEY, embedding BLOB NOT NULL,
  embedding_type TEXT DEFAULT 'hash', dimensions INTEGER DEFAULT 1024, created_at DATETIME);
CREATE TABLE task_trajectories (id TEXT PRIMARY KEY, pattern_id TEXT, step_number INTEGER NOT NULL,
  action TEXT NOT NULL, result TEXT, metadata JSON, timestamp DATETIME DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE pattern_links (source_pattern_id TEXT NOT NULL, target_pattern_id TEXT NOT NULL,
  link_type TEXT NOT NULL, strength REAL DEFAULT 0.5, evidence TEXT, created_at DATETIME,
  PRIMARY KEY (source_pattern_id, target_pattern_id, link_type));
"""


def test_the_documented_schema_brings_components_steps_and_evidence(tmp_path: Path) -> None:
    components = {
        "reliability": 0.85,
        "usage_count": 40,
        "cognitive_pattern": "convergent",
        "domain_specific": {"api_version": "v2"},
    }
    rows: list[dict[str, Any]] = [
        {"id": UUIDS[0], "title": "jwt", "content": "Use JWT", "description": "For APIs",
         "components": json.dumps(components), "usage_count": 42},
        {"id": UUIDS[1], "title": "keys", "content": "Rotate keys", "namespace": None},
    ]  # fmt: skip
    steps = [
        {"id": "s2", "pattern_id": UUIDS[0], "step_number": 2, "action": "Build", "result": "done",
         "metadata": '{"duration_ms": 500}', "timestamp": "2025-10-14 10:00:05"},
        {"id": "s1", "pattern_id": UUIDS[0], "step_number": 1, "action": "Design", "timestamp": "2025-10-14 10:00:00"},
        {"id": "s3", "pattern_id": UUIDS[1], "step_number": 1, "action": "Rotate"},
    ]  # fmt: skip
    link = {
        "source_pattern_id": UUIDS[0],
        "target_pattern_id": UUIDS[1],
        "link_type": "requires",
        "evidence": "signing",
    }
    path = build(tmp_path / "memory.db", SEED_000, patterns=rows, task_trajectories=steps, pattern_links=[link])
    found = items(path)
    jwt, keys = (m.draft for m in memories(found))
    assert (jwt.key, jwt.description, jwt.cognitive_pattern) == ("jwt", "For APIs", "convergent")
    assert (jwt.initial_confidence, jwt.metadata["imported_usage_count"]) == (0.85, 42)
    assert jwt.metadata["domain_specific"] == {"api_version": "v2"}
    assert keys.namespace is None
    (edge,) = edges(found)
    assert (edge.kind, edge.weight, edge.evidence) == ("requires", 0.5, "signing")
    first, second = trajectories(found)
    assert (first.task, [s.action for s in first.steps]) == ("jwt", ["Design", "Build"])
    assert first.steps[1].metadata == {"duration_ms": 500}
    assert (first.outcome, first.started_at, second.task) == ("unknown", 1_760_436_000.0, "keys")


@pytest.mark.parametrize(
    "columns",
    [
        "task_category TEXT, task_description TEXT, strategy TEXT, success_score REAL, data TEXT, created_at TEXT",
        (
            "task_description TEXT, task_category TEXT, strategy TEXT, context TEXT, outcome TEXT, metadata TEXT,"
            " embedding BLOB, success_score REAL, created_at TEXT"
        ),
    ],
)
def test_rust_patterns_are_read_from_task_and_strategy(tmp_path: Path, columns: str) -> None:
    row: dict[str, Any] = {"id": UUIDS[0], "task_description": "Fix login", "task_category": "auth",
                           "strategy": "Check the clock first", "success_score": 0.8}  # fmt: skip
    if "outcome" in columns:
        row |= {
            "context": '{"os": "linux"}',
            "outcome": '{"success": false, "score": 0.1}',
            "embedding": b"\x00" * 16,
        }
    else:
        row |= {"data": "{}"}
    path = build(tmp_path / "memory.db", f"CREATE TABLE patterns (id TEXT PRIMARY KEY, {columns});", patterns=[row])
    (memory,) = memories(items(path))
    draft = memory.draft
    assert (draft.title, draft.content, draft.task_type) == ("Fix login", "Check the clock first", "auth")
    assert (draft.description, draft.namespace) == ("", None)
    assert draft.outcome == ("failure" if "outcome" in columns else "success")
    assert draft.initial_confidence == (None if "outcome" in columns else 0.8)


# ---------------------------------------------------------------- (e) seed 003


def test_seed_003_reads_links_by_from_and_to_and_trajectories_by_task_data(tmp_path: Path) -> None:
    schema = (
        "CREATE TABLE patterns (id TEXT, type TEXT, pattern_data TEXT, confidence REAL, usage_count INTEGER,"
        " created_at TEXT);"
        "CREATE TABLE pattern_links (from_id TEXT, to_id TEXT, link_type TEXT, strength REAL);"
        "CREATE TABLE task_trajectories (id TEXT, task_data TEXT, outcome TEXT, patterns_used TEXT);"
    )
    plain = [{"id": UUIDS[n], "type": "reasoning_memory",
              "pattern_data": json.dumps({"title": f"t{n}", "content": f"c{n}"})} for n in (0, 1)]  # fmt: skip
    runs: list[dict[str, Any]] = [
        {"id": "r1", "task_data": '{"task": "Build", "steps": ["go"]}', "outcome": "success",
         "patterns_used": json.dumps([UUIDS[0]])},
        {"id": "r2", "task_data": "plain words", "outcome": "failed"},
        {"id": "r3", "task_data": None, "outcome": "success"},
    ]  # fmt: skip
    link = {"from_id": UUIDS[0], "to_id": UUIDS[1], "link_type": "alternative", "strength": 0.4}
    path = build(tmp_path / "memory.db", schema, patterns=plain, pattern_links=[link], task_trajectories=runs)
    found = items(path)
    (edge,) = edges(found)
    assert (edge.kind, edge.weight) == ("alternative", 0.4)
    told = [(run.task, run.outcome, [s.action for s in run.steps]) for run in trajectories(found)]
    assert told == [("Build", "success", ["go"]), ("plain words", "failure", [])]
    assert trajectories(found)[0].metadata["patterns_used"] == [UUIDS[0]]
    assert skipped(found) == {"task_trajectories row 3": "it names neither a task nor a step"}


# ---------------------------------------------------------------- the file itself


def test_a_live_wal_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    writer = apsw.Connection(str(path))
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute(PATTERNS)
    row = cli(0, "fresh", "still in the log")
    writer.execute(
        "INSERT INTO patterns (id, type, pattern_data) VALUES (?, ?, ?)",
        (row["id"], row["type"], row["pattern_data"]),
    )
    assert (tmp_path / "memory.db-wal").stat().st_size > 0
    assert [m.draft.content for m in memories(items(path))] == ["still in the log"]
    writer.close()


def test_a_wal_file_at_rest_is_read_without_leaving_anything_beside_it(tmp_path: Path) -> None:
    path = build(tmp_path / "memory.db", "PRAGMA journal_mode = WAL;" + PATTERNS, patterns=[cli(0, "a", "one")])
    before = path.read_bytes()
    assert len(memories(items(path))) == 1
    assert [found.name for found in tmp_path.iterdir()] == ["memory.db"]
    assert path.read_bytes() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write into a read-only folder")
def test_a_read_only_folder_is_read_and_its_unread_log_mentioned(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    writer = apsw.Connection(str(path))
    writer.execute("PRAGMA journal_mode = WAL;" + ENTRIES_2).fetchall()
    writer.execute("INSERT INTO memory_entries (key, value) VALUES ('old', 'written back')")
    writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    writer.execute("INSERT INTO memory_entries (key, value) VALUES ('new', 'in the log')")
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("memory.db", "memory.db-wal"):
        (copy / name).write_bytes((tmp_path / name).read_bytes())
    writer.close()
    copy.chmod(0o555)
    try:
        found = items(copy / "memory.db")
    finally:
        copy.chmod(0o755)
    assert [memory.draft.content for memory in memories(found)] == ["written back"]
    assert "copy the folder" in skipped(found)["memory.db-wal"]


def test_a_path_with_odd_characters_is_opened_as_itself(tmp_path: Path) -> None:
    path = build(tmp_path / "a?mode=rw#50% ü.db", PATTERNS, patterns=[cli(0, "a", "one")])
    assert len(memories(items(path))) == 1


def test_views_and_virtual_tables_are_left_alone(tmp_path: Path) -> None:
    schema = ENTRIES_2 + "CREATE VIEW patterns AS SELECT 'x' AS id, '{}' AS pattern_data;"
    path = build(tmp_path / "memory.db", schema, memory_entries=[{"key": "k", "value": "v"}])
    assert layouts(path) == ("claude-flow-2-entries",)


def test_a_damaged_table_gives_what_can_be_read_and_says_where_it_ends(tmp_path: Path) -> None:
    rows = [cli(n % 20, f"k{n}", "x" * 900) | {"id": f"row-{n:04d}"} for n in range(200)]
    path = build(tmp_path / "memory.db", PATTERNS, patterns=rows)
    data = bytearray(path.read_bytes())
    middle = len(data) // 2 // 4096 * 4096
    data[middle : middle + 8 * 4096] = b"\xff" * (8 * 4096)
    path.write_bytes(data)
    found = items(path)
    assert 0 < len(memories(found)) < 200
    assert any("damaged" in why for why in skipped(found).values())


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: None, "does not exist"),
        (lambda path: path.mkdir(), "is a folder"),
        (lambda path: path.write_bytes(b""), "not an SQLite file"),
        (lambda path: path.write_bytes(b"hello"), "not an SQLite file"),
        (lambda path: path.write_bytes(b"SQLite format 3\x00" + b"\xff" * 4096), "memory.db"),
        (lambda path: build(path, "CREATE TABLE other (x)"), "without claude-flow's tables"),
        (lambda path: build(path, "CREATE TABLE patterns (id, colour)"), "without claude-flow's tables"),
    ],
)
def test_a_file_that_is_not_claude_flows_is_rejected_with_advice(tmp_path: Path, make: Any, says: str) -> None:
    path = tmp_path / "memory.db"
    make(path)
    with pytest.raises(ImportRejected, match=says):
        items(path)


# ---------------------------------------------------------------- basic mode


def test_basic_mode_keeps_the_newest_of_each_key_and_names_what_it_skips(tmp_path: Path) -> None:
    store = {
        "default": [
            {
                "key": "k",
                "value": "new",
                "namespace": "default",
                "timestamp": 1_760_000_000_000,
                "redacted": True,
            },
            {"key": "k", "value": "old", "namespace": "default", "timestamp": 1_750_000_000_000},
            {"key": "empty", "value": ""},
            "nonsense",
        ],
        "team": [{"key": "k", "value": {"nested": [1]}, "timestamp": "2025-10-14T10:00:00.000Z"}],
        "odd": 5,
    }
    path = tmp_path / "memory-store.json"
    path.write_text(json.dumps(store), encoding="utf-8")
    found = list(read_claude_flow_json(path))
    first, second = memories(found)
    assert (first.draft.content, first.draft.namespace, first.draft.created_at) == (
        "new",
        "default",
        1_760_000_000.0,
    )
    assert first.draft.metadata["imported_redacted"] is True
    assert (second.draft.content, second.draft.namespace) == ('{"nested": [1]}', "team")
    assert skipped(found) == {
        "default entry 2": "older duplicate of key 'k'",
        "default entry 3": "it has no content",
        "default entry 4": "it is not an object",
        "namespace odd": "it is not a list of entries",
    }


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"a": []}', '{"a": 1}', "\x00\x01", "[" * 100_000])
def test_json_that_is_no_store_is_rejected(tmp_path: Path, text: str) -> None:
    path = tmp_path / "memory-store.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ImportRejected):
        list(read_claude_flow_json(path))
    with pytest.raises(ImportRejected):
        list(read_claude_flow_json(tmp_path))
    with pytest.raises(ImportRejected):
        list(read_claude_flow_json(tmp_path / "missing.json"))
