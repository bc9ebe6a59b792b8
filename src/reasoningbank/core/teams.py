"""Teams of namespaces, folded from who joined and left.

A namespace is in one team or in none. Those in none are together the tenant's default team, so a bank in which nobody
has made a team behaves as if all of it were one. Independent of how memories are found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from reasoningbank.core.frozen import dataclass, field
from reasoningbank.core.types import Membership


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamReach:
    """Namespaces whose team-scoped memories can be found from one namespace."""

    namespaces: tuple[str, ...]
    inside: bool
    """True: those of these namespaces only; False: those of all but these."""

    def holds(self, namespace: str) -> bool:
        return (namespace in self.namespaces) is self.inside


@dataclass(frozen=True, slots=True, kw_only=True)
class Teams:
    """The teams of one tenant as of one moment."""

    by_namespace: Mapping[str, str] = field(default_factory=dict)

    def team_of(self, namespace: str) -> str | None:
        """None is the default team, of those that are in no other."""
        return self.by_namespace.get(namespace)

    def are_mates(self, namespace: str, other: str) -> bool:
        return self.team_of(namespace) == self.team_of(other)

    def reach_from(self, namespace: str) -> TeamReach | None:
        """None when there is no team at all, so that everybody is in reach."""
        if not self.by_namespace:
            return None
        team = self.team_of(namespace)
        if team is None:
            return TeamReach(namespaces=tuple(sorted(self.by_namespace)), inside=False)
        return TeamReach(namespaces=self.namespaces_of(team), inside=True)

    def namespaces_of(self, team: str) -> tuple[str, ...]:
        return tuple(sorted(name for name, of in self.by_namespace.items() if of == team))

    def names(self) -> tuple[str, ...]:
        return tuple(sorted(set(self.by_namespace.values())))


def fold_memberships(memberships: Iterable[Membership]) -> Teams:
    """The teams that these decisions amount to: the latest about each namespace counts."""
    latest: dict[str, Membership] = {}
    for membership in memberships:
        previous = latest.get(membership.namespace)
        if previous is None or (membership.at, membership.id) > (previous.at, previous.id):
            latest[membership.namespace] = membership
    return Teams(
        by_namespace={name: membership.team for name, membership in latest.items() if membership.team is not None}
    )
