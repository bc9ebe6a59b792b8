"""LangGraph: `BankStore(bank)` is a `BaseStore`, for `compile(store=…)` and everything else that takes one.

An item is a memory: its namespace is a namespace of the bank below `root`, its key the memory's key, its value lies in
the metadata and its text in the content, where it is found by meaning and by words. So what a graph stores is seen by
every other door of the bank, and what feedback says of it counts in its rank.

Refuses what it cannot keep: a value that is no JSON, labels that a namespace of the bank cannot hold, a TTL (nothing
here expires by itself). Secrets are scrubbed from values like from everything else.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

from reasoningbank.adapters.langgraph_match import matches, passes
from reasoningbank.adapters.memory_texts import list_all
from reasoningbank.bank.bank import Bank
from reasoningbank.core.drafts import MAX_TITLE_CHARS, clean_name, clean_namespace
from reasoningbank.core.errors import InvalidInput, MissingExtra
from reasoningbank.core.types import Remembered
from reasoningbank.recall.query import MAX_LIMIT

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        get_text_at_path,
        tokenize_path,
        validate_op_namespace,
    )
except ImportError as error:
    raise MissingExtra(package="langgraph", extra="langgraph", purpose="The adapter for LangGraph") from error

ROOT = "langgraph"
UNINDEXED = "(not to be searched)"
_DIGEST = "digest "
_HELD = "langgraph"
"""The name under which the metadata keeps an item."""


class BankStore(BaseStore):
    """Synchronous and asynchronous calls alike; the latter run in threads."""

    __slots__ = ("_bank", "_fields", "_profile", "_root")

    supports_ttl = False

    def __init__(
        self, bank: Bank, *, root: str = ROOT, fields: Iterable[str] = ("$",), profile: str = "balanced"
    ) -> None:
        """`fields` are the paths whose text is searched, as in LangGraph's `IndexConfig`; "$" is all of the value."""
        self._bank = bank
        self._root = clean_namespace(root)
        self._fields = tuple(fields)
        self._profile = profile

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Reads see what was there before; writes are one transaction, the last of a key counts."""
        operations = list(ops)
        for op in operations:
            validate_op_namespace(op)
        results: list[Result] = [self._read(op) for op in operations]
        writes = {(op.namespace, op.key): op for op in operations if isinstance(op, PutOp)}
        if writes:
            self._write(list(writes.values()))
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.batch, list(ops))

    # ------------------------------------------------------------ reading

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            item = self._find(self._bank, op.namespace, op.key)
            return None if item is None else _item(item)
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        if isinstance(op, PutOp):
            return None
        raise InvalidInput(f"{type(op).__name__} is no operation of a store that is known here.")

    def _find(self, bank: Bank, namespace: tuple[str, ...], key: str) -> Remembered | None:
        items = bank.list(namespace=self._place(namespace), key=self._key(key), limit=1)
        return items[0] if items else None

    def _search(self, op: SearchOp) -> list[SearchItem]:
        items: list[SearchItem] = []
        listing = (_found(item, None) for item in self._under(op.namespace_prefix))
        for item in self._search_items(op) if op.query else listing:
            if passes(item.value, op.filter):
                items.append(item)
                if len(items) == op.offset + op.limit:
                    break
        return items[op.offset :]

    def _search_items(self, op: SearchOp) -> Iterator[SearchItem]:
        """Everything below the prefix, as LangGraph has it: the nearest first, what matches nothing behind it, and last
        what is not to be searched, without a score.
        """
        hit_ids, tail = set[str](), list[Remembered]()
        for hit, relevance in self._nearest(op):
            hit_ids.add(hit.id)
            if hit.content != UNINDEXED:
                yield _found(hit, relevance)
        for item in self._under(op.namespace_prefix):
            if item.content == UNINDEXED:
                tail.append(item)
            elif item.id not in hit_ids:
                yield _found(item, 0.0)
        for item in tail:
            yield _found(item, None)

    def _nearest(self, op: SearchOp) -> Iterator[tuple[Remembered, float]]:
        """Further and further while whoever asks goes on: a filter costs no recall."""
        count, hit_ids = op.offset + op.limit, set[str]()
        most = self._bank.settings.search.max_limit or MAX_LIMIT
        while True:
            hits = self._bank.search(
                op.query or "",
                namespace="*",
                tags=(self._tag(op.namespace_prefix),),
                limit=min(most, max(1, count)),
                floor=0.0,
                min_confidence=0.0,
                profile=self._profile,
                experience=False,
                exclude=tuple(hit_ids),
            ).memories
            fresh = [hit for hit in hits if hit.id not in hit_ids]
            for hit in fresh:
                yield hit, hit.relevance
            hit_ids.update(hit.id for hit in fresh)
            if len(hits) < min(most, max(1, count)) or not fresh:
                return
            count *= 4

    def _under(self, prefix: tuple[str, ...]) -> Iterator[Remembered]:
        return list_all(self._bank, namespace="*", tags=[self._tag(prefix)])

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        start = f"{self._root}."
        names = (name for name in self._bank.status().namespaces if name.startswith(start))
        namespaces = [tuple(name.removeprefix(start).split(".")) for name in names]
        selection = [name for name in namespaces if all(matches(rule, name) for rule in op.match_conditions or ())]
        cut = {name[: op.max_depth] for name in selection} if op.max_depth is not None else set(selection)
        return sorted(cut)[op.offset : op.offset + op.limit]

    # ------------------------------------------------------------ writing

    def _write(self, ops: list[PutOp]) -> None:
        def act(bank: Bank, _: Any) -> None:
            for op in ops:
                if op.value is None:
                    there = self._find(bank, op.namespace, op.key)
                    if there is not None:
                        bank.erase(there.id)
                else:
                    self._put(bank, op, op.value)

        self._bank.atomically(act)
        if any(op.value is None for op in ops):
            self._bank.follow_erasures()

    def _put(self, bank: Bank, op: PutOp, value: Mapping[str, Any]) -> None:
        depths = range(len(op.namespace) + 1)
        bank.store(
            self._key(op.key),
            self._text(op, value) or UNINDEXED,
            title=_title(op.key),
            namespace=self._place(op.namespace),
            tags=[self._tag(op.namespace[:depth]) for depth in depths],
            metadata={_HELD: {"namespace": list(op.namespace), "key": op.key, "value": dict(value)}},
            origin="agent",
        )

    def _text(self, op: PutOp, value: Mapping[str, Any]) -> str:
        if op.index is False:
            return ""
        paths = self._fields if op.index is None else tuple(op.index)
        if "$" in paths:
            return _whole(value)
        texts = [text for path in paths for text in get_text_at_path(value, tokenize_path(path))]
        return "\n".join(text for text in texts if text.strip())

    def _place(self, namespace: tuple[str, ...]) -> str:
        """The namespace of the bank; one that would come out as another is refused, so that no two are mixed up."""
        name = ".".join((self._root, *namespace))
        if clean_namespace(name) != name or any(label != label.strip() for label in namespace):
            raise InvalidInput(f"The namespace {namespace!r} cannot be kept as it is: leave out blanks at its ends.")
        return name

    def _key(self, key: str) -> str:
        """As it is, or its digest where a key of the bank would not hold it as it is: two must never become one."""
        fits = key.strip() == key and key.isprintable() and 0 < len(key) <= MAX_TITLE_CHARS // 2
        if fits and not key.startswith(_DIGEST) and not self._bank.secrets.found_in(key):
            return key
        return _DIGEST + blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    def _tag(self, prefix: tuple[str, ...]) -> str:
        return clean_name(".".join((self._root, *prefix)), "namespace")


def _title(key: str) -> str:
    title = "".join(character if character.isprintable() else " " for character in key)[: MAX_TITLE_CHARS // 2]
    return title if title.strip() else "(no name)"


def _whole(value: Mapping[str, Any]) -> str:
    """All text of a value, a line for each field."""
    lines = [
        f"{name}: {inner if isinstance(inner, str) else json.dumps(inner, ensure_ascii=False, default=str)}"
        for name, inner in value.items()
    ]
    return "\n".join(lines)


def _value_of(item: Remembered) -> dict[str, Any]:
    record: dict[str, Any] = item.memory.metadata[_HELD]
    return {
        "namespace": tuple(record["namespace"]),
        "key": record["key"],
        "value": record["value"],
        "created_at": datetime.fromtimestamp(item.memory.created_at, UTC),
        "updated_at": datetime.fromtimestamp(item.memory.updated_at, UTC),
    }


def _item(item: Remembered) -> Item:
    return Item(**_value_of(item))


def _found(item: Remembered, score: float | None) -> SearchItem:
    return SearchItem(**_value_of(item), score=score)
