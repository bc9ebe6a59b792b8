"""Rewrites lines that come in over the network to the tenant's own, before they are taken in.

The ids in an export are claims that a stranger must not make here: a line with the id of another tenant's record would
tell, by being refused, that it exists. So what is not this tenant's already gets an id derived from the old one, always
the same. What lines claim about their origin is decided with that of every file (`exchange.import_trust`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reasoningbank.core.ids import derived_id
from reasoningbank.core.origins import USER
from reasoningbank.core.record_kinds import BY_NOUN, kind_of
from reasoningbank.core.types import Record
from reasoningbank.ports import Reader
from reasoningbank_server.endpoint import Call
from reasoningbank_server.staging import passing_bytes


@contextmanager
def adopt_lines(call: Call, path: Path) -> Iterator[Path]:
    """The same lines as this principal may bring them in. Whoever owns the bank brings them as they are."""
    if call.principal.operator and call.principal.origin == USER:
        yield path
        return
    with passing_bytes() as (file, ours):
        with (
            call.bank.context.store.read(call.principal.tenant) as reader,
            path.open("r", encoding="utf-8-sig", errors="replace") as lines,
        ):
            adopt = _Adoption(call, reader)
            for line in lines:
                file.write(adopt.line(line).encode("utf-8", "replace"))
        file.flush()
        yield ours


class _Adoption:
    def __init__(self, call: Call, reader: Reader) -> None:
        self._tenant = call.principal.tenant
        self._reader = reader
        self._known: dict[tuple[type[Record], str], str] = {}

    def line(self, text: str) -> str:
        try:
            values = json.loads(text)
        except (ValueError, RecursionError):
            return _end_line(text)
        if not isinstance(values, dict):
            return _end_line(text)
        entry = BY_NOUN.get(str(values.get("type")))
        # Which fields of the line are ids, and of what.
        ids: dict[str, tuple[type[Record], ...]] = {}
        if entry is not None:
            own: Any = {"id": (entry.record_type,)} if entry.prefix else {}
            ids = {**own, **entry.refers}
        for name, kinds in ids.items():
            value = values.get(name)
            if isinstance(value, str):
                values[name] = self._ours(_meant(kinds, value), value)
            elif isinstance(value, list):
                values[name] = [
                    self._ours(_meant(kinds, item), item) if isinstance(item, str) else item for item in value
                ]
        return json.dumps(values, ensure_ascii=False) + "\n"

    def _ours(self, kind: type[Record], record_id: str) -> str:
        local_id = self._known.get((kind, record_id))
        if local_id is None:
            # Half a surrogate pair is no id that could be stored.
            is_text = not any("\ud800" <= letter <= "\udfff" for letter in record_id)
            there: dict[str, Any] = dict(self._reader.get(kind, [record_id])) if is_text else {}
            prefix = record_id.partition("_")[0][:8] or "id"
            local_id = record_id if there else derived_id(prefix, f"{self._tenant}\0{kind.__name__}\0{record_id}")
            if len(self._known) < 1_000_000:
                self._known[kind, record_id] = local_id
        return local_id


def _meant(kinds: tuple[type[Record], ...], record_id: str) -> type[Record]:
    """The kind that an id is of: a step may have been taken under a memory instead of in a session."""
    prefix = record_id.partition("_")[0]
    return next((kind for kind in kinds if kind_of(kind).prefix == prefix), kinds[0])


def _end_line(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"
