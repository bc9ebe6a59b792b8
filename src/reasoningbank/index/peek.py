"""How far an index is, read from its header alone: for `status`, which must not load what searching needs."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from reasoningbank.core.errors import BankDamaged, EmbedderMismatch
from reasoningbank.index.header import read_header
from reasoningbank.ports import IndexInfo


def peek(directory: Path) -> IndexInfo | None:
    """Size and position of an index; None if there is none, or one of an older version of this program."""
    for _ in range(5):
        name = _name_of_current(directory)
        try:
            header = read_header(directory / name / "header")
        except EmbedderMismatch:
            return None
        except (OSError, BankDamaged, ValueError):
            # Another process may have put another generation in its place between the two looks.
            if name != _name_of_current(directory):
                continue
            break
        return IndexInfo(
            kind="embedded",
            memories=header.rows,
            awaiting_vectors=header.rows - header.embedded,
            applied=header.applied,
            bytes_on_disk=bytes_on_disk(directory / name),
        )
    # Of one that is being made there is no pointer yet.
    if not list(directory.glob("gen-*")):
        return None
    return IndexInfo(kind="embedded", memories=0, awaiting_vectors=0, applied=0, bytes_on_disk=0, is_damaged=True)


def bytes_on_disk(folder: Path) -> int:
    """Disk space that the files of a generation take: the columns are sparse files, so their length says little.

    Nothing where another thread or process is putting another one in its place.
    """
    stats = []
    with suppress(FileNotFoundError):
        stats += [path.stat() for path in folder.iterdir()]
    return sum(getattr(stat, "st_blocks", stat.st_size // 512) * 512 for stat in stats)


def _name_of_current(directory: Path) -> str:
    try:
        return (directory / "CURRENT").read_text("utf-8").strip()
    except (OSError, ValueError):
        return ""
