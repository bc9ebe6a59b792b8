"""Word lists that decide whether two texts give the same advice.

Data only: English negations, opposites, words that mean the same here, and words that mean nothing here. A text in
another language is compared by its own words, without the help of these lists.
"""

from __future__ import annotations

from reasoningbank.core.stem import stem


def _stems(words: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words.split())


def _by_stem(words: str) -> dict[str, str]:
    return {stem(word): word for word in words.split()}


def _groups(text: str) -> list[list[str]]:
    return [group.split("/") for group in text.split()]


EMPTY = _stems(
    "a an the and or of to in on at for with by as is are be been being was were it its this that these those you your "
    "we our us they them their i my he she his her will would can could shall may might do does did done so also very "
    "just please simply really always ensure make sure remember need should must have has had having when if while "
    "which who whom whose what where how there here thus therefore hence such up out about carefully because "
    "since eg ie etc"
)
"""Say nothing about the advice itself. Not among them: not, no, only, before, after, first."""

ADVISED_AGAINST = ("never", "avoid", "avoids", "avoiding", "refrain", "forbidden", "prohibited")
"""Turn advice around wherever they stand."""
DENIED_VERBS = frozenset({"do", "does", "should", "must", "shall", "may", "would", "need"})
"""With `not` behind them they turn the advice around; behind other words `not` only denies a part of it."""
DENIALS = frozenset({"not", "no", "without", "cannot", "nor", "neither", "none", "nothing"})

QUALIFIERS = _stems(
    "only unless except until otherwise sometimes usually optionally temporarily off false null zero half"
)
"""One more or one less of these and the advice is another, or holds elsewhere."""

ORDERED = _stems("before after then first last instead over than rather replace prefer from into until through via")
"""Where one of these stands, the same words in another order say something else."""

OPPOSITES = tuple(
    (one, other)
    for one, other in _groups(
        "enable/disable before/after increase/decrease raise/lower allow/deny allow/forbid permit/forbid "
        "accept/reject include/exclude true/false more/less more/fewer high/low higher/lower larger/smaller "
        "longer/shorter earlier/later sync/async synchronous/asynchronous optional/required optional/mandatory "
        "safe/unsafe serial/parallel sequentially/concurrently manual/automatic manually/automatically "
        "lazy/eager lazily/eagerly"
    )
)
"""Of one subject both cannot be right. Nouns that come in pairs (client and server) are two subjects and not here."""

SAME = {
    stem(word): stem(group[0])
    for group in _groups(
        "database/db config/configuration/configure/configs repository/repo directory/dir/folder environment/env "
        "authentication/auth/authenticate documentation/docs/doc application/app use/using/utilize/utilise/employ "
        "run/execute/running fix/resolve/solve/repair check/verify/confirm/validate quick/fast/rapid "
        "delete/remove/erase begin/start large/big parameter/param argument/arg function/func dependency/dep/deps "
        "kubernetes/k8s javascript/js typescript/ts postgres/postgresql production/prod development/dev "
        "information/info message/msg command/cmd package/pkg library/lib retry/reattempt error/exception "
        "choose/pick/select show/display wait/await call/invoke build/compile help/assist several/multiple "
        "whole/entire/full all/every/each improve/enhance/better cause/trigger "
        "keep/retain/preserve change/modify/alter/edit create/generate obtain/get/fetch/retrieve return/yield "
        "require/needs wrong/incorrect/faulty right/correct/proper send/submit"
    )
    for word in group
}
"""A word and the one that stands for all of its kind."""

STRUCTURES = _stems(
    "architecture architectural component modular modularity module service microservice layer layered interface "
    "boundary tier gateway plugin adapter facade monolith monolithic pipeline hierarchy composition composable "
    "decouple decoupled coupling cohesion subsystem topology encapsulate encapsulation"
)
"""Speak of how a whole is made of parts, whatever the parts are: what can be the same in two domains."""

SETTINGS = _by_stem(
    "port timeout version limit size max maximum min minimum retries attempts threads workers ttl memory threshold "
    "batch interval delay rate capacity concurrency depth width height budget quota expiry expiration lifetime "
    "replicas shards buffer pool"
)
"""By stem, as they are written: things that have one value, so that where two texts give them two, one of the texts is
wrong. Not among them is what only counts or names (number, page, step), since two numbers are then two things."""
