"""BLAKE2b without the rest of `hashlib`, which loads OpenSSL: two milliseconds of every start."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import blake2b
else:
    try:
        from _blake2 import blake2b
    except ImportError:  # an interpreter that keeps it elsewhere
        from hashlib import blake2b

__all__ = ["blake2b"]
