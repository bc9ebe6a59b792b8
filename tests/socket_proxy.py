"""A proxy between a client and PostgreSQL, for what a network does: it cuts, keeps silent, or changes what is said."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

PORT = ".s.PGSQL.5432"
Meddle = Callable[[bytes], bytes | None]
"""What is passed on of a piece; None cuts the connection instead."""


class SocketProxy:
    """Clients connect with `host=` the proxy's folder."""

    def __init__(self, folder: Path, server: str) -> None:
        self.folder = folder
        self._server = f"{server}/{PORT}"
        self.to_server: Meddle = bytes
        self.to_client: Meddle = bytes
        self.after_cut: Callable[[bytes], bytes] = lambda _: b""
        """Of a piece at which the connection to the client is cut: what the server still gets."""
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / PORT))
        self._listener.listen()
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._server)
                self._open += [client, server]
                for pair, way in (((client, server), "to_server"), ((server, client), "to_client")):
                    threading.Thread(target=self._pump, args=(*pair, way), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, way: str) -> None:
        with suppress(OSError):
            while piece := source.recv(65536):
                passed = getattr(self, way)(piece)
                if passed is None:
                    target.sendall(self.after_cut(piece))
                    _end(source)
                    if way == "to_server" and self.after_cut(piece):
                        return  # the server finishes what it got
                    break
                # A server whose answers nobody takes any more still does what it was told.
                with suppress(OSError):
                    target.sendall(passed)
        _end(source)
        _end(target)

    def close(self) -> None:
        for one in (self._listener, *self._open):
            _end(one)
            one.close()


def _end(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
