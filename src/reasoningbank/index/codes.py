"""Binary codes of vectors: two bits a dimension, several for a query, and the cosine that they estimate.

Here stands how bits are taken from turned vectors, and how wrong a cosine is that was guessed from them. Independent of
where rows are kept and which of them are looked at. A row of zeros, bits and all, is a vector that does not exist.

Turned components are nearly normal with a deviation of 1 / √bits. The first bit of each is its sign; the second, with
the first, says in which of four equal steps it lies: nearly half a step times (2 · first + second), bits being ±1. What
rounding shrinks, the guess stretches again by a factor, π / 2 for signs alone and 1.135 for two bits; the error of the
guess is √((factor − 1) · (1 − cosine²) / bits), whatever the vectors.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from reasoningbank.core.frozen import dataclass
from reasoningbank.index.rotation import Rotation

Floats = NDArray[np.float32]
Codes = NDArray[np.uint8]
Halves = NDArray[np.float16]
VectorForms = tuple[Codes, Codes, Halves]
"""Signs, second bits and full rows of the same vectors."""

_STEP = 0.9957
"""Step of the second bit, in deviations: four equal steps lose least of a normal quantity when they are this wide."""
_SIGN_STRETCH = math.pi / 2
_TWO_BIT_STRETCH = 1.135
_QUERY_ERROR = 0.015
"""Error that rounding the query to four bits adds, in the same unit."""
_OUTERMOST_LEVEL = 3.0
"""Outermost level of a query of several bits, in deviations."""


@dataclass(frozen=True, slots=True)
class AskedBits:
    """A query in bit planes: nearly `step` times the sum of their signs, each plane weighing twice the next."""

    planes: Codes
    """(planes, bits / 8); the first holds the signs."""
    weights: Floats
    step: float
    bits: int

    @property
    def by_signs(self) -> float:
        """Factor from the weighed agreement with a row's signs to the cosine."""
        return self.step * math.sqrt(_SIGN_STRETCH / self.bits)

    @property
    def by_two_bits(self) -> tuple[float, float]:
        """The weights of the guess by signs, and of the agreement with a row's second bits, in a finer guess."""
        half_step = _STEP / 2 / math.sqrt(self.bits)
        return (
            _TWO_BIT_STRETCH * 2 * half_step / math.sqrt(_SIGN_STRETCH / self.bits),
            _TWO_BIT_STRETCH * half_step * self.step,
        )


def sign_error(cosine: float, bits: int) -> float:
    """Standard error of a guess by signs near a cosine."""
    return math.sqrt((_SIGN_STRETCH - 1 + _QUERY_ERROR) * max(0.0, 1 - cosine * cosine) / bits)


def two_bit_error(cosine: float, bits: int) -> float:
    return math.sqrt((_TWO_BIT_STRETCH - 1 + _QUERY_ERROR) * max(0.0, 1 - cosine * cosine) / bits)


def asked_bits(components: Floats, planes: int) -> AskedBits:
    top = 2**planes - 1
    length = math.sqrt(float(components @ components))
    step = length / math.sqrt(components.size) * _OUTERMOST_LEVEL / top
    level = np.clip(components * np.float32(0.5 / step) + np.float32(2 ** (planes - 1)), 0, top).astype(np.uint8)
    shifts = np.arange(planes - 1, -1, -1, dtype=np.uint8)
    codes = np.packbits(level >> shifts[:, None] & np.uint8(1), axis=1)
    # Rounding shrinks the query a little along itself; stretched again, it does not pull every guess one way.
    approximation = level * np.float32(2 * step) - np.float32(top * step)
    weights = np.float32(2) ** shifts.astype(np.float32)
    return AskedBits(codes, weights, step * length**2 / float(components @ approximation), components.size)


def encode(vectors: Floats, rotation: Rotation) -> VectorForms:
    length = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float32))[:, None]
    usable = (length > 0) & np.isfinite(length)
    there = usable[:, 0]
    unit = np.divide(vectors, length, out=np.zeros_like(vectors, np.float32), where=usable)
    components = rotation.turn(unit)
    positive = components > 0
    signs = np.packbits(positive, axis=1)
    # The upper of the two steps on either side of zero: beyond one step above it, or within one below it.
    finer = np.packbits((np.abs(components) > np.float32(_STEP / math.sqrt(rotation.bits))) == positive, axis=1)
    signs[~there] = 0
    finer[~there] = 0
    silent = there & ~signs.any(axis=1)
    signs[silent, 0] = 1
    return signs, finer, unit.astype(np.float16)


def widen(halves: Halves) -> Floats:
    """Half-precision vectors in single precision, for finite numbers; NumPy itself takes four times as long."""
    raw = halves.view(np.uint16).astype(np.uint32)
    sign = raw & np.uint32(0x8000)
    raw &= np.uint32(0x7FFF)
    raw <<= np.uint32(13)
    sign <<= np.uint32(16)
    raw |= sign
    # The exponents of the two formats count from 15 and from 127.
    wide = raw.view(np.float32)
    wide *= np.float32(2.0**112)
    return wide
