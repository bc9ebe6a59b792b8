"""Files of the page: read once, compressed once, each with the header fields that let a browser run nothing else."""

from __future__ import annotations

import gzip
import hashlib
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from reasoningbank.core.frozen import dataclass

INDEX = "index.html"
PLACE = b"/ui/files/here/"
"""Stands in the index for the address of the other files, which names what is in them."""
_TYPES = {
    "css": b"text/css; charset=utf-8",
    "html": b"text/html; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "svg": b"image/svg+xml",
    "txt": b"text/plain; charset=utf-8",
}
POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    b"worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    media_type: bytes
    body: bytes
    packed: bytes
    """The body by gzip."""


@cache
def assets() -> dict[str, Asset]:
    """Every file by its path below the folder; the index by its name."""
    read = dict(_walk(files("reasoningbank_server.ui") / "static", ""))
    digest = hashlib.sha256(b"".join(name.encode() + body for name, body in sorted(read.items()))).hexdigest()[:12]
    read[INDEX] = read[INDEX].replace(PLACE, f"/ui/files/{digest}/".encode())
    return {
        name: Asset(
            media_type=_TYPES[name.rpartition(".")[2]], body=body, packed=gzip.compress(body, compresslevel=9, mtime=0)
        )
        for name, body in read.items()
    }


def _walk(folder: Traversable, before: str) -> list[tuple[str, bytes]]:
    contents: list[tuple[str, bytes]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            contents += _walk(entry, f"{before}{entry.name}/")
        elif entry.name.rpartition(".")[2] in _TYPES:
            contents.append((f"{before}{entry.name}", entry.read_bytes()))
    return contents
