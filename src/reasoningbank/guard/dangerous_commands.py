"""Names what is dangerous about a command: fetching, piping into a shell, more rights, destroying, skipping checks.

Reads a line as a shell would, through quotes, wrappers, substitutions, here-documents and shells inside of shells, and
goes by tables of programs, options and variables. What ordinary work does every day (`pip install NAME`, `git push`,
`curl localhost`, `rm file.txt`) is not dangerous. Never raises, and what is too long to be looked through is dangerous.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from reasoningbank.core.commands import (
    LONGEST_LINE_CHARS,
    SimpleCommand,
    shell_line,
    simple_commands,
    without_wrappers,
)
from reasoningbank.core.patterns import pattern
from reasoningbank.guard import danger_tables as tables

MOST_COMMANDS = 200
MOST_INNER = 3
"""Lines inside of one another."""
Danger = tuple[str, str]
"""The kind of danger, and the word that shows it."""

# ---------------------------------------------------------------- addresses

_URL = pattern(
    r"(?i)(?:git\+)?(?:https?|ftps?|sftp|git|ssh|wss?|rsync)://(?:[^/@\s'\"]*@)?(\[[^\]\s]*\]|[^/:\s'\"?#,;)}\]>]*)"
)
_LOCAL = pattern(
    r"(?i)(?:(?:[\w-]+\.)*localhost|127(?:\.\d{1,3}){3}|0\.0\.0\.0|\[::1?\]|host\.docker\.internal"
    r"|(?=\w*[a-z])[\w-]+|[\w-]+\.local|)\.?"
)


def is_local(host: str) -> bool:
    """True if a host is this machine or one without a domain, such as a service of a compose file."""
    return _LOCAL.fullmatch(host) is not None


def remote_addresses(text: str) -> Iterator[str]:
    """Addresses with a scheme whose host is another machine."""
    return (match[0] for match in _URL.finditer(text) if not is_local(match[1]))


# ---------------------------------------------------------------- an action

_SPACE_BY_VARIABLE = pattern(r"\$\{IFS[^}]*\}|\$IFS(?:\$\d)?")
_EMPTY_IN_A_WORD = pattern(r"(?<=[a-z])(?:\$[@*]|\$\{[a-z]?\})(?=[a-z])")
_CALL = pattern(r"\s*[A-Za-z_][\w.\-]*\(\s*[{)]")
_COMMAND_ARGUMENT = pattern(r"(?i)\"(?:command|cmd|script|line|shell|bash)\"\s*:\s*\[?\"((?:\\.|[^\"\\])*)\"")
_IS_CODE = pattern(r"\s*(?:import \w|from \w+[\w.]* import |#!/\S*(?:python|node|ruby|perl))")


def dangers_in(action: str) -> Iterator[Danger]:
    """Every danger of a line for a shell, of code, or of a call of a tool written as `tool({…})`."""
    if len(action) > LONGEST_LINE_CHARS:
        yield tables.UNREAD, ""
    line = action[:LONGEST_LINE_CHARS].replace("$'", "'").replace('$"', '"')
    line = _EMPTY_IN_A_WORD.sub("", _SPACE_BY_VARIABLE.sub(" ", line))
    if _CALL.match(line):
        # A tool's arguments are data, unless they are addresses to go to, or lines and statements to run.
        for address in remote_addresses(line):
            yield tables.FETCHES, address
        yield from _of_statements(line)
        for match in _COMMAND_ARGUMENT.finditer(line):
            yield from _of_line(match[1].replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\"), MOST_INNER)
    elif _IS_CODE.match(line):
        yield from _of_code(line)
    else:
        yield from _of_line(line, MOST_INNER)


def _of_statements(text: str) -> Iterator[Danger]:
    lower = text.lower()
    for signs, kind, way in (
        (tables.DROPPING_SIGNS, tables.DROPS, tables.DROPPING),
        (tables.SWITCHING_SIGNS, tables.SKIPS, tables.SWITCHED_OFF),
    ):
        if any(sign in lower for sign in signs) and (match := way.search(text)):
            yield kind, match[0].strip()


def _of_code(code: str) -> Iterator[Danger]:
    for match in tables.CODE.finditer(code):
        yield tables.RUNS_CODE, match[0]
    for address in remote_addresses(code):
        yield tables.FETCHES, address
    yield from _of_statements(code)


# A sign that is missing is found in a tenth of the time that its pattern takes.
_IN_LINES = (
    ("<(", tables.PIPED, pattern(
        r"(?:^|[\s;&|(/])(?:(?:ba|z|da|k|fi|a)?sh|source|\.|eval|python[\d.]*|node|ruby|perl|php)\b(?:\s+-\w+)*\s+<\(")),
    ("/dev/", tables.SENDS, pattern(r"/dev/(?:tcp|udp)/")),
    ("||", tables.SKIPS, tables.SWALLOWS),
    ("set", tables.SKIPS, tables.SWALLOWS),
)  # fmt: skip
_POWERSHELL_SETTING = pattern(r"(?i)\$env:(\w+)\s*=\s*['\"]?([^\s'\";]*)")
_SUBSTITUTION = pattern(r"\$\(([^()]*)\)|`([^`]*)`|[<>]\(([^()]*)\)")


def _of_line(line: str, inner: int) -> Iterator[Danger]:
    """Dangers of a shell's line, in which as many more may stand inside of one another."""
    if inner < 0:
        yield tables.UNREAD, ""
        return
    for sign, kind, way in _IN_LINES:
        if sign in line and (match := way.search(line)):
            yield kind, match[0].strip()
    for name, value in _POWERSHELL_SETTING.findall(line) if "$" in line else ():
        yield from _of_setting(name, value)
    for groups in _SUBSTITUTION.findall(line) if "(" in line or "`" in line else ():
        yield from _of_line("".join(groups), inner - 1)
    speaks = False
    for number, simple in enumerate(simple_commands(line)):
        if number >= MOST_COMMANDS:
            yield tables.UNREAD, ""
            return
        # What a program that only speaks says to one that listens is no word any more.
        if simple.is_piped and speaks and (match := tables.DROPPING.search(line)):
            yield tables.DROPS, match[0]
        speaks = name_of(simple.words[0]) in tables.SPEAKERS
        yield from _of_command(simple, inner)


def name_of(word: str) -> str:
    """The program that a word names, however it is called."""
    return word.replace("\\", "/").rsplit("/", 1)[-1].casefold().removesuffix(".exe")


_BRACES = pattern(r"\{([^{}\s]*,[^{}\s]*)\}")
_VERSION = pattern(r"^(python|pip|mkfs|newfs)[\d._]+\w*$")
_WHO = pattern(r"(?:sudo|doas|pkexec|run0|gsudo|runas)(?:\.exe)?")
_DISK = pattern(r"[^<]*>\|?\s*['\"]?/dev/(?:sd|hd|nvme|vd|xvd|disk|mapper|mmcblk|mem)\w*")


def _of_command(simple: SimpleCommand, inner: int) -> Iterator[Danger]:
    words = simple.words
    if match := _BRACES.fullmatch(words[0]):
        words = (*match[1].split(","), *words[1:])
    bare, _ = without_wrappers(words)
    yield from _of_surroundings(simple, words[: len(words) - len(bare)])
    if not bare:
        return
    name = _VERSION.sub(r"\1", name_of(bare[0]))
    is_git = name == "git"
    yield from _of_words(name, bare)
    if name in tables.SPEAKERS or (is_git and _git_verb(bare)[0] in tables.QUIET_GIT):
        return
    if is_git:
        yield from _of_git(bare)
    else:
        yield from _of_statements(" ".join(bare))
    for word in bare[not bare[0].startswith("-") :]:
        # What a commit says is no word of the command.
        if not is_git or not _has_space(word):
            yield from dangers_of_word(word)
    yield from _of_what_it_reads(name, bare, simple, inner)
    if name in tables.RUNNERS:
        yield from _of_what_it_runs(bare, inner)


def _of_surroundings(simple: SimpleCommand, wrappers: tuple[str, ...]) -> Iterator[Danger]:
    for word in wrappers:
        if _WHO.fullmatch(name_of(word)):
            yield tables.RIGHTS, word
        yield from dangers_of_word(word)
    for redirect in simple.redirects:
        if _DISK.match(redirect):
            yield tables.DELETES, redirect
    # What follows a here-document's mark on its line.
    for later in simple_commands("_ " + simple.here.partition("\n")[0]) if simple.here else ():
        if later.is_piped and name_of(later.words[0]) in tables.SHELLS | tables.INTERPRETERS:
            yield tables.PIPED, later.words[0]


def _of_words(name: str, bare: tuple[str, ...]) -> Iterator[Danger]:
    # A word that is a text stands for itself, but for a choice of tests.
    args = f" {' '.join('_' if _has_space(word) and not word.startswith('not ') else word for word in bare[1:])} "
    for names, kind, way in tables.BY_PROGRAM:
        if name in names and (match := way.search(args)):
            yield kind, f"{bare[0]} {match[0].strip()}".strip()
    if name in ("curl", "wget", "http", "https"):
        yield from _of_fetcher(name, bare, args)


def _has_space(word: str) -> bool:
    return " " in word or "\n" in word or "\t" in word


_ASSIGNMENT = pattern(r"([A-Za-z_]\w*)\+?=(.*)", 16)


def dangers_of_word(word: str) -> Iterator[Danger]:
    """Dangers that a word of any program says by itself."""
    if word.startswith("-") or "=" in word or ":" in word:
        for kind, options in tables.OPTIONS:
            if options.fullmatch(word):
                yield kind, word
    if tables.MORE_OPTIONS.search(word):
        yield tables.SKIPS, word
    if "=" in word and (match := _ASSIGNMENT.fullmatch(word)) is not None:
        yield from _of_setting(match[1], match[2])
    if "://" in word and (not _has_space(word.strip()) or " @ " in word):
        for address in remote_addresses(word):
            yield tables.FETCHES, address


_OFF = pattern(r"(?i)['\"]?(?:0|false|no|off|none|)['\"]?")
_RUN_BY_VALUE = (
    (pattern(r"NODE_OPTIONS|(?:_?JAVA|JDK|MAVEN|GRADLE|SBT|CATALINA)\w*OPT\w*|MAKEFLAGS|PYTEST_ADDOPTS"),
     pattern(r"--(?:require|import|loader|experimental-loader|eval)\b|-r[ =]|-javaagent|-agent(?:path|lib)|--rc")),
    (pattern(r"(?:GIT_|KUBE_|HG|SVN_)?(?:\w*EDITOR|VISUAL|\w*PAGER|BROWSER)"), pattern(r"[;|&$`/]")),
    (pattern("PATH"), pattern(r"(?:^|:)(?:\.{0,2}/?(?=:|$)|/(?:tmp|var/tmp|dev/shm)\b)")),
    (pattern("PYTHONPATH|NODE_PATH|LD_LIBRARY_PATH|CLASSPATH"), pattern(r"/(?:tmp|dev/shm)\b")),
)  # fmt: skip
"""Variables, and what in their value has a program run something."""


def _of_setting(name: str, value: str) -> Iterator[Danger]:
    """Dangers of a variable of the environment to the programs that read it."""
    if name in ("HUSKY", "SKIP", "PRE_COMMIT_ALLOW_NO_CONFIG"):
        yield tables.SKIPS_HOOKS, f"{name}="
    elif (tables.CHECK if _OFF.fullmatch(value) else tables.NO_CHECK).fullmatch(name):
        yield tables.SKIPS, f"{name}="
    if tables.RUN_BY_SETTING.fullmatch(name) or any(
        names.fullmatch(name) and values.search(value) for names, values in _RUN_BY_VALUE
    ):
        yield tables.INJECTS, f"{name}="


def _git_verb(bare: tuple[str, ...]) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The verb of a git command, what stands behind it, and the settings before it."""
    number, settings = 1, list[str]()
    while number < len(bare) and bare[number].startswith("-"):
        if bare[number] in ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"):
            settings += bare[number + 1 : number + 2]
            number += 1
        number += 1
    return bare[number] if number < len(bare) else "", bare[number + 1 :], tuple(settings)


_REPOSITORY = pattern(r"[\w.-]+@([\w.-]+):\S+|(?:[\w-]+\.)+(?:com|org|net|io|dev|sh)[:/]\S+")


def _of_git(bare: tuple[str, ...]) -> Iterator[Danger]:
    verb, rest, settings = _git_verb(bare)
    args = f" {' '.join('_' if _has_space(word) else word for word in rest)} "
    for verbs, kind, way in tables.GIT:
        if verb in verbs and way.search(args):
            yield kind, f"git {verb}"
    for setting in (*settings, *(rest if verb == "config" else ())):
        if tables.RUN_BY_GIT.fullmatch(setting):
            yield tables.INJECTS, setting
    if verb in ("clone", "fetch", "pull", "submodule") and any(map(_REPOSITORY.fullmatch, rest)):
        yield tables.FETCHES, f"git {verb}"


_WITH_VALUE = pattern(
    r"-[a-zA-Z]*[oHdXuwbcAmFTKeE]|--(?:output|header|data\S*|json|request|user|write-out|cookie\S*|user-agent|max-time"
    r"|form\S*|upload-file|retry\S*|referer|cacert|cert|key|connect-timeout|output-document|timeout|tries)"
)
_HOST_AND_PATH = pattern(
    r"(?:[^\s@/]+@)?((?:[\w-]+\.)+[A-Za-z]{2,}|\d{1,3}(?:\.\d{1,3}){3}|\d{8,10}|0x[\da-fA-F]+)(?:[:/?].*)?"
)
_UPLOADS = pattern(
    r" (?:-[a-zA-Z]*[dFT]|--data\S*|--form\S*|--upload-file|--json|--post-(?:data|file)\S*|--body-file\S*) ?\S"
)


def _of_fetcher(name: str, bare: tuple[str, ...], args: str) -> Iterator[Danger]:
    """A fetch from another machine, with or without a scheme; and what is sent along."""
    is_remote = False
    for before, word in pairwise(bare):
        if word.startswith("-") or _WITH_VALUE.fullmatch(before):
            continue
        host = _HOST_AND_PATH.fullmatch(word)
        if "://" in word:
            is_remote |= any(True for _ in remote_addresses(word))
        else:
            is_remote |= "$" in word or (host is not None and not is_local(host[1]))
    # The addresses may stand in a file.
    options = {"curl": ("-K", "--config"), "wget": ("-i", "--input-file")}.get(name, ())
    if is_remote or any(word in options for word in bare):
        yield tables.FETCHES, bare[0]
        if name == "curl" and _UPLOADS.search(args):
            yield tables.SENDS, bare[0]


_PLAIN_EVALS = pattern(
    r"[`$(\"\s]*(?:ssh-agent|direnv|pyenv|rbenv|nodenv|jenv|fnm|nvm|brew|minikube|docker-machine|starship|opam|zoxide"
    r"|conda|mamba|micromamba|mise|asdf|thefuck|dircolors|luarocks|register-python-argcomplete|atuin|rtx|keychain"
    r"|poetry env|hatch|gpg-agent|dbus-launch|resize|lesspipe|op|kubectl completion|pip completion|perl -I)\b"
)
_CODE_OPTION = pattern(r"-(?:c|e|r|E|pe|ne|ple|lne|Command|command|p|-eval|-command|-print|-run)")


def _of_what_it_reads(name: str, bare: tuple[str, ...], simple: SimpleCommand, inner: int) -> Iterator[Danger]:
    """Code that a shell or an interpreter is given to run: among its words, below its line, or by another program."""
    words = " ".join(bare[1:])
    if name == "eval" and not _PLAIN_EVALS.match(words) and ("$" in words or "`" in words):
        yield tables.PIPED, name
    if name not in tables.SHELLS | tables.INTERPRETERS | {"source", "."}:
        return
    script = shell_line(bare)
    if script and ("$(" in script or "`" in script):
        yield tables.PIPED, name
    # The first word that is no option is a file to run, unless an option before it says that code follows.
    first = next((at for at, word in enumerate(bare[1:], 1) if _CODE_OPTION.fullmatch(word) or word[:1] != "-"), 0)
    code = script or (" ".join(bare[first + 1 :]) if first and bare[first].startswith("-") else "")
    reads = not code and name not in ("source", ".") and all(word.startswith("-") for word in bare[1:])
    if simple.is_piped and (reads or "-" in bare[1:2] or "-s" in bare[1:] or "/dev/stdin" in bare):
        yield tables.PIPED, name
    for text in (code, simple.here.partition("\n")[2], *(r[3:] for r in simple.redirects if r.startswith("<<<"))):
        if text and name in tables.SHELLS:
            yield from _of_line(text.strip().strip("'\""), inner - 1)
        elif text:
            yield from _of_code(text)


def _of_what_it_runs(bare: tuple[str, ...], inner: int) -> Iterator[Danger]:
    """Dangers of a program that runs its own words: each that is a line, and the command that begins among them."""
    for number, word in enumerate(bare[1:], 1):
        if _has_space(word):
            yield from _of_line(word, inner - 1)
        elif name_of(word) in tables.KNOWN_INSIDE or _WHO.fullmatch(name_of(word)):
            rest = bare[number:]
            end = next((at for at, other in enumerate(rest) if other in (";", "+", "\\;")), len(rest))
            if inner:
                later = SimpleCommand(words=rest[:end], is_piped=False, redirects=(), here="")
                yield from _of_command(later, inner - 1)
            else:
                yield tables.UNREAD, ""
            return
