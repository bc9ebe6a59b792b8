"""Tells whether a command or an edit gets past a check instead of passing it: forced, skipped, silenced, loosened.

What worked that way is nothing to teach: it was not put right.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from reasoningbank.core.commands import commands_in
from reasoningbank.core.patterns import pattern
from reasoningbank.core.program_names import command_name

_FLAG = pattern(
    r"--(?:no-?verify|force\S*|skip\S*|no-?check\S*|no-?strict\S*|no-?sandbox|no-?gpg-?sign|ignore-\S+|exclude\S*"
    r"|deselect\S*"
    r"|allow-(?:dirty|empty|unauthenticated|unrelated\S*|root)|break-system-packages|trusted-host|insecure\S*"
    r"|exit-zero"
    r"|passWithNoTests|legacy-peer-deps|privileged|admin|dangerously\S*|unsafe\S*|yolo|no-?fail\S*|continue-on-\S+"
    r"|disable-\S+"
    r"|max-warnings\S*|noEmitOnError\S*|noCheck|skipLibCheck|nodeps|no-?warn\S*|ignore=\S+|tls-?verify=false"
    r"|hard)(?:=.*)?"
    r"|--(?:update-?[Ss]napshots?|snapshot-update|updateSnapshot)|-D(?:maven\.test\.)?skip\S*|-DskipTests\S*|-Dmaven\.test\.failure\.ignore\S*|-x(?:test|check)"
)
_UNSAFE_BY_LETTER = {
    "-f": pattern(r"git\b.*|rm|mv|cp|ln|unlink|npm\b.*|yarn\b.*|apt\b.*|docker (?:rmi?|system|image|volume|container)"),
    "-k": pattern(r"curl|wget"),
    "-u": pattern(r"jest|vitest|playwright|(?:npm|pnpm|yarn)(?: run)? test\S*"),
}
"""Letters that force, trust or overwrite what was expected, and in which programs."""
LONGEST_READ_CHARS = 2_000
_SETTING = pattern(
    r"(?:SKIP|HUSKY|NODE_TLS_REJECT_UNAUTHORIZED|GIT_SSL_NO_VERIFY|PYTHONHTTPSVERIFY|PRE_COMMIT_ALLOW_NO_CONFIG"
    r"|FORCE\w*"
    r"|SKIP_\w+|DISABLE_\w+|\w*_SKIP\w*|PIP_BREAK_SYSTEM_PACKAGES|PYTHONWARNINGS)="
)
_SWALLOWS = pattern(r"\|\|\s*(?:true|:|exit 0|echo\b)|;\s*true\s*$|\bset \+e\b")
_OPENS_ALL = pattern(
    r"\b(?:chmod\s+(?:-R\s+)?(?:0?777|a\+rwx|\+rwx)|setenforce 0|sslVerify[= ]false|strict-ssl false)\b"
)
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
    """What the working line has, and the failing one lacks, that gets past a check; "" when nothing does."""
    before = {word for command in commands_in(failing) for word in command.all_words}
    for command in commands_in(working):
        name = command_name(command.words)
        forcing = (word for word in command.words if word not in before and _is_forcing(word, name))
        setting = (word for word in sorted(command.around - before) if word == "sudo" or _SETTING.match(word))
        found = next(chain(setting, forcing), "")
        if found:
            return found
    for way in (_SWALLOWS, _OPENS_ALL, _TAKES_BACK):
        match = way.search(working[:LONGEST_READ_CHARS])
        if match and not way.search(failing[:LONGEST_READ_CHARS]):
            return match.group().strip()
    return ""


def _is_forcing(word: str, program: str) -> bool:
    unsafe = _UNSAFE_BY_LETTER.get(word)
    if unsafe is not None:
        return unsafe.fullmatch(program) is not None
    return _FLAG.fullmatch(word) is not None


def silenced_by(removed: Sequence[str], added: Sequence[str]) -> str:
    """What an edit switches off instead of mending: a test, a rule, an assertion; "" when nothing."""
    there = "\n".join(removed)
    for line in added:
        found = _SILENCES.search(line[:500])
        if found and found.group() not in there:
            return found.group().strip()
    kept = {line.strip() for line in added}
    for line in removed:
        if _ASSERTS.match(line) and line.strip() not in kept and _is_gone(added):
            return line.strip()[:60]
    return ""


def _is_gone(added: Iterable[str]) -> bool:
    """Whether no assertion stands in the place of one that was taken out."""
    return not any(_ASSERTS.match(other) and not _COMMENT.match(other) for other in added)
