"""How far an index is, read from its header alone: for `status`, which must not load what searching needs."""

from __future__ import annotations

from pathlib import Path

from reasoningbank.core.errors import BankDamaged, EmbedderMismatch
from reasoningbank.index.header import HeaderFile
from reasoningbank.ports import IndexInfo


def peek(directory: Path) -> IndexInfo | None:
    """None when there is no index, or one of an older version of this program."""
    try:
        name = (directory / "CURRENT").read_text("utf-8").strip()
        file = HeaderFile(directory / name / "header", writable=False)
        try:
            header = file.read()
        finally:
            file.close()
    except (OSError, BankDamaged, ValueError):
        # Of one that is being made there is no pointer yet.
        if not list(directory.glob("gen-*")):
            return None
        return IndexInfo(kind="embedded", memories=0, awaiting_vectors=0, applied=0, bytes_on_disk=0, is_damaged=True)
    except EmbedderMismatch:
        return None
    return IndexInfo(
        kind="embedded",
        memories=header.rows,
        awaiting_vectors=header.rows - header.embedded,
        applied=header.applied,
        bytes_on_disk=sum(_bytes_taken(file) for file in (directory / name).iterdir()),
    )


def _bytes_taken(file: Path) -> int:
    """What a file takes on disk: the columns are sparse files, so their length says little."""
    stat = file.stat()
    return getattr(stat, "st_blocks", stat.st_size // 512) * 512
