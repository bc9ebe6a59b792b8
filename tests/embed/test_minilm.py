"""The shipped model is the one in its manifest, gives unit rows in order, and knows a paraphrase."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from reasoningbank.core.errors import EmbedderError, InvalidInput, MissingExtra
from reasoningbank.embed import minilm
from reasoningbank.embed.minilm import MODEL_FOLDER, MiniLMEmbedder

MANIFEST = json.loads((MODEL_FOLDER / "manifest.json").read_bytes())


@pytest.fixture(scope="module")
def embedder() -> MiniLMEmbedder:
    pytest.importorskip("onnxruntime")
    return MiniLMEmbedder(threads=2)


@pytest.mark.parametrize("name", sorted(MANIFEST["files"]))
def test_a_shipped_file_has_the_hash_in_the_manifest(name: str) -> None:
    assert hashlib.sha256((MODEL_FOLDER / name).read_bytes()).hexdigest() == MANIFEST["files"][name]


def test_the_revision_follows_from_the_hashes_of_graph_and_weights() -> None:
    files = MANIFEST["files"]
    both = hashlib.sha256(f"{files['model.int8.onnx']} {files['model.int8.bin']}".encode()).hexdigest()
    assert MANIFEST["revision"] == both[:12]
    assert str(MiniLMEmbedder().identity) == f"local/all-MiniLM-L6-v2-int8/384/{both[:12]}"


def test_licence_and_notice_ship_with_the_model() -> None:
    assert "Apache License" in (MODEL_FOLDER / "LICENSE").read_text(encoding="utf-8")
    assert "quantised" in (MODEL_FOLDER / "NOTICE").read_text(encoding="utf-8")


def test_the_vector_is_near_that_of_the_float_model(embedder: MiniLMEmbedder) -> None:
    # From reference() in scripts/build_minilm.py, on the source weights.
    float_vector = [0.0676568, 0.0634959, 0.0487131, 0.0793050]
    np.testing.assert_allclose(embedder.embed(["This is an example sentence"])[0, :4], float_vector, atol=0.01)


def test_embedding_leaves_nothing_in_the_home_of_the_user_and_calls_nobody(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    script = "from reasoningbank.embed.minilm import MiniLMEmbedder; MiniLMEmbedder().embed(['a text'])"
    home = {name: str(tmp_path) for name in ("HOME", "USERPROFILE", "LOCALAPPDATA", "XDG_CACHE_HOME")}
    kept = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    subprocess.run([sys.executable, "-c", script], env=kept | home, check=True, timeout=300)
    # An identity for reports to the maker of the runtime would lie here.
    assert list(tmp_path.rglob("*")) == []


def test_rows_have_length_one_and_keep_their_order(embedder: MiniLMEmbedder) -> None:
    texts = [
        "short",
        "a much longer text about databases and their connection pools " * 5,
        "",
        "middling text here",
    ] * 10
    rows = embedder.embed(texts)
    assert rows.dtype == np.float32
    assert rows.shape == (40, 384)
    lengths = np.linalg.norm(rows, axis=1)
    np.testing.assert_allclose(lengths, [float(bool(text)) for text in texts], atol=1e-5)
    for row, text in zip(rows, texts, strict=True):
        np.testing.assert_array_equal(row, embedder.embed([text])[0], "alone and in a batch are the same")


@pytest.mark.parametrize("text", ["", "  \n", "\x00\x01", "\u200b", "\ud800"])
def test_a_text_without_tokens_is_the_zero_row(embedder: MiniLMEmbedder, text: str) -> None:
    assert not embedder.embed([text]).any()


def test_what_follows_the_256th_token_is_not_read(embedder: MiniLMEmbedder) -> None:
    rows = embedder.embed(["memory " * 254, "memory " * 254 + "and bread", "memory " * 100_000])
    np.testing.assert_array_equal(rows[0], rows[1])
    np.testing.assert_array_equal(rows[0], rows[2])


def similarity(rows: NDArray[np.float32]) -> tuple[float, float]:
    return float(rows[0] @ rows[1]), float(rows[0] @ rows[2])


@pytest.mark.parametrize(
    ("query", "related", "unrelated"),
    [
        ("how do I sign users in safely", "Use bcrypt for password hashing", "Bake bread at 230 degrees"),
        ("the tests fail at random", "Flaky CI: fix the seed and avoid sleeps", "Invoices are sent monthly"),
        ("speed up slow SQL", "Add an index on the filtered column", "Centre a div with flexbox"),
        (
            "too many requests error",
            "Retry with exponential back-off on HTTP 429",
            "Rotate the logs every week",
        ),
        (
            "undo my last commit",
            "git reset --soft HEAD~1 keeps the changes",
            "Use a heap for the top k elements",
        ),
    ],
)
def test_a_paraphrase_ranks_above_the_unrelated(
    embedder: MiniLMEmbedder, query: str, related: str, unrelated: str
) -> None:
    near, far = similarity(embedder.embed([query, related, unrelated]))
    assert near > far + 0.03


def test_threads_that_meet_an_unloaded_model_agree() -> None:
    pytest.importorskip("onnxruntime")
    fresh = MiniLMEmbedder(threads=1)
    rows: list[NDArray[np.float32]] = []
    threads = [threading.Thread(target=lambda: rows.append(fresh.embed(["one model"]))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=300)
    assert len(rows) == 4
    assert all(np.array_equal(row, rows[0]) for row in rows)


def test_nothing_is_loaded_before_the_first_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert MiniLMEmbedder().embed([]).shape == (0, 384)


def test_a_missing_runtime_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtra, match=r"reasoningbank\[local\]"):
        MiniLMEmbedder().embed(["text"])


def test_a_missing_model_says_to_reinstall(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(minilm, "MODEL_FOLDER", tmp_path)
    with pytest.raises(EmbedderError, match="Reinstall"):
        MiniLMEmbedder()


def test_a_damaged_model_is_a_typed_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    for name in ("manifest.json", "vocab.txt"):
        (tmp_path / name).write_bytes((MODEL_FOLDER / name).read_bytes())
    (tmp_path / "model.int8.onnx").write_bytes(b"not a model")
    monkeypatch.setattr(minilm, "MODEL_FOLDER", tmp_path)
    with pytest.raises(EmbedderError, match="reinstall"):
        MiniLMEmbedder().embed(["text"])
    (tmp_path / "model.int8.onnx").write_bytes((MODEL_FOLDER / "model.int8.onnx").read_bytes())
    (tmp_path / "model.int8.bin").write_bytes(b"cut short")
    with pytest.raises(EmbedderError, match="reinstall"):
        MiniLMEmbedder().embed(["text"])


FORKED = """
import os, signal, sys
from reasoningbank.embed.minilm import MiniLMEmbedder
embedder = MiniLMEmbedder(threads=2)
before = embedder.embed(["retry a failed request"])
child = os.fork()
if child == 0:
    signal.alarm(240)
    assert (embedder.embed(["retry a failed request"]) == before).all()
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_after_fork_gets_its_vectors_and_ends() -> None:
    # A runtime with threads of its own would wait for those that stayed in the parent, in the end if not before.
    pytest.importorskip("onnxruntime")
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_no_threads_are_refused() -> None:
    with pytest.raises(InvalidInput, match="at least 1"):
        MiniLMEmbedder(threads=0)
