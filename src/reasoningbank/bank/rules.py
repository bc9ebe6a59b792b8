"""`bank.rules`: what the user wants done, in the user's own sentences.

A rule counts because of the door at which it was said (`guard.speakers.Door`) and because of nothing that is written in
it. Whoever else has one to offer, proposes it.
"""

from __future__ import annotations

from collections.abc import Sequence

from reasoningbank.context import BankContext, full_id
from reasoningbank.core.drafts import LONGEST_RULE_CHARS, clean_namespace, required_text
from reasoningbank.core.errors import Conflict, NotFound
from reasoningbank.core.frozen import replace
from reasoningbank.core.patterns import pattern
from reasoningbank.core.types import EVERY_NAMESPACE, USER_NAMESPACE, Rule, RuleState
from reasoningbank.guard.speakers import LIBRARY, Door, require_user_door
from reasoningbank.ports import Reader, Writer

MOST_PROPOSED = 200
"""Proposals that may wait for a tenant: whoever floods the user with more is told to wait for an answer."""
_WORD = pattern(r"\w+")


class RuleBook:
    """`bank.rules`: the rules that are in force and those that wait for the user's yes."""

    def __init__(self, context: BankContext) -> None:
        self._context = context

    def in_force(self, *namespaces: str) -> list[Rule]:
        """The rules of these namespaces, the bank's own unless one is named, and of the user; the latest word first."""
        return sorted(self._select(RuleState.IN_FORCE, namespaces), key=_latest_word, reverse=True)

    def proposed(self, *namespaces: str) -> list[Rule]:
        """Rules that wait for the user's yes in these namespaces ("*" is every one), the oldest first."""
        return sorted(self._select(RuleState.PROPOSED, namespaces), key=lambda rule: (rule.created_at, rule.id))

    def _select(self, state: RuleState, namespaces: Sequence[str]) -> list[Rule]:
        where: dict[str, object] = {"state": state.value}
        if EVERY_NAMESPACE not in namespaces:
            where["namespace"] = tuple(dict.fromkeys((*(namespaces or (self._context.namespace,)), USER_NAMESPACE)))
        with self._context.read_for_output() as reader:
            return reader.select(Rule, where)

    def add(self, text: str, *, namespace: str | None = None, door: Door = LIBRARY) -> Rule:
        """Put a sentence of the user in force, or propose one that came in elsewhere.

        Said again by the user it is the latest word; proposed again, it stays what it is.
        """
        context, now = self._context, self._context.clock()
        coming = Rule(
            id=context.ids.new("rle"),
            tenant=context.tenant,
            namespace=context.namespace if namespace is None else clean_namespace(namespace),
            text=" ".join(required_text(text, "A rule", LONGEST_RULE_CHARS).split()),
            state=RuleState.IN_FORCE if door.is_user else RuleState.PROPOSED,
            heard_in=door.name,
            created_at=now,
            updated_at=now,
        )
        coming, _ = context.clean(coming)

        def change(writer: Writer) -> Rule:
            there = _find_same_words(writer, coming)
            if there is None:
                if not door.is_user and writer.count(Rule, {"state": RuleState.PROPOSED.value}) >= MOST_PROPOSED:
                    raise Conflict(f"{MOST_PROPOSED} rules wait for the user's answer already: `reasoningbank rules`.")
                writer.add(coming)
                return coming
            return self._decide(writer, there, RuleState.IN_FORCE) if door.is_user else there

        return context.store.write(context.tenant, change)

    def keep(self, ids: Sequence[str], door: Door) -> list[Rule]:
        """Put rules in force: only the user may."""
        return self._decide_all(ids, RuleState.IN_FORCE, door)

    def drop(self, ids: Sequence[str], door: Door) -> list[Rule]:
        """Take rules out of force, or throw proposals away: only the user may. `keep` brings them back."""
        return self._decide_all(ids, RuleState.DROPPED, door)

    def erase(self, ids: Sequence[str], door: Door) -> None:
        """Really remove rules. There is no undo."""
        require_user_door(door, "erase a rule")

        def change(writer: Writer) -> None:
            for rule in _named(writer, ids):
                writer.remove(Rule, rule.id)

        self._context.store.write(self._context.tenant, change)

    def _decide_all(self, ids: Sequence[str], state: RuleState, door: Door) -> list[Rule]:
        require_user_door(door, "decide about rules")

        def change(writer: Writer) -> list[Rule]:
            return [self._decide(writer, rule, state) for rule in _named(writer, ids)]

        return self._context.store.write(self._context.tenant, change)

    def _decide(self, writer: Writer, rule: Rule, state: RuleState) -> Rule:
        revision = replace(rule, state=state, updated_at=self._context.clock(), revision=rule.revision + 1)
        writer.revise(revision)
        return revision


def _latest_word(rule: Rule) -> tuple[float, float, str]:
    """Order of rules by when each was last said or decided about."""
    return rule.updated_at, rule.created_at, rule.id


def _find_same_words(reader: Reader, rule: Rule) -> Rule | None:
    """The rule of the same namespace that says the same, however it is written."""
    words = _WORD.findall(rule.text.casefold())
    there = reader.select(Rule, {"namespace": rule.namespace})
    return next((other for other in there if _WORD.findall(other.text.casefold()) == words), None)


def _named(reader: Reader, ids: Sequence[str]) -> list[Rule]:
    whole = [full_id(reader, Rule, reference) or reference for reference in ids]
    rules = reader.get(Rule, whole)
    for rule_id in whole:
        if rule_id not in rules:
            raise NotFound(f"There is no rule {rule_id!r} here.")
    return [rules[rule_id] for rule_id in dict.fromkeys(whole)]
