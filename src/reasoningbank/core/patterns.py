"""Regular expressions that are compiled when they are first used.

Compiling one takes up to half a millisecond, and a start meets a hundred of them and uses a handful.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from re import compile as pattern
else:

    class pattern:  # noqa: N801 - it stands where `re.compile` stood
        """Regular expression compiled at its first use, in place of `re.compile`."""

        def __init__(self, source: str, flags: int = 0) -> None:
            self.pattern, self.flags = source, flags

        def __getattr__(self, name: str) -> Any:
            attribute = getattr(re.compile(self.pattern, self.flags), name)
            setattr(self, name, attribute)
            return attribute


__all__ = ["pattern"]
