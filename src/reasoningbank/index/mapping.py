"""Maps files into memory without keeping them open.

A map of Python's own holds a descriptor for as long as it lives (before 3.13 whatever is asked for), and a process may
have only so many: 256 where macOS is as it was installed. So the system is asked itself, where there is one to ask.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]


def map_file(descriptor: int, size: int, access: int = mmap.ACCESS_READ) -> Bytes:
    """The first bytes of a file, for as long as an array looks at them. `access` is one of `mmap`'s."""
    if sys.platform == "win32":
        return np.frombuffer(mmap.mmap(descriptor, size, access=access), np.uint8)
    return np.asarray(_Map(descriptor, size, access))


if sys.platform != "win32":
    _system = ctypes.CDLL(None, use_errno=True)
    _system.mmap.restype = ctypes.c_void_p
    _system.mmap.argtypes = (
        ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long,
    )  # fmt: skip
    _system.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    _FAILED = ctypes.c_void_p(-1).value

    class _Map:
        def __init__(self, descriptor: int, size: int, access: int) -> None:
            protection = mmap.PROT_READ | (0 if access == mmap.ACCESS_READ else mmap.PROT_WRITE)
            sharing = mmap.MAP_PRIVATE if access == mmap.ACCESS_COPY else mmap.MAP_SHARED
            self._unmap = _system.munmap  # the module may be gone before the last map is
            self._place: tuple[int, int] | None = None
            address = _system.mmap(None, size, protection, sharing, descriptor, 0)
            if address == _FAILED:
                number = ctypes.get_errno()
                raise OSError(number, os.strerror(number))
            self._place = address, size
            self.__array_interface__ = {
                "data": (address, access == mmap.ACCESS_READ), "shape": (size,), "typestr": "|u1", "version": 3,
            }  # fmt: skip

        def __del__(self) -> None:
            if self._place is not None:
                self._unmap(*self._place)
