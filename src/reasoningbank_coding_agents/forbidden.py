"""Tells whether a tool call does what a rule forbids, or harm of a kind that somebody warned of.

A rule forbids in words (“never push to main”), a call does in others (`git push origin main`). A call is described by
what it does and by what it does it to; a rule applies when all that it forbids is in that description. What harm is, is
told by `guard.risky`.
"""

from __future__ import annotations

from collections.abc import Iterator

from reasoningbank.core.commands import ShellCommand, commands_in
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.patterns import pattern
from reasoningbank.core.stem import stem
from reasoningbank.guard.danger_tables import DELETES, DISCARDS, DROPS, OVERWRITES, SKIPS_HOOKS, SKIPS_TESTS
from reasoningbank.guard.risky import harm_in
from reasoningbank.learn.offline.user_rules import ANY_WORD, FRAME

_DOES: dict[str, str] = {
    DELETES: "delete remove erase wipe rm touch change file data",
    OVERWRITES: "force force-push overwrite rewrite history push",
    DISCARDS: "discard reset revert throw lose change work uncommitted hard",
    SKIPS_HOOKS: "bypass skip disable ignore hook check pre-commit verify no-verify",
    DROPS: "drop delete remove truncate table database data db",
    SKIPS_TESTS: "disable skip ignore test",
}
"""Words for each kind of harm, as rules call it."""
_ALSO: dict[str, str] = {
    "push": "publish", "deploy": "ship release", "apply": "deploy change", "publish": "release",
    "install": "add dependency package", "add": "install dependency package", "sed": "edit change touch modify",
    "mv": "move rename touch", "tee": "write touch", "migrate": "migration database db", "sudo": "root",
    "amend": "rewrite history",
}  # fmt: skip
"""Other words for a word of a command."""
_EDITS = "edit touch change modify write rewrite file"
_PROHIBITS = pattern(
    r"(?i)\b(?:never(?: ever)?|do not(?: ever)?|don['’]?t(?: ever)?|must(?: not|n['’]t)|should(?: not|n['’]t)|may not"
    r"|avoid|no|not to|refrain from|stop|nobody|under no circumstances|ask (?:me |us )?(?:first )?before(?: you)?"
    r"|(?:check|confirm) with (?:me|us) before(?: you)?|wait for me before(?: you)?)\s+(?P<what>[^,;:.!?\n]+)"
)
_ONLY = pattern(
    r"(?i)\b(?:we|you|please)?\s*(?P<what>[^,;:.!?\n]*?)\bonly (?:after|when|if|with|once|on)\b"
    r"|\bonly (?P<then>[^,;:.!?\n]*?)\b(?:after|when|if|with|once)\b"
)
_CONDITION = pattern(
    r"(?i)\b(?:without|unless|until|before|after|if|when|while|because|since|except"
    r"|on (?:mon|tues|wednes|thurs|fri|satur|sun)days?|by hand|manually|directly|yourself|again|anymore|use)\b"
)
_EMPTY = FRAME | frozenset({
    "folder", "folders", "directory", "dir", "branch", "branches", "anything", "everything", "something", "files",
    "code", "repo", "repository", "project", "shared", "new", "published", "run", "running", "execute", "call", "doing",
    "anymore", "let", "under", "into", "onto", "off", "there",
})  # fmt: skip
"""Words that name nothing by which a call could be told from another."""
_PARTS = pattern(r"[\w+-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallWords:
    """A tool call in words, by their stems."""

    acts: frozenset[str]
    """Words for what it does: programs, their verbs and options, and what those are called."""
    things: frozenset[str]
    """Words for what it does it to."""
    harm: frozenset[str]


def call_words(command: str, path: str, branch: str | None) -> CallWords:
    """`branch` is the one that is checked out, which a push that names none is about."""
    if not command:
        return CallWords(acts=_stems(_EDITS), things=_stems(" ".join(_PARTS.findall(path))), harm=frozenset())
    harm = harm_in(command)
    acts = [_DOES[kind] for kind in sorted(harm)]
    things: list[str] = []
    for shell_call in commands_in(command):
        verbs, rest = _verbs(shell_call)
        acts += [
            *verbs,
            *(_ALSO.get(verb, "") for verb in verbs),
            *(word for word in shell_call.around if word == "sudo"),
        ]
        things += rest
        if (
            shell_call.words[:2] == ("git", "push")
            and len([word for word in rest if not word.startswith("-")]) < 2
            and branch
        ):
            things.append(branch)
    return CallWords(acts=_stems(" ".join(acts)), things=_stems(" ".join(things)), harm=harm)


def _verbs(command: ShellCommand) -> tuple[list[str], list[str]]:
    """The program with its options and the verb behind it, and what is left."""
    program = command.words[0].rsplit("/", 1)[-1]
    acts, things = [program, program.split(".")[0]], []
    for number, word in enumerate(command.words[1:], 1):
        if word.startswith("-"):
            acts += [word, word.lstrip("-")]
        elif number <= 2 and word.isalpha():
            acts.append(word)
            things.append(word)
        else:
            things += [word, *_PARTS.findall(word)]
    return acts, things


def forbids(rule: str, call: CallWords) -> bool:
    """True if a call does all that a clause of the rule forbids."""
    words = call.acts | call.things
    return any(clause <= words and clause & call.acts for clause in _forbidden(rule))


def _forbidden(rule: str) -> Iterator[frozenset[str]]:
    """The words of what each clause forbids, or ties to a condition, without those that any rule has."""
    for match in (*_PROHIBITS.finditer(rule), *_ONLY.finditer(rule)):
        clause = next(filter(None, match.groupdict().values()), "")
        words = [part.casefold() for word in ANY_WORD.findall(_before(clause)) for part in _parts(word)]
        options = [word for word in clause.replace("`", " ").split() if word.startswith("-")]
        stems = _stems(" ".join((*options, *(word for word in words if word not in _EMPTY))))
        if stems:
            yield stems


def _parts(word: str) -> list[str]:
    """A path by its names; any other word as it is."""
    return _PARTS.findall(word) if "/" in word else [word.strip("`'\"")]


def _before(clause: str) -> str:
    condition = _CONDITION.search(clause)
    # What comes first is what is forbidden: “use” may open it.
    return clause[: condition.start()] if condition and condition.start() > 0 else clause


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word.casefold()) for word in text.split() if word)
