"""Fixed random rotation of vectors, so that every dimension speaks for all before only signs are kept.

Vectors are turned so that sign bits approximate the angle whatever the vectors were like: the n-gram hash gives sparse
non-negative ones, whose own signs say nothing. Independent of files and search.

The rotation is a product of small orthogonal matrices (two rounds of sign flips and a Kronecker product), as good as a
full random one in recall and a hundred times smaller. It is kept with the index, where no change in NumPy moves it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from reasoningbank.core.frozen import dataclass

Floats = NDArray[np.float32]
_WORD_BITS = 64
_ROUNDS = 2
_STEP_PRODUCTS = 1 << 19
"""Multiplications of one step: few enough for BLAS to stay in this thread, and for the rows to stay in the cache. All
rows at once took twice as long on a quiet machine and nine times as long on a busy one."""


@dataclass(frozen=True, slots=True)
class Rotation:
    signs: Floats
    """(rounds, bits)"""
    left: Floats
    """(rounds, a, a)"""
    right: Floats
    """(rounds, b, b), a times b being the number of bits"""

    @property
    def bits(self) -> int:
        return int(self.signs.shape[1])

    def turn(self, vectors: Floats) -> Floats:
        """Turn vectors: (n, dimension) to (n, bits)."""
        count, dimension = vectors.shape
        components = np.zeros((count, self.bits), np.float32)
        components[:, :dimension] = vectors
        step = max(1, _STEP_PRODUCTS // (self.bits * max(self.left.shape[1], self.right.shape[1])))
        for start in range(0, count, step):
            self._turn(components[start : start + step])
        return components

    def _turn(self, rows: Floats) -> None:
        """Turn rows in place."""
        count, a, b = len(rows), self.left.shape[1], self.right.shape[1]
        for signs, left_factor, right_factor in zip(self.signs, self.left, self.right, strict=True):
            rows *= signs
            across = (rows.reshape(count * a, b) @ right_factor).reshape(count, a, b)
            rows[:] = (across.transpose(0, 2, 1).reshape(count * b, a) @ left_factor).reshape(count, self.bits)


def _bits_for(dimension: int) -> int:
    return -(-dimension // _WORD_BITS) * _WORD_BITS


def make_rotation(dimension: int) -> Rotation:
    rng = np.random.default_rng(20251)
    bits = _bits_for(dimension)
    a = next(a for a in range(math.isqrt(bits), 0, -1) if bits % a == 0)
    return Rotation(
        rng.choice(np.array([-1, 1], np.float32), (_ROUNDS, bits)),
        np.stack([_orthogonal(rng, a) for _ in range(_ROUNDS)]),
        np.stack([_orthogonal(rng, bits // a) for _ in range(_ROUNDS)]),
    )


def _orthogonal(rng: np.random.Generator, size: int) -> Floats:
    return np.linalg.qr(rng.standard_normal((size, size)))[0].astype(np.float32)


def to_bytes(rotation: Rotation) -> bytes:
    shape = np.array([*rotation.left.shape[:2], rotation.right.shape[1]], "<i4")
    return b"".join(part.tobytes() for part in (shape, rotation.signs, rotation.left, rotation.right))


def from_bytes(raw: bytes) -> Rotation:
    rounds, a, b = (int(size) for size in np.frombuffer(raw, "<i4", 3))
    numbers = np.frombuffer(raw, "<f4", offset=12)
    signs, left_factors, right_factors = np.split(numbers, np.cumsum([rounds * a * b, rounds * a * a]))
    return Rotation(
        signs.reshape(rounds, a * b), left_factors.reshape(rounds, a, a), right_factors.reshape(rounds, b, b)
    )
