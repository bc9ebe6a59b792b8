"""Word lists that decide whether two texts give the same advice.

Data only: English negations, opposites, words that mean the same here, and words that mean nothing here. A text in
another language is compared by its own words, without the help of these lists.
"""

from __future__ import annotations

from reasoningbank.core.stem import stem


def base(word: str) -> str:
    """The stem of a lower-case word, but for those that their stem would make another word."""
    return word if word in _NO_PLURALS else stem(word)


_NO_PLURALS = frozenset(("https",))


def _words(words: str) -> frozenset[str]:
    return frozenset(words.split())


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

ADVISED_AGAINST = (
    "never",
    "avoid",
    "avoids",
    "avoiding",
    "avoided",
    "refrain",
    "forbidden",
    "prohibited",
    "discouraged",
)
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
    (word, other)
    for word, other in _groups(
        "enable/disable before/after increase/decrease raise/lower allow/deny allow/forbid permit/forbid "
        "accept/reject include/exclude true/false more/less more/fewer high/low higher/lower larger/smaller "
        "longer/shorter earlier/later sync/async synchronous/asynchronous optional/required optional/mandatory "
        "safe/unsafe serial/parallel sequentially/concurrently manual/automatic manually/automatically "
        "lazy/eager lazily/eagerly"
    )
)
"""Pairs of opposites: of one subject both cannot be right. Nouns that come in pairs (client and server) are two
subjects and not here.
"""

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
        "require/needs wrong/incorrect/faulty right/correct/proper send/submit/sent keep/kept write/written/wrote "
        "tell/told give/given take/taken choose/chosen hold/held find/found know/known run/ran build/built "
        "make/made show/shown break/broken throw/thrown leave/left add/added"
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
"""Names of settings by stem, as they are written: things that have one value, so that where two texts give them two,
one of the texts is wrong. Not among them is what only counts or names (number, page, step), since two numbers are
then two things.
"""

# ---------------------------------------------------------------- claims

LEFT_UNDONE = _words("stop stops stopping skip skips skipping omit omits omitting ban bans banned quit")
"""Turn what follows around, like `avoid`, where they are told to somebody."""
TOLD_TO = _words("to should must always please then and you we better shall can may")
UNIVERSAL = frozenset(("always", "never", "ever"))
EMPHATIC = _stems("every each all any both ever strictly absolutely explicitly circumstance own together on only")
LIGHT = _stems(
    "use do make have keep let get put go run set give take perform apply work try be prefer choose pick favour favor "
    "leave"
)
"""Verbs that say little beside their object: two claims that differ in these alone are about the same."""
SPANS = _stems("day night morning evening week month year hour minute")
"""Before or after one of these says when, and no order: the day before."""
PLACES = _stems("test production development staging ci pipeline laptop debug local demo sandbox legacy")
"""Where advice may hold although it does not hold elsewhere."""
OPPOSITE_OF = {
    stem(other): stem(word)
    for word, other in (
        *OPPOSITES,
        ("first", "last"),
        ("include", "omit"),
        ("allow", "disallow"),
        ("lock", "unlocked"),
        ("safe", "dangerous"),
        ("safe", "harmful"),
    )
    if word != "before"
}
"""The second of a pair and the name of the first: a claim that has it is the first's, turned around."""
NUMERALS = {
    word: str(number)
    for number, group in enumerate(_groups("zero one two/twice three/thrice four five six seven eight nine ten"))
    for word in group
}
UNITS = _stems(
    "times time second minute hour day week month year ms s character line space byte kilobyte megabyte gigabyte kb mb "
    "gb percent item row page retry attempt worker thread replica approval reviewer people person copy degree gram "
    "mm cm metre meter km kg kilo ml litre liter inch foot tb"
)
BEFORE_NUMBERS = _words(
    "for at to of in every after before within than by with least most about around need needs require requires have "
    "has use keep give take are is above below over under only exactly up want wants allow"
)
"""Behind these a number counts what follows it; behind a noun it may be a name, as in service 3."""
PHRASES = {"local time": "localtime", "in advance": "beforehand"}
IMPERATIVES = _stems(
    "accept add allow answer apply ask assert assign attach await batch begin bind block bring build bump "
    "cache call catch change check choose clean clear clone close commit compare compile compress configure "
    "confirm copy count create cut debug declare define delete deploy describe disable document drop edit "
    "enable encrypt ensure escape exclude expect export expose extract fail feed fetch filter fix flush follow "
    "force format freeze generate get give group grant guard handle hash hold ignore implement import include "
    "increase indent index inject inline insert inspect install invalidate invoke isolate keep label leave let "
    "limit link lint list load lock log lower make map mark measure merge migrate mock monitor move name never "
    "normalize open order pack pass pick pin place plan poll prefer print process profile publish pull push "
    "put quote raise read rebase rebuild record reduce refactor refer register reject release reload remove "
    "rename render repeat replace report request require reset resolve restart restore retry return reuse "
    "review revert rewrite roll rotate round route run save scale schedule search seed send separate serve set "
    "ship show sign skip sort split squash stage start stop store stream strip stub submit switch tag take "
    "tell test throttle throw tie time track translate trim trust try tune turn unlock update upgrade upload "
    "use validate verify version wait warm warn watch water wipe wrap write"
)
"""First words that make a heading a piece of advice."""
ADDING = _stems("support accept add also test handle include cover document learn know check parse try either both")
"""Where one of these stands, two choices can stand side by side."""
CHOICES = {
    base(word): number
    for number, group in enumerate(
        _groups(
            "tab/space single/double camelcase/snake_case/kebabcase/pascalcase utc/localtime "
            "npm/yarn/pnpm/bun pip/poetry/conda/uv/pipenv postgres/mysql/mariadb/sqlite/mongodb/oracle "
            "pytest/unittest/nose jest/vitest/mocha http/https tcp/udp rest/graphql/grpc/soap "
            "json/yaml/toml/xml/ini rebase/merge/squash "
            "monday/tuesday/wednesday/thursday/friday/saturday/sunday "
            "january/february/march/april/june/july/august/september/october/november/december "
            "english/german/french/spanish/italian/dutch/portuguese/japanese/chinese/korean/russian/polish "
            "bash/zsh/fish/powershell make/cmake/bazel/ninja/gradle/maven docker/podman "
            "vim/emacs/nano metric/imperial celsius/fahrenheit morning/evening/noon weekly/daily/monthly/hourly/yearly "
            "spring/summer/autumn/winter left/right top/bottom light/dark black/yapf react/vue/angular/svelte "
            "float/decimal threads/processes oauth/saml jwt/cookies gitflow/trunk ascending/descending"
        )
    )
    for word in group
}
"""Names of one kind, of which one purpose takes one. No word stands in two groups."""
