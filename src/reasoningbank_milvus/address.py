"""The address of a Milvus, read from its URL.

milvus://host:19530[/database]   milvuss://host:19530[/database][?ca=file.pem] (TLS)   milvus:///path.db (milvus-lite)
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import dataclass

PORT = 19530
_EXAMPLES = "milvus://host:19530, milvuss://host:19530/database (TLS) or milvus:///folder/file.db (milvus-lite)"


@dataclass(frozen=True, slots=True, kw_only=True)
class MilvusAddress:
    uri: str
    """As pymilvus takes it."""
    database: str = ""
    ca: str = ""
    """A file with the certificate that signs the server's, where the machine does not know it."""
    shown: str
    """As people wrote it."""

    @property
    def is_file(self) -> bool:
        return self.uri.endswith(".db")


def parse_milvus_url(url: str) -> MilvusAddress:
    try:
        parts = urlsplit(url)
        host, port, options = parts.hostname or "", parts.port or PORT, dict(parse_qsl(parts.query))
    except ValueError as error:
        raise InvalidInput(f"This is no address of a Milvus ({error}); write {_EXAMPLES}.") from None
    path = unquote(parts.path)
    if parts.username is not None:
        raise InvalidInput("A Milvus URL names no user: put user:password or the token in REASONINGBANK_INDEX_KEY.")
    if not host:
        if parts.scheme != "milvus" or not path.endswith(".db") or options:
            raise InvalidInput(f"A Milvus URL names a host, or a file that ends in .db; write {_EXAMPLES}.")
        return MilvusAddress(uri=str(Path(path).absolute()), shown=url)
    database, ca = path.strip("/"), options.pop("ca", "")
    if options or "/" in database or (ca and parts.scheme != "milvuss"):
        # What else stands there may be a key: names are told, values never.
        more = f"the option {', '.join(options)}" if options else "more"
        raise InvalidInput(f"A Milvus URL cannot say {more}; write {_EXAMPLES}, and REASONINGBANK_INDEX_KEY for a key.")
    scheme = "https" if parts.scheme == "milvuss" else "http"
    url_host = f"[{host}]" if ":" in host else host
    return MilvusAddress(uri=f"{scheme}://{url_host}:{port}", database=database, ca=ca, shown=url)
