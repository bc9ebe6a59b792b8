"""The model that is shipped gives the vectors that it is known for, or none: a changed byte of its files is an error."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import EmbedderError
from reasoningbank.embed import minilm
from reasoningbank.embed.minilm import MODEL_FOLDER

pytest.importorskip("onnxruntime")


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the model that may be damaged."""
    copy = tmp_path / "minilm"
    shutil.copytree(MODEL_FOLDER, copy)
    monkeypatch.setattr(minilm, "MODEL_FOLDER", copy)
    return copy


def flip(file: Path, at: int) -> None:
    with file.open("r+b") as opened:
        opened.seek(at)
        byte = opened.read(1)[0]
        opened.seek(at)
        opened.write(bytes([byte ^ 1]))


def search(path: Path) -> list[str]:
    with ReasoningBank.open(path, namespace="n", embedder="local") as bank:
        if not bank.list():
            bank.record(title="Retry", content="Retry a request after a pause.")
        return [hit.title for hit in bank.search("retry a request").memories]


@pytest.mark.parametrize(
    ("name", "at"), [("model.int8.bin", 9_000_000), ("vocab.txt", 60_000), ("model.int8.onnx", 900)]
)
def test_a_changed_byte_of_the_model_is_named_with_the_remedy(model: Path, tmp_path: Path, name: str, at: int) -> None:
    path = tmp_path / "bank.db"
    assert search(path) == ["Retry"]
    before = (model / name).stat()
    flip(model / name, at)
    os.utime(model / name, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(EmbedderError, match=f"{name} of the local model.*pip install --force-reinstall"):
        search(path)
    flip(model / name, at)
    assert search(path) == ["Retry"], "and it is not for good"


def test_hashes_are_taken_once_and_again_where_nothing_can_be_noted(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = []

    def damaged_files(folder: Path) -> list[str]:
        taken.append(folder)
        return []

    monkeypatch.setattr(minilm, "damaged_files", damaged_files)
    for _ in range(2):
        search(tmp_path / "bank.db")
    assert taken == [model]
    for _ in range(2):
        minilm.MiniLMEmbedder(stamp=tmp_path / "not there" / "stamp").embed(["a text"])
    assert taken == [model] * 3
