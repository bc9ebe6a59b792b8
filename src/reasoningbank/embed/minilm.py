"""The local embedder: all-MiniLM-L6-v2 in 8 bits, shipped in the package, run by ONNX Runtime. No download.

Runs the model's files (made by scripts/build_minilm.py) on few threads, and loads none of them before the first text.

The model reads 256 tokens, roughly 200 English words; what follows them in a text does not reach its vector.
Each text is run alone: a batch would need padding for about a tenth more speed, and a vector must not depend
on its neighbours.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from reasoningbank.core.errors import EmbedderError, InvalidInput, MissingExtra
from reasoningbank.core.media import faults_of
from reasoningbank.core.types import EmbedderIdentity
from reasoningbank.embed.wordpiece import WordPiece, read_vocabulary
from reasoningbank.files import open_plain, read_plain, whole_file
from reasoningbank.forking import renew_in_child, unforked

LONGEST_TEXT_TOKENS: Final = 256
MODEL_FOLDER: Final = Path(__file__).parent / "models" / "minilm"

_MOST_THREADS: Final = 4
_TOKENS_WORTH_A_POOL: Final = 200
_ONLY_FRAME: Final = 2  # [CLS] and [SEP]: the text itself gave no token


class _Session(Protocol):
    def run(
        self, output_names: Sequence[str], input_feed: dict[str, NDArray[np.int64]]
    ) -> list[NDArray[np.float32]]: ...


class MiniLMEmbedder:
    """Semantic vectors of 384 dimensions. `threads` bounds the cores of a bulk call; a query uses one."""

    costly = False

    def __init__(self, threads: int | None = None, *, stamp: Path | None = None) -> None:
        """`stamp` is a file that remembers how the model's files looked when their hashes were last found right."""
        if threads is not None and threads < 1:
            raise InvalidInput(f"The local embedder needs at least 1 thread, not {threads}.")
        self._threads = threads or min(_MOST_THREADS, os.cpu_count() or 1)
        self.identity = _read_identity(MODEL_FOLDER / "manifest.json")
        self._stamp = stamp
        self._loading = threading.Lock()
        self._loaded: tuple[WordPiece, _Session] | None = None
        renew_in_child(self._begin_in_child)

    def _begin_in_child(self) -> None:
        """The model itself goes on serving: it has no threads, and no fork comes while it runs."""
        self._loading = threading.Lock()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), self.identity.dimension), dtype=np.float32)
        if not len(texts):
            return rows
        tokenizer, session = self._load()
        ids = [tokenizer.encode(text, LONGEST_TEXT_TOKENS) for text in texts]
        # Longest first: the threads finish together, and the runtime's memory grows once.
        order = sorted(
            (number for number in range(len(ids)) if len(ids[number]) > _ONLY_FRAME),
            key=lambda number: -len(ids[number]),
        )

        def run(number: int) -> NDArray[np.float32]:
            with unforked():
                return session.run(["vector"], {"ids": np.array([ids[number]], dtype=np.int64)})[0]

        for number, vector in zip(order, self._map(run, order, sum(map(len, ids))), strict=True):
            rows[number] = vector[0]
        return rows

    def _map(
        self, run: Callable[[int], NDArray[np.float32]], order: Sequence[int], tokens: int
    ) -> Iterable[NDArray[np.float32]]:
        if self._threads == 1 or len(order) == 1 or tokens < _TOKENS_WORTH_A_POOL:
            return map(run, order)
        # Imported here: a query never comes this way and need not pay for it.
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(run, order))

    def _load(self) -> tuple[WordPiece, _Session]:
        with unforked(), self._loading:
            if self._loaded is None:
                _check_files(MODEL_FOLDER, self._stamp)
                session = _open_session(MODEL_FOLDER / "model.int8.onnx")
                self._loaded = WordPiece(read_vocabulary(MODEL_FOLDER / "vocab.txt")), session
            return self._loaded


def _read_identity(manifest: Path) -> EmbedderIdentity:
    with faults_of(f"the local model in {manifest.parent}"):
        try:
            facts = json.loads(manifest.read_bytes())
        except FileNotFoundError as error:
            raise EmbedderError(
                f"The local model is not where it was installed ({manifest.parent}). Reinstall reasoningbank."
            ) from error
    return EmbedderIdentity(
        name="local", model=facts["model"], dimension=facts["dimension"], revision=facts["revision"]
    )


def damaged_files(folder: Path) -> list[str]:
    """The files of a model that do not have the hashes of its manifest."""
    from hashlib import file_digest

    names = []
    for name, digest in json.loads(read_plain(folder / "manifest.json"))["files"].items():
        try:
            with open_plain(folder / name) as file:
                is_whole = file_digest(file, "sha256").hexdigest() == digest
        except FileNotFoundError:
            is_whole = False
        if not is_whole:
            names.append(name)
    return names


def _check_files(folder: Path, stamp: Path | None) -> None:
    """Raise for a model that is not as it was shipped. Its hashes are taken anew once a file has another size, time or
    inode: a changed byte would give other vectors, and no search would say so.
    """
    with faults_of(f"the local model in {folder}"):
        stats = [path.stat() for path in sorted(folder.iterdir())]
        looks = repr([(s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino) for s in stats]).encode()
        with suppress(OSError):
            if stamp is not None and read_plain(stamp) == looks:
                return
        names = damaged_files(folder)
    if names:
        raise EmbedderError(
            f"{', '.join(names)} of the local model in {folder} is not as it was shipped, so its vectors would mean "
            "something else. Reinstall it: pip install --force-reinstall --no-deps reasoningbank"
        )
    if stamp is not None:
        # Where nothing can be written, each process takes the hashes once.
        with suppress(OSError), whole_file(stamp, durable=False) as file:
            file.write(looks)


def _was_interrupted(error: BaseException | None) -> bool:
    """True if Ctrl-C came while a library was loading, which some of them report as a failed import."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt) or "KeyboardInterrupt" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _open_session(model: Path) -> _Session:
    # Official builds of the runtime report to their maker: they leave an identity in the user's cache folder and call
    # home now and then. It looks at this once, when it is first loaded.
    os.putenv("ORT_DISABLE_TELEMETRY", "1")
    try:
        runtime: Any = import_module("onnxruntime")
    except ImportError as error:
        if _was_interrupted(error):
            raise KeyboardInterrupt from error
        if find_spec("onnxruntime") is not None:
            raise EmbedderError(f"The runtime of the local model is installed but does not load: {error}") from error
        raise MissingExtra(package="onnxruntime", extra="local", purpose="Embedding with the local model") from error
    native: Any = import_module("onnxruntime.capi.onnxruntime_pybind11_state")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # The shipped graph is already fused, and texts differ in length: neither would pay for itself.
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    refusals = (
        native.Fail,
        native.InvalidArgument,
        native.InvalidGraph,
        native.InvalidProtobuf,
        native.NoSuchFile,
        native.NotImplemented,
        native.RuntimeException,
    )
    try:
        session: _Session = runtime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except refusals as error:
        raise EmbedderError(
            f"onnxruntime {runtime.__version__} could not open the local model {model}. It needs "
            "onnxruntime 1.22 or newer and an undamaged file: upgrade it, or reinstall reasoningbank."
        ) from error
    return session
