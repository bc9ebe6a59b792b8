"""The cheap question that comes first: is there anything in this text that could be a token at all?"""

from __future__ import annotations

SHORTEST_RUN = 20
"""Every token with a name of its own has at least this many letters, digits, -, _ and ~ in a row somewhere."""
RUN_TABLE = bytes(97 if chr(i).isascii() and (chr(i).isalnum() or chr(i) in "_-~") else 32 for i in range(256))
RUN = b"a" * SHORTEST_RUN
