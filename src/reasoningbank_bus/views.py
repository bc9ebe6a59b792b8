"""Values that the doors of the bus show: identity, grants, peers, status, hits of another bank. Plain, no libraries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from reasoningbank.core.frozen import dataclass

ACTIONS = ("record", "signal", "link", "search", "erase", "bus:admin")
USUAL_ACTIONS = ("record", "signal", "link", "search")
SHARED_SCOPES = ("team", "org")
CAPS = ("records", "bytes", "searches", "tokens")
DAY_S = 86_400
USUAL_LIFETIME_S = 90 * DAY_S


@dataclass(frozen=True, slots=True, kw_only=True)
class BusIdentity:
    key: str
    """The public half, as it is handed over (`rbk1…`)."""
    fingerprint: str
    file: str
    """Where the private half is."""
    is_new: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantTerms:
    """Terms of a grant: `Bus.grant(holder, actions=…, caps={"records": 1000})`."""

    actions: tuple[str, ...] = USUAL_ACTIONS
    namespaces: tuple[str, ...] = ("*",)
    scopes: tuple[str, ...] = SHARED_SCOPES
    caps: Mapping[str, int] | None = None
    period_s: int = DAY_S
    """In which the caps count; 0 is its whole life."""
    lifetime_s: float = USUAL_LIFETIME_S
    delegable: bool = False
    under: str = ""
    """The id of a grant that was given to us, of which this one hands on a part; "" for our own right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantView:
    id: str
    line: str
    """To hand over (`rbi1…`)."""
    direction: str
    """given (by us), held (by us), or seen (between others)."""
    issuer: str
    holder: str
    issuer_name: str
    holder_name: str
    actions: tuple[str, ...]
    namespaces: tuple[str, ...]
    scopes: tuple[str, ...]
    caps: Mapping[str, int]
    spent: Mapping[str, int]
    """Amounts spent of the caps, in the period that runs: counted here."""
    period_s: int
    starts_at: float
    expires_at: float
    delegable: bool
    under: str
    state: str
    """valid, expired, not_yet_valid, revoked, or no_root: given by nobody who decides here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawn:
    """Result of a revocation."""

    target: str
    grants: tuple[str, ...]
    ruling: str = ""
    """The decision about what came of a peer, for `trust undo`."""
    memories: int = 0
    nodes: int = 0
    edges: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerView:
    key: str
    fingerprint: str
    name: str
    address: str
    trust: str
    state: str
    """connected, away, or not_up where no node runs here."""
    seen_at: float | None
    behind: int | None
    """How many entries it has that we lack, as far as is known."""
    sent: int
    received: int
    refused: Mapping[str, int]
    """Counts of what we did not take of it, by the code of the reason."""
    refuses: Mapping[str, int]
    """Counts of what it did not take of ours."""
    problem: str
    """Why it could not be dialled; "" if nothing is known to be wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalView:
    """How much was refused for one reason, and whose it was the last time."""

    code: str
    count: int
    is_ours: bool
    """True if it is ours and was not sent; else it is others' and was not taken."""
    reason: str
    author: str
    """A name or fingerprint; "" where nobody can be named."""
    fingerprint: str
    namespace: str
    """"" where it belongs to none."""
    remedy: str
    """Advice on what to do about it."""

    @property
    def sentence(self) -> str:
        """All of it in words."""
        where = f" in {self.namespace}" if self.namespace else ""
        whose = f"Not sent{where}." if self.is_ours else f"Last of {self.author}{where}." if self.author else ""
        return " ".join(filter(None, (self.reason, whose, self.remedy)))


@dataclass(frozen=True, slots=True, kw_only=True)
class BusStatus:
    key: str
    fingerprint: str
    is_up: bool
    process: int | None
    listen: str
    public: str
    """Where others are told that it is; "" for nowhere."""
    up_since_at: float | None
    shares: Mapping[str, Any]
    shared: int
    """Entries of ours."""
    taken: int
    """Entries of others."""
    waiting: int
    """Entries that the bank has not looked at yet."""
    refusals: tuple[RefusalView, ...]
    """Reasons for which something was not taken of others or not sent of ours, the most frequent first."""
    trouble: str
    """Why the bank itself cannot be worked on now; "" when it can."""
    peers: tuple[PeerView, ...]
    roots: tuple[str, ...]

    @property
    def refused(self) -> Mapping[str, int]:
        """How much of either, by the code of the reason."""
        counts: Counter[str] = Counter()
        for refusal in self.refusals:
            counts[refusal.code] += refusal.count
        return counts


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteHit:
    """One answer of another bank: shown as data, kept nowhere."""

    id: str
    title: str
    description: str
    content: str
    namespace: str
    scope: str
    relevance: float
    confidence: float
    origin: str
