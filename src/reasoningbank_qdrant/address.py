"""Where a Qdrant is: `qdrant://host:6333`, `qdrants://…` with TLS, or `qdrant:///path` for the client's local mode.

Options behind a question mark: `grpc=6334` speaks gRPC to that port, `timeout=20` is the deadline of a call in seconds.
"""

from __future__ import annotations

from urllib.parse import parse_qsl, unquote, urlsplit

from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import dataclass

SCHEME, TLS_SCHEME = "qdrant", "qdrants"
PORT = 6333
DEADLINE_S = 10
_OPTIONS = ("grpc", "timeout")


@dataclass(frozen=True, slots=True, kw_only=True)
class QdrantAddress:
    host: str
    """"" in local mode."""
    port: int = PORT
    path: str = ""
    """The folder of local mode, or what comes before every path of the server's."""
    tls: bool = False
    grpc_port: int | None = None
    deadline_s: int = DEADLINE_S

    @property
    def is_local(self) -> bool:
        return not self.host

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{SCHEME}://{self.path}" if self.is_local else f"{host}:{self.port}"


def parse_address(url: str) -> QdrantAddress:
    try:
        parts = urlsplit(url)
        port = parts.port
        options = dict(parse_qsl(parts.query, strict_parsing=True)) if parts.query else {}
    except ValueError as error:
        raise InvalidInput(f"The address of a Qdrant cannot be read ({error}). {_FORM}") from error
    if parts.scheme not in (SCHEME, TLS_SCHEME) or parts.fragment:
        raise InvalidInput(f"This is no address of a Qdrant. {_FORM}")
    if parts.username is not None or parts.password is not None:
        raise InvalidInput("A key does not belong into the address of a Qdrant: put it into REASONINGBANK_INDEX_KEY.")
    if unknown := [name for name in options if name not in _OPTIONS]:
        raise InvalidInput(f"A Qdrant's address has no option {unknown[0]!r}, only {' and '.join(_OPTIONS)}. {_FORM}")
    path = unquote(parts.path).rstrip("/")
    if not parts.hostname and (not path or parts.scheme == TLS_SCHEME):
        raise InvalidInput(f"The address of a Qdrant names neither a host nor a folder. {_FORM}")
    grpc_port = _number(options, "grpc", 65_535)
    return QdrantAddress(
        host=parts.hostname or "",
        port=PORT if port is None else port,
        path=path,
        tls=parts.scheme == TLS_SCHEME,
        grpc_port=grpc_port,
        deadline_s=_number(options, "timeout", 3_600) or DEADLINE_S,
    )


def _number(options: dict[str, str], name: str, most: int) -> int | None:
    value = options.get(name)
    if value is None:
        return None
    if not value.isascii() or not value.isdigit() or not 0 < int(value[:6]) <= most:
        raise InvalidInput(f"The option {name} of a Qdrant's address is a whole number from 1 to {most}. {_FORM}")
    return int(value)


_FORM = "It has the form qdrant://HOST:6333, or qdrants://HOST:6333 with TLS."
