"""Masks of the slots that a filter lets through.

Here are the parts of a filter, their order, and how many rows each removed. Independent of how the survivors are
ranked. Names are compared by 64-bit keys, tags by 32-bit ones: a caller that hands memories out checks the final few
exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.teams import TeamReach
from reasoningbank.core.types import Outcome, Scope, State
from reasoningbank.index.rows import BLOCK_ROWS, Rows, blocks_for
from reasoningbank.index.segments import Segment, Tail
from reasoningbank.lexical.hashing import name_key, tag_term
from reasoningbank.ports import Filter

SCOPES = tuple(Scope)
OUTCOMES = tuple(Outcome)
STATES = tuple(State)
_PROJECT = SCOPES.index(Scope.PROJECT)
_TEAM = SCOPES.index(Scope.TEAM)
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Passed:
    mask: Mask
    """True for each row that passes."""
    considered: int
    filtered_out: dict[str, int]
    own: Mask | None = None
    """The rows of the tenant, where there are others' too: how rare a word is must not be learned from those."""
    mean_length: float = 0.0
    """Mean length of those rows, in half units."""


class Masks:
    """Rows that filters let through, as of one commit. The last few are kept: most searches use the same filter."""

    def __init__(self) -> None:
        # Replaced as a whole: threads share it.
        self._kept: tuple[tuple[Filter, Passed], ...] = ()

    def passed(
        self, where: Filter, rows: Rows, segments: Sequence[Segment], tail: Tail, scratch: tuple[Mask, Mask]
    ) -> Passed:
        for key, selection in self._kept:
            if key == where:
                return selection
        selection = _apply_filter(where, rows, segments, tail, scratch)
        self._kept = ((where, selection), *self._kept[:3])
        return selection


def _apply_filter(
    where: Filter, rows: Rows, segments: Sequence[Segment], tail: Tail, scratch: tuple[Mask, Mask]
) -> Passed:
    blocks, count = blocks_for(rows.count), rows.count
    mask, other = (buffer[: blocks * BLOCK_ROWS].reshape(blocks, BLOCK_ROWS) for buffer in scratch)
    flat = mask.reshape(-1)[:count]
    np.equal(rows.blocks("alive"), 1, out=mask)
    everybody = int(np.count_nonzero(flat))
    _keep_equal(mask, other, rows.blocks("tenant"), name_key(where.tenant))
    remaining = int(np.count_nonzero(flat))
    own = flat.copy() if remaining < everybody else None
    mean_length = float(rows.span("length", 0, count)[own].mean()) if own is not None and remaining else 0.0
    removals: dict[str, int] = {}
    for name, keep in _parts(where, rows, segments, tail):
        keep(mask, other)
        now = int(np.count_nonzero(flat))
        if now < remaining:
            removals[name] = remaining - now
        remaining = now
    return Passed(flat.copy(), remaining, removals, own, mean_length)


Keep = Callable[[Mask, Mask], None]


def _parts(where: Filter, rows: Rows, segments: Sequence[Segment], tail: Tail) -> list[tuple[str, Keep]]:
    parts: list[tuple[str, Keep]] = []
    if where.namespace is not None:
        key = name_key(where.tenant, where.namespace)

        def in_namespace(mask: Mask, other: Mask) -> None:
            np.not_equal(rows.blocks("scope"), _PROJECT, out=other)
            if where.team is not None:
                _drop_other_teams(other, where.tenant, where.team, rows)
            other |= rows.blocks("namespace") == np.uint64(key)
            mask &= other

        parts.append(("namespace", in_namespace))
    if set(where.scopes) != set(SCOPES):
        parts.append(("scope", _any_of(rows.blocks("scope"), [SCOPES.index(scope) for scope in where.scopes])))
    if where.outcome is not None:
        parts.append(("outcome", _any_of(rows.blocks("outcome"), [OUTCOMES.index(where.outcome)])))
    if set(where.states) != set(STATES):
        parts.append(("state", _any_of(rows.blocks("state"), [STATES.index(state) for state in where.states])))
    parts += _tag_parts(where, segments, tail)
    for name, value in (("agent", where.agent), ("task_type", where.task_type)):
        if value is not None:
            parts.append((name, partial(_keep_equal, column=rows.blocks(name), key=name_key(value))))
    return parts


def _tag_parts(where: Filter, segments: Sequence[Segment], tail: Tail) -> Iterator[tuple[str, Keep]]:
    if where.tags:
        terms = np.array([tag_term(tag) for tag in set(where.tags)], np.uint32)
        yield "tags", lambda mask, other: _keep_tagged(mask, other, terms, segments, tail)
    if where.without_tags:
        exclusions = np.array([tag_term(tag) for tag in set(where.without_tags)], np.uint32)
        yield "without_tags", lambda mask, other: _drop_tagged(mask, other, exclusions, segments, tail)


def _drop_other_teams(mask: Mask, tenant: str, team: TeamReach, rows: Rows) -> None:
    """Leave out rows of other teams, of those that are for more than their project. Few rows are team-scoped, so
    only their names are looked up.
    """
    slots = np.flatnonzero(rows.blocks("scope") == _TEAM)
    keys = np.array([name_key(tenant, namespace) for namespace in team.namespaces], np.uint64)
    mask.reshape(-1)[slots[np.isin(rows.take("namespace", slots), keys, invert=team.inside)]] = False


def _keep_equal(mask: Mask, other: Mask, column: NDArray[Any], key: int) -> None:
    np.equal(column, column.dtype.type(key), out=other)
    mask &= other


def _any_of(column: NDArray[Any], values: list[int]) -> Keep:
    def keep(mask: Mask, other: Mask) -> None:
        table = np.zeros(256, np.bool_)
        table[values] = True
        if len(values) == 1:
            np.equal(column, np.uint8(values[0]), out=other)
        else:
            np.take(table, column, out=other, mode="clip")
        mask &= other

    return keep


def _drop_tagged(mask: Mask, other: Mask, terms: NDArray[np.uint32], segments: Sequence[Segment], tail: Tail) -> None:
    for number in range(len(terms)):
        matches = np.ones_like(mask)
        _keep_tagged(matches, other, terms[number : number + 1], segments, tail)
        np.greater(mask, matches, out=mask)


def _keep_tagged(mask: Mask, other: Mask, terms: NDArray[np.uint32], segments: Sequence[Segment], tail: Tail) -> None:
    ranges = [segment.find(terms) for segment in segments]
    in_tail = tail.find(terms)
    flat = other.reshape(-1)
    for i in range(len(terms)):
        flat.fill(False)
        for segment, (start, stop) in zip(segments, ranges, strict=True):
            flat[(segment.postings(start[i], stop[i]) >> np.uint32(8)) + np.uint32(segment.first)] = True
        flat[tail.slots[in_tail[i]]] = True
        mask &= other
