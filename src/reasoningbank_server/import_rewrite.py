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
from reasoningbank.core.record_kinds import BY_NOUN, RecordKind, kind_of
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
        for name, kinds in _ids_in(entry).items() if entry is not None else ():
            given = values.get(name)
            if isinstance(given, str):
                values[name] = self._ours(_meant(kinds, given), given)
            elif isinstance(given, list):
                values[name] = [self._ours(_meant(kinds, one), one) if isinstance(one, str) else one for one in given]
        return json.dumps(values, ensure_ascii=False) + "\n"

    def _ours(self, kind: type[Record], given: str) -> str:
        known = self._known.get((kind, given))
        if known is None:
            there: dict[str, Any] = dict(self._reader.get(kind, [given])) if _is_text(given) else {}
            prefix = given.partition("_")[0][:8] or "id"
            known = given if there else derived_id(prefix, f"{self._tenant}\0{kind.__name__}\0{given}")
            if len(self._known) < 1_000_000:
                self._known[kind, given] = known
        return known


def _ids_in(entry: RecordKind) -> dict[str, tuple[type[Record], ...]]:
    """Which fields of a line are ids, and of what."""
    own: Any = {"id": (entry.record_type,)} if entry.prefix else {}
    return {**own, **entry.refers}


def _meant(kinds: tuple[type[Record], ...], given: str) -> type[Record]:
    """The kind that an id is of: a step may have been taken under a memory instead of in a session."""
    prefix = given.partition("_")[0]
    return next((kind for kind in kinds if kind_of(kind).prefix == prefix), kinds[0])


def _is_text(given: str) -> bool:
    # Half a surrogate pair is no id that could be stored.
    return not any("\ud800" <= letter <= "\udfff" for letter in given)


def _end_line(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"
