"""`bank.teams`: which namespaces belong to which team.

What a team is, is `core.teams`' business; who finds what, `recall.reach`'s.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence

from reasoningbank.context import BankContext
from reasoningbank.core.drafts import clean_name, clean_namespace
from reasoningbank.core.errors import InvalidInput, NotFound
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.origins import USER, clean_origin
from reasoningbank.core.teams import Teams, fold_memberships
from reasoningbank.core.types import EVERY_NAMESPACE, Membership
from reasoningbank.ports import Reader, Writer


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    name: str
    namespaces: tuple[str, ...]


class TeamRoster:
    """`bank.teams`: a namespace is in one team at most; those in none are together the tenant's default team."""

    def __init__(self, context: BankContext) -> None:
        self._context = context

    def list(self) -> list[Team]:
        """Every team with its namespaces, by name."""
        return _teams_listed(self.now())

    def now(self) -> Teams:
        """The teams as a value, to ask who is whose mate."""
        with self._context.read_for_output() as reader:
            return _teams_in(reader)

    def team_of(self, namespace: str | None = None) -> str | None:
        """The team of a namespace, the bank's own unless one is named; None is the default team."""
        return self.now().team_of(self._namespace(namespace))

    def add(self, team: str, *namespaces: str, source: str = USER) -> Team:
        """Put namespaces into a team, the bank's own when none is named; each leaves the team that it was in."""
        name = self._context.scrubber.scrub(clean_name(team, "team")).text
        if name == EVERY_NAMESPACE:
            raise InvalidInput(f"{EVERY_NAMESPACE!r} is no name for a team.")
        self._decide([self._namespace(namespace) for namespace in namespaces or (None,)], name, source)
        return Team(name=name, namespaces=self.now().namespaces_of(name))

    def remove(self, *namespaces: str, source: str = USER) -> builtins.list[str]:
        """Take namespaces out of their team, the bank's own when none is named; says which team each was in."""
        members = [self._namespace(namespace) for namespace in namespaces or (None,)]
        teams = self.now()
        for namespace in members:
            if teams.team_of(namespace) is None:
                raise NotFound(f"The namespace {namespace!r} is in no team.")
        self._decide(members, None, source)
        return [team for namespace in members if (team := teams.team_of(namespace)) is not None]

    def _namespace(self, namespace: str | None) -> str:
        if namespace is None:
            return self._context.namespace
        return self._context.scrubber.scrub(clean_namespace(namespace)).text

    def _decide(self, namespaces: Sequence[str], team: str | None, source: str) -> None:
        context, by = self._context, clean_origin(source)

        def change(writer: Writer) -> None:
            teams = _teams_in(writer)
            for namespace in dict.fromkeys(namespaces):
                if teams.team_of(namespace) != team:
                    writer.add(
                        Membership(
                            id=context.ids.new("mbr"),
                            tenant=context.tenant,
                            namespace=namespace,
                            team=team,
                            source=by,
                            at=context.clock(),
                        )
                    )

        context.store.write(context.tenant, change)


def _teams_in(reader: Reader) -> Teams:
    return fold_memberships(reader.select(Membership, {}))


def _teams_listed(teams: Teams) -> list[Team]:
    return [Team(name=name, namespaces=teams.namespaces_of(name)) for name in teams.names()]
