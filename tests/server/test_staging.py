"""What a server puts on the disk while something arrives or is sent has no name, so that a kill leaves nothing."""

from __future__ import annotations

import socket
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.server.conftest import served

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")

LINE = b'{"title": "t", "content": "sk-live-0123456789abcdef of a raw line that nobody has scrubbed yet"}\n'


def open_files_below(folder: Path) -> list[str]:
    found = []
    for descriptor in Path("/proc/self/fd").iterdir():
        # Some are closed meanwhile.
        with suppress(OSError):
            target = str(descriptor.readlink())
            if target.startswith(str(folder)):
                found.append(target)
    return found


def test_raw_lines_of_an_import_cannot_be_found_on_the_disk_while_they_arrive(bank, tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    with served(bank) as api:
        sent = LINE * 5_000
        head = (
            f"POST /v1/import HTTP/1.1\r\nhost: 127.0.0.1:{api.port}\r\ncontent-type: application/x-ndjson\r\n"
            f"connection: close\r\ncontent-length: {len(sent) + 1}\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", api.port), timeout=300) as connection:
            connection.sendall(head.encode() + sent)
            until = time.monotonic() + 300
            while not open_files_below(folder) and time.monotonic() < until:
                time.sleep(0.01)
            assert open_files_below(folder)
            assert list(folder.rglob("*")) == []


def test_an_import_and_a_transcript_are_read_from_files_without_a_name(bank, tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    with served(bank) as api:
        lines = b'{"title": "Wrap errors", "content": "with context"}\n'
        taken = api("POST", "/v1/import", lines, content_type="application/x-ndjson")
        assert taken.json["added"] == {"memory": 1}
        backup = api("GET", "/v1/backup")
        assert backup.body.startswith(b"SQLite format 3")
    assert list(folder.rglob("*")) == []
    assert not list(bank.context.store.info.location.state.glob("*partial*"))
