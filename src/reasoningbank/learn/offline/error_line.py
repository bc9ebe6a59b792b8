"""Finds the line that says what went wrong in the output of a compiler, a test runner, a package manager or a shell.

Each line is stripped of colours, times, gutters and where it was said; what is left is ranked by how much such lines
tell: an exception above a compiler's error, that above a tool's complaint, that above a sentence with a failing verb.
Counts, progress, warnings, stack frames, source excerpts and bare exit codes never win over a line that says something.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from reasoningbank.core.patterns import pattern

READ_FIRST_CHARS = 6_000
READ_LAST_CHARS = 12_000
"""The cause stands at either end: where it began, or where it gave up."""
LONGEST_LINE_CHARS = 500
MOST_LINES = 600
NO_MESSAGE = "no message"

_COLOURS = pattern(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)")
_SPACE = pattern("[\\s\x00-\x1f\x7f\ud800-\udfff]+")

_TIMES = pattern(
    r"(?:\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d[\d.,]*(?:Z|[+-]\d\d:?\d\d)?\]?"
    r"|\[?\d\d:\d\d:\d\d[\d.,]*\]?)[\s:|-]+"
)
_GUTTERS = (
    pattern(r"#\d{1,4} (?:\d+\.\d+ |(?=ERROR|\[))"),  # a build's step
    pattern(r"\d{1,4}\.\d{2,4} (?=\S)"),
    pattern(r"[│╷╵┃|] ?"),
    pattern(r"##\[error\]|::error(?: [^:]{0,200})?::"),
    pattern(
        r"(?:\[(?:ERROR|error)\]|ERROR(?= [A-Z\d])|➤ YN\d+: ?[│┌└]?|[✖✗✘×❌] (?=\S)"
        r"|\[[a-z][\w:-]{1,30}\]:? (?=[A-Z]))\s*"
    ),
    pattern(r"npm (?:error|ERR!) ?"),
    pattern(r"(?:PHP )?(?:Fatal|Parse|Recoverable fatal) error: {1,4}(?:Uncaught )?(?:Error: )?(?=\S)"),
    pattern(r"\*\* \((?=\w+Error\))"),
)
_LOG_FIELDS = pattern(r'time="[^"]{0,60}" level=(\w+) msg="((?:\\.|[^"\\]){0,400})"')
_JSON_WORDS = pattern(r'[{,]\s*"(?:msg|message|error|detail)":\s*"((?:\\.|[^"\\]){3,300})"')
_PLACE = pattern(
    r"(?:[ew]: )?(?:file://)?(?:[A-Za-z]:)?[\w./\\@+~-]{1,160}\.[A-Za-z]\w{0,9}"
    r"(?:\(\d+(?:,\d+)?\)|:\[\d+,\d+\]|:\d+(?::\d+)?|:\(\.\w+[^)\s]{0,20}\)| ?(?=: error ))\s*(?::|-|(?<=\d) "
    r"|(?<=\])) *(?=\S)"
)
_TAIL = pattern(r"(?: in (?:[A-Za-z]:)?/\S+(?::\d+| on line \d+)| \[/\S+\.\w+proj\])$")
_ERROR_WORD = pattern(r"(?:fatal |build |internal compiler )?error(?:\s*:|(?= [A-Z]{1,4}\d))\s*", re.IGNORECASE)
_SPEAKER = pattern(r"[\w./-]{1,60}(?:\[\d+\])?:(?:[\w./-]{1,80}:\d+:)? (?=(?:fatal |parse )?(?:error|ERROR|\*\*\*)\b)")

_PYTEST = pattern(r"E {1,12}(?=\S)")
_EXCEPTION = pattern(
    r"(?:Caused by: |Uncaught |Unhandled )?(?:[A-Za-z_$][\w$]*(?:\.|::|\\)){0,10}"
    r"(?:[A-Z]\w*(?:Error|Exception|Failure|Exit|Interrupt|Configured|DoesNotExist|Warning|Timeout)|Error)\)?"
    r"(?: \[[\w ]{1,40}\])?(?::(?=\s|$)|$| \w+\.\w+:\d+: )"
)
_CODED = pattern(r"(?:error )?(?:TS|CS|NU|FS|BC|MSB|NETSDK|CA|SA)\d{3,5}: |error\[E\d{4}\]: |ERR_PNPM_\w+ |E\d{4}: ")
_ESLINT = pattern(r"\d+:\d+ +error +")
_PANIC = pattern(r"thread '[^']{0,120}'(?: \(\d+\))? panicked at (?:'(.{1,300})', )?[^']{0,160}:\d+:\d+:?$")
_RUBY = pattern(r"\S{1,160}:\d+:in ['`][^'`]{1,120}': ")
_WENT_WRONG = "* What went wrong:"
_VOICED = pattern(
    r"(?:error|fatal|panic|FATAL|ERROR|Error|Internal Error|CMake Error)\b(?!-)(?:\[|:| (?=[A-Z\"'`(w]|response "
    r"|from |at |\d))"
    r"|E: |ERR_\w+|\*\*\* |! \[(?:remote )?rejected\]|CONFLICT \(|(?:Failed asserting|Assert\.|expect\()"
    r"|(?:npm|yarn|pnpm|pip|cargo|go|docker|kubectl|helm): |\bSQLSTATE\[|Cannot |Could not |Unable to |Can't "
    r"|Couldn't "
)
_COMPLAINS = pattern(
    r"\b(?:not found|no such|permission denied|access denied|cannot|can't|can only|could not|couldn't|unable to"
    r"|failed|fails?"
    r"|does not|doesn't|did not|is not|are not|isn't|must be|missing|refused|already (?:in use|exists|allocated)"
    r"|invalid"
    r"|undefined|unknown|unexpected|unresolved|denied|forbidden|unauthori[sz]ed|timed? ?out|expected|incompatible"
    r"|conflict"
    r"|unsupported|unrecogni[sz]ed|required|requires|unhealthy|pending|mismatch|duplicate|segmentation fault"
    r"|killed|aborted"
    r"|out of memory|HTTP [45]\d\d|(?:format|internal|parse) error|not|no)\b|\.{4,}Failed",
    re.IGNORECASE,
)
_SAYS_LITTLE = pattern(
    r"\W*(?:process |command )?(?:exit(?:ed)?|failed|completed)(?: with)?[a-z ]*:?[ ]*\d*\W*$"
    r"|[=\-─━*_#!. ]+$|[=\-─_ ]*(?:FAILURES|ERRORS|short test summary info|test session starts)[=\-─_ ]*$|[_=-]{4,}"
    r"|\W*(?:Test Files?|Tests?|Test Suites?|Snapshots?|Time|Duration|Ran|Total|Failures|Errors|Passed"
    r"|Failed)\W*:? *[\d<(]"
    r"|\W*\d+ (?:\w+ )?(?:failed|passed|errors?|warnings?|problems?|failures?|examples?|tests?|runs?|previous)\b"
    r"|Found \d+ error|FAILED \((?:failures|errors)|test result:|test \S+ \.\.\. |Tests run:|running \d+ tests"
    r"|(?:BUILD|Build) (?:FAILED|FAILURE)|FAILURE: |COMPILATION ERROR|FAILURES!|Failed!|There (?:was|were) \d+ "
    r"|A complete log|See .{1,120} for (?:a full|details)|Lifecycle script|Command failed|code E?[A-Z\d]+$"
    r"|(?:errno|syscall|path|cwd|workspace|location|command|signal) "
    r"|Error Trace:|Stack [Tt]race|Call log|Require stack|Hint: |Node\.js v|System check identified"
    r"|error during build:?$|error: fatalError|(?:error: )?aborting due to|\[end of output\]|note: |Note that"
    r"|help: |hint: "
    r"|[A-Z][A-Z !]{8,}$|\S* *\d+ +--- \[|errors?$|Failures?:?$|Failed (?:examples|Tests)\b",
)
_MARKS_OF_TESTS = pattern(r"(?=[^\s]*[.F])[.FEsxX*]{2,}(?:\s*\[ *\d+%\])?$")
_QUIET = pattern(
    r"(?:\[?(?:WARN(?:ING)?|warn(?:ing)?|Warning|INFO|info|DEBUG|debug|TRACE|notice|NOTICE)\]?)[\s:(\[]"
    r"|npm (?:warn|WARN|notice|http|verb)\b|hint:|\w*Warning:|> Task |>? ?\w+@[\w.:-]+ \w+$|(?:=>|\[\+\]|✔|✓|·"
    r"|\.\.\.) ?"
    r"|\S+ Container |(?:Container|Network|Volume) \S+ +\w+|(?:Collecting|Downloading|Using|Installing|Preparing"
    r"|Progress|Compiling|Building|Running|Resolving|Updating|Checking|Starting|Determining|Restored?|Get:\d)\b"
    r"|(?:ERROR: )?[Uu]sage:|\w+: (?:downloading|finding|found|using|added|upgraded) "
    r"|-- (?!Configuring incomplete)|Auto-merging|inifile:|rootdir:|[+-] ?(?:Expected|Received)|(?:left|right): "
    r"|Use -v "
)
_FRAMES = pattern(
    r"at .{1,200}[(:]\S*\d|at [\w.$<>/@]+ ?\(|File \"|from \S+:\d|#\d+ |\d+ *[|▕]|> ?\d+ *[|▕]|[|^~]|goroutine "
    r"|\[signal |--> "
    r"|in function|available fixtures|use '|\S+:\d+: in \S|(?:> +)?(?:def|class|return|import|const|let|var|if|for"
    r"|self\.|throw) ?\b.*[:;){(]?$"
)
_WEAK = pattern(
    r"did not (?:complete|run) successfully|could not compile|Failed to execute goal .{0,200}Compilation failure"
    r"|ELIFECYCLE"
    r"|Execution failed for task|Compilation failed|There were failing tests|A problem occurred|Error \d+$"
    r"|returned \d+ exit status"
    r"|failed to push some refs|Failed to compile|Build failed|test failed, to rerun|subprocess-exited"
    r"|metadata-generation-failed"
    r"|aborted!$|(?:\[|\()FAIL|^FAILED? |^--- FAIL|^FAIL\b|^Failed \S+ \[|Test suite failed to run"
    r"|encountered an unexpected token|failed to parse a file|\.\.\. FAILED"
    r"|Compilation error in file|engine |^ERROR (?:collecting|tests?/)|^ImportError while|Interrupted: "
    r"|finished with status|Failed to restore"
    r"|executor failed running|^Process completed|configuring incomplete|Error: fatal|^404$"
    r"|is likely not a problem|^A fatal|Merge conflict; "
)


@lru_cache(maxsize=256)
def error_line(output: str) -> str:
    """The line of an output that says what went wrong; what little it says where it says no more."""
    lines = list(_cleaned(output))
    if not lines:
        return NO_MESSAGE
    exception = _raised(output)
    best, text = 0, ""
    for number, (line, is_pytest) in enumerate(lines):
        opens_pytest_error = is_pytest and (
            _EXCEPTION.match(line) is not None or line.startswith(("assert ", "fixture ", "Failed: ", "recursive "))
        )
        rank = 95 if opens_pytest_error else _rank(line)
        if rank > best or (rank == best and line.startswith("Caused by: ")):
            candidate = _with_what_follows(lines, number)
            if candidate:
                best, text = rank, candidate
    if exception and best <= 90:
        return exception
    plain = _plain(text) or text or next((line for line, _ in lines if not _MARKS_OF_TESTS.match(line)), lines[0][0])
    return _SPACE.sub(" ", plain).strip() or NO_MESSAGE


def ends_of(output: str) -> str:
    """The beginning and the end of what may be long."""
    if len(output) <= READ_FIRST_CHARS + READ_LAST_CHARS:
        return output
    return f"{output[:READ_FIRST_CHARS]}\n{output[-READ_LAST_CHARS:]}"


def without_colours(text: str) -> str:
    return _COLOURS.sub("", text) if "\x1b" in text else text


def _cleaned(output: str) -> Iterator[tuple[str, bool]]:
    """The lines without colours, times and gutters, and whether a line is one in which pytest tells an error."""
    lines = without_colours(ends_of(output)).splitlines()
    if len(lines) > MOST_LINES:
        lines = [*lines[: MOST_LINES // 3], *lines[-2 * MOST_LINES // 3 :]]
    for raw in lines:
        line = raw.rsplit("\r", 1)[-1][:LONGEST_LINE_CHARS]
        match = _PYTEST.match(line)
        if match and line[0] == "E":
            yield line[match.end() :].rstrip(), True
            continue
        line = _without_gutters(line.strip())
        if line:
            yield line, False


def _without_gutters(line: str) -> str:
    time = _TIMES.match(line)
    line = line[time.end() :] if time else line
    fields = _LOG_FIELDS.match(line)
    if fields:
        return fields[2] if fields[1].casefold() in ("error", "fatal", "panic") else f"INFO {fields[2]}"
    for gutter in _GUTTERS:
        cut = gutter.match(line)
        if cut:
            line = line[cut.end() :].strip()
    return line


def _raised(output: str) -> str:
    """The end of the last traceback: the first line after it that is not set in."""
    _, separator, after = without_colours(ends_of(output)).rpartition("Traceback (most recent call last)")
    if not separator:
        return ""
    lines = [line for line in after.splitlines()[1:] if line.strip()]
    # A traceback that was printed in a block is set in as a whole.
    exception = next((line for line in lines if _EXCEPTION.match(line.strip()) and not line.startswith("    ")), "")
    exception = exception or next((line for line in lines if not line[0].isspace()), lines[-1] if lines else "")
    return _SPACE.sub(" ", exception[:LONGEST_LINE_CHARS]).strip()


def _rank(line: str) -> int:
    """How much a line tells; 0 for nothing at all."""
    if _SAYS_LITTLE.match(line) or _MARKS_OF_TESTS.match(line):
        return 0
    place = _PLACE.match(line)
    rest = line[place.end() :] if place else line
    if _QUIET.match(line) or _FRAMES.match(line) or ("warning" in rest[:24].casefold() and not _EXCEPTION.match(line)):
        return 1
    if _WEAK.search(line):
        return 20
    code = _CODED.match(_ERROR_WORD.sub("", rest, count=1) if place else rest)
    ranks = (
        (85, _EXCEPTION.match(line)),
        (90, code),
        (85, _PANIC.match(line)),
        (80, place or _ESLINT.match(line) or _RUBY.match(line)),
        (78, line == _WENT_WRONG),
        (75, _VOICED.match(line) or _SPEAKER.match(line)),
        (60, _COMPLAINS.search(line)),
    )
    return next((rank for rank, match in ranks if match), 5)


def _with_what_follows(lines: Sequence[tuple[str, bool]], number: int) -> str:
    """The line, with the next where it only announces that."""
    line = lines[number][0]
    if line == _WENT_WRONG:
        return _went_wrong([text for text, _ in lines[number + 1 : number + 6]])
    panic = _PANIC.match(line)
    if panic:
        return panic[1] or (lines[number + 1][0] if number + 1 < len(lines) else line)
    if line.endswith("cannot find symbol"):
        symbol = next((text for text, _ in lines[number + 1 : number + 6] if text.startswith("symbol:")), "")
        return f"{line}: {symbol.removeprefix('symbol:').strip()}" if symbol else line
    announces = line.endswith(":") or (_EXCEPTION.match(line) is not None and ":" not in line.replace("::", ""))
    if announces and number + 1 < len(lines):
        after = lines[number + 1][0]
        if not _FRAMES.match(after) and not _SAYS_LITTLE.match(after):
            return f"{line} {after}"
    return line


def _went_wrong(lines: Sequence[str]) -> str:
    cause = ""
    for line in lines:
        if line.startswith("*"):
            break
        if not _WEAK.search(line):
            cause = line.removeprefix("> ")
    return cause


def _plain(line: str) -> str:
    """Without where it was said and by whom."""
    words = _JSON_WORDS.search(line)
    if words:
        return words[1]
    line = whole = _TAIL.sub("", line)
    for prefix in (_SPEAKER, _PLACE, _ESLINT, _RUBY):
        cut = prefix.match(line)
        if cut and cut.end() < len(line):
            line = line[cut.end() :]
    word = _ERROR_WORD.match(line)
    code = word is not None and _CODED.match(line[word.end() :])
    return line[word.end() :] if word and word.end() < len(line) and (line != whole or code) else line
