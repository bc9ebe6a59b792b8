"""Names what is dangerous about a command: fetching, piping into a shell, more rights, destroying, skipping checks.

Reads a line as a shell would, through quotes, wrappers, substitutions, here-documents and shells inside of shells, and
goes by tables of programs, options and variables. What ordinary work does every day (`pip install NAME`, `git push`,
`curl localhost`, `rm file.txt`) is not dangerous. Never raises, and what is too long to be looked through is dangerous.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from reasoningbank.core.commands import (
    LONGEST_LINE_CHARS,
    SimpleCommand,
    shell_line,
    simple_commands,
    without_wrappers,
)
from reasoningbank.core.patterns import pattern
from reasoningbank.guard.danger_tables import (
    ASSIGNMENT,
    BRACES,
    BY_PROGRAM,
    CALL,
    CARRIES_CODE,
    CHECK,
    CODE,
    CODE_OPTION,
    COMMAND_ARGUMENT,
    DELETES,
    DISK,
    DROPPING,
    DROPPING_SIGNS,
    DROPS,
    EDITOR,
    FEEDS_SHELL,
    FETCHERS,
    FETCHES,
    GIT,
    GIT_HOST,
    GIT_SHORT,
    IFS,
    IN_A_WORD,
    INJECTS,
    INNER,
    INTERPRETERS,
    IS_CODE,
    KNOWN_INSIDE,
    LOOSE_PATH,
    MORE_OPTIONS,
    NO_CHECK,
    OFF,
    OPTIONS,
    OPTIONS_SETTING,
    PIPED,
    PLAIN_EVALS,
    PREFIXED,
    QUIET_GIT,
    RIGHTS,
    RUN_BY_GIT,
    RUN_BY_SETTING,
    RUNNERS,
    RUNS_CODE,
    SENDS,
    SETS_ENV,
    SHARED_FOLDER,
    SHELLS,
    SKIPS,
    SKIPS_HOOKS,
    SOCKET,
    SPEAKERS,
    SWALLOWS,
    SWITCHED_OFF,
    SWITCHING_SIGNS,
    UNREAD,
    UPLOADS,
    VERSION,
    WHO,
    WITH_VALUE,
)

MOST_COMMANDS = 200
MOST_INNER = 3
"""Lines inside of one another."""
Danger = tuple[str, str]
"""What it does, and the word that shows it."""

# ---------------------------------------------------------------- addresses

_URL = pattern(
    r"(?i)(?:git\+)?(?:https?|ftps?|sftp|git|ssh|wss?|rsync)://(?:[^/@\s'\"]*@)?(\[[^\]\s]*\]|[^/:\s'\"?#,;)}\]>]*)"
)
_LOCAL = pattern(
    r"(?i)(?:(?:[\w-]+\.)*localhost|127(?:\.\d{1,3}){3}|0\.0\.0\.0|\[::1?\]|host\.docker\.internal"
    r"|(?=\w*[a-z])[\w-]+|[\w-]+\.local|)\.?"
)
_HOST_AND_PATH = pattern(
    r"(?:[^\s@/]+@)?((?:[\w-]+\.)+[A-Za-z]{2,}|\d{1,3}(?:\.\d{1,3}){3}|\d{8,10}|0x[\da-fA-F]+)(?:[:/?].*)?"
)


def is_local(host: str) -> bool:
    """True if a host is this machine or one without a domain, such as a service of a compose file."""
    return _LOCAL.fullmatch(host) is not None


def remote_addresses(text: str) -> Iterator[str]:
    """Addresses with a scheme whose host is another machine."""
    return (match[0] for match in _URL.finditer(text) if not is_local(match[1]))


# ---------------------------------------------------------------- an action


def dangers_in(action: str) -> Iterator[Danger]:
    """Every danger of a line for a shell, of code, or of a call of a tool written as `tool({…})`."""
    if len(action) > LONGEST_LINE_CHARS:
        yield UNREAD, ""
    line = IN_A_WORD.sub("", IFS.sub(" ", action[:LONGEST_LINE_CHARS].replace("$'", "'").replace('$"', '"')))
    if CALL.match(line):
        yield from _of_call(line)
    elif IS_CODE.match(line):
        yield from _of_code(line)
    else:
        yield from _of_line(line, MOST_INNER)


def _of_call(call: str) -> Iterator[Danger]:
    """A tool's arguments are data, unless they are addresses to go to, or lines and statements to run."""
    for address in remote_addresses(call):
        yield FETCHES, address
    yield from _of_statements(call)
    for match in COMMAND_ARGUMENT.finditer(call):
        yield from _of_line(match[1].replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\"), MOST_INNER)


def _of_statements(text: str) -> Iterator[Danger]:
    lowered = text.lower()
    if any(sign in lowered for sign in DROPPING_SIGNS) and (match := DROPPING.search(text)):
        yield DROPS, match[0]
    if any(sign in lowered for sign in SWITCHING_SIGNS) and (match := SWITCHED_OFF.search(text)):
        yield SKIPS, match[0].strip()


def _of_code(code: str) -> Iterator[Danger]:
    for match in CODE.finditer(code):
        yield RUNS_CODE, match[0]
    for address in remote_addresses(code):
        yield FETCHES, address
    yield from _of_statements(code)


def _of_line(line: str, inner: int) -> Iterator[Danger]:
    # A sign that is missing is found in a tenth of the time that its pattern takes.
    for sign, kind, way in (("<(", PIPED, FEEDS_SHELL), ("/dev/", SENDS, SOCKET),
                            ("||", SKIPS, SWALLOWS), ("set", SKIPS, SWALLOWS)):  # fmt: skip
        if sign in line and (match := way.search(line)):
            yield kind, match[0].strip()
    for name, value in SETS_ENV.findall(line) if "$" in line else ():
        yield from _of_setting(name, value)
    for groups in INNER.findall(line) if "(" in line or "`" in line else ():
        yield from _of_inner(next(filter(None, groups), ""), inner)
    speaks = False
    for number, simple in enumerate(simple_commands(line)):
        if number >= MOST_COMMANDS:
            yield UNREAD, ""
            return
        # What a program that only speaks says to one that listens is no word any more.
        if simple.is_piped and speaks and (match := DROPPING.search(line)):
            yield DROPS, match[0]
        speaks = name_of(simple.words[0]) in SPEAKERS
        yield from _of_command(simple, inner)


def name_of(word: str) -> str:
    """The program that a word names, however it is called."""
    return word.replace("\\", "/").rsplit("/", 1)[-1].casefold().removesuffix(".exe")


def _of_command(simple: SimpleCommand, inner: int) -> Iterator[Danger]:
    words = simple.words
    if match := BRACES.fullmatch(words[0]):
        words = (*match[1].split(","), *words[1:])
    bare, _ = without_wrappers(words)
    yield from _of_surroundings(simple, words[: len(words) - len(bare)])
    if not bare:
        return
    name = VERSION.sub(r"\1", name_of(bare[0]))
    if name in SPEAKERS or (name == "git" and _git_verb(bare)[0] in QUIET_GIT):
        return
    yield from _of_program(name, f" {' '.join(map(_in_short, bare[1:]))} ", bare)
    for word in bare[not bare[0].startswith("-") :]:
        # What a commit says is no word of the command.
        if name != "git" or not _has_space(word):
            yield from dangers_of_word(word)
    yield from _of_what_it_reads(name, bare, simple, inner)
    if name in RUNNERS:
        yield from _of_what_it_runs(name, bare, inner)


def _of_surroundings(simple: SimpleCommand, wrappers: tuple[str, ...]) -> Iterator[Danger]:
    for word in wrappers:
        if WHO.fullmatch(name_of(word)):
            yield RIGHTS, word
        yield from dangers_of_word(word)
    for redirect in simple.redirects:
        if DISK.match(redirect):
            yield DELETES, redirect
    # What follows a here-document's mark on its line.
    for later in simple_commands("_ " + simple.here.partition("\n")[0]) if simple.here else ():
        if later.is_piped and name_of(later.words[0]) in SHELLS | INTERPRETERS:
            yield PIPED, later.words[0]


def _in_short(word: str) -> str:
    """A word as the tables know it: what is a text and no word stands for itself, but for a choice of tests."""
    return "_" if _has_space(word) and not word.startswith("not ") else word


def _has_space(word: str) -> bool:
    return " " in word or "\n" in word or "\t" in word


def dangers_of_word(word: str) -> Iterator[Danger]:
    """What a word of any program says by itself."""
    if word.startswith("-") or "=" in word or ":" in word:
        for kind, options in OPTIONS:
            if options.fullmatch(word):
                yield kind, word
    if MORE_OPTIONS.search(word):
        yield SKIPS, word
    if "=" in word and (match := ASSIGNMENT.fullmatch(word)) is not None:
        yield from _of_setting(match[1], match[2])
    if "://" in word and (not _has_space(word.strip()) or " @ " in word):
        for address in remote_addresses(word):
            yield FETCHES, address


def _of_setting(name: str, value: str) -> Iterator[Danger]:
    """What a variable of the environment does to the programs that read it."""
    if name in ("HUSKY", "SKIP", "PRE_COMMIT_ALLOW_NO_CONFIG"):
        yield SKIPS_HOOKS, f"{name}="
    elif (NO_CHECK.fullmatch(name) and not OFF.fullmatch(value)) or (CHECK.fullmatch(name) and OFF.fullmatch(value)):
        yield SKIPS, f"{name}="
    if (
        RUN_BY_SETTING.fullmatch(name)
        or (OPTIONS_SETTING.fullmatch(name) and CARRIES_CODE.match(value))
        or (EDITOR.fullmatch(name) and any(sign in value for sign in ";|&$`/"))
        or (name == "PATH" and LOOSE_PATH.search(value))
        or (name in ("PYTHONPATH", "NODE_PATH", "LD_LIBRARY_PATH", "CLASSPATH") and SHARED_FOLDER.search(value))
    ):
        yield INJECTS, f"{name}="


@cache
def _by_name() -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    table: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    for names, kind, way in BY_PROGRAM:
        for name in names:
            table.setdefault(name, []).append((kind, way))
    return table


def _of_program(name: str, args: str, bare: tuple[str, ...]) -> Iterator[Danger]:
    for kind, names in PREFIXED:
        if names.fullmatch(name):
            yield kind, bare[0]
    for kind, way in _by_name().get(name, ()):
        if match := way.search(args):
            yield kind, f"{bare[0]} {match[0].strip()}".strip()
    if name == "git":
        yield from _of_git(bare)
        return
    if name in FETCHERS:
        yield from _of_fetcher(name, bare, args)
    yield from _of_statements(" ".join(bare))


def _git_verb(bare: tuple[str, ...]) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The verb of a git command, what stands behind it, and the settings before it."""
    number, settings = 1, list[str]()
    while number < len(bare) and bare[number].startswith("-"):
        if bare[number] in ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"):
            settings += bare[number + 1 : number + 2]
            number += 1
        number += 1
    return bare[number] if number < len(bare) else "", bare[number + 1 :], tuple(settings)


def _of_git(bare: tuple[str, ...]) -> Iterator[Danger]:
    verb, rest, settings = _git_verb(bare)
    args = f" {' '.join('_' if _has_space(word) else word for word in rest)} "
    for verbs, kind, way in GIT:
        if verb in verbs.split() and way.search(args):
            yield kind, f"git {verb}"
    for setting in (*settings, *(rest if verb == "config" else ())):
        if RUN_BY_GIT.fullmatch(setting):
            yield INJECTS, setting
    if verb in ("clone", "fetch", "pull", "submodule") and any(
        GIT_HOST.fullmatch(word) or GIT_SHORT.fullmatch(word) for word in rest if not word.startswith("-")
    ):
        yield FETCHES, f"git {verb}"


def _of_fetcher(name: str, bare: tuple[str, ...], args: str) -> Iterator[Danger]:
    """A fetch from another machine, with or without a scheme; and what is sent along."""
    is_remote = False
    for before, word in pairwise(bare):
        if word.startswith("-") or WITH_VALUE.fullmatch(before):
            continue
        host = _HOST_AND_PATH.fullmatch(word)
        if "://" in word:
            is_remote |= any(True for _ in remote_addresses(word))
        else:
            is_remote |= "$" in word or (host is not None and not is_local(host[1]))
    listed = {"curl": ("-K", "--config"), "wget": ("-i", "--input-file")}.get(name, ())
    if is_remote or any(word in listed for word in bare):
        yield FETCHES, bare[0]
        if name == "curl" and UPLOADS.search(args):
            yield SENDS, bare[0]


def _of_what_it_reads(name: str, bare: tuple[str, ...], simple: SimpleCommand, inner: int) -> Iterator[Danger]:
    """What a shell or an interpreter is given to run: among its words, below its line, or by another program."""
    if (
        name == "eval"
        and not PLAIN_EVALS.match(" ".join(bare[1:]))
        and any("$" in word or "`" in word for word in bare)
    ):
        yield PIPED, name
    if name not in SHELLS | INTERPRETERS | {"source", "."}:
        return
    script = shell_line(bare)
    code = script or _code_of(bare)
    if script and ("$(" in script or "`" in script):
        yield PIPED, name
    reads = not code and (name in SHELLS | INTERPRETERS) and all(word.startswith("-") for word in bare[1:])
    if simple.is_piped and (reads or "-" in bare[1:2] or "-s" in bare[1:] or "/dev/stdin" in bare):
        yield PIPED, name
    for text in (code, simple.here.partition("\n")[2], *(r[3:] for r in simple.redirects if r.startswith("<<<"))):
        if text and name in SHELLS:
            yield from _of_inner(text.strip().strip("'\""), inner)
        elif text:
            yield from _of_code(text)


def _of_inner(line: str, inner: int) -> Iterator[Danger]:
    if inner:
        yield from _of_line(line, inner - 1)
    else:
        yield UNREAD, ""


def _code_of(bare: tuple[str, ...]) -> str:
    """The code that an interpreter is given among its words."""
    for number, word in enumerate(bare[1:], 1):
        if CODE_OPTION.fullmatch(word):
            return " ".join(bare[number + 1 :])
        if not word.startswith("-"):
            return ""
    return ""


def _of_what_it_runs(name: str, bare: tuple[str, ...], inner: int) -> Iterator[Danger]:
    """What a program does that runs its own words: each that is a line, and the command that begins among them."""
    for number, word in enumerate(bare[1:], 1):
        if _has_space(word) or name == "alias":
            yield from _of_inner(word.partition("=")[2] if name == "alias" else word, inner)
        elif name_of(word) in KNOWN_INSIDE or WHO.fullmatch(name_of(word)):
            rest = bare[number:]
            end = next((at for at, other in enumerate(rest) if other in (";", "+", "\\;")), len(rest))
            if inner:
                later = SimpleCommand(words=rest[:end], is_piped=False, redirects=(), here="")
                yield from _of_command(later, inner - 1)
            else:
                yield UNREAD, ""
            return
