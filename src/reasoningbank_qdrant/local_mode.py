"""Clients of `qdrant-client`'s local mode: one for each folder, shared by whoever opens it in this process."""

from __future__ import annotations

import threading
from collections import Counter

from qdrant_client import QdrantClient

from reasoningbank.core.errors import BankBusy
from reasoningbank.forking import renew_in_child


class _LocalClients:
    def __init__(self) -> None:
        self._begin()
        renew_in_child(self._begin)

    def _begin(self) -> None:
        """Begin with no client open, in a child process too: the parent's are the parent's."""
        self._lock = threading.Lock()
        self._open: dict[str, QdrantClient] = {}
        self._users = Counter[str]()

    def take(self, folder: str) -> QdrantClient:
        with self._lock:
            if folder not in self._open:
                try:
                    self._open[folder] = QdrantClient(path=folder, force_disable_check_same_thread=True)
                except RuntimeError as error:
                    raise BankBusy(
                        f"The index in {folder} is open in another process; local mode is for one."
                    ) from error
            self._users[folder] += 1
            return self._open[folder]

    def give_back(self, folder: str) -> None:
        with self._lock:
            self._users[folder] -= 1
            if not self._users[folder]:
                self._open.pop(folder).close()


LOCAL_CLIENTS = _LocalClients()
ALONE = threading.RLock()
"""Held during a call: local mode is plain objects, and one thread at a time may touch them."""
