"""Parse the URL of a bank in PostgreSQL: where the server is, who connects, which schema holds the bank.

Whoever prints an address sees no password: neither its text nor its errors carry one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote

from reasoningbank.core.errors import InvalidInput
from reasoningbank.location import Location, split_url

DEFAULT_SCHEMA = "reasoningbank"
SCHEMES = ("postgresql", "postgres")
_SCHEMA_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")


class PostgresAddress:
    __slots__ = ("_parameters", "schema", "shown")

    def __init__(self, parameters: Mapping[str, str], schema: str, display: str) -> None:
        self._parameters = dict(parameters)
        self.schema = schema
        self.shown = display

    @property
    def parameters(self) -> dict[str, str]:
        """Parameters of a connection, as libpq names them; the password among them."""
        return dict(self._parameters)

    @property
    def database(self) -> str:
        return self._parameters.get("dbname", "")

    def without_secrets(self, text: str) -> str:
        """Text of a library without what it may have repeated of the address."""
        for name, value in self._parameters.items():
            if "password" in name and value:
                text = text.replace(value, "…")
        return text

    def __repr__(self) -> str:
        return f"<{self.shown}, schema {self.schema}>"


def parse_address(location: Location) -> PostgresAddress:
    scheme, who, rest = split_url(location.url)
    if scheme not in SCHEMES:
        raise InvalidInput(f"{location} is no URL of PostgreSQL: it begins with postgresql://.")
    place, _, query = rest.partition("?")
    hosts, _, database = place.partition("/")
    parameters = _hosts(hosts, str(location))
    user, colon, password = who.partition(":")
    parameters |= {"user": _decode(user, location)} if user else {}
    parameters |= {"password": _decode(password, location)} if colon and password else {}
    parameters |= {"dbname": _decode(database, location)} if database else {}
    for word in filter(None, query.split("&")):
        name, equals, value = word.partition("=")
        if not equals:
            raise InvalidInput(f"{location}: each option behind the question mark is NAME=VALUE.")
        parameters[_decode(name, location)] = _decode(value, location)
    schema = parameters.pop("schema", DEFAULT_SCHEMA)
    if not _SCHEMA_NAME.fullmatch(schema):
        raise InvalidInput(
            f"{location}: a schema's name has up to 63 letters without accents, digits and underscores, and begins "
            "with a letter."
        )
    return PostgresAddress(parameters, schema, str(location))


def location_in_schema(location: Location, schema: str) -> Location:
    """The same server and database, another schema."""
    place, _, query = location.url.partition("?")
    options = [word for word in query.split("&") if word and not word.startswith("schema=")]
    return Location(f"{place}?{'&'.join([*options, f'schema={schema}'])}", location.state)


def _decode(text: str, location: Location) -> str:
    try:
        value = unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise InvalidInput(f"{location}: what stands behind a % must be UTF-8.") from None
    if "\0" in value:
        raise InvalidInput(f"{location}: there is no such name or password, it has a NUL in it.")
    return value


def _hosts(netloc: str, display: str) -> dict[str, str]:
    """Hosts and ports of libpq from one host or several, each with its port or without."""
    if not netloc:
        return {}
    hosts, ports = [], []
    for entry in netloc.split(","):
        match = re.fullmatch(r"(?P<host>\[[^\]]*\]|[^:]*)(?::(?P<port>[0-9]*))?", entry)
        if match is None:
            raise InvalidInput(f"{display}: a host is NAME or NAME:PORT, and an address of IPv6 stands in brackets.")
        hosts.append(unquote(match["host"].strip("[]")))
        ports.append(match["port"] or "")
    return {"host": ",".join(hosts)} | ({"port": ",".join(ports)} if any(ports) else {})
