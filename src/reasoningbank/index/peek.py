"""How far an index is, read from its header alone: for `status`, which must not load what searching needs."""

from __future__ import annotations

from pathlib import Path

from reasoningbank.core.errors import BankDamaged
from reasoningbank.index.header import HeaderFile
from reasoningbank.ports import IndexInfo


def peek(directory: Path) -> IndexInfo | None:
    """None when there is no index, or none that can be read."""
    try:
        name = (directory / "CURRENT").read_text("utf-8").strip()
        file = HeaderFile(directory / name / "header", writable=False)
        try:
            header = file.read()
        finally:
            file.close()
    except (OSError, BankDamaged):
        return None
    return IndexInfo(
        kind="embedded",
        memories=header.rows,
        awaiting_vectors=header.rows - header.embedded,
        applied=header.applied,
        bytes_on_disk=sum(f.stat().st_size for f in (directory / name).iterdir()),
    )
