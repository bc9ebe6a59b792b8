"""Tells whether a command or an edit gets past a check instead of passing it: forced, skipped, silenced, loosened.

What worked that way is nothing to teach: it was not put right. What is dangerous anyway is told by
`guard.dangerous_commands`; here stands what only is a bypass where a command that failed works by it.
"""

from __future__ import annotations

from collections.abc import Sequence

from reasoningbank.core.commands import commands_in
from reasoningbank.core.patterns import pattern
from reasoningbank.core.program_names import command_name
from reasoningbank.guard.danger_tables import DISCARDS, FORCES, OVERWRITES, RIGHTS, SKIPS, SKIPS_HOOKS, SKIPS_TESTS
from reasoningbank.guard.dangerous_commands import dangers_in

_PAST_CHECKS = frozenset({SKIPS_HOOKS, SKIPS_TESTS, SKIPS, FORCES, RIGHTS, OVERWRITES, DISCARDS})
"""Dangers by which a command comes through without being put right."""
_LOOSENS = pattern(
    r"--(?:force\S*|ignore-\S+|ignore=\S+|exclude\S*|allow-(?:dirty|empty|unrelated\S*)|admin|continue-on-\S+|disable-\S+"
    r"|max-warnings\S*|noEmitOnError\S*|noCheck|no-?warn\S*|hard|update-?[Ss]napshots?|snapshot-update|updateSnapshot)"
    r"(?:=.*)?"
)
"""Options of everyday work, which are none where a command that failed works by nothing else."""
_BY_LETTER = {
    "-f": pattern(r"git\b.*|rm|mv|cp|ln|unlink|npm\b.*|yarn\b.*|apt\b.*|docker (?:rmi?|system|image|volume|container)"),
    "-u": pattern(r"jest|vitest|playwright|(?:npm|pnpm|yarn)(?: run)? test\S*"),
}
"""Letters that force or overwrite what was expected, and in which programs."""
LONGEST_READ_CHARS = 2_000
_SETTING = pattern(r"(?:FORCE\w*|DISABLE_\w+|PYTHONWARNINGS)=")
_SWALLOWS = pattern(r"\|\|\s*echo\b|;\s*true\s*$")
_TAKES_BACK = pattern(
    r"\bgit\b[^|;&\n]*\b(?:checkout (?:HEAD )?-- |checkout \.|restore (?!--staged)|revert\b|reset\b"
    r"|stash\b(?! (?:pop|apply|list))"
    r"|clean\b)|\brm\b[^|;&\n]*(?:\btests?/|_test\.|test_\w+\.|\.test\.|\.spec\.|\.husky|hooks/|\.git\b)"
)
_SILENCES = pattern(
    r"@(?:pytest\.mark\.|unittest\.)?(?:skip|xfail|expectedFailure)\w*|pytest\.(?:skip|xfail)|\b(?:it|test"
    r"|describe|context)"
    r"\.(?:skip|only|todo|fixme)\b|\bx(?:it|test|describe)\(|#\[(?:ignore|allow)\b|#!\[allow|\bt\.Skip"
    r"|@(?:Disabled|Ignore)\b"
    r"|@SuppressWarnings|#\s*(?:type:\s*ignore|noqa|pragma: no cover|pylint: ?disable|mypy: ignore|nosec"
    r"|rubocop:disable)"
    r"|@ts-(?:ignore|expect-error|nocheck)|eslint-disable|//\s*nolint|#pragma warning disable|@phpstan-ignore"
    r"|phpcs:ignore"
    r"|\bas any\b|except(?: \w+)?:\s*(?:pass|\.\.\.)|markTestSkipped|skip\(['\"]|pending\("
    r"|\bignore_errors\b|continue-on-error|allow_failure|\bfail_under\b|\"(?:strict|noImplicitAny"
    r"|strictNullChecks)\": false"
    r"|\bskipLibCheck\b|ignore_missing_imports|\[tool\.ruff\.lint\.per-file-ignores|\b(?:extend-)?ignore = "
    r"|\"no-[\w-]+\": (?:0|\"off\")|: ['\"]off['\"]|verify=False|rejectUnauthorized: false|@unittest\.skip"
)
_ASSERTS = pattern(
    r"^\s*(?:assert\b|self\.assert|expect\(|t\.(?:Error|Fatal)|assert(?:_eq|_ne)?!|require\.|Assert\.|assert[A-Z(]"
    r"|should\b)"
)
_COMMENT = pattern(r"^\s*(?:#|//|--|/\*|;|<!--)\s*")


def bypass_in(failing: str, working: str) -> str:
    """Part of the working line, absent from the failing one, that gets past a check; "" when there is none."""
    failing, working = failing[:LONGEST_READ_CHARS], working[:LONGEST_READ_CHARS]
    dangers_before = set(dangers_in(failing))
    dangers = (danger for danger in dangers_in(working) if danger[0] in _PAST_CHECKS and danger not in dangers_before)
    before = {word for command in commands_in(failing) for word in command.all_words}
    options = (
        word
        for command in commands_in(working)
        for word in (*sorted(command.around), *command.words)
        if word not in before and _is_loosening(word, command_name(command.words))
    )
    bypass = next((word for _, word in dangers), "") or next(options, "")
    for way in (_SWALLOWS, _TAKES_BACK) if not bypass else ():
        match = way.search(working)
        if match and not way.search(failing):
            return match.group().strip()
    return bypass


def _is_loosening(word: str, program: str) -> bool:
    unsafe = _BY_LETTER.get(word)
    if unsafe is not None:
        return unsafe.fullmatch(program) is not None
    return _LOOSENS.fullmatch(word) is not None or _SETTING.match(word) is not None


def silenced_by(old_lines: Sequence[str], new_lines: Sequence[str]) -> str:
    """Text by which an edit switches a check off instead of mending the fault: a test, a rule, an assertion; "" when
    there is none.
    """
    there = "\n".join(old_lines)
    for line in new_lines:
        match = _SILENCES.search(line[:500])
        if match and match.group() not in there:
            return match.group().strip()
    new_texts = {line.strip() for line in new_lines}
    for line in old_lines:
        # Taken out, with no assertion in its place.
        if (
            _ASSERTS.match(line)
            and line.strip() not in new_texts
            and not any(_ASSERTS.match(other) and not _COMMENT.match(other) for other in new_lines)
        ):
            return line.strip()[:60]
    return ""
