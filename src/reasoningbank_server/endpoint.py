"""The `Endpoint` type: one row that routing, checking, the OpenAPI document and the tests all read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from reasoningbank.bank.bank import Bank
from reasoningbank.core.frozen import dataclass
from reasoningbank_server.cursors import Seal
from reasoningbank_server.identity import Principal

Schema = Mapping[str, Any]
_NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request that has passed every check, on the bank as its tenant sees it."""

    bank: Bank
    principal: Principal
    path: Mapping[str, str]
    query: Mapping[str, Any]
    body: Any
    if_match: str | None
    seal: Seal
    excerpt: int | None = None
    """After how many characters texts of the answer are cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    status: int = 200
    body: Any = None
    etag: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    name: str
    schema: Schema
    about: str = ""
    repeated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    method: str
    path: str
    scope: str
    """read, write, admin, or operator."""
    summary: str
    handle: Callable[[Call], Reply]
    group: str
    query: tuple[Parameter, ...] = ()
    body: Schema | None = None
    example: Any = None
    reply: Schema | None = None
    """The schema of the success; None when it has no body."""
    status: int = 200
    lane: str = "reading"
    text_field: str | None = None
    """The field of the body that will be embedded."""
    before: Callable[[Bank], None] | None = None
    """Work done before the transaction that a keyed write runs in, and outside of it."""
    after: Callable[[Bank], None] | None = None
    """Work done behind that transaction, if the answer was `after_status`."""
    after_status: int = 204
    atomic: bool = False
    """Runs as one unit even without a key."""
    apart: Callable[[Any], bool] | None = None
    """Tells from its body if a keyed write cannot be one unit with its answer: because it searches, asks a model or
    is a rehearsal. Then the answer is kept right after, and doing it twice must do no harm.
    """
    errors: tuple[int, ...] = ()
    """Statuses beyond those that any endpoint may answer."""
    takes_if_match: bool = False
    kept_s: float = 0.0
    """How long an answer that follows from the records alone may be given again while the feed stands still."""

    @property
    def writes(self) -> bool:
        return self.lane == "writing" or self.apart is not None


def always(body: Any) -> bool:
    del body
    return True


class Routes(NamedTuple):
    """Entry point of the group `reasoningbank.routes`."""

    endpoints: tuple[Endpoint, ...]
    schemas: Mapping[str, Schema]
    """Components of the OpenAPI document, by name."""
    is_in_use: Callable[[Bank], bool]
    """`GET /v1/me` says so to an admin, so that a page need not ask for what is not there."""
