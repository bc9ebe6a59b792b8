"""Qdrant's own engine behind its REST requests, for the tests: no Qdrant server is to be had from a registry."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from bench.qdrant_edge_server import EdgeServer

IN_MEMORY = Path("/dev/shm")


@pytest.fixture(scope="session")
def qdrant() -> Iterator[EdgeServer]:
    pytest.importorskip("qdrant_client")
    pytest.importorskip("qdrant_edge")
    from bench.qdrant_edge_server import EdgeServer
    from reasoningbank_qdrant import address

    # Nothing here tests the disk of this machine.
    folder = Path(tempfile.mkdtemp(prefix="rb-qdrant-", dir=IN_MEMORY if IN_MEMORY.is_dir() else None))
    server = EdgeServer(folder)
    with pytest.MonkeyPatch.context() as patch:
        # A busy machine is no server that is away.
        patch.setattr(address, "DEADLINE_S", 600)
        yield server
    server.close()
    shutil.rmtree(folder)
